// Requests to a federation as bytes: what SDKs hide is what these tests look at.
import type { GatewayRun } from '../kit/run-gateway.ts';

/** An answer, read to its end. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The messages in it, of JSON or of an event stream. */
  readonly messages: readonly RawMessage[];
}

export interface RawMessage {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> };
}

export interface RawOptions {
  readonly session?: string | undefined;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

/** Posts a body, which is JSON unless it is a text. */
export async function post(gateway: GatewayRun, body: unknown, options: RawOptions = {}): Promise<RawAnswer> {
  const response = await fetch(gateway.urlOf(options.path ?? '/mcp'), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...describe(options),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, messages: readMessages(text) };
}

function describe({ session, token, headers = {} }: RawOptions): Record<string, string> {
  return {
    ...(session !== undefined && { 'mcp-session-id': session }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...headers,
  };
}

function readMessages(text: string): readonly RawMessage[] {
  if (text === '') return [];
  if (!/^[[{]/.test(text)) return readEvents(text);
  const value = JSON.parse(text) as RawMessage | RawMessage[];
  return Array.isArray(value) ? value : [value];
}

function readEvents(text: string): readonly RawMessage[] {
  return text
    .split('\n\n')
    .flatMap((event) => /^data: (.+)$/m.exec(event)?.[1] ?? [])
    .map((data) => JSON.parse(data) as RawMessage);
}

/** Begins a session. */
export async function initialize(
  gateway: GatewayRun,
  options: RawOptions & { readonly capabilities?: object; readonly version?: string } = {},
): Promise<string> {
  const params = {
    protocolVersion: options.version ?? '2025-11-25',
    capabilities: options.capabilities ?? {},
    clientInfo: { name: 'raw', version: '1' },
  };
  const { headers, text } = await post(gateway, request('initialize', params, 0), options);
  const session = headers.get('mcp-session-id');
  if (session === null) throw new Error(`no session: ${text}`);
  return session;
}

/** A request of a session. */
export function request(method: string, params: object = {}, id: number | string = 1): object {
  return { jsonrpc: '2.0', id, method, params };
}

/** An event stream that stays open. */
export interface RawStream {
  readonly status: number;
  readonly messages: readonly RawMessage[];
  /** The ids of its events. */
  readonly eventIds: readonly string[];
  /** As it came. */
  readonly text: string;
  isOver: boolean;
  close(): void;
}

/** Opens the stream of a session; with a body, the answer to it. */
export async function openStream(
  gateway: GatewayRun,
  options: RawOptions & { body?: object } = {},
): Promise<RawStream> {
  const stop = new AbortController();
  const { body } = options;
  const response = await fetch(gateway.urlOf('/mcp'), {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: body === undefined ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...describe(options),
    },
    signal: stop.signal,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  let text = '';
  const stream: RawStream = {
    status: response.status,
    get messages() {
      return readEvents(text);
    },
    get eventIds() {
      return Array.from(text.matchAll(/^id: (.*)$/gm), ([, id]) => id!);
    },
    get text() {
      return text;
    },
    isOver: false,
    close: () => stop.abort(),
  };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body!) text += decoder.decode(chunk as Uint8Array, { stream: true });
    } catch {
      // Broken off, by one side or the other.
    }
    stream.isOver = true;
  };
  void read();
  return stream;
}

/** A request of 2026-07-28 and its headers. */
export function modern(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
): { readonly body: object; readonly headers: Readonly<Record<string, string>> } {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const name = params['name'] ?? params['uri'];
  return {
    body: request(method, { ...params, _meta: meta }),
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
  };
}

/** `-32602 Unknown tool: x`, or what else there is. */
export function printError({ messages, status, text }: RawAnswer): string {
  const error = messages[0]?.error;
  return error === undefined ? `${status} ${text}` : `${error.code} ${error.message}`;
}
