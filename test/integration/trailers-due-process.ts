// The gateway's two ends of HTTP/2 in a process of their own, which a test may see die. `listen`: a port; `call`: calls to the h2c upstream on
// the port that is given. Both take orders over HTTP/1, and say on standard output on which port.
import { readSync, writeSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { silentLog } from '../../src/base/log.ts';
import { Http2Sessions } from '../../src/gateway/forward/upstream/http2-call.ts';
import type { UpstreamCall } from '../../src/gateway/forward/upstream/upstream-call.ts';
import type { Exchange } from '../../src/gateway/http/exchange.ts';
import { defaultListenLimits } from '../../src/gateway/listen/limits.ts';
import { createListeners } from '../../src/gateway/listen/listeners.ts';
import { createPortConfig, toPorts } from './listen-fixture.ts';

const say = (line: string): number => writeSync(1, `${line}\n`);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Writes until nothing was taken for many turns: the other side does not read, and the last write stays under way. */
class SocketFiller {
  readonly #write: (chunk: Uint8Array) => boolean;
  readonly #chunk = Buffer.alloc(65_536);
  #quietTurns = 0;

  constructor(write: (chunk: Uint8Array) => boolean) {
    this.#write = write;
  }

  onDrain(): void {
    this.#quietTurns = 0;
    while (this.#write(this.#chunk));
  }

  async fill(): Promise<void> {
    this.onDrain();
    for (; this.#quietTurns < 1_000; this.#quietTurns += 1) await turn();
    say('busy');
  }
}

let held: { abort(): void } | undefined;

const orders: Record<string, () => void> = {
  '/abort': () => held!.abort(),
  // Nothing is read or written until the test says so: then both are due at once.
  '/stall': () => {
    say('stalled');
    readSync(0, Buffer.alloc(1));
  },
  '/call': () => (held = startCall(() => {})),
  '/call-and-leave': () => (held = startCall(() => held!.abort())),
  '/call-much': () => {
    const filler = new SocketFiller((chunk) => call.writeBody(chunk));
    const call = startCall(
      () => {},
      () => void setImmediate(() => filler.fill()),
      () => filler.onDrain(),
    );
  },
};

const obey: RequestListener = async (request, response) => {
  orders[request.url!]?.();
  for (let count = 0; count < 5; count += 1) await turn();
  response.end('done');
};

function serve(exchange: Exchange): void {
  exchange.readBody({ write: () => true, end: () => {}, fail: () => {} });
  exchange.sendHead(200, []);
  if (exchange.target === '/held') {
    held = exchange;
    say('held');
    return;
  }
  const filler = new SocketFiller((chunk) => exchange.write(chunk));
  exchange.onDrain(() => filler.onDrain());
  void filler.fill();
}

const sessions = new Http2Sessions(
  (callback) => {
    const socket = connect(Number(process.argv[3]), '127.0.0.1', () => callback(null, socket));
    socket.on('error', () => {});
  },
  100,
  0,
);

function startCall(onHead: () => void, onStart = (): void => {}, onBodyDrain = (): void => {}): UpstreamCall {
  const nothing = (): void => {};
  const call = sessions.createCall(
    {
      method: 'POST',
      target: '/',
      host: 'x',
      headers: [],
      hasBody: true,
      contentLength: undefined,
      wantsTrailers: true,
      upgrade: undefined,
    },
    {
      onStart,
      onInformational: nothing,
      onHead,
      onData: () => true,
      onEnd: nothing,
      onUpgrade: nothing,
      onBodyDrain,
      onBodyRefused: nothing,
      onError: nothing,
    },
    nothing,
  );
  call.start();
  return call;
}

async function listen(): Promise<number> {
  const config = createPortConfig();
  const listeners = createListeners({ handler: serve, limits: defaultListenLimits, log: silentLog, onEvent: () => {} });
  await listeners.reconcile(toPorts(config));
  return listeners.addresses().get(config.bindKey)!.port;
}

const control = createServer(obey).listen(0, '127.0.0.1', async () => {
  const { port } = control.address() as AddressInfo;
  say(process.argv[2] === 'call' ? `ports ${port}` : `ports ${port} ${await listen()}`);
});
