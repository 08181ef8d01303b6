// An MCP server of either era without an SDK, which answers every method, and does wrong what it is told to: for tests of what a gateway makes of that.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What can be wrong with an answer. */
export const faults = {
  cut: 'the connection breaks in the middle of a JSON document',
  'stream-cut': 'the connection breaks in the middle of an event',
  'stream-ended': 'the event stream ends before the answer',
  hung: 'nothing comes',
  'hung-in-stream': 'an event stream in which nothing comes',
  slow: 'bit by bit, in the end all of it',
  'no-json': 'half of a JSON document',
  foreign: 'HTML, with status 200',
  'other-shape': 'JSON that is no message',
  'other-result': 'a message whose result is a text',
  oversized: 'more than a message may have',
  'answers-twice': 'two answers',
  'answers-others-first': 'answers that nobody asked for, then the right one',
  'answers-others': 'answers that nobody asked for, and no other',
  'http-401': 'a refusal, with a challenge of its own',
  'http-500': 'a refusal, in a text',
  'http-503': 'a refusal, for a while',
} as const;
export type Fault = keyof typeof faults;

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

interface Answer {
  readonly jsonrpc: '2.0';
  readonly id: string | number;
  readonly result: object;
}

export interface FaultyServer {
  readonly url: string;
  /** By the method of JSON-RPC; `GET` and `DELETE` by that of HTTP. */
  readonly faults: Map<string, Fault>;
  /** What arrived: methods, in the order of arrival. */
  readonly received: string[];
  /** Open streams of its own. */
  readonly streamCount: number;
  /** Tells all of them. */
  tell(method: string): void;
  forgetSessions(): void;
  /** Connections break, and new ones are refused. */
  kill(): Promise<void>;
  /** At the same port, without the sessions from before. */
  restart(): Promise<void>;
}

const listed = { inputSchema: { type: 'object' } };

/** The results of all methods that have one. Every item is called x, or file:///x. */
const results: Readonly<Record<string, object>> = {
  'tools/list': { tools: [{ name: 'x', ...listed }] },
  'prompts/list': { prompts: [{ name: 'x' }] },
  'resources/list': { resources: [{ uri: 'file:///x', name: 'x' }] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'file:///x/{path}', name: 'x' }] },
  'tools/call': { content: [{ type: 'text', text: 'called' }] },
  'prompts/get': { messages: [{ role: 'user', content: { type: 'text', text: 'prompted' } }] },
  'resources/read': { contents: [{ uri: 'file:///x', text: 'read' }] },
  'resources/subscribe': {},
  'resources/unsubscribe': {},
  'completion/complete': { completion: { values: ['completed'] } },
  'logging/setLevel': {},
  'tasks/list': { tasks: [{ taskId: '7', status: 'working' }] },
  'tasks/get': { taskId: '7', status: 'working' },
  'tasks/cancel': { taskId: '7', status: 'cancelled' },
  'tasks/result': { content: [{ type: 'resource_link', uri: 'file:///x', name: 'x' }] },
  'tasks/update': {},
};

/** What 2026-07-28 has no more. */
const gone: ReadonlySet<string> = new Set([
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
  'tasks/list',
  'tasks/result',
]);
/** What only 2026-07-28 has. */
const come: ReadonlySet<string> = new Set(['tasks/update']);

const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
  tasks: { list: {}, cancel: {} },
};

/** Starts one on loopback. */
export async function startFaultyServer(era: 'legacy' | 'modern'): Promise<FaultyServer> {
  const server = new RunningServer(era);
  await server.restart();
  return server;
}

class RunningServer implements FaultyServer {
  readonly faults = new Map<string, Fault>();
  readonly received: string[] = [];
  readonly #era: 'legacy' | 'modern';
  readonly #sessions = new Set<string>();
  readonly #streams = new Set<ServerResponse>();
  #http: Server | undefined;
  #port = 0;
  #begun = 0;

  constructor(era: 'legacy' | 'modern') {
    this.#era = era;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  tell(method: string): void {
    for (const stream of this.#streams) writeEvent(stream, { jsonrpc: '2.0', method });
  }

  forgetSessions(): void {
    this.#sessions.clear();
  }

  async kill(): Promise<void> {
    const http = this.#http;
    if (http === undefined) return;
    this.#http = undefined;
    const closed = new Promise((resolve) => http.close(resolve));
    http.closeAllConnections();
    await closed;
    this.forgetSessions();
  }

  async restart(): Promise<void> {
    const http = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => (body += chunk));
      request.on('end', () => this.#serve(body === '' ? {} : (JSON.parse(body) as Message), request, response));
    });
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      http.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (http.address() as AddressInfo).port;
    this.#http = http;
  }

  #serve(message: Message, request: IncomingMessage, response: ServerResponse): void {
    const key = message.method ?? request.method!;
    this.received.push(key);
    const fault = this.faults.get(key);
    if (this.#era === 'modern' && request.method !== 'POST') return void response.writeHead(405).end();
    const isBeginning = message.method === 'initialize' || message.method === 'server/discover';
    if (this.#era === 'legacy' && !isBeginning && !this.#sessions.has(String(request.headers['mcp-session-id'])))
      return refuse(response, 404, -32_001, 'Session not found', message.id);
    if (message.method === 'subscriptions/listen' || key === 'GET') return this.#stream(message, response, fault);
    if (message.method === undefined || message.id === undefined) {
      if (fault !== undefined) return misbehave(fault, { jsonrpc: '2.0', id: 'none', result: {} }, response);
      return void response.writeHead(key === 'DELETE' ? 200 : 202).end();
    }
    const result = this.#findResult(message);
    if (result === undefined) return refuse(response, 400, -32_601, 'Method not found', message.id);
    const answer: Answer = { jsonrpc: '2.0', id: message.id, result };
    if (message.method === 'initialize' && fault === undefined) {
      this.#begun += 1;
      this.#sessions.add(`s-${this.#begun}`);
      response.setHeader('mcp-session-id', `s-${this.#begun}`);
    }
    if (fault === undefined) sendJson(response, answer);
    else misbehave(fault, answer, response);
  }

  #findResult({ method }: Message): object | undefined {
    const serverInfo = { name: 'faulty', version: '1' };
    if (this.#era === 'legacy')
      return method === 'initialize'
        ? { protocolVersion: '2025-11-25', capabilities, serverInfo }
        : come.has(method ?? '')
          ? undefined
          : results[method ?? ''];
    if (method === 'server/discover')
      return { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities, serverInfo };
    const result = gone.has(method ?? '') ? undefined : results[method ?? ''];
    return result === undefined ? undefined : { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result };
  }

  #stream({ id, params }: Message, response: ServerResponse, fault: Fault | undefined): void {
    const method = 'notifications/subscriptions/acknowledged';
    const { notifications = {} } = params ?? {};
    const first = { jsonrpc: '2.0', method, params: { notifications } };
    const isServed = fault === undefined || failsNot.has(fault);
    if (!isServed) return misbehave(fault, { jsonrpc: '2.0', id: id ?? 'none', result: {} }, response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (fault !== undefined) writeEvent(response, { jsonrpc: '2.0', id: 'nobody', result: {} });
    if (id === undefined) response.write(': open\n\n');
    else writeEvent(response, first);
    this.#streams.add(response);
    // No time limit takes it for one that hangs.
    const life = setInterval(() => response.write(': alive\n\n'), 100);
    response.on('close', () => {
      clearInterval(life);
      this.#streams.delete(response);
    });
  }
}

/** A stream has no answer that could be wrong in these ways: it begins with one that nobody asked for. */
const failsNot: ReadonlySet<Fault> = new Set(['slow', 'answers-twice', 'answers-others-first']);

/** Made once. */
let padding: Buffer | undefined;

function misbehave(fault: Fault, answer: Answer, response: ServerResponse): void {
  const text = JSON.stringify(answer);
  const other = JSON.stringify({ jsonrpc: '2.0', id: 'nobody', result: {} });
  const begin = (type: string): void => void response.writeHead(200, { 'content-type': type });
  switch (fault) {
    case 'cut':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
      response.write(text.slice(0, text.length >> 1));
      return void setImmediate(() => response.destroy());
    case 'stream-cut':
      begin('text/event-stream');
      response.write(`: begins\n\ndata: ${text.slice(0, text.length >> 1)}`);
      return void setImmediate(() => response.destroy());
    case 'stream-ended':
      begin('text/event-stream');
      return void response.end(': begins\n\n');
    case 'hung':
      return;
    case 'hung-in-stream':
      begin('text/event-stream');
      return void response.write(': begins\n\n');
    case 'slow':
      begin('application/json');
      return sendSlowly(response, text);
    case 'no-json':
      begin('application/json');
      return void response.end('{"jsonrpc":');
    case 'foreign':
      begin('text/html');
      return void response.end('<html>Welcome</html>');
    case 'other-shape':
      begin('application/json');
      return void response.end('{"hello":"world"}');
    case 'other-result':
      return sendJson(response, { ...answer, result: 'nothing' });
    case 'oversized':
      begin('application/json');
      response.write((padding ??= Buffer.alloc(17 * 1024 * 1024, ' ')));
      return void response.end(text);
    case 'answers-twice':
      begin('text/event-stream');
      return void response.end(`data: ${text}\n\ndata: ${JSON.stringify({ ...answer, result: {} })}\n\n`);
    case 'answers-others-first':
      begin('text/event-stream');
      return void response.end(`data: ${other}\n\ndata: ${text}\n\n`);
    case 'answers-others':
      begin('application/json');
      return void response.end(other);
    case 'http-401':
      response.setHeader('www-authenticate', 'Bearer realm="theirs"');
      return refuse(response, 401, -32_000, 'Who is it?', answer.id);
    case 'http-500':
      return void response.writeHead(500, { 'content-type': 'text/plain' }).end('It broke.');
    case 'http-503':
      return void response.writeHead(503, { 'retry-after': '7' }).end();
  }
}

function sendSlowly(response: ServerResponse, text: string): void {
  const size = Math.ceil(text.length / 10);
  const sendFrom = (start: number): void => {
    if (response.destroyed) return;
    response.write(text.slice(start, start + size));
    if (start + size < text.length) setTimeout(() => sendFrom(start + size), 5);
    else response.end();
  };
  sendFrom(0);
}

function refuse(
  response: ServerResponse,
  status: number,
  code: number,
  message: string,
  id: string | number = 'none',
): void {
  sendJson(response, { jsonrpc: '2.0', id, error: { code, message } }, status);
}

function sendJson(response: ServerResponse, value: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function writeEvent(response: ServerResponse, value: object): void {
  response.write(`data: ${JSON.stringify(value)}\n\n`);
}
