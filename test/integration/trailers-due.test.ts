// HTTP/2 streams that end early while node waits to be given their trailers. Node 26 aborts the process when such a stream is destroyed at the
// wrong moment, and a peer can choose the moment: so the gateway's side runs in a child that must survive.
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openPort } from './listen-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };

const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4, windowUpdate: 8 } as const;
const endOfStream = 1;
const endOfHeaders = 4;

function formatFrame(type: keyof typeof frameTypes, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = frameTypes[type];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function formatWindowUpdate(stream: number, bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return formatFrame('windowUpdate', 0, stream, payload);
}

/** Settings with this much window for every stream, and as much as there is for the connection. */
function formatGreeting(window: number): Buffer {
  const setting = Buffer.alloc(6);
  setting.writeUInt16BE(4);
  setting.writeUInt32BE(window, 2);
  return Buffer.concat([formatFrame('settings', 0, 0, setting), formatWindowUpdate(0, 2 ** 31 - 65_536)]);
}

/** A POST without its body. */
function formatRequest(stream: number, path: string): Buffer {
  const fields = [0x83, 0x86, 0x04, path.length, ...Buffer.from(path), 0x01, 1, ...Buffer.from('x')];
  return formatFrame('headers', endOfHeaders, stream, Buffer.from(fields));
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const maxWindow = 2 ** 31 - 1;

interface Frame {
  readonly type: number | undefined;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

function readFrames(received: Buffer, offset: number): Frame[] {
  const frames: Frame[] = [];
  for (let at = offset; at + 9 <= received.length;) {
    const end = at + 9 + received.readUIntBE(at, 3);
    if (end > received.length) break;
    const payload = received.subarray(at + 9, end);
    frames.push({ type: received[at + 3], flags: received[at + 4]!, stream: received.readUInt32BE(at + 5), payload });
    at = end;
  }
  return frames;
}

interface Child {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly ports: number[];
  /** It has said this. */
  waitForLine(line: string): Promise<void>;
  order(path: string): Promise<string>;
}

async function startChild(t: TestContext, ...args: string[]): Promise<Child> {
  const script = fileURLToPath(new URL('trailers-due-process.ts', import.meta.url));
  // What node says when it aborts is not hidden.
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const waitForLine = async (start: string): Promise<void> => {
    const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
    await waitFor(() => lines.some((line) => line.startsWith(start)) || isOver());
    if (isOver()) throw new Error(`the process ended: ${child.signalCode ?? child.exitCode}`);
  };
  await waitForLine('ports');
  const ports = lines[0]!.split(' ').slice(1).map(Number);
  const order = async (path: string): Promise<string> => {
    const [response] = (await once(get({ port: ports[0]!, host: '127.0.0.1', path, agent: false }), 'response')) as [
      Readable,
    ];
    return (await response.setEncoding('utf8').toArray()).join('');
  };
  return { process: child, ports, waitForLine, order };
}

/** Sends these bytes and takes all that the kernel has, while the child does neither; it then finds both done at once. */
async function surprise(child: Child, socket: Socket, bytes: Buffer): Promise<void> {
  const answer = child.order('/stall');
  answer.catch(() => {});
  await child.waitForLine('stalled');
  socket.write(bytes);
  let received = 0;
  socket.on('data', (chunk: Buffer) => (received += chunk.length));
  socket.resume();
  let quietTurns = 0;
  for (let before = -1; quietTurns < 1_000; before = received) {
    await new Promise((resolve) => setImmediate(resolve));
    quietTurns = received === before && received > 0 ? quietTurns + 1 : 0;
  }
  socket.pause();
  child.process.stdin.write('.');
  assert.equal(await answer, 'done');
  // It has not only survived the moment.
  assert.equal(await child.order('/'), 'done');
}

test('an answer that is broken off on a busy connection when its request ends', options, async (t) => {
  const child = await startChild(t, 'listen');
  const socket = connect(child.ports[1]!, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.write(Buffer.concat([preface, formatGreeting(maxWindow), formatRequest(1, '/held')]));
  await child.waitForLine('held');
  socket.write(formatRequest(3, '/much'));
  await child.waitForLine('busy');
  assert.equal(await child.order('/abort'), 'done');
  await surprise(child, socket, formatFrame('data', endOfStream, 1));
});

async function startUpstream(t: TestContext): Promise<{ port: number; connected: Promise<Socket> }> {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.write(formatGreeting(maxWindow));
    resolve(socket);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, connected: promise };
}

const answerHead = Buffer.from([0x88]);

test('a request that is broken off on a busy connection when its answer ends', options, async (t) => {
  const { port, connected } = await startUpstream(t);
  const child = await startChild(t, 'call', String(port));
  await child.order('/call');
  await child.order('/call-much');
  await child.waitForLine('busy');
  assert.equal(await child.order('/abort'), 'done');
  const end = [formatFrame('headers', endOfHeaders, 1, answerHead), formatFrame('data', endOfStream, 1)];
  await surprise(child, await connected, Buffer.concat(end));
});

test('a request that is broken off because of an answer that is complete', options, async (t) => {
  const { port, connected } = await startUpstream(t);
  const child = await startChild(t, 'call', String(port));
  await child.order('/call-and-leave');
  const socket = await connected;
  let received = Buffer.alloc(0);
  const find = (type: keyof typeof frameTypes): Frame | undefined =>
    readFrames(received, preface.length).find((frame) => frame.type === frameTypes[type]);
  const findReset = (): Frame | undefined => find('reset');
  socket.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
  // An answer before its request would be an error of the connection.
  await waitFor(() => find('headers') !== undefined);
  socket.write(formatFrame('headers', endOfHeaders | endOfStream, 1, answerHead));
  await waitFor(() => findReset() !== undefined || child.process.signalCode !== null);
  assert.equal(child.process.signalCode, null);
  assert.deepEqual([findReset()!.stream, findReset()!.payload.readUInt32BE()], [1, 8]);
  assert.equal(await child.order('/'), 'done');
});

test(
  'an answer that fills the window ends with its trailers, and only then is the request dropped',
  options,
  async (t) => {
    let ended = false;
    const { port } = await openPort(t, (exchange) => {
      exchange.onClose(() => (ended = true));
      exchange.sendHead(200, []);
      exchange.write(Buffer.from('hello'));
      exchange.end(['x-sum', '5']);
    });
    const socket = connect(port, '127.0.0.1');
    t.after(() => socket.destroy());
    let received = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
    socket.write(Buffer.concat([preface, formatGreeting('hello'.length), formatRequest(1, '/')]));
    await waitFor(() => ended);
    // Longer than the gateway waits with the reset.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    socket.write(formatWindowUpdate(1, 100));
    const ofStream = (): Frame[] => readFrames(received, 0).filter((frame) => frame.stream === 1);
    await waitFor(() => ofStream().some((frame) => frame.type === frameTypes.reset));
    const kinds = ofStream().map(({ type, flags, payload }) => [type, flags & endOfStream, payload.length > 0]);
    assert.deepEqual(kinds, [
      [frameTypes.headers, 0, true],
      [frameTypes.data, 0, true],
      [frameTypes.headers, endOfStream, true],
      [frameTypes.reset, 0, true],
    ]);
  },
);
