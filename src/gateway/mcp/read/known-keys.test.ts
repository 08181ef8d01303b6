import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findLookalike, foldKey, foldKeys } from './known-keys.ts';

const known = foldKeys(['method', 'id', 'params', 'taskId', '_meta', 'result']);

describe('keys that could be taken for one that matters', () => {
  for (const [key, meant] of [
    ['Method', 'method'],
    ['METHOD', 'method'],
    ['mEtHoD', 'method'],
    ['ıd', 'id'],
    ['İd', 'id'],
    ['ID', 'id'],
    ['Id', 'id'],
    ['ｉｄ', 'id'],
    ['paramſ', 'params'],
    ['parAms', 'params'],
    ['tasKId', 'taskId'],
    ['tas\u212aId', 'taskId'],
    ['taskid', 'taskId'],
    ['_META', '_meta'],
    ['＿meta', '_meta'],
    ['reſult', 'result'],
    ['re\u0301sult', 'result'],
    ['method\0', 'method'],
    ['method\0x', 'method'],
    ['method ', 'method'],
    ['\tmethod', 'method'],
    ['\ufeffmethod', 'method'],
    ['met\u200bhod', 'method'],
    ['met\u00adhod', 'method'],
    ['𝐦𝐞𝐭𝐡𝐨𝐝', 'method'],
  ] as const)
    test(JSON.stringify(key), () => assert.deepEqual(findLookalike({ [key]: 1 }, known), { key, meant }));

  test('are found beside the right one', () =>
    assert.deepEqual(findLookalike({ method: 'a', id: 1, Method: 'b' }, known), { key: 'Method', meant: 'method' }));
});

test('other keys are nobody’s business', () => {
  const harmless = { method: 1, id: 2, params: 3, taskId: 4, _meta: 5, result: 6, methods: 7, i_d: 8, meta: 9, é: 10 };
  assert.equal(findLookalike(harmless, known), undefined);
  assert.equal(findLookalike({}, known), undefined);
});

test('where two spellings matter, both are right', () => {
  const both = foldKeys(['path', 'Path', 'path']);
  assert.equal(findLookalike({ path: 1, Path: 2 }, both), undefined);
  assert.deepEqual(findLookalike({ PATH: 1 }, both), { key: 'PATH', meant: 'path' });
});

test('folding the same key twice changes nothing more', () => {
  for (const key of ['Method', 'ıd', 'İd', 'ß', 'ﬁ', 'ς', 'Σ', '\u212a', 'ǅ'])
    assert.equal(foldKey(foldKey(key)), foldKey(key));
});

test('a key of any length is folded: rows of marks, and letters that become many', () => {
  const marks = '\u0315\u0300'.repeat(500_000);
  assert.equal(foldKey(`method${marks}`), 'method');
  assert.equal(findLookalike({ ['\ufdfa'.repeat(500_000)]: 1, ['é'.repeat(500_000)]: 2 }, known), undefined);
});
