// Python MCP clients behind the same interface as the SDK clients.
import type { Answer, ClientLibrary, ConnectOptions, DrivenClient } from '../mcp/sdk-clients.ts';
import type { TappedExchange, Wire } from '../mcp/wire-tap.ts';
import type { PythonEvent, PythonProgram } from './python-program.ts';

/** For createPythonProgram. */
export const pythonClientScript = 'python_client.py';

/** A Python library as a client library; stateless means that it asks for protocol version 2026-07-28. */
export function createPythonLibrary(program: PythonProgram, version: string, stateless: boolean): ClientLibrary {
  return {
    name: `Python mcp ${version}${stateless ? ', 2026-07-28' : ''}`,
    stateless,
    // `auto` asks the server what it speaks, and 2026-07-28 is the newest that both do.
    connect: (options) => connect(program, stateless ? 'auto' : 'legacy', options),
  };
}

interface ExchangeEvent extends PythonEvent, TappedExchange {
  readonly number: number;
}

interface ResumeEvent extends PythonEvent {
  readonly number: number;
  readonly url: string;
  readonly headers: Record<string, string>;
}

interface Connected {
  readonly serverName: string;
  readonly protocolVersion: string;
  readonly sessionId: string | null;
}

async function connect(program: PythonProgram, mode: string, options: ConnectOptions): Promise<DrivenClient> {
  const heard: Heard = { sampled: [], elicited: [], logged: [], updated: [], changed: [] };
  const exchanges = new Map<number, TappedExchange>();
  const allowResume = (number: number): void => client.tell('resume', { number });
  const client = program.addClient((event) => hearEvent(event, { exchanges, heard, options, allowResume }));

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= client.ask('close').then(() => {});
    return closing;
  };
  const { modelName = 'model', person = { name: 'Ada', attending: true }, url, headers = {}, roots = null } = options;
  const details = { url, mode, model: modelName, person, headers, roots };
  const connected = (await client.ask('connect', details)) as Connected;
  const wire: Wire = {
    get exchanges() {
      return [...exchanges.values()];
    },
    cutAfterProgress: (count) => client.tell('cut', { count }),
    listResumptions: () => [...exchanges.values()].filter((exchange) => exchange.lastEventId !== undefined),
    listRequestIds: () => [...exchanges.values()].flatMap((exchange) => exchange.requestIds),
  };
  return {
    ...heard,
    wire,
    serverName: connected.serverName,
    protocolVersion: connected.protocolVersion,
    sessionId: connected.sessionId ?? undefined,
    listTools: async () => (await client.ask('list')) as string[],
    callTool: async (name, args, onProgress) => (await client.ask('call', { name, args }, { onProgress })) as string,
    callFully: async (name, args, wishes) => (await client.ask('call_fully', { name, args }, wishes)) as Answer,
    ask: async (method, params = {}) => (await client.ask('ask', { method, params })) as Answer,
    subscribe: async (uri) => void (await client.ask('subscribe', { uri })),
    watchTools: async () => void (await client.ask('watch_tools')),
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
  readonly exchanges: Map<number, TappedExchange>;
  readonly heard: Heard;
  readonly options: ConnectOptions;
  readonly allowResume: (number: number) => void;
}

function hearEvent(event: PythonEvent, { exchanges, heard, options, allowResume }: Hearing): void {
  switch (event.event) {
    case 'exchange': {
      const { number, method, url, lastEventId, sessionId, requestIds, rpcMethod } = event as ExchangeEvent;
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
      const { number, status, contentType } = event as ExchangeEvent;
      Object.assign(exchanges.get(number)!, { status, contentType: contentType ?? undefined });
      return;
    }
    case 'resume': {
      const { number, url, headers } = event as ResumeEvent;
      const gate = options.beforeResume?.({ url, headers: pickResumeHeaders(headers) }) ?? Promise.resolve();
      const allow = (): void => allowResume(number);
      // If the gate fails, the client finds out by itself: it resumes and the assertions tell what was missing.
      gate.then(allow, allow);
      return;
    }
    case 'sampled':
    case 'elicited':
      heard[event.event].push((event as unknown as { question: string }).question);
      return;
    case 'updated':
      heard.updated.push((event as unknown as { uri: string }).uri);
      return;
    case 'changed':
      heard.changed.push((event as unknown as { list: string }).list);
      return;
    default:
      heard.logged.push((event as unknown as { data: unknown }).data);
  }
}

function pickResumeHeaders(headers: Record<string, string>): Headers {
  const names = new Set(['accept', 'authorization', 'last-event-id', 'mcp-protocol-version', 'mcp-session-id']);
  return new Headers(Object.entries(headers).filter(([name]) => names.has(name.toLowerCase())));
}
