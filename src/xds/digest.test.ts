// The digest says "equal" exactly for equal sets, whichever way they came about.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Digest } from './digest.ts';

type Key = readonly [typeUrl: string, name: string];

const keys: readonly Key[] = [
  ['t', 'a'],
  ['t', 'b'],
  ['ta', ''],
  ['', 'ta'],
  ['u', 'a'],
];

function digestOf(set: ReadonlyMap<Key, string>): string {
  const digest = new Digest();
  for (const [[typeUrl, name], version] of set) digest.add(typeUrl, name, version);
  return digest.toString();
}

test('any way to a set leads to the digest of that set, and to no other', () => {
  const step = fc.tuple(fc.constantFrom(...keys), fc.constantFrom(undefined, '', '1', '2', 'a'));
  fc.assert(
    fc.property(fc.array(step), fc.array(step), (firstWay, secondWay) => {
      const walk = (steps: typeof firstWay) => {
        const digest = new Digest();
        const set = new Map<Key, string>();
        for (const [key, version] of steps) {
          const known = set.get(key);
          if (version === undefined) {
            if (known !== undefined) digest.remove(...key, known);
            set.delete(key);
          } else {
            if (known === undefined) digest.add(...key, version);
            else digest.replace(...key, known, version);
            set.set(key, version);
          }
        }
        return { set, digest: digest.toString() };
      };
      const [one, other] = [walk(firstWay), walk(secondWay)];
      assert.equal(one.digest, digestOf(new Map([...one.set].toReversed())));
      const isSame = one.set.size === other.set.size && [...one.set].every(([k, v]) => other.set.get(k) === v);
      assert.equal(one.digest === other.digest, isSame);
    }),
  );
});

test('its text is fixed: replicas and gateways of different builds must agree', () => {
  const digest = new Digest();
  assert.equal(digest.toString(), 'A'.repeat(43));
  digest.add('type.googleapis.com/a.B', 'default/r/0', 'v1');
  digest.add('type.googleapis.com/a.C', 'ö', 'v2');
  assert.equal(digest.toString(), 'rugYh6F86siJ17Nj3quF2oteLCfy0ukrX8pJG4WWWUA');
});
