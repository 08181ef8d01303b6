import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { encodeGrpcMessage, GrpcFrameReader, grpcPrefixBytes } from './grpc-frames.ts';

test('messages come out as they went in, however they are cut on the way', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 }),
      fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1, maxLength: 20 }),
      (messages, cuts) => {
        const wire = Buffer.concat(messages.map(encodeGrpcMessage));
        const announced: number[] = [];
        const reader = new GrpcFrameReader((length) => announced.push(length));
        const read: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < wire.length; turn += 1) {
          const end = at + cuts[turn % cuts.length]!;
          reader.push(wire.subarray(at, end));
          at = end;
          for (let message = reader.take(); message !== undefined; message = reader.take())
            read.push(message.subarray(grpcPrefixBytes));
        }
        assert.deepEqual(
          read.map((message) => Buffer.from(message).toString('hex')),
          messages.map((message) => Buffer.from(message).toString('hex')),
        );
        assert.deepEqual(
          announced,
          messages.map(({ length }) => length),
        );
        assert.equal(reader.takeRest().length, 0);
      },
    ),
  );
});

test('each message is announced before it has arrived, once, and can be refused then', () => {
  const announced: string[] = [];
  const reader = new GrpcFrameReader((length, isCompressed) => announced.push(`${length} ${isCompressed}`));
  reader.push(Uint8Array.of(1, 0, 0, 0, 3, 7));
  assert.equal(reader.take(), undefined);
  reader.push(Uint8Array.of(8, 9, 0, 255));
  assert.deepEqual([...(reader.take() ?? [])], [1, 0, 0, 0, 3, 7, 8, 9]);
  assert.equal(reader.take(), undefined);
  reader.push(Uint8Array.of(255, 255, 255));
  assert.equal(reader.take(), undefined);
  assert.deepEqual(announced, ['3 true', `${2 ** 32 - 1} false`]);
  assert.deepEqual([...reader.takeRest()], [0, 255, 255, 255, 255]);
  const refusing = new GrpcFrameReader((length) => {
    throw new Error(`no room for ${length}`);
  });
  refusing.push(Uint8Array.of(0, 0, 0, 0, 101));
  assert.throws(() => refusing.take(), /no room for 101/);
});

test('a whole message in one piece is not copied', () => {
  const wire = encodeGrpcMessage(Buffer.from('hello'));
  const reader = new GrpcFrameReader(() => {});
  reader.push(wire);
  assert.equal(reader.take()?.buffer, wire.buffer);
});
