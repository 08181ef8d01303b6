// One HTTP exchange with an MCP server for `check --online`, over a connection that is made as the gateway's upstreams make theirs. Bounded in time and size,
// never redirected.
import type { IncomingMessage } from 'node:http';
import { createLocalGuard } from '../../base/local-guard.ts';
import type { ServerConfig } from '../../gateway/config/server-config.ts';
import { createConnector } from '../../gateway/forward/upstream/endpoint-connector.ts';
import { describeConnectFailure, describeError } from '../../gateway/forward/upstream/upstream-error.ts';
import { gatewayFlags } from '../gateway-flags.ts';
import { sendHttp1, sendHttp2 } from './send-request.ts';

/** One of the addresses of a backend. */
export type Endpoint = ServerConfig['endpoints'][number];

/** A request to the server. */
export interface ServerRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Gets an event stream as far as it has come; true: that is enough, and the connection is closed. */
  readonly isComplete?: (text: string) => boolean;
  /** Ends the exchange from outside. */
  readonly signal?: AbortSignal;
}

/** What came back, or why nothing did. */
export type ServerAnswer =
  | {
      readonly ok: true;
      readonly status: number;
      readonly contentType: string;
      readonly headers: IncomingMessage['headers'];
      readonly text: string;
    }
  | { readonly ok: false; readonly cause: 'dns' | 'refused' | 'tls' | 'timeout' | 'other'; readonly detail: string };

/** A server, and how long it may take. */
export interface ServerAddress {
  readonly backend: ServerConfig;
  readonly endpoint: Endpoint;
  readonly timeoutMs: number;
}

const maxBytes = 4 * 1024 * 1024;

/** The rules of a gateway with the flags that it has by default: not to its own ports. */
const ownPorts: readonly number[] = [
  gatewayFlags.adminPort.default,
  gatewayFlags.metricsPort.default,
  gatewayFlags.readinessPort.default,
];
const guard = createLocalGuard({ ownPorts, allowsLocal: true });

/** Asks. Never throws. */
export function callServer(address: ServerAddress, asked: ServerRequest): Promise<ServerAnswer> {
  const { backend, endpoint, timeoutMs } = address;
  const connect = createConnector({
    ...endpoint,
    tls: backend.tls,
    guard,
    connectTimeoutMs: Math.min(backend.connectTimeoutMs || timeoutMs, timeoutMs),
    protocol: 'http/1.1',
    allowHalfOpen: false,
  });
  return new Promise((resolve) => {
    connect((error, socket) => {
      if (error !== null) {
        resolve({ ok: false, cause: describeConnectFailure(error), detail: shortenTls(describeError(error)) });
        return;
      }
      const finish = (answer: ServerAnswer): void => {
        clearTimeout(timer);
        resolve(answer);
        socket.destroy();
      };
      const timer = setTimeout(
        () => finish({ ok: false, cause: 'timeout', detail: `no answer within ${timeoutMs / 1_000} s` }),
        timeoutMs,
      );
      const failed = (cause: Error): void => finish({ ok: false, cause: 'other', detail: describeError(cause) });
      asked.signal?.addEventListener('abort', () => failed(new Error('it was closed')), { once: true });
      let text = '';
      let status = 0;
      let headers: IncomingMessage['headers'] = {};
      let contentType = '';
      const end = (): void => finish({ ok: true, status, contentType, headers, text });
      const send = backend.protocol === 'h2c' ? sendHttp2 : sendHttp1;
      send(
        socket,
        {
          method: asked.method,
          path: asked.path,
          host: readHost(address),
          headers: { 'user-agent': 'mcp-gatehouse-check', ...asked.headers },
          body: asked.body,
        },
        {
          head(answered, fields) {
            status = answered;
            headers = fields;
            contentType = (fields['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
          },
          data(chunk) {
            text += chunk;
            const isStream = contentType === 'text/event-stream';
            if (text.length > maxBytes)
              finish({ ok: false, cause: 'other', detail: 'the answer is larger than 4 MiB' });
            else if (isStream && asked.isComplete?.(text) === true) end();
          },
          end,
          error: failed,
        },
      );
    });
  });
}

/** An open event stream, for as long as it is read: the older transport answers there. */
export interface ServerStream {
  /** Resolves with what `read` finds in the text so far, or with undefined once the stream has ended: at the latest when the time is over. */
  wait<T>(read: (text: string) => T | undefined): Promise<T | undefined>;
  close(): void;
}

/** Opens the event stream of the older transport: the stream, or the answer that is none. */
export async function openStream(
  address: ServerAddress,
  path: string,
): Promise<{ readonly stream: ServerStream } | { readonly answer: ServerAnswer }> {
  const closing = new AbortController();
  const opened = Promise.withResolvers<{ readonly stream: ServerStream } | { readonly answer: ServerAnswer }>();
  let text = '';
  let isOver = false;
  let look = (): void => {};
  const stream: ServerStream = {
    wait: (read) =>
      new Promise((resolve) => {
        look = () => {
          const found = read(text);
          if (found !== undefined || isOver) resolve(found);
        };
        look();
      }),
    close: () => closing.abort(),
  };
  void callServer(address, {
    method: 'GET',
    path,
    headers: { accept: 'text/event-stream' },
    signal: closing.signal,
    isComplete(received) {
      text = received;
      opened.resolve({ stream });
      look();
      return false;
    },
  }).then((answer) => {
    isOver = true;
    opened.resolve({ answer });
    look();
  });
  return opened.promise;
}

/** OpenSSL names its own functions and lines; what happened stands between them. */
function shortenTls(text: string): string {
  return text.replace(/[0-9A-F]+:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):.*/s, '$1');
}

/** The Host of its requests. */
export function readHost({ backend, endpoint: { host, port } }: ServerAddress): string {
  if (backend.hostHeader !== '') return backend.hostHeader;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
