// Open ports for tests of the listening side, and a client that sends exactly the bytes it is told to.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import type { PortConfig } from '../../src/gateway/config/runtime-config.ts';
import type { BodySink, Exchange, RawHeaders } from '../../src/gateway/http/exchange.ts';
import type { ExchangeHandler, ListenEvent } from '../../src/gateway/listen/port-context.ts';
import { defaultListenLimits, type ListenLimits } from '../../src/gateway/listen/limits.ts';
import { createListeners, type Listeners } from '../../src/gateway/listen/listeners.ts';
import { waitFor } from '../kit/wait-for.ts';

/** A port configuration without routes: the tests bring their own handler. */
export function createPortConfig(overrides: Partial<PortConfig> = {}): PortConfig {
  const address = overrides.address ?? '127.0.0.1';
  const port = overrides.port ?? 0;
  return {
    bindKey: `${address}|${port}`,
    address,
    port,
    protocol: 'HTTP',
    listeners: { find: () => undefined, entries: () => [] } as never,
    selectCertificate: undefined,
    ...overrides,
  };
}

/** Configurations by their bind keys, as reconcile takes them. */
export function toPorts(...configs: PortConfig[]): Map<string, PortConfig> {
  return new Map(configs.map((config) => [config.bindKey, config]));
}

/** An open port and what happened on it. */
export interface OpenPortFixture {
  readonly listeners: Listeners;
  readonly port: number;
  readonly config: PortConfig;
  readonly events: ListenEvent[];
}

/** Opens one port on loopback; it closes with the test. */
export async function openPort(
  t: TestContext,
  handler: ExchangeHandler,
  options: { limits?: Partial<ListenLimits>; config?: Partial<PortConfig>; drainMs?: number } = {},
): Promise<OpenPortFixture> {
  const events: ListenEvent[] = [];
  const listeners = createListeners({
    handler,
    limits: { ...defaultListenLimits, ...options.limits },
    log: silentLog,
    onEvent: (event) => events.push(event),
    ...(options.drainMs === undefined ? {} : { drainMs: options.drainMs }),
  });
  t.after(() => listeners.drain({ timeoutMs: 0 }));
  const config = createPortConfig(options.config);
  const problems = await listeners.reconcile(toPorts(config));
  if (problems.length > 0) throw new Error(problems[0]!.message);
  return { listeners, port: listeners.addresses().get(config.bindKey)!.port, config, events };
}

/** Does it again and again, with a turn of the event loop in between, until the condition holds. */
export async function repeatUntil(condition: () => boolean, action: () => void): Promise<void> {
  await waitFor(
    String(condition),
    () => {
      if (condition()) return true;
      action();
      return false;
    },
    { intervalMs: 0 },
  );
}

/** A client that writes raw bytes and keeps all that comes back. */
export class RawClient {
  readonly stream: Duplex;
  received = '';
  ended = false;
  closed = false;
  error: NodeJS.ErrnoException | undefined;

  constructor(stream: Duplex) {
    this.stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
    });
    stream.on('end', () => {
      this.ended = true;
    });
    stream.on('error', (error) => {
      this.error = error;
    });
    stream.on('close', () => {
      this.closed = true;
    });
  }

  send(text: string): void {
    this.stream.write(Buffer.from(text, 'latin1'));
  }

  async waitForText(text: string): Promise<string> {
    await waitFor(() => this.received.includes(text) || this.closed);
    if (!this.received.includes(text)) {
      throw new Error(
        `connection closed before ${JSON.stringify(text)} came; received ${JSON.stringify(this.received)}`,
      );
    }
    return this.received;
  }

  /** All that came until the gateway closed the connection. */
  async waitForClose(): Promise<string> {
    await waitFor(() => this.closed);
    return this.received;
  }
}

export async function connectRaw(
  t: TestContext,
  port: number,
  options: { allowHalfOpen?: boolean } = {},
): Promise<RawClient> {
  const socket: Socket = connect({ port, host: '127.0.0.1', ...options });
  t.after(() => socket.destroy());
  const client = new RawClient(socket);
  await once(socket, 'connect');
  return client;
}

/** The whole body of a request, or the error it ended with. */
export interface CollectedBody {
  readonly text: string;
  readonly trailers: RawHeaders;
}

/** Reads the whole request body. */
export function collectBody(exchange: Exchange): Promise<CollectedBody> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    const sink: BodySink = {
      write(chunk) {
        chunks.push(Buffer.from(chunk));
        return true;
      },
      end: (trailers) => resolve({ text: Buffer.concat(chunks).toString(), trailers }),
      fail: reject,
    };
    exchange.readBody(sink);
  });
}

/** How an exchange ended. */
export interface ClosedExchange {
  readonly clean: boolean;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

/** Resolves with what onClose told. */
export function waitForExchangeClose(exchange: Exchange): Promise<ClosedExchange> {
  return new Promise((resolve) => {
    exchange.onClose((clean, bytesSent, bytesReceived) => resolve({ clean, bytesSent, bytesReceived }));
  });
}

/** Answers every request with what arrived: method, target, authority and body. */
export const echoHandler: ExchangeHandler = (exchange) => {
  void answerWithEcho(exchange);
};

async function answerWithEcho(exchange: Exchange): Promise<void> {
  let text: string;
  try {
    ({ text } = await collectBody(exchange));
  } catch {
    return;
  }
  const { method, target, authority, httpVersion: version } = exchange;
  const body = JSON.stringify({ method, target, authority, version, body: text });
  exchange.respond(200, ['content-type', 'application/json'], body);
}

/** Body of a raw HTTP/1 answer as the gateway's error JSON. */
export function readErrorAnswer(answer: string): { status: number; error: string; requestId: string; headers: string } {
  const [headers = '', body = ''] = answer.split('\r\n\r\n', 2);
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(headers)?.[1]);
  const json = JSON.parse(body) as { error: string; request_id: string; error_description: string };
  if (json.error_description === '') throw new Error('an error answer without a description');
  return { status, error: json.error, requestId: json.request_id, headers };
}
