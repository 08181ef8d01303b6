import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createSealer, createSealKey } from '../../../base/sealed.ts';
import { effort } from '../../../../test/kit/effort.ts';
import { readClientName, readClientUri } from '../names/names.ts';
import type { ListMethod } from '../read/list-methods.ts';
import { ListCache } from './list-cache.ts';
import { type ListedFederation, listMerged, type ListOutcome } from './merge-lists.ts';
import type { Speaker, TargetEvents } from './target.ts';
import {
  createListingTarget,
  createSpeaker,
  type ListingOptions,
  type ListingTarget,
} from './testing/listing-target.ts';

const sealer = createSealer([createSealKey()]);
const modern = createSpeaker('modern', 'ann');

interface Fixture extends ListedFederation {
  readonly targets: readonly ListingTarget[];
  readonly missing: string[];
  time: number;
  list(cursor?: string, speaker?: Speaker): Promise<ListOutcome>;
}

function federate(method: ListMethod, ...targets: readonly ListingOptions[]): Fixture {
  const fixture: Fixture = {
    key: 'ProxyBackend/default/all',
    naming: 'always',
    targets: targets.map((options) => createListingTarget(method, options)),
    cache: new ListCache(() => fixture.time),
    sealer,
    missing: [],
    time: 1_000,
    list: (cursor, speaker = modern) =>
      listMerged(fixture, {
        method,
        cursor,
        speaker,
        signal: new AbortController().signal,
        onMissing: (target, problem) => fixture.missing.push(`${target}: ${problem}`),
      }),
  };
  return fixture;
}

async function read(outcome: Promise<ListOutcome>): Promise<Record<string, unknown>> {
  const settled = await outcome;
  assert.ok(settled.ok, JSON.stringify(settled));
  return JSON.parse(settled.result) as Record<string, unknown>;
}

async function refuse(outcome: Promise<ListOutcome>): Promise<string> {
  const settled = await outcome;
  assert.ok(!settled.ok, JSON.stringify(settled));
  return `${settled.error.code} ${settled.error.message}`;
}

function nameAll(result: Record<string, unknown>, member: string, key = 'name'): readonly unknown[] {
  return (result[member] as Record<string, unknown>[]).map((entry) => entry[key]);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const down = (_id: string, _cursor: string | undefined, events: TargetEvents): void =>
  events.onFailure({ kind: 'down', status: undefined, headers: [], detail: 'nothing listens there' });

const answerWith =
  (message: Record<string, unknown>) =>
  (id: string, _cursor: string | undefined, events: TargetEvents): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...message });
    events.onMessage({ text, kind: 'response', id: JSON.stringify(id), method: undefined, eventId: undefined });
    events.onEnd();
  };

describe('tools and prompts', () => {
  test('all pages of all targets, in order', async () => {
    const all = federate('tools/list', { name: 'a', pages: [['x', 'y'], [], ['z']] }, { name: 'b', pages: [['x']] });
    const result = await read(all.list());
    assert.deepEqual(nameAll(result, 'tools'), ['a_x', 'a_y', 'a_z', 'b_x']);
    assert.equal(result['nextCursor'], undefined);
    assert.deepEqual([result['resultType'], result['ttlMs'], result['cacheScope']], ['complete', 0, 'private']);
    assert.deepEqual(all.targets[0]!.asked, [undefined, 'p1', 'p2']);
    assert.equal(all.cache.countLast('a', 'tools/list'), 3);
  });

  test('older versions get nothing that they do not know', async () => {
    const all = federate('prompts/list', { name: 'a', pages: [['x']] });
    assert.deepEqual(Object.keys(await read(all.list(undefined, createSpeaker('legacy')))), ['prompts']);
  });

  test('what is not selected is not there', async () => {
    const all = federate('tools/list', {
      name: 'a',
      pages: [['x', 'purge']],
      selects: { tool: (own) => own !== 'purge' },
    });
    assert.deepEqual(nameAll(await read(all.list()), 'tools'), ['a_x']);
  });

  test('a target that is down is named, and does not take the others with it', async () => {
    const all = federate(
      'tools/list',
      { name: 'a', answer: down },
      { name: 'b', pages: [['x']], members: { ttlMs: 60_000 } },
    );
    const result = await read(all.list());
    assert.deepEqual(nameAll(result, 'tools'), ['b_x']);
    assert.deepEqual(result['_meta'], { 'gateway.proxy/unavailable': ['a'] });
    assert.equal(result['ttlMs'], 0, 'nobody keeps a list that lacks something');
    assert.deepEqual(all.missing, ['a: nothing listens there']);
  });

  test('unless the list must not be without it; and all of them down are an error', async () => {
    const strict = federate(
      'tools/list',
      { name: 'a', answer: down, failsClosed: true },
      { name: 'b', pages: [['x']] },
    );
    assert.match(await refuse(strict.list()), /^-32603 The server a is not available/);
    const none = federate('tools/list', { name: 'a', answer: down }, { name: 'b', answer: down });
    assert.match(await refuse(none.list()), /^-32603 None of the servers is available: a, b/);
  });

  test('a server without the method has an empty list', async () => {
    const all = federate(
      'prompts/list',
      { name: 'a', answer: answerWith({ error: { code: -32_601, message: 'Method not found' } }) },
      { name: 'b', capabilities: '{"tools":{}}', answer: down },
      { name: 'c', capabilities: '{"prompts":{}}', pages: [['x']] },
    );
    const result = await read(all.list());
    assert.deepEqual(nameAll(result, 'prompts'), ['c_x']);
    assert.equal(result['_meta'], undefined);
    assert.equal(all.targets[1]!.asked.length, 0);
  });

  test('what cannot be read, or does not end, is a target that is missing', async () => {
    const bad = [
      [answerWith({ error: { code: 1, message: 'no' } }), /error 1: no/],
      [answerWith({ error: null }), /it answered with the error$/],
      [answerWith({ error: { code: { toString: 1 }, message: 7 } }), /it answered with the error$/],
      [answerWith({}), /did not answer/],
      [answerWith({ result: {} }), /no list of tools/],
      [answerWith({ result: { tools: {} } }), /no list of tools/],
      [answerWith({ result: { tools: [], Tools: [] } }), /in two ways/],
      [answerWith({ result: { tools: [], nextCursor: 1 } }), /no text/],
      [answerWith({ result: { tools: [{ name: 'x' }], nextCursor: 'p' } }), /in a circle/],
      [
        answerWith({ result: { tools: Array.from({ length: 50_000 }, (_, at) => ({ name: `t${at}` })) } }),
        /more than 1000 entries/,
      ],
      [
        answerWith({ result: { tools: [{ name: 'x', description: 'x'.repeat(17_000_000) }] } }),
        /more than 16777216 characters/,
      ],
      [(_id: string, _cursor: string | undefined, events: TargetEvents) => events.onEnd(), /did not answer/],
    ] as const;
    for (const [answer, problem] of bad) {
      const all = federate('tools/list', { name: 'a', answer }, { name: 'b', pages: [['x']] });
      assert.deepEqual(nameAll(await read(all.list()), 'tools'), ['b_x']);
      assert.match(all.missing.join(), problem);
    }
  });

  test('pages without end', async () => {
    let page = 0;
    const answer = (id: string, cursor: string | undefined, events: TargetEvents): void =>
      answerWith({ result: { tools: [], nextCursor: `${(page += 1)}` } })(id, cursor, events);
    const all = federate('tools/list', { name: 'a', answer }, { name: 'b' });
    await read(all.list());
    assert.match(all.missing.join(), /more than 1000 pages/);
  });

  test('a client that leaves ends the questions', async () => {
    const leaving = new AbortController();
    const all = federate('tools/list', { name: 'a', answer: () => leaving.abort() });
    const outcome = await listMerged(all, {
      method: 'tools/list',
      cursor: undefined,
      speaker: modern,
      signal: leaving.signal,
      onMissing() {},
    });
    assert.equal(outcome.ok, false);
    assert.equal(all.targets[0]!.aborted, 1);
  });

  test('of entries with one name there is one; entries without a clear name are left out', async () => {
    const tools = [
      { name: 'x', n: 1 },
      { name: 'x', n: 2 },
      { Name: 'y' },
      { name: 'z', NAME: 'y' },
      { name: 1 },
      'x',
      {},
      { name: '' },
    ];
    const all = federate('tools/list', { name: 'a', answer: answerWith({ result: { tools } }) });
    assert.deepEqual((await read(all.list()))['tools'], [{ name: 'a_x', n: 1 }]);
  });

  test('a list of more than a megabyte goes on, wherever its entries have moved', async () => {
    const long = (name: string): object => ({ name, description: 'x'.repeat(400_000) });
    let names = ['1', '2', '3', '4', '5'];
    const answer = (id: string, cursor: string | undefined, events: TargetEvents): void =>
      answerWith({ result: { tools: names.map(long) } })(id, cursor, events);
    const all = federate('tools/list', { name: 'a', answer }, { name: 'b', pages: [['x']] });
    const first = await read(all.list());
    assert.deepEqual(nameAll(first, 'tools'), ['a_1', 'a_2']);
    names = ['0', '1', '2', '3', '4', '5'];
    const second = await read(all.list(first['nextCursor'] as string));
    assert.deepEqual(nameAll(second, 'tools'), ['a_3', 'a_4']);
    names = ['1', '2', '3', '5'];
    const third = await read(all.list(second['nextCursor'] as string));
    assert.deepEqual(nameAll(third, 'tools'), ['b_x'], 'its place, when it is gone');
    assert.equal(third['nextCursor'], undefined);
  });

  test('cursors of somebody else’s making', async () => {
    const all = federate('tools/list', { name: 'a', pages: [['x']] });
    for (const cursor of ['', 'p1', 'a'.repeat(300)])
      assert.match(await refuse(all.list(cursor)), /^-32602 The cursor/);
    const place = { target: 'gone', cursor: undefined, index: 0, after: undefined };
    const { sealCursor } = await import('./list-cursor.ts');
    assert.match(
      await refuse(all.list(sealCursor(sealer, all.key, 'tools/list', place))),
      /^-32602 The list has changed/,
    );
    assert.match(await refuse(all.list(sealCursor(sealer, all.key, 'prompts/list', place))), /^-32602 The cursor/);
    assert.match(
      await refuse(all.list(sealCursor(sealer, 'ProxyBackend/other', 'tools/list', place))),
      /^-32602 The cursor/,
    );
  });
});

describe('lists that are kept', () => {
  test('for as long as the target says, and for the one who asked', async () => {
    const all = federate('tools/list', { name: 'a', pages: [['x']], members: { ttlMs: 5_000, cacheScope: 'private' } });
    assert.equal((await read(all.list()))['ttlMs'], 5_000);
    all.time += 4_000;
    assert.equal((await read(all.list()))['ttlMs'], 1_000);
    assert.equal(all.targets[0]!.asked.length, 1);
    await read(all.list(undefined, createSpeaker('modern', 'bob')));
    await read(all.list(undefined, createSpeaker('modern')));
    assert.equal(all.targets[0]!.asked.length, 3);
    all.time += 1_000;
    await read(all.list());
    assert.equal(all.targets[0]!.asked.length, 4);
    all.cache.forget('a');
    await read(all.list());
    assert.equal(all.targets[0]!.asked.length, 5);
  });

  test('a list of several is kept as long as the one that ends first, and is public where all of them are', async () => {
    const all = federate(
      'tools/list',
      { name: 'a', pages: [['x']], members: { ttlMs: 5_000, cacheScope: 'public' } },
      { name: 'b', pages: [['x']], members: { ttlMs: 8_000, cacheScope: 'public' } },
    );
    const ask = async (): Promise<unknown[]> => {
      const { ttlMs, cacheScope } = await read(all.list(undefined, createSpeaker('modern')));
      return [ttlMs, cacheScope];
    };
    assert.deepEqual(await ask(), [5_000, 'public']);
    all.time += 3_000;
    all.cache.forget('a');
    assert.deepEqual(await ask(), [5_000, 'public']);
    all.time += 1_000;
    assert.deepEqual(await ask(), [4_000, 'public']);
    for (const members of [{ ttlMs: 1 }, { ttlMs: 1, cacheScope: 'private' }, { cacheScope: 'public' }]) {
      const mixed = federate(
        'tools/list',
        { name: 'a', pages: [['x']], members: { ttlMs: 5_000, cacheScope: 'public' } },
        { name: 'b', pages: [['x']], members },
      );
      const { ttlMs, cacheScope } = await read(mixed.list(undefined, createSpeaker('modern')));
      assert.deepEqual([ttlMs, cacheScope], [members.ttlMs ?? 0, members.cacheScope ?? 'private']);
    }
  });

  test('a public list serves everybody, and is public where nobody is known', async () => {
    const all = federate('tools/list', { name: 'a', pages: [['x']], members: { ttlMs: 5_000, cacheScope: 'public' } });
    assert.equal((await read(all.list(undefined, createSpeaker('modern'))))['cacheScope'], 'public');
    assert.equal((await read(all.list()))['cacheScope'], 'private');
    assert.equal(all.targets[0]!.asked.length, 1);
  });

  test('of resources, where they are one page; what goes on is asked for each time', async () => {
    const members = { ttlMs: 5_000, cacheScope: 'private' };
    const all = federate(
      'resources/list',
      { name: 'a', pages: [['x:1', 'x:2']], members },
      { name: 'b', pages: [['x:1'], ['x:2']], members },
    );
    for (let i = 0; i < 2; i += 1) {
      // eslint-disable-next-line no-await-in-loop
      const first = await read(all.list());
      assert.deepEqual(nameAll(first, 'resources', 'uri'), ['a+x:1', 'a+x:2', 'b+x:1']);
      // eslint-disable-next-line no-await-in-loop
      const second = await read(all.list(first['nextCursor'] as string));
      assert.deepEqual(nameAll(second, 'resources', 'uri'), ['b+x:2']);
    }
    await read(all.list(undefined, createSpeaker('modern', 'bob')));
    assert.deepEqual(
      all.targets.map(({ asked }) => asked.length),
      [2, 5],
    );
    all.time += 5_000;
    await read(all.list());
    assert.equal(all.targets[0]!.asked.length, 3);
  });

  test('without a time it is asked for each time', async () => {
    const all = federate('tools/list', { name: 'a', pages: [['x']], members: { cacheScope: 'public' } });
    await read(all.list());
    await read(all.list());
    assert.equal(all.targets[0]!.asked.length, 2);
  });
});

describe('resources', () => {
  test('page by page, with cursors that hide those of the servers', async () => {
    const all = federate(
      'resources/list',
      { name: 'a', pages: [['x:1'], ['x:2']] },
      { name: 'b', pages: [['x:1']] },
      { name: 'c' },
    );
    const first = await read(all.list());
    assert.deepEqual(nameAll(first, 'resources', 'uri'), ['a+x:1']);
    const second = await read(all.list(first['nextCursor'] as string));
    assert.deepEqual(nameAll(second, 'resources', 'uri'), ['a+x:2', 'b+x:1']);
    assert.equal(second['nextCursor'], undefined);
    assert.deepEqual(all.targets[0]!.asked, [undefined, 'p1']);
  });

  test('all of them down are an error on every page; while another one is up, what is left is without them', async () => {
    const state = { isDown: false, health: 'up' as 'up' | 'down' };
    const answer = (id: string, cursor: string | undefined, events: TargetEvents): void =>
      state.isDown
        ? down(id, cursor, events)
        : answerWith({ result: { resources: [{ uri: 'x:1' }], nextCursor: 'p1' } })(id, cursor, events);
    const all = federate(
      'resources/list',
      { name: 'a', pages: [['x:1']], health: () => state.health },
      { name: 'b', answer },
      { name: 'c', answer: down },
    );
    const { nextCursor } = await read(all.list());
    state.isDown = true;
    const without = await read(all.list(nextCursor as string));
    assert.deepEqual([without['resources'], without['_meta']], [[], { 'gateway.proxy/unavailable': ['b', 'c'] }]);
    state.health = 'down';
    assert.equal(
      await refuse(all.list(nextCursor as string)),
      '-32603 None of the servers is available: a, b, c. Try again later.',
    );
    state.isDown = false;
    assert.deepEqual(nameAll(await read(all.list(nextCursor as string)), 'resources', 'uri'), ['b+x:1']);
  });

  test('what is no URI could not be read, and is left out', async () => {
    const all = federate('resources/list', { name: 'a', pages: [['note', '/b', 'x:1']] });
    assert.deepEqual(nameAll(await read(all.list()), 'resources', 'uri'), ['a+x:1']);
  });

  test('behind a target that is slow the others are asked at once, and only it is late', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const all = federate(
      'resources/list',
      { name: 'a', pages: [['x:1']] },
      { name: 'b', answer() {} },
      { name: 'c', answer: down },
      { name: 'd', pages: [['x:1'], ['x:2']] },
      { name: 'e', pages: [['x:1']] },
    );
    const stop = new AbortController();
    const late: string[] = [];
    const outcome = listMerged(all, {
      method: 'resources/list',
      cursor: undefined,
      speaker: modern,
      signal: stop.signal,
      onMissing: (target, _problem, isLate) => void (isLate && late.push(target)),
    });
    await turn();
    assert.deepEqual(
      all.targets.map(({ asked }) => asked.length),
      [1, 1, 0, 0, 0],
    );
    t.mock.timers.tick(1_000);
    await turn();
    stop.abort();
    const first = await read(outcome);
    assert.deepEqual(nameAll(first, 'resources', 'uri'), ['a+x:1', 'd+x:1']);
    assert.deepEqual(first['_meta'], { 'gateway.proxy/unavailable': ['b', 'c'] });
    assert.deepEqual(late, ['b']);
    const second = await read(all.list(first['nextCursor'] as string));
    assert.deepEqual(nameAll(second, 'resources', 'uri'), ['d+x:2', 'e+x:1']);
    assert.deepEqual(
      all.targets.map(({ aborted }) => aborted),
      [0, 1, 0, 0, 0],
    );
  });

  test('what was asked for too early is not waited for', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let answer = (): void => {};
    const all = federate(
      'resources/list',
      {
        name: 'a',
        answer: (id, cursor, events) =>
          (answer = () =>
            answerWith({ result: { resources: [{ uri: 'x:1' }], nextCursor: 'p1' } })(id, cursor, events)),
      },
      { name: 'b', answer() {} },
    );
    const outcome = all.list();
    await turn();
    t.mock.timers.tick(1_000);
    await turn();
    answer();
    assert.deepEqual(nameAll(await read(outcome), 'resources', 'uri'), ['a+x:1']);
    await turn();
    assert.deepEqual([all.targets[1]!.asked.length, all.targets[1]!.aborted], [1, 1]);
  });

  test('a target that is down is passed over', async () => {
    const all = federate('resources/templates/list', { name: 'a', answer: down }, { name: 'b', pages: [['x:{1}']] });
    const result = await read(all.list());
    assert.deepEqual(nameAll(result, 'resourceTemplates', 'uriTemplate'), ['b+x:{1}']);
    assert.deepEqual(result['_meta'], { 'gateway.proxy/unavailable': ['a'] });
    assert.match(await refuse(federate('resources/list', { name: 'a', answer: down }).list()), /None of the servers/);
  });
});

const names = fc.array(fc.array(fc.string({ minLength: 1, maxLength: 5 }), { maxLength: 4 }), {
  minLength: 1,
  maxLength: 4,
});

test('whatever the targets list, every entry is there once, and leads back to its target', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/), { minLength: 1, maxLength: 5 }),
      fc.array(fc.tuple(names, fc.boolean()), { minLength: 5, maxLength: 5 }),
      fc.constantFrom<ListMethod>('tools/list', 'resources/list'),
      async (prefixes, lists, method) => {
        const isTool = method === 'tools/list';
        const options = prefixes.map((name, at): ListingOptions => {
          const [pages, isUp] = lists[at]!;
          return {
            name,
            pages: isTool ? pages : pages.map((page) => page.map((own) => `x:${own}`)),
            ...(!isUp && { answer: down }),
          };
        });
        const all = federate(method, ...options);
        const expected = options.flatMap(({ name, pages, answer }) =>
          // One page of resources may have what another one has.
          answer !== undefined
            ? []
            : isTool
              ? [...new Set(pages!.flat())].map((own) => [name, own])
              : pages!.flatMap((page) => [...new Set(page)].map((own) => [name, own])),
        );
        const found: (readonly [string, string])[] = [];
        let cursor: string | undefined;
        do {
          // eslint-disable-next-line no-await-in-loop
          const outcome = await all.list(cursor);
          if (!outcome.ok) {
            assert.ok(options.every(({ answer }) => answer !== undefined));
            return;
          }
          const result = JSON.parse(outcome.result) as Record<string, unknown>;
          for (const name of nameAll(result, isTool ? 'tools' : 'resources', isTool ? 'name' : 'uri') as string[]) {
            const federation = {
              targets: all.targets.map(({ config }) => config),
              naming: 'always' as const,
              serverInfo: undefined as never,
            };
            const led = isTool ? readClientName(federation, name) : readClientUri(federation, name);
            found.push([led!.target.name, led!.own]);
          }
          cursor = result['nextCursor'] as string | undefined;
        } while (cursor !== undefined);
        assert.deepEqual(found, expected);
      },
    ),
    { numRuns: effort(1_000, 200) },
  );
});
