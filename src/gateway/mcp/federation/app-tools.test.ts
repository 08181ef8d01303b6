import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../../base/log.ts';
import { createAppTools, isAppTool } from './app-tools.ts';
import type { Member } from './federation.ts';
import { ListCache } from './list-cache.ts';
import { createListingTarget, createSpeaker, type ListingOptions } from './testing/listing-target.ts';
import type { TargetEvents } from './target.ts';

test('pages may call what is of an app and does not say otherwise', () => {
  const is = (meta: unknown): boolean => isAppTool(JSON.stringify({ name: 'x', _meta: meta }));
  for (const meta of [
    { ui: {} },
    { ui: { resourceUri: 'ui://a' } },
    { ui: { visibility: ['app'] } },
    { ui: { visibility: ['model', 'app'] } },
    { 'ui/resourceUri': 'ui://a' },
    { ui: { visibility: ['app'] }, 'ui/resourceUri': 'ui://a' },
  ])
    assert.equal(is(meta), true, JSON.stringify(meta));
  for (const meta of [
    undefined,
    null,
    'ui',
    {},
    { ui: true },
    { ui: null },
    { ui: [] },
    { ui: { visibility: ['model'] } },
    { ui: { visibility: [] } },
    { ui: { visibility: 'app' } },
    { ui: { visibility: null } },
    { ui: { visibility: ['model'] }, 'ui/resourceUri': 'ui://a' },
    { 'ui/resourceUri': {} },
    { other: { ui: {} } },
  ])
    assert.equal(is(meta), false, JSON.stringify(meta));
  assert.equal(isAppTool('{"name":"x","ui":{},"inputSchema":{"ui":{}}}'), false);
});

const down = (_id: string, _cursor: string | undefined, events: TargetEvents): void =>
  events.onFailure({ kind: 'down', status: undefined, headers: [], detail: 'nothing listens there' });

/** Tools that begin with `app` are of an app. */
function listTools(names: readonly string[]): NonNullable<ListingOptions['answer']> {
  return (id, _cursor, events) => {
    const tools = names.map((name) => ({ name, ...(name.startsWith('app') && { _meta: { ui: {} } }) }));
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: { tools } });
    events.onMessage({ text, kind: 'response', id: JSON.stringify(id), method: undefined, eventId: undefined });
    events.onEnd();
  };
}

function createTools(answers: Readonly<Record<string, NonNullable<ListingOptions['answer']>>>) {
  const clock = { now: 0 };
  const lines: string[] = [];
  const write =
    (level: string) =>
    (_fields: object, message: string): void =>
      void lines.push(`${level} ${message}`);
  const log = { debug() {}, info: write('info'), warn: write('warn') } as unknown as Log;
  const now = (): number => clock.now;
  const tools = createAppTools({ key: 'all', cache: new ListCache(now), log, now });
  const targets = Object.entries(answers).map(([name, answer]) => createListingTarget('tools/list', { name, answer }));
  const members: Member[] = targets.map((target) => ({ config: target.config, target }));
  const find = async (name: string, isVisible?: (target: string) => boolean): Promise<string> => {
    const finding = await tools.find(
      members,
      createSpeaker('legacy', 'ann'),
      { kind: 'tool', name },
      isVisible && { isVisible },
    );
    return finding.kind === 'owned' ? finding.target : finding.kind;
  };
  const asked = (): readonly number[] => targets.map((target) => target.asked.length);
  return { find, asked, clock, lines };
}

test('a tool is looked for among those of apps', async () => {
  const { find, lines } = createTools({
    a: listTools(['app1', 'both', 'app2']),
    b: listTools(['both', 'app2', 'app3']),
  });
  assert.deepEqual(await Promise.all(['app1', 'app3', 'both', 'app2', 'none'].map((name) => find(name))), [
    'a',
    'b',
    'unknown',
    'contested',
    'unknown',
  ]);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^info .* pages have to call these with the prefix$/);
});

test('what is hidden is not there: it is looked for like what is unknown, and makes nothing ambiguous', async () => {
  const hidden = createTools({ a: listTools(['app1', 'app2']), b: listTools(['app2']) });
  const unknown = createTools({ a: listTools([]), b: listTools([]) });
  const notA = (target: string): boolean => target !== 'a';
  for (const now of [0, 500, 1_000, 1_500, 5_000]) {
    hidden.clock.now = now;
    unknown.clock.now = now;
    // eslint-disable-next-line no-await-in-loop
    assert.deepEqual([await hidden.find('app1', notA), await unknown.find('app1')], ['unknown', 'unknown']);
    assert.deepEqual(hidden.asked(), unknown.asked(), `after ${now} ms`);
  }
  assert.equal(await hidden.find('app2', notA), 'b');
  assert.equal(await hidden.find('app2'), 'contested');
});

test('as long as a target has listed nothing, every name is open, whatever its failureMode', async () => {
  const answers = { a: listTools(['app1']), b: down };
  const { find, clock } = createTools(answers);
  assert.deepEqual([await find('app1'), await find('none')], ['unavailable', 'unavailable']);
  assert.equal(await find('app1', () => false), 'unavailable');
  clock.now = 60_000;
  assert.equal(await find('app1'), 'unavailable');
});
