import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { encodeGrpcMessage } from '../../base/grpc-prefix.ts';
import { FrameReader, GrpcFrameError } from './grpc-frames.ts';

test('messages come out as they went in, however they are cut on the way', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 }),
      fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1, maxLength: 20 }),
      (messages, cuts) => {
        const wire = Buffer.concat(messages.map(encodeGrpcMessage));
        const reader = new FrameReader(100);
        const read: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < wire.length; turn += 1) {
          const end = at + cuts[turn % cuts.length]!;
          reader.push(wire.subarray(at, end));
          at = end;
          for (let message = reader.take(); message !== undefined; message = reader.take()) read.push(message);
        }
        assert.deepEqual(
          read.map((message) => Buffer.from(message).toString('hex')),
          messages.map((message) => Buffer.from(message).toString('hex')),
        );
        assert.equal(reader.isEmpty, true);
      },
    ),
  );
});

test('a message that is compressed, or larger than allowed, is refused before it is there', () => {
  const compressed = new FrameReader(100);
  compressed.push(Uint8Array.of(1, 0, 0, 0, 0));
  assert.throws(() => compressed.take(), GrpcFrameError);
  const large = new FrameReader(100);
  large.push(Uint8Array.of(0, 0, 0, 0, 101));
  assert.throws(() => large.take(), /101 bytes is larger than 100/);
  const huge = new FrameReader(100);
  huge.push(Uint8Array.of(0, 255, 255, 255, 255));
  assert.throws(() => huge.take(), /4294967295/);
});
