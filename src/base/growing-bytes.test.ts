import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GrowingBytes } from './growing-bytes.ts';

test('property: any pieces are the same in one, and the pieces stay as they were', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 5 }),
    fc.uint8Array({ minLength: 1_000, maxLength: 3_000 }),
    // A part of something larger, as sockets give it.
    fc.uint8Array({ minLength: 2_000, maxLength: 5_000 }).map((bytes) => bytes.subarray(500, 1_700)),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.integer({ min: 1, max: 20_000 }), (pieces, maxBytes) => {
      const copies = pieces.map((bytes) => Uint8Array.from(bytes));
      // Announced is what comes first, whatever follows.
      const growing = new GrowingBytes(maxBytes, pieces[0]?.length);
      let size = 0;
      for (const bytes of pieces) {
        const room = growing.measure(bytes.length);
        growing.append(bytes);
        size += bytes.length;
        assert.equal(growing.size, size);
        assert.ok(room >= size && room <= Math.max(1_024, 2 * size) && room <= Math.max(size, maxBytes));
      }
      assert.deepEqual(Buffer.from(growing.take()), Buffer.concat(copies));
      assert.equal(growing.size, 0);
      assert.equal(growing.take().length, 0);
      for (const [index, bytes] of pieces.entries()) assert.deepEqual(bytes, copies[index]);
    }),
  );
});

test('what was taken stays as it is when more comes', () => {
  const growing = new GrowingBytes();
  growing.append(Buffer.from('one'));
  const first = growing.take();
  growing.append(Buffer.from('two'));
  assert.equal(Buffer.from(first).toString(), 'one');
  assert.equal(Buffer.from(growing.take()).toString(), 'two');
});

test('a large piece alone is not copied, a small part of something large is', () => {
  const whole = new Uint8Array(65_536);
  const growing = new GrowingBytes();
  growing.append(whole);
  assert.equal(growing.take().buffer, whole.buffer);
  growing.append(whole.subarray(0, 2_000));
  assert.equal(growing.take().buffer.byteLength, 2_000);
});

test('byte by byte it takes a few allocations and no more than twice its size', () => {
  const growing = new GrowingBytes(1_000_000);
  const rooms = new Set<number>();
  const byte = Uint8Array.of(7);
  for (let count = 0; count < 1_000_000; count += 1) {
    growing.append(byte);
    rooms.add(growing.measure(0));
  }
  assert.ok(rooms.size <= 12, String(rooms.size));
  assert.equal(growing.measure(0), 1_000_000);
  assert.equal(growing.take().length, 1_000_000);
});

test('small texts that were announced and come in one piece share an allocation, and nothing else', () => {
  const texts = Array.from({ length: 100 }, (_, index) => `text ${index} `.repeat(1 + (index % 20)));
  const socket = Buffer.alloc(2_000);
  const taken = texts.map((text) => {
    // The same memory each time, as a socket may use it.
    const length = socket.write(text);
    const growing = new GrowingBytes(10_000, length);
    growing.append(socket.subarray(0, length));
    return growing.take();
  });
  assert.deepEqual(
    taken.map((bytes) => Buffer.from(bytes).toString()),
    texts,
  );
  assert.ok(new Set(taken.map(({ buffer }) => buffer)).size < 5);
  const unannounced = new GrowingBytes(10_000, 9);
  unannounced.append(socket.subarray(0, 8));
  assert.equal(unannounced.take().buffer.byteLength, 1_024);
});
