// Servers of federations, as they are told to the controller over time.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FederationState } from '../gateway/mcp/federation/federation-state.ts';
import { ReportedTargets } from './reported-targets.ts';

type Health = FederationState['targets'][number]['health'];

function stateOf(health: Readonly<Record<string, Health | readonly ['down', error: string]>>): FederationState[] {
  const targets = Object.entries(health).map(([name, own]) => {
    const [kind, detail] = typeof own === 'string' ? [own, 'it is away'] : own;
    return {
      name,
      health: kind,
      version: undefined,
      serverInfo: undefined,
      capabilities: undefined,
      instructions: undefined,
      lastFailure: kind === 'unknown' ? undefined : { atMs: 0, detail },
      tools: undefined,
    };
  });
  return [{ backend: 'ProxyBackend/n/desk', targets, contested: [] }];
}

function createFixture() {
  const reported = new ReportedTargets();
  const take = (seconds: number, health: Parameters<typeof stateOf>[0]): readonly string[] => {
    reported.take(stateOf(health), seconds * 1_000);
    return reported.targets.map(({ target, down, since, error }) =>
      down ? `${target} down since ${since}: ${error}` : `${target} up since ${since}`,
    );
  };
  return { reported, take };
}

describe('what the controller is told of a server', () => {
  test('nothing before it was asked; then that it is up or down, without the failures of one that is up', () => {
    const { take } = createFixture();
    assert.deepEqual(take(1, { a: 'unknown', b: 'unknown' }), []);
    assert.deepEqual(take(2, { a: 'up', b: 'down' }), ['a up since 2', 'b down since 2: it is away']);
    assert.deepEqual(take(3, { a: 'up', b: 'down' }), ['a up since 2', 'b down since 2: it is away']);
  });

  test('down at once, back when it has stayed for five seconds', () => {
    const { take } = createFixture();
    take(1, { a: 'up' });
    assert.deepEqual(take(2, { a: 'down' }), ['a down since 2: it is away']);
    assert.deepEqual(take(10, { a: 'up' }), ['a down since 2: it is away']);
    assert.deepEqual(take(14, { a: 'up' }), ['a down since 2: it is away']);
    assert.deepEqual(take(15, { a: 'up' }), ['a up since 10']);
  });

  test('one that comes and goes is down all the time, and told once', () => {
    const { take, reported } = createFixture();
    take(1, { a: 'down' });
    const [told] = reported.targets;
    for (let at = 2; at < 100; at += 1) take(at, { a: at % 4 === 0 ? 'down' : 'up' });
    assert.equal(reported.targets[0], told);
  });

  test('another error of one that stays down is told once per minute', () => {
    const { take } = createFixture();
    take(1, { a: ['down', 'refused'] });
    assert.deepEqual(take(30, { a: ['down', 'timeout'] }), ['a down since 1: refused']);
    assert.deepEqual(take(61, { a: ['down', 'timeout'] }), ['a down since 1: timeout']);
    assert.deepEqual(take(90, { a: ['down', 'refused'] }), ['a down since 1: timeout']);
  });

  test('an error is short, in one line, and without credentials', () => {
    const { take } = createFixture();
    const [told] = take(1, { a: ['down', `no\n\u001b[31m Bearer abcDEF123456789 ${'x'.repeat(5_000)}`] });
    assert.ok(told!.length < 300, String(told!.length));
    assert.doesNotMatch(told!, /\p{Cc}|abcDEF/u);
  });

  test('one that was taken out of the configuration, or that nobody has asked since it changed, is not told any more', () => {
    const { take } = createFixture();
    take(1, { a: 'down', b: 'down', c: 'up' });
    assert.deepEqual(take(2, { a: 'down', b: 'unknown' }), ['a down since 1: it is away']);
    assert.deepEqual(take(3, { a: 'down', b: 'up' }), ['a down since 1: it is away', 'b up since 3']);
  });

  test('of thousands, those that are down come first', () => {
    const { take, reported } = createFixture();
    const many = Array.from({ length: 3_000 }, (_, at) => [`s${at}`, at >= 2_900 ? 'down' : 'up'] as const);
    take(1, Object.fromEntries(many));
    assert.equal(reported.targets.length, 2_000);
    assert.equal(reported.targets.filter(({ down }) => down).length, 100);
  });
});
