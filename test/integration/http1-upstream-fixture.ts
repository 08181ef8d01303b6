// One endpoint that says byte for byte what a test wants, and calls to it whose events are written down.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { EndpointPool } from '../../src/gateway/forward/upstream/endpoint-pool.ts';
import type {
  UpstreamCall,
  UpstreamEvents,
  UpstreamRequest,
} from '../../src/gateway/forward/upstream/upstream-call.ts';
import { defaultUpstreamLimits, type UpstreamLimits } from '../../src/gateway/forward/upstream/upstream-limits.ts';
import { silentUpstreamObserver } from '../../src/gateway/forward/upstream/upstream-observer.ts';
import type { RawHeaders } from '../../src/http1/raw-headers.ts';
import { startRawUpstream } from './forwarding-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

/** The upstream's end of a connection. */
export class UpstreamPeer {
  readonly socket: Socket;
  received = '';
  isEnded = false;
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => (this.received += chunk.toString('latin1')));
    socket.once('end', () => (this.isEnded = true));
    socket.once('close', () => (this.isClosed = true));
  }

  /** Waits for a text, and forgets everything that has come so far. */
  async expect(text: string): Promise<string> {
    await waitFor(() => this.received.includes(text));
    const { received } = this;
    this.received = '';
    return received;
  }

  /** The gateway has closed its side. */
  async gone(): Promise<void> {
    await waitFor(() => this.isEnded || this.isClosed);
  }
}

export interface TestEndpoint {
  readonly pool: EndpointPool;
  /** In order of their connections. */
  readonly peers: UpstreamPeer[];
  /** The n-th connection (from 0). */
  readonly peer: (index: number) => Promise<UpstreamPeer>;
}

export async function startEndpoint(
  t: TestContext,
  options: { limits?: Partial<UpstreamLimits>; now?: () => number } = {},
): Promise<TestEndpoint> {
  const peers: UpstreamPeer[] = [];
  const port = await startRawUpstream(t, (socket) => void peers.push(new UpstreamPeer(socket)));
  const pool = new EndpointPool({
    host: '127.0.0.1',
    port,
    settings: { tls: undefined, protocol: 'http1', connectTimeoutMs: 5_000 },
    limits: { ...defaultUpstreamLimits, ...options.limits },
    now: options.now ?? (() => performance.now()),
    backend: 'default/upstream',
    observer: silentUpstreamObserver,
  });
  t.after(() => pool.destroy(new Error('the test is over')));
  const peer = async (index: number): Promise<UpstreamPeer> => {
    await waitFor(() => peers.length > index);
    return peers[index]!;
  };
  return { pool, peers, peer };
}

/** A call, and everything that it told. */
export class RecordedCall implements UpstreamEvents {
  readonly call: UpstreamCall;
  /** The events in order, without the bytes. */
  readonly events: string[] = [];
  readonly chunks: Uint8Array[] = [];
  status = 0;
  headers: RawHeaders = [];
  trailers: RawHeaders = [];
  informational: [number, RawHeaders][] = [];
  error: Error | undefined;
  stream: Duplex | undefined;
  /** What onData returns. */
  takesMore = true;
  /** Runs in the event. */
  during: ((event: string) => void) | undefined;

  constructor(pool: EndpointPool, request: Partial<UpstreamRequest> = {}) {
    this.call = pool.createCall(
      {
        method: 'GET',
        target: '/',
        host: 'upstream.example',
        headers: [],
        hasBody: false,
        contentLength: undefined,
        wantsTrailers: false,
        upgrade: undefined,
        ...request,
      },
      this,
    );
  }

  get body(): string {
    return Buffer.concat(this.chunks).toString('latin1');
  }

  get isOver(): boolean {
    return this.events.includes('end') || this.events.includes('error') || this.events.includes('upgrade');
  }

  /** Until its end, which must be a good one. */
  async complete(): Promise<this> {
    await waitFor(() => this.isOver);
    if (this.error !== undefined) throw this.error;
    return this;
  }

  async failed(): Promise<Error> {
    await waitFor(() => this.error !== undefined);
    return this.error!;
  }

  async saw(event: string): Promise<void> {
    await waitFor(() => this.events.includes(event));
  }

  #note(event: string): void {
    this.events.push(event);
    this.during?.(event);
  }

  onStart(): void {
    this.#note('start');
  }

  onInformational(status: number, headers: RawHeaders): void {
    this.informational.push([status, headers]);
    this.#note('informational');
  }

  onHead(status: number, headers: RawHeaders): void {
    this.status = status;
    this.headers = headers;
    this.#note('head');
  }

  onData(chunk: Uint8Array): boolean {
    this.chunks.push(Buffer.from(chunk));
    if (this.events.at(-1) !== 'data') this.events.push('data');
    this.during?.('data');
    return this.takesMore;
  }

  onEnd(trailers: RawHeaders): void {
    this.trailers = trailers;
    this.#note('end');
  }

  onUpgrade(status: number, headers: RawHeaders, stream: Duplex): void {
    this.status = status;
    this.headers = headers;
    this.stream = stream;
    this.#note('upgrade');
  }

  onBodyDrain(): void {
    this.#note('drain');
  }

  onBodyRefused(): void {
    this.#note('refused');
  }

  onError(error: Error): void {
    this.error = error;
    this.#note('error');
  }
}

/** Starts a call. */
export function send(pool: EndpointPool, request?: Partial<UpstreamRequest>): RecordedCall {
  const recorded = new RecordedCall(pool, request);
  recorded.call.start();
  return recorded;
}
