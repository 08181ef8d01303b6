import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../../base/log.ts';
import type { Member } from './federation.ts';
import { ListCache } from './list-cache.ts';
import { OwnedNames } from './owned-names.ts';
import { createListingTarget, createSpeaker, type ListingOptions } from './testing/listing-target.ts';
import type { TargetEvents } from './target.ts';

const down = (_id: string, _cursor: string | undefined, events: TargetEvents): void =>
  events.onFailure({ kind: 'down', status: undefined, headers: [], detail: 'nothing listens there' });

function createNames(...options: readonly ListingOptions[]) {
  const clock = { now: 0 };
  const lines: string[] = [];
  const write =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const log = { debug: write('debug'), info: write('info'), warn: write('warn') } as unknown as Log;
  const cache = new ListCache(() => clock.now);
  const names = new OwnedNames({ key: 'all', cache, log, now: () => clock.now });
  const targets = options.map((each) => createListingTarget('tools/list', each));
  const members: Member[] = targets.map((target) => ({ config: target.config, target }));
  const find = async (name: string, owner?: string): Promise<string> => {
    const finding = await names.find(members, createSpeaker('legacy', owner), { kind: 'tool', name });
    return finding.kind === 'owned' ? finding.target : finding.kind;
  };
  const asked = (): readonly number[] => targets.map((target) => target.asked.length);
  return { names, members, clock, lines, find, asked };
}

test('lists are asked for once, and then known', async () => {
  const { find, asked } = createNames({ name: 'a', pages: [['x'], ['y']] }, { name: 'b', pages: [['z']] });
  assert.deepEqual(await Promise.all([find('x'), find('y'), find('z'), find('x')]), ['a', 'a', 'b', 'a']);
  assert.deepEqual(asked(), [2, 1]);
  assert.equal(await find('x'), 'a');
  assert.deepEqual(asked(), [2, 1]);
});

test('a caller who has not seen the lists gets them asked for', async () => {
  const { find, asked } = createNames({ name: 'a', pages: [['x']] });
  await find('x', 'ann');
  await find('x', 'bob');
  await find('x', 'ann');
  assert.deepEqual(asked(), [2]);
  const shared = createNames({ name: 'a', pages: [['x']], members: { cacheScope: 'public' } });
  await shared.find('x', 'ann');
  await shared.find('x', 'bob');
  assert.deepEqual(shared.asked(), [1]);
});

test('a name that nobody has is looked for again, but not at once', async () => {
  const pages = [['x']];
  const { find, asked, clock } = createNames({ name: 'a', pages });
  assert.equal(await find('new'), 'unknown');
  assert.equal(await find('new'), 'unknown');
  assert.deepEqual(asked(), [1]);
  pages[0]!.push('new');
  clock.now = 1_000;
  assert.equal(await find('new'), 'a');
  assert.deepEqual(asked(), [2]);
});

test('a list that may be another one by now is asked for before a call', async () => {
  const pages = [['x']];
  const { names, find, asked } = createNames({ name: 'a', pages: [['x']] }, { name: 'b', pages });
  assert.equal(await find('x'), 'contested');
  pages[0] = [];
  names.outdate('b');
  assert.equal(await find('x'), 'a');
  assert.deepEqual(asked(), [1, 2]);
});

test('a target that is down is not asked over and over, and keeps its names', async () => {
  const state = { isDown: false };
  const { names, find, asked, clock } = createNames(
    {
      name: 'a',
      answer(id, cursor, events) {
        if (state.isDown) return down(id, cursor, events);
        const text = JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [{ name: 'x' }] } });
        events.onMessage({ text, kind: 'response', id: JSON.stringify(id), method: undefined, eventId: undefined });
        events.onEnd();
      },
    },
    { name: 'b', pages: [['y']] },
  );
  assert.equal(await find('x'), 'a');
  state.isDown = true;
  names.outdate('a');
  for (let i = 0; i < 3; i += 1) assert.equal(await find('x'), 'a');
  assert.deepEqual(asked(), [2, 1]);
  clock.now = 10_000;
  assert.equal(await find('x'), 'a');
  assert.deepEqual(asked(), [3, 1]);
  names.outdate('a');
  await find('x');
  assert.deepEqual(asked(), [4, 1]);
});

test('a server that refuses a caller whom nobody knows is asked for the others all the same', async () => {
  const { names, members, asked } = createNames({ name: 'a', answer: down });
  const ask = async (...headers: readonly string[]): Promise<unknown> =>
    names.find(members, { ...createSpeaker('legacy'), headers }, { kind: 'tool', name: 'x' });
  await ask('Authorization', 'Bearer one');
  await ask('Authorization', 'Bearer two');
  await ask();
  assert.deepEqual(asked(), [3]);
  await ask('authorization', 'Bearer one');
  await ask();
  assert.deepEqual(asked(), [3]);
});

test('what cannot be done without is waited for', async () => {
  const isOpen = createNames({ name: 'a', pages: [['x']] }, { name: 'b', answer: down });
  assert.equal(await isOpen.find('x'), 'a');
  const isClosed = createNames({ name: 'a', pages: [['x']] }, { name: 'b', answer: down, failsClosed: true });
  assert.equal(await isClosed.find('x'), 'unavailable');
});

test('lists are waited for five seconds in all, also when they are asked for twice', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const answers: (() => void)[] = [];
  const later = (id: string, _cursor: string | undefined, events: TargetEvents): void =>
    void answers.push(() => {
      const text = JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [] } });
      events.onMessage({ text, kind: 'response', id: JSON.stringify(id), method: undefined, eventId: undefined });
      events.onEnd();
    });
  const { find, asked, clock } = createNames({ name: 'a', answer: later }, { name: 'b', answer: later });
  const pass = async (ms: number): Promise<void> => {
    clock.now += ms;
    t.mock.timers.tick(ms);
    await turn();
  };
  let found: string | undefined;
  const finding = find('x').then((kind) => (found = kind));
  await turn();
  answers[0]!();
  await turn();
  await pass(4_000);
  answers[1]!();
  await turn();
  assert.deepEqual(asked(), [2, 1], 'what a listed first is four seconds old');
  await pass(999);
  assert.equal(found, undefined);
  await pass(1);
  assert.equal(found, 'unknown');
  await finding;
});

test('what several claim is told once', async () => {
  const { find, lines, names } = createNames({ name: 'a', pages: [['x']] }, { name: 'b', pages: [['x', 'y']] });
  for (let i = 0; i < 3; i += 1) assert.equal(await find('x'), 'contested');
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^warn several servers .*"name":"x","targets":\["a","b"\]/);
  assert.deepEqual(names.contested, [{ kind: 'tool', name: 'x', targets: ['a', 'b'] }]);
  names.drop('a');
  assert.match(lines[1]!, /^info names .*"x"/);
  assert.deepEqual(names.contested, []);
});
