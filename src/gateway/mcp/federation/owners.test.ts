import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { effort } from '../../../../test/kit/effort.ts';
import type { ListMethod } from '../read/list-methods.ts';
import { Owners, type Ownership } from './owners.ts';

const say = (ownership: Ownership): string => {
  if (ownership.kind === 'owned') return ownership.target;
  return ownership.kind === 'contested' ? `contested: ${ownership.targets.join(' ')}` : 'unknown';
};

function create(): {
  readonly owners: Owners;
  readonly list: (target: string, names: readonly string[], method?: ListMethod, view?: string) => string;
  readonly wait: (ms: number) => void;
} {
  let now = 0;
  const owners = new Owners(() => now);
  return {
    owners,
    wait: (ms) => void (now += ms),
    list(target, names, method = 'tools/list', view = '') {
      const change = owners.note(target, method, view, names, owners.epochOf(target));
      const write = (entries: readonly { readonly name: string; readonly targets: readonly string[] }[] = []) =>
        entries.map(({ name, targets }) => `${name} (${targets.join(' ')})`).join(', ');
      return change === undefined ? '' : `+ ${write(change.contested)} - ${write(change.settled)}`;
    },
  };
}

describe('whose name it is', () => {
  test('that of the one target that lists it', () => {
    const { owners, list } = create();
    assert.equal(say(owners.find('tool', 'x')), 'unknown');
    list('a', ['x', 'y']);
    list('b', ['z']);
    assert.equal(say(owners.find('tool', 'x')), 'a');
    assert.equal(say(owners.find('tool', 'z')), 'b');
    assert.equal(say(owners.find('prompt', 'x')), 'unknown');
    list('a', ['y']);
    assert.equal(say(owners.find('tool', 'x')), 'unknown');
  });

  test('nobody’s, when two list it, and each change is told once', () => {
    const { owners, list } = create();
    list('b', ['x', 'y']);
    assert.equal(list('a', ['x']), '+ x (a b) - ');
    assert.equal(list('a', ['x']), '');
    assert.equal(list('a', ['x', 'q']), '');
    assert.equal(say(owners.find('tool', 'x')), 'contested: a b');
    assert.equal(owners.isContested('tools/list', 'x'), true);
    assert.equal(owners.isContested('prompts/list', 'x'), false);
    assert.equal(list('c', ['x']), '+ x (a b c) - ');
    assert.deepEqual(owners.contested, [{ kind: 'tool', name: 'x', targets: ['a', 'b', 'c'] }]);
    assert.equal(list('c', []), '+ x (a b) - ');
    assert.equal(list('a', []), '+  - x (a b)');
    assert.equal(say(owners.find('tool', 'x')), 'b');
    assert.deepEqual(owners.contested, []);
  });

  test('what may be other by now counts until it is listed again', () => {
    const { owners, list } = create();
    list('a', ['x']);
    owners.outdate('a');
    assert.equal(owners.listedAt('a', 'tools/list', ''), undefined);
    assert.equal(owners.hasListed('a', 'tools/list'), true);
    list('b', ['x']);
    assert.equal(say(owners.find('tool', 'x')), 'contested: a b');
    list('a', []);
    assert.equal(owners.listedAt('a', 'tools/list', ''), 0);
    assert.equal(say(owners.find('tool', 'x')), 'b');
  });

  test('a list that was asked for before the change is outdated when it arrives', () => {
    const { owners } = create();
    const epoch = owners.epochOf('a');
    owners.outdate('a');
    owners.note('a', 'tools/list', '', ['x'], epoch);
    assert.equal(owners.listedAt('a', 'tools/list', ''), undefined);
    assert.equal(say(owners.find('tool', 'x')), 'a');
  });

  test('what anybody was told counts; a change replaces it all, and so does time', () => {
    const { owners, list, wait } = create();
    list('a', ['x'], 'tools/list', 'ann');
    list('a', ['y'], 'tools/list', 'bob');
    list('b', ['x']);
    assert.equal(say(owners.find('tool', 'x')), 'contested: a b');
    owners.outdate('a');
    list('a', ['y'], 'tools/list', 'bob');
    assert.equal(say(owners.find('tool', 'x')), 'b');
    list('a', ['q'], 'tools/list', 'ann');
    wait(3_600_001);
    list('a', ['y'], 'tools/list', 'bob');
    assert.equal(say(owners.find('tool', 'q')), 'unknown');
    for (let i = 0; i < 200; i += 1) list('a', [`n${i}`], 'tools/list', `user ${i}`);
    assert.equal(say(owners.find('tool', 'n0')), 'unknown');
    assert.equal(say(owners.find('tool', 'n199')), 'a');
  });

  test('a target that is gone claims nothing', () => {
    const { owners, list } = create();
    list('a', ['x']);
    list('b', ['x']);
    assert.deepEqual(
      owners.drop('a')?.settled.map(({ name }) => name),
      ['x'],
    );
    assert.equal(say(owners.find('tool', 'x')), 'b');
    assert.equal(owners.drop('a'), undefined);
  });

  test('resources: an entry, then a template', () => {
    const { owners, list } = create();
    list('a', ['file:///a'], 'resources/list');
    list('a', ['db:///{id}', 'db:///{id}/x{y}'], 'resources/templates/list');
    list('b', ['file:///{+path}', 'db:///{id}'], 'resources/templates/list');
    assert.equal(say(owners.find('resource', 'file:///a')), 'a');
    assert.equal(say(owners.find('resource', 'file:///b')), 'b');
    assert.equal(say(owners.find('resource', 'db:///1')), 'contested: a b');
    assert.equal(say(owners.find('resource', 'db:///1/x2')), 'a');
    assert.equal(say(owners.find('resource', 'db:///{id}')), 'contested: a b');
    assert.equal(say(owners.find('resource', 'db:///{id}/x{y}')), 'a');
    assert.equal(say(owners.find('resource', 'other:x')), 'unknown');
    assert.equal(owners.isContested('resources/templates/list', 'db:///{id}'), true);
    list('b', ['file:///a'], 'resources/list');
    assert.equal(say(owners.find('resource', 'file:///a')), 'contested: a b');
  });

  test('whoever may not have it, as configured, claims nothing', () => {
    const { owners, list } = create();
    list('a', ['x']);
    list('b', ['x']);
    assert.equal(say(owners.find('tool', 'x', (target) => target !== 'a')), 'b');
    list('a', ['db:{x}'], 'resources/templates/list');
    list('b', ['db:{+x}'], 'resources/templates/list');
    assert.equal(say(owners.find('resource', 'db:1', (target) => target !== 'a')), 'b');
  });
});

/** What happens to a federation. */
type Event =
  | { readonly kind: 'down' | 'up'; readonly target: string }
  /** The server has other items now. */
  | { readonly kind: 'change'; readonly target: string; readonly names: readonly string[] }
  /** A client asks for the lists of all that are up. */
  | { readonly kind: 'list'; readonly view: string };

const targets = ['a', 'b', 'c'];
const someTarget = fc.constantFrom(...targets);
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constantFrom('down' as const, 'up' as const), target: someTarget }),
  fc.record({
    kind: fc.constant('change' as const),
    target: someTarget,
    names: fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant('list' as const), view: fc.constantFrom('ann', 'bob') }),
);

test('no name changes hands while its owner is down, and what two claim is nobody’s', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const { owners, list } = create();
      const has = new Map<string, readonly string[]>(targets.map((target) => [target, []]));
      const listed = new Map<string, readonly string[]>();
      const down = new Set<string>();
      /** Of those that are down: what was theirs when they went. */
      const held = new Map<string, ReadonlySet<string>>();
      for (const each of events) {
        switch (each.kind) {
          case 'down':
            if (down.has(each.target)) break;
            down.add(each.target);
            owners.outdate(each.target);
            held.set(
              each.target,
              new Set(['x', 'y', 'z'].filter((name) => say(owners.find('tool', name)) === each.target)),
            );
            break;
          case 'up':
            down.delete(each.target);
            held.delete(each.target);
            owners.outdate(each.target);
            break;
          case 'change':
            has.set(each.target, each.names);
            // As the server says so, if it can.
            if (!down.has(each.target)) owners.outdate(each.target);
            break;
          case 'list':
            for (const target of targets) {
              if (down.has(target)) continue;
              listed.set(target, has.get(target)!);
              list(target, has.get(target)!, 'tools/list', each.view);
            }
        }
        for (const name of ['x', 'y', 'z']) {
          const claimants = targets.filter((target) => listed.get(target)?.includes(name) === true);
          const found = owners.find('tool', name);
          // Who is up has no part in it.
          if (claimants.length === 0) assert.equal(found.kind, 'unknown');
          else if (claimants.length === 1) assert.equal(say(found), claimants[0]);
          else assert.equal(say(found), `contested: ${claimants.join(' ')}`);
          for (const [target, names] of held)
            if (names.has(name)) assert.ok(found.kind === 'contested' || say(found) === target, `${name} of ${target}`);
        }
      }
    }),
    { numRuns: effort(10_000, 1_000) },
  );
});
