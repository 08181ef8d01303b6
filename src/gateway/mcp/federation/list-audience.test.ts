import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAudience } from './list-audience.ts';

test('audiences differ by version and capabilities, and are short', () => {
  const long = (letter: string): string => JSON.stringify({ experimental: { x: letter.repeat(1_000_000) } });
  const speakers = ['2025-11-25', '2026-07-28'].flatMap((version) =>
    ['{}', '{"roots":{}}', long('a'), long('b')].map((capabilities) => ({ version, capabilities })),
  );
  const audiences = speakers.map((speaker) => formatAudience(speaker));
  assert.equal(new Set(audiences).size, speakers.length);
  assert.ok(audiences.every(({ length }) => length <= 200));
  assert.deepEqual(
    speakers.map((speaker) => formatAudience({ ...speaker })),
    audiences,
  );
});
