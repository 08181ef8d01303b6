import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRequestId } from './request-id.ts';

test('ids of requests are random UUIDs, each another one', () => {
  const ids = Array.from({ length: 5_000 }, createRequestId);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(ids).size, ids.length);
  // Every place but those of the version and the dashes has every digit that it may have, and none is much more frequent than chance has it.
  for (let at = 0; at < 36; at += 1) {
    const counts = new Map<string, number>();
    for (const id of ids) counts.set(id[at]!, (counts.get(id[at]!) ?? 0) + 1);
    const expected = at === 14 || ids[0]![at] === '-' ? 1 : at === 19 ? 4 : 16;
    assert.equal(counts.size, expected, `place ${at}`);
    const fair = ids.length / expected;
    for (const count of counts.values()) assert.ok(count < fair * 1.5 + 1, `place ${at}: ${count} times the same`);
  }
});
