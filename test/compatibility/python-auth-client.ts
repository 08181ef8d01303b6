// The Python MCP client with its own OAuth code behind the same interface as the SDK clients: a Python process that takes commands line by line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { BrowserAgent } from '../idp/browser-agent.ts';
import type { AuthClientLibrary, AuthConnectOptions, AuthedClient, ClientRequest } from '../idp/sdk-auth-clients.ts';
import { PythonClientError } from './python-client.ts';

const script = fileURLToPath(new URL('python_auth_client.py', import.meta.url));

/** A Python library as a client library. */
export function createPythonAuthLibrary(python: string, version: string): AuthClientLibrary {
  const name = `Python mcp ${version}`;
  return { name, connect: (options) => connect(python, name, options) };
}

interface Line {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly event?: 'request' | 'authorize';
  readonly method?: string;
  readonly url?: string;
  readonly status?: number;
}

async function connect(python: string, name: string, options: AuthConnectOptions): Promise<AuthedClient> {
  const { url, browser = new BrowserAgent(), person = {}, redirectUri = 'http://127.0.0.1:33420/callback' } = options;
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = once(child, 'close');
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const requests: ClientRequest[] = [];
  const pending = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  let last = 0;
  const tell = (command: object): void => void child.stdin.write(`${JSON.stringify(command)}\n`);
  const send = (op: string, details: object = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      last += 1;
      pending.set(last, { resolve, reject });
      tell({ op, id: last, ...details });
    });
  const failAll = (error: Error): void => {
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  };
  exited.then(
    () => failAll(new PythonClientError(`The Python client ended:\n${complaints}`)),
    (error: unknown) => failAll(error as Error),
  );
  const hear = (line: Line): void => {
    if (line.event === 'request') requests.push({ method: line.method!, url: line.url!, status: line.status });
    else if (line.event === 'authorize') {
      browser.authorize(line.url!, redirectUri, person).then(
        (callback) => tell({ op: 'callback', url: callback.href }),
        (error: unknown) => failAll(error as Error),
      );
    } else {
      const waiting = pending.get(line.id ?? 0);
      pending.delete(line.id ?? 0);
      if (line.error === undefined) waiting?.resolve(line.result);
      else waiting?.reject(new PythonClientError(line.error));
    }
  };
  createInterface({ input: child.stdout }).on('line', (text) => hear(JSON.parse(text) as Line));
  const close = async (): Promise<void> => {
    await send('close');
    await exited;
  };
  try {
    await send('connect', { url, redirect_uri: redirectUri, name });
  } catch (error) {
    child.kill();
    await exited;
    throw error;
  }
  return {
    requests,
    pages: browser.pages,
    readTokens: async () => (await send('tokens')) as { accessToken: string; saved: number },
    listTools: async () => (await send('list')) as string[],
    callTool: async (tool, args) => (await send('call', { name: tool, args })) as string,
    spoilAccessToken: async () => {
      await send('spoil');
    },
    close,
  };
}
