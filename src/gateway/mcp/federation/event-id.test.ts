import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSealer, createSealKey } from '../../../base/sealed.ts';
import { createSeed } from '../answer/stand-in.ts';
import { type EventPlace, openEventId, sealEventId, sealLastEventId } from './event-id.ts';
import { sealQuestion } from './question-id.ts';

const key = createSealKey();
const sealer = createSealer([key]);
const place: EventPlace = {
  target: 'tickets',
  method: 'tools/call',
  id: '"a"',
  eventId: 'stream:7',
  session: { id: 's-1', tag: undefined, version: '2025-11-25' },
  asked: undefined,
};
const unknown = { kind: 'unknown' };

test('an id says where its call goes on, to every replica with the key', () => {
  const id = sealEventId(sealer, 'one', place)!;
  // It is a line of an event stream, and a header.
  assert.match(id, /^[\w-]+$/);
  assert.deepEqual(openEventId(createSealer([createSealKey(), key]), 'one', id), { kind: 'rest', place });
  const withoutSession = { ...place, session: { id: undefined, tag: 'e1', version: '2025-03-26' } };
  const other = sealEventId(sealer, 'one', withoutSession)!;
  assert.deepEqual(openEventId(sealer, 'one', other), { kind: 'rest', place: withoutSession });
  assert.deepEqual(openEventId(sealer, 'one', sealLastEventId(sealer, 'one')), { kind: 'nothing' });
});

test('of a hidden item and of one that is not: as long as each other', () => {
  const lengths = [true, false].map((isHidden) => {
    const asked = {
      ...place,
      asked: { kind: 'tool', name: 'tickets_ä', isHidden, seed: createSeed(isHidden ? 1 : 0) },
    } as const;
    const id = sealEventId(sealer, 'one', asked)!;
    assert.deepEqual(openEventId(sealer, 'one', id), { kind: 'rest', place: asked });
    return id.length;
  });
  assert.equal(lengths[0], lengths[1]);
});

test('of another session, of another key, cut, altered, joined, invented, or something else that was sealed: unknown', () => {
  const id = sealEventId(sealer, 'one', place)!;
  const middle = id.length >> 1;
  const altered = `${id.slice(0, middle)}${id[middle] === 'A' ? 'B' : 'A'}${id.slice(middle + 1)}`;
  const question = JSON.parse(sealQuestion(sealer, 'one', { target: 'tickets', id: '1' })) as string;
  for (const wrong of [id.slice(0, -1), id.slice(1), altered, `${id}A`, `${id},${id}`, `${id}=`, 'stream:7', question])
    assert.deepEqual(openEventId(sealer, 'one', wrong), unknown, wrong);
  for (const each of [id, sealLastEventId(sealer, 'one')]) {
    assert.deepEqual(openEventId(sealer, 'two', each), unknown);
    assert.deepEqual(openEventId(createSealer([createSealKey()]), 'one', each), unknown);
  }
});

test('an id that could not be sent back is none', () => {
  assert.equal(sealEventId(sealer, 'one', { ...place, eventId: 'x'.repeat(1_500) }), undefined);
  assert.equal(sealEventId(sealer, 'one', { ...place, id: JSON.stringify('x'.repeat(5_000)) }), undefined);
  assert.ok(sealEventId(sealer, 'one', { ...place, eventId: 'x'.repeat(1_024) })!.length <= 2_048);
  assert.deepEqual(openEventId(sealer, 'one', 'A'.repeat(100_000)), unknown);
});
