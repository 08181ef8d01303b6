import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { WatchEvent } from './client.ts';
import { readWatchEvents, WatchStreamError } from './watch-stream.ts';

async function read(...chunks: (string | Buffer)[]): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  const stream = (async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk);
  })();
  for await (const event of readWatchEvents(stream)) events.push(event);
  return events;
}

test('events come through whatever the chunks are', async () => {
  const event = fc.record({
    type: fc.constantFrom('ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'),
    object: fc.record({ metadata: fc.record({ name: fc.string({ unit: 'grapheme' }) }) }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(event), fc.array(fc.nat({ max: 300 })), async (events, cuts) => {
      const bytes = Buffer.from(events.map((each) => `${JSON.stringify(each)}\n`).join(''));
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].toSorted((a, b) => a - b);
      const chunks = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
      assert.deepEqual(await read(...chunks), JSON.parse(JSON.stringify(events)));
    }),
  );
});

test('an error event has its status', async () => {
  const object = {
    kind: 'Status',
    code: 410,
    reason: 'Expired',
    message: 'too old',
    details: { retryAfterSeconds: 3 },
  };
  assert.deepEqual(await read(`${JSON.stringify({ type: 'ERROR', object })}\n`), [
    { type: 'ERROR', status: { code: 410, reason: 'Expired', message: 'too old', retryAfterSeconds: 3 } },
  ]);
  const [bare] = await read('{"type":"ERROR"}\n');
  assert.ok(bare?.type === 'ERROR' && bare.status.code === 500);
});

test('empty lines and types of the future are passed over', async () => {
  assert.deepEqual(await read('\n\r\n{"type":"NEW","object":{"metadata":{}}}\n'), []);
});

for (const text of ['x\n', 'null\n', '{}\n', '{"type":1}\n', '{"type":"ADDED","object":null}\n', '{"type":"ADDED"'])
  test(`no watch: ${JSON.stringify(text)}`, async () => {
    await assert.rejects(read(text), WatchStreamError);
  });
