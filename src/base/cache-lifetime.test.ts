import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFreshness } from './cache-lifetime.ts';

const now = Date.UTC(2026, 0, 1, 12);
const at = (ms: number): string => new Date(now + ms).toUTCString();

for (const [headers, expected] of [
  [{}, undefined],
  [{ 'cache-control': 'public' }, undefined],
  [{ 'cache-control': 'max-age=600' }, 600_000],
  [{ 'cache-control': 'public, Max-Age="600", must-revalidate' }, 600_000],
  [{ 'cache-control': 'max-age=600', age: '100' }, 500_000],
  [{ 'cache-control': 'max-age=60', age: '100' }, 0],
  [{ 'cache-control': 'max-age=600', expires: at(1_000) }, 600_000],
  [{ 'cache-control': 'max-age=600, max-age=5' }, 600_000],
  [{ 'cache-control': 'max-age=-1' }, 0],
  [{ 'cache-control': 'max-age=soon' }, 0],
  [{ 'cache-control': 'no-store, max-age=600' }, 0],
  [{ 'cache-control': 'no-cache' }, 0],
  [{ expires: at(90_000) }, 90_000],
  [{ expires: at(90_000), date: at(30_000) }, 60_000],
  [{ expires: at(-1_000) }, 0],
  [{ expires: '0' }, 0],
  [{ expires: 'never' }, 0],
] as const) {
  test(`freshness of ${JSON.stringify(headers)}`, () => {
    assert.equal(readFreshness(new Map(Object.entries(headers)), now), expected);
  });
}
