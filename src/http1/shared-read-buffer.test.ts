import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { largeReadBytes, readIntoSharedBuffer, releaseRead } from './shared-read-buffer.ts';

/** Sends all of it to everyone who connects. */
async function serve(t: TestContext, content: Buffer): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(content);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Reads to the end. Resolves with what `receive` kept of it. */
function read(port: number, receive: (this: Socket, bytes: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', onread: readIntoSharedBuffer(receive) });
    socket.on('end', resolve);
    socket.on('error', reject);
  });
}

test('what is kept stays as it came, whatever comes after it on any connection', async (t) => {
  const content = randomBytes(6_000_000);
  const port = await serve(t, content);
  // Every reader keeps other pieces, and lets go of the rest after a look at it.
  const readers = Array.from({ length: 8 }, async (_, reader) => {
    let at = 0;
    let large = 0;
    const kept: { readonly at: number; readonly bytes: Buffer }[] = [];
    await read(port, (bytes) => {
      assert.ok(bytes.equals(content.subarray(at, at + bytes.length)));
      if (bytes.length >= largeReadBytes) large += 1;
      if ((kept.length + at + reader) % 3 === 0) kept.push({ at, bytes });
      else releaseRead(bytes);
      at += bytes.length;
    });
    assert.equal(at, content.length);
    assert.ok(large > 0);
    for (const { at: from, bytes } of kept)
      assert.ok(bytes.equals(content.subarray(from, from + bytes.length)), `${from}`);
  });
  await Promise.all(readers);
});

test('a buffer that nobody holds is used again, one that somebody holds is not', async (t) => {
  const port = await serve(t, randomBytes(6_000_000));
  const buffers = new Set<ArrayBufferLike>();
  let large = 0;
  await read(port, (bytes) => {
    if (bytes.length < largeReadBytes) return;
    large += 1;
    buffers.add(bytes.buffer);
    releaseRead(bytes);
  });
  const held = new Set<ArrayBufferLike>();
  let all = 0;
  await read(port, (bytes) => {
    if (bytes.length < largeReadBytes) return;
    all += 1;
    held.add(bytes.buffer);
  });
  assert.ok(buffers.size < large, `${buffers.size} buffers for ${large} reads`);
  assert.equal(held.size, all);
});

test('a release of something else, or too late, is none', async (t) => {
  const content = randomBytes(3_000_000);
  const port = await serve(t, content);
  const pieces: Buffer[] = [];
  await read(port, (bytes) => {
    releaseRead(bytes.subarray(0, 10));
    pieces.push(bytes);
    setImmediate(() => releaseRead(bytes));
  });
  assert.ok(Buffer.concat(pieces).equals(content));
});

test('a connection that rests holds no buffer', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(randomBytes(1_000_001));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  let received = 0;
  let wasLarge = false;
  const readBuffers = (socket: object): readonly unknown[] =>
    Object.getOwnPropertySymbols(socket)
      .filter(({ description }) => description === 'own buffer')
      .map((symbol) => (socket as Record<symbol, unknown>)[symbol]);
  const { port } = server.address() as AddressInfo;
  const socket = connect({
    port,
    host: '127.0.0.1',
    onread: readIntoSharedBuffer(function receive(bytes) {
      wasLarge ||= readBuffers(this).some((each) => Buffer.isBuffer(each));
      received += bytes.length;
      if (received === 1_000_001) setImmediate(() => this.emit('all'));
    }),
  });
  t.after(() => {
    socket.destroy();
    server.close();
  });
  await once(socket, 'all');
  assert.ok(wasLarge);
  assert.deepEqual(readBuffers(socket), [undefined]);
});
