import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeBytes, KeyedParts } from './keyed-parts.ts';

test('the same input gives the same part, and what is not used is closed once', () => {
  const closed: string[] = [];
  const parts = new KeyedParts<{ readonly name: string }>(({ name }) => closed.push(name));
  const keys: string[] = [];
  const make = (name: string) => (key: string) => {
    keys.push(key);
    return { name };
  };
  const one = parts.acquire(['issuer', 1, undefined], make('one'));
  assert.equal(parts.acquire(['issuer', 1, undefined], make('never')), one);
  const two = parts.acquire(['issuer', 2, describeBytes(Uint8Array.of(1, 2))], make('two'));
  assert.notEqual(one, two);
  assert.equal(new Set(keys).size, 2);
  assert.deepEqual([...parts.values()], [one, two]);
  parts.retain((part) => part === two);
  parts.retain((part) => part === two);
  assert.deepEqual(closed, ['one']);
  parts.retain(() => false);
  assert.deepEqual(closed, ['one', 'two']);
  assert.notEqual(parts.acquire(['issuer', 1, undefined], make('one')), one, 'a closed part is made anew');
});
