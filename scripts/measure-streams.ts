// Measures what open event streams cost the gateway: bytes of memory per stream, and whether readers that do not read
// make it grow. `npm run measure:streams`; `-- --streams 500` for a short run. Linux only: it reads /proc.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { GatewayProcessRun } from '../test/kit/run-gateway.ts';
import { startTargetGatewayProcess } from '../test/mcp/target-gateway.ts';

const mebibyte = 1024 * 1024;
const observedSeconds = 15;
const { values } = parseArgs({
  options: { streams: { type: 'string', multiple: true }, 'slow-readers': { type: 'string', default: '100' } },
});
const slowReaders = Number(values['slow-readers']);
const sizes = (values.streams ?? ['2000', '10000']).map(Number);

interface UpstreamState {
  readonly streams: number;
  readonly bytesSent: number;
}

interface OpenStreams {
  /** How they were opened. */
  readonly description: string;
  close(): void;
}

async function readRss(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** Waits until memory has stopped moving: three readings in a row within half a percent. */
async function readSettledRss(pid: number): Promise<number> {
  let readings: number[] = [];
  for (;;) {
    readings = [...readings, await readRss(pid)].slice(-4);
    if (readings.length === 4 && Math.max(...readings) - Math.min(...readings) < readings[0]! * 0.005)
      return readings[3]!;
    await delay(1_000);
  }
}

async function readOpenFileLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
}

async function askUpstream(upstream: ChildProcess): Promise<UpstreamState> {
  upstream.send('state');
  const [state] = (await once(upstream, 'message')) as [UpstreamState];
  return state;
}

function openHttp1Stream(url: URL): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: Number(url.port) });
    let received = '';
    const hear = (chunk: Buffer): void => {
      received += chunk.toString('latin1');
      // The first event after the head: the stream is open all the way from the upstream.
      if (!received.includes('\r\n\r\n') || !received.includes('data: ')) return;
      if (!received.startsWith('HTTP/1.1 200')) {
        socket.destroy();
        reject(new Error(`The gateway answered ${received.slice(0, 300)}`));
        return;
      }
      socket.off('data', hear);
      socket.on('data', () => undefined);
      resolve(socket);
    };
    socket.on('data', hear);
    socket.once('error', reject);
    socket.write(`GET ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\naccept: text/event-stream\r\n\r\n`);
  });
}

async function openHttp2Streams(url: URL, count: number): Promise<ClientHttp2Session> {
  const session = connectHttp2(url.origin);
  await once(session, 'connect');
  await Promise.all(
    Array.from({ length: count }, async () => {
      const stream = session.request({ ':path': url.pathname, accept: 'text/event-stream' });
      await once(stream, 'data');
      stream.resume();
    }),
  );
  return session;
}

async function inBatches(count: number, size: number, open: (batch: number) => Promise<void>): Promise<void> {
  for (let opened = 0; opened < count; opened += size) await open(Math.min(size, count - opened));
}

/** Opens streams over HTTP/1.1, and over HTTP/2 as many as the open-file limit leaves no room for. */
async function openStreams(url: URL, count: number, http1Room: number): Promise<OpenStreams> {
  const sockets: Socket[] = [];
  const sessions: ClientHttp2Session[] = [];
  const overHttp1 = Math.min(count, http1Room);
  await inBatches(overHttp1, 100, async (batch) => {
    sockets.push(...(await Promise.all(Array.from({ length: batch }, () => openHttp1Stream(url)))));
  });
  await inBatches(count - overHttp1, 100, async (batch) => {
    sessions.push(await openHttp2Streams(url, batch));
  });
  const parts = [
    ...(overHttp1 > 0 ? [`${overHttp1} over HTTP/1.1`] : []),
    ...(overHttp1 < count ? [`${count - overHttp1} over HTTP/2, 100 per connection`] : []),
  ];
  return {
    description: parts.join(', '),
    close() {
      for (const socket of sockets) socket.destroy();
      for (const session of sessions) session.destroy();
    },
  };
}

interface Setting {
  readonly gateway: GatewayProcessRun;
  readonly upstream: ChildProcess;
}

async function withGateway(
  upstreamUrl: string,
  upstream: ChildProcess,
  measure: (setting: Setting) => Promise<void>,
): Promise<void> {
  const gateway = await startTargetGatewayProcess({
    targets: { streams: { url: upstreamUrl } },
    flags: [
      '--max-connections',
      '40000',
      '--max-upstream-requests',
      '40000',
      '--log-level',
      'warn',
      '--drain-timeout',
      '1s',
    ],
  });
  try {
    await measure({ gateway, upstream });
  } finally {
    await gateway.stop();
  }
}

async function measureIdleStreams({ gateway, upstream }: Setting, count: number, http1Room: number): Promise<void> {
  const url = new URL(gateway.urlOf('streams'));
  // A first round lets code be compiled and buffers grow, which is paid once and not per stream.
  const warmUp = await openStreams(url, Math.min(count, 200), http1Room === 0 ? 0 : 100);
  warmUp.close();
  while ((await askUpstream(upstream)).streams > 0) await delay(50);
  const before = await readSettledRss(gateway.child.pid);
  const streams = await openStreams(url, count, http1Room);
  const { streams: reached } = await askUpstream(upstream);
  const after = await readSettledRss(gateway.child.pid);
  console.log(
    `${count} streams (${streams.description}; ${reached} at the upstream): ` +
      `RSS ${format(before)} -> ${format(after)}, ${Math.round((after - before) / count)} bytes per stream`,
  );
  if (reached !== count) process.exitCode = 1;
  streams.close();
  while ((await askUpstream(upstream)).streams > 0) await delay(50);
}

/** The largest of the readings over a while. */
async function observeRss(pid: number): Promise<number> {
  let largest = 0;
  for (let second = 0; second < observedSeconds; second += 1) {
    await delay(1_000);
    largest = Math.max(largest, await readRss(pid));
  }
  return largest;
}

/** A reader that never reads: without a data listener, Node fills one buffer and leaves the rest in the kernel. */
async function openSlowReader(url: URL): Promise<IncomingMessage> {
  const request = get(url, { agent: false, headers: { accept: 'text/event-stream' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
}

async function measureSlowReaders({ gateway, upstream }: Setting): Promise<void> {
  const url = new URL(`${gateway.urlOf('streams')}/flood`);
  // Readers that do read come first: what the heap takes for passing bytes on at full speed is paid once.
  await Promise.all(Array.from({ length: 20 }, async () => readSome(await openSlowReader(url), 32 * mebibyte)));
  while ((await askUpstream(upstream)).streams > 0) await delay(50);
  const before = await readSettledRss(gateway.child.pid);
  const { bytesSent: sentBefore } = await askUpstream(upstream);
  const readers = await Promise.all(Array.from({ length: slowReaders }, () => openSlowReader(url)));
  // The buffers of the kernel on the way fill up first. When the upstream cannot send any more, everybody waits.
  let state = await askUpstream(upstream);
  for (;;) {
    await delay(1_000);
    const next = await askUpstream(upstream);
    if (next.streams === slowReaders && next.bytesSent === state.bytesSent) break;
    state = next;
  }
  const standing = await readRss(gateway.child.pid);
  const still = await observeRss(gateway.child.pid);
  const accepted = (state.bytesSent - sentBefore) / slowReaders;
  console.log(
    `${slowReaders} readers that do not read: the upstream could send ${format(accepted)} each, into buffers on the way. ` +
      `RSS ${format(before)} before, ${format(standing)} when all stood still ` +
      `(${Math.round((standing - before) / slowReaders)} bytes per reader), ${format(still)} after ${observedSeconds} s more`,
  );
  const [first, ...others] = readers;
  const reading = others.map((reader) => setInterval(() => void reader.read(16_384), 100));
  const trickling = await observeRss(gateway.child.pid);
  for (const timer of reading) clearInterval(timer);
  const { bytesSent: sentAfter } = await askUpstream(upstream);
  console.log(
    `Then they read 16 KiB ten times a second for ${observedSeconds} s: the upstream sent ${format(sentAfter - state.bytesSent)} ` +
      `more, RSS at most ${format(trickling)}`,
  );
  const flat = still - standing < 8 * mebibyte && trickling - standing < 32 * mebibyte;
  const bounded = standing - before < 32 * mebibyte + slowReaders * (mebibyte / 2);
  console.log(flat && bounded ? 'The gateway does not grow with what is sent.' : 'THE GATEWAY GROWS.');
  if (!flat || !bounded) process.exitCode = 1;
  await checkOrder(first!);
  for (const reader of readers) reader.destroy();
}

async function readSome(reader: IncomingMessage, wanted: number): Promise<void> {
  let bytes = 0;
  for await (const chunk of reader as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes >= wanted) break;
  }
}

/** The reader that reads at last gets every event once and in order. */
async function checkOrder(reader: IncomingMessage): Promise<void> {
  const wanted = 2_000;
  let text = '';
  let expected = 1;
  reader.setEncoding('latin1');
  for await (const chunk of reader as AsyncIterable<string>) {
    text += chunk;
    for (const match of text.matchAll(/id: (\d+)\n/g)) {
      if (Number(match[1]) !== expected) {
        console.log(`EVENT ${expected} IS MISSING: event ${match[1]} came instead.`);
        process.exitCode = 1;
        return;
      }
      expected += 1;
    }
    text = text.slice(text.lastIndexOf('\n') + 1);
    if (expected > wanted) break;
  }
  console.log(`One of them reads at last: ${expected - 1} events of 16 KiB, none lost, none twice.`);
}

function format(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(1)} MiB`;
}

const upstream = fork(new URL('stream-upstream.ts', import.meta.url));
const [{ port }] = (await once(upstream, 'message')) as [{ port: number }];
const upstreamUrl = `http://127.0.0.1:${port}/mcp`;
const limit = await readOpenFileLimit();
// Over HTTP/1.1 a stream takes two descriptors of the gateway; some hundred are left for everything else.
const room = Math.floor((limit - 400) / 2);
console.log(`Open files: at most ${limit} per process. Every line has a gateway process of its own.`);
try {
  for (const count of sizes) {
    await withGateway(upstreamUrl, upstream, (setting) => measureIdleStreams(setting, count, room));
  }
  await withGateway(upstreamUrl, upstream, (setting) => measureIdleStreams(setting, sizes.at(-1)!, 0));
  await withGateway(upstreamUrl, upstream, (setting) => measureSlowReaders(setting));
} finally {
  upstream.disconnect();
}
