// The Python MCP client behind the same interface as the SDK clients: a Python process that takes commands line by line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Answer, ClientLibrary, ConnectOptions, DrivenClient } from '../mcp/sdk-clients.ts';
import type { TappedExchange, Wire } from '../mcp/wire-tap.ts';

/** Thrown when the Python client fails. Its traceback is the message. */
export class PythonClientError extends Error {
  readonly code = 'PYTHON_CLIENT_FAILED';
}

const script = fileURLToPath(new URL('python_client.py', import.meta.url));

/** A Python library as a client library; stateless means that it asks for protocol version 2026-07-28. */
export function createPythonLibrary(python: string, version: string, stateless: boolean): ClientLibrary {
  return {
    name: `Python mcp ${version}${stateless ? ', 2026-07-28' : ''}`,
    stateless,
    // `auto` asks the server what it speaks, and 2026-07-28 is the newest that both do.
    connect: (options) => connect(python, stateless ? 'auto' : 'legacy', options),
  };
}

interface Line {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly event?: string;
}

interface ExchangeLine extends Line, TappedExchange {
  readonly number: number;
}

interface ResumeLine extends Line {
  readonly number: number;
  readonly url: string;
  readonly headers: Record<string, string>;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress?: ((progress: number) => void) | undefined;
}

interface Connected {
  readonly serverName: string;
  readonly protocolVersion: string;
  readonly sessionId: string | null;
}

async function connect(python: string, mode: string, options: ConnectOptions): Promise<DrivenClient> {
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = once(child, 'close');
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const pending = new Map<number, Pending>();
  const heard: Heard = { sampled: [], elicited: [], logged: [], updated: [], changed: [] };
  const exchanges = new Map<number, TappedExchange>();
  let last = 0;

  const tell = (op: string, details: object): void => {
    child.stdin.write(`${JSON.stringify({ op, ...details })}\n`);
  };
  const send = (
    op: string,
    details: object,
    onProgress?: (progress: number) => void,
    signal?: AbortSignal,
  ): Promise<unknown> =>
    new Promise((resolve, reject) => {
      last += 1;
      const id = last;
      pending.set(id, { resolve, reject, onProgress });
      tell(op, { id, ...details });
      signal?.addEventListener('abort', () => tell('abandon', { call: id }));
    });

  const hear = (line: Line): void => {
    if (line.event !== undefined) {
      hearEvent(line, { pending, exchanges, heard, options, allowResume: (number) => tell('resume', { number }) });
      return;
    }
    const waiting = pending.get(line.id ?? 0);
    pending.delete(line.id ?? 0);
    if (line.error === undefined) waiting?.resolve(line.result);
    else waiting?.reject(new PythonClientError(line.error));
  };
  createInterface({ input: child.stdout }).on('line', (text) => hear(JSON.parse(text) as Line));
  const failAll = (): void => {
    for (const { reject } of pending.values()) reject(new PythonClientError(`The Python client ended:\n${complaints}`));
  };
  exited.then(failAll, failAll);

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      await send('close', {});
      await exited;
    })();
    return closing;
  };
  const { modelName = 'model', person = { name: 'Ada', attending: true }, url, headers = {}, roots = null } = options;
  const connected = (await send('connect', { url, mode, model: modelName, person, headers, roots })) as Connected;
  const wire: Wire = {
    get exchanges() {
      return [...exchanges.values()];
    },
    cutAfterProgress: (count) => tell('cut', { count }),
    listResumptions: () => [...exchanges.values()].filter((exchange) => exchange.lastEventId !== undefined),
    listRequestIds: () => [...exchanges.values()].flatMap((exchange) => exchange.requestIds),
  };
  return {
    ...heard,
    wire,
    serverName: connected.serverName,
    protocolVersion: connected.protocolVersion,
    sessionId: connected.sessionId ?? undefined,
    listTools: async () => (await send('list', {})) as string[],
    callTool: async (name, args, onProgress) => (await send('call', { name, args }, onProgress)) as string,
    callFully: async (name, args, { onProgress, signal } = {}) =>
      (await send('callFully', { name, args }, onProgress, signal)) as Answer,
    ask: async (method, params = {}) => (await send('ask', { method, params })) as Answer,
    subscribe: async (uri) => void (await send('subscribe', { uri })),
    watchTools: async () => void (await send('watchTools', {})),
    // The library ends its session when it is closed, and offers no other way.
    terminateSession: close,
    close,
  };
}

interface Heard {
  readonly sampled: string[];
  readonly elicited: string[];
  readonly logged: unknown[];
  readonly updated: string[];
  readonly changed: string[];
}

interface Hearing {
  readonly pending: Map<number, Pending>;
  readonly exchanges: Map<number, TappedExchange>;
  readonly heard: Heard;
  readonly options: ConnectOptions;
  readonly allowResume: (number: number) => void;
}

function hearEvent(line: Line, { pending, exchanges, heard, options, allowResume }: Hearing): void {
  switch (line.event) {
    case 'exchange': {
      const { number, method, url, lastEventId, sessionId, requestIds, rpcMethod } = line as ExchangeLine;
      exchanges.set(number, {
        method,
        url,
        lastEventId: lastEventId ?? undefined,
        sessionId: sessionId ?? undefined,
        requestIds,
        rpcMethod: rpcMethod ?? undefined,
      });
      return;
    }
    case 'status': {
      const { number, status, contentType } = line as ExchangeLine;
      Object.assign(exchanges.get(number)!, { status, contentType: contentType ?? undefined });
      return;
    }
    case 'resume': {
      const { number, url, headers } = line as ResumeLine;
      const gate = options.beforeResume?.({ url, headers: pickResumeHeaders(headers) }) ?? Promise.resolve();
      const allow = (): void => allowResume(number);
      // If the gate fails, the client finds out by itself: it resumes and the assertions tell what was missing.
      gate.then(allow, allow);
      return;
    }
    case 'progress': {
      const { call, progress } = line as unknown as { call: number; progress: number };
      pending.get(call)?.onProgress?.(progress);
      return;
    }
    case 'sampled':
    case 'elicited':
      heard[line.event].push((line as unknown as { question: string }).question);
      return;
    case 'updated':
      heard.updated.push((line as unknown as { uri: string }).uri);
      return;
    case 'changed':
      heard.changed.push((line as unknown as { list: string }).list);
      return;
    default:
      heard.logged.push((line as unknown as { data: unknown }).data);
  }
}

function pickResumeHeaders(headers: Record<string, string>): Headers {
  const names = new Set(['accept', 'authorization', 'last-event-id', 'mcp-protocol-version', 'mcp-session-id']);
  return new Headers(Object.entries(headers).filter(([name]) => names.has(name.toLowerCase())));
}
