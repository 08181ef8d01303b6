import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LoopGuard, maxRounds } from './loop-guard.ts';
import { roundField } from '../http/field-name.ts';

const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);

/** Sends a request round by round; how often it was let on. */
function countRounds(guards: readonly LoopGuard[], first: readonly string[] = []): number {
  let headers = first;
  for (let count = 0; count < 100; count += 1) {
    const mark = guards[count % guards.length]!.markNext(headers);
    if (mark === undefined) return count;
    headers = ['accept', '*/*', roundField, mark];
  }
  return 100;
}

describe('LoopGuard', () => {
  test('a request comes back a few times, then no more', () => {
    assert.equal(countRounds([new LoopGuard()]), maxRounds + 1);
  });

  test('processes with the same keys are one', () => {
    const guards = [new LoopGuard(), new LoopGuard(), new LoopGuard()];
    for (const guard of guards) guard.useKeys([key(1)]);
    assert.equal(countRounds(guards), maxRounds + 1);
  });

  test('gateways that know nothing of each other both stop it', () => {
    assert.equal(countRounds([new LoopGuard(), new LoopGuard()]), 2 * (maxRounds + 1));
  });

  test('a key that is rotated while a request goes round is still known', () => {
    const guard = new LoopGuard();
    guard.useKeys([key(1)]);
    const mark = guard.markNext([])!;
    guard.useKeys([key(2), key(1)]);
    assert.equal(countRounds([guard], [roundField, mark]), maxRounds);
  });

  test('what clients write counts for nothing, and cannot push our own mark out', () => {
    const guard = new LoopGuard();
    const forged = Array.from({ length: 50 }, (_, index) => `forged-${index}`).join(', ');
    for (const value of ['9', 'x'.repeat(10_000), '"quoted"; a=b', '\u0000', forged, `${forged},, ,`])
      assert.equal(countRounds([guard], [roundField, value]), maxRounds + 1, value.slice(0, 20));
    const others = guard.markNext([roundField, forged])!.split(', ');
    assert.equal(others.length, 9);
    assert.ok(guard.markNext([roundField, 'a b', roundField, 'c\r\nd: e'])!.match(/^[\w-]{22}$/));
  });

  test('every spelling and every line of the field is read', () => {
    const guard = new LoopGuard();
    let mark = '';
    for (let round = 0; round <= maxRounds; round += 1) mark = guard.markNext([roundField, mark])!;
    assert.equal(guard.markNext(['X-Gateway-Round', 'other', 'X-GATEWAY-ROUND', mark]), undefined);
  });
});
