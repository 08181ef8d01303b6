// Bodies are cut into messages, however they arrive.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import * as fc from 'fast-check';
import { gatherMessages } from './gather-messages.ts';

function frame(message: Uint8Array, length = message.length): Uint8Array {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

async function* send(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    const to = Math.min(bytes.length, Math.max(from, cut));
    if (to > from) yield bytes.subarray(from, to);
    from = to;
  }
}

async function gather(body: AsyncIterable<Uint8Array>, announced: number[] = []): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  for await (const message of gatherMessages(body, 1_000, (bytes) => announced.push(bytes)))
    messages.push(Buffer.from(message));
  return messages;
}

test('any messages, cut anywhere, come out as they went in, each announced once', async () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 });
  const cuts = fc.array(fc.nat(500), { maxLength: 40, size: 'max' }).map((list) => list.toSorted((a, b) => a - b));
  await fc.assert(
    fc.asyncProperty(messages, cuts, async (contents, at) => {
      const frames = contents.map((content) => Buffer.from(frame(content)));
      const announced: number[] = [];
      assert.deepEqual(await gather(send(Buffer.concat(frames), at), announced), frames);
      assert.deepEqual(
        announced,
        frames.map(({ length }) => length),
      );
    }),
  );
});

test('byte by byte, and with an incomplete message at the end', async () => {
  const bytes = Buffer.concat([frame(Buffer.from('hello')), frame(Buffer.from('world')).subarray(0, 7)]);
  const pieces = await gather(send(bytes, [...bytes.keys()]));
  assert.deepEqual(
    pieces.map(({ length }) => length),
    [10, 7],
  );
});

test('a message that is too large is refused when it is announced, and so is one that is not wanted', async () => {
  const refused = (error: unknown): boolean => error instanceof ConnectError && error.code === Code.ResourceExhausted;
  await assert.rejects(gather(send(frame(Buffer.alloc(1), 1_001), [])), refused);
  const unwanted = gatherMessages(send(frame(Buffer.alloc(0), 900), []), 1_000, () => {
    throw new ConnectError('no room', Code.ResourceExhausted);
  });
  await assert.rejects(unwanted.next(), refused);
});
