// Whatever targets there are, with whatever names, on whatever pages, well or not: what clients of either era are told is the union, and everything in it can be used, and
// reaches the one target that has it, under its own name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { effort } from '../../../../../test/kit/effort.ts';
import type { TargetFailure } from '../target.ts';
import type { FakeBehaviour, FakeCall } from '../testing/fake-target.ts';
import { createFederation, type FederationFixture, type Talk } from '../testing/federation-fixture.ts';

type Kind = 'tool' | 'prompt' | 'resource' | 'template';

interface Form {
  readonly list: string;
  readonly member: string;
  readonly key: string;
  /** By which an entry is used, with which parameter; undefined: not as it is. */
  readonly use: readonly [method: string, parameter: string] | undefined;
  /** From any text to a name of this kind. */
  readonly write: (text: string) => string;
}

const forms: Readonly<Record<Kind, Form>> = {
  tool: { list: 'tools/list', member: 'tools', key: 'name', use: ['tools/call', 'name'], write: (text) => text },
  prompt: { list: 'prompts/list', member: 'prompts', key: 'name', use: ['prompts/get', 'name'], write: (text) => text },
  resource: {
    list: 'resources/list',
    member: 'resources',
    key: 'uri',
    use: ['resources/read', 'uri'],
    write: (text) => `x:${text}`,
  },
  template: {
    list: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    use: undefined,
    write: (text) => `t:///${encodeURIComponent(text)}/{v}`,
  },
};
const kinds = Object.keys(forms) as readonly Kind[];

/** What a target is like, at first and afterwards. */
interface Drawn {
  readonly pages: readonly (readonly string[])[];
  readonly failsClosed: boolean;
  /** Undefined: it is well. */
  readonly failures: readonly (TargetFailure['kind'] | undefined)[];
}

const name = fc.oneof(
  // What several have, what looks like the names of others, and what is as long as it gets.
  { weight: 3, arbitrary: fc.constantFrom('x', 'y', '_', '_x', 'a_x', 'b_a_x', 'é', 'e\u0301', 'X', 'x'.repeat(200)) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
);
const failure: fc.Arbitrary<TargetFailure['kind'] | undefined> = fc.option(
  fc.constantFrom('down', 'timeout', 'garbage', 'refused', 'no-answer'),
  { nil: undefined, freq: 2 },
);
const rounds = 2;
const drawn: fc.Arbitrary<Drawn> = fc.record({
  pages: fc.array(fc.array(name, { maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  failsClosed: fc.boolean(),
  failures: fc.array(failure, { minLength: rounds, maxLength: rounds }),
});
const prefix = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('a', 'b', 'a-', 'ab') },
  { weight: 1, arbitrary: fc.stringMatching(/^[a-z][a-z0-9-]{0,19}$/) },
);

/** A server with pages of names, which says who it is and by what it was asked for. */
function serve(target: string, { pages }: Drawn): FakeBehaviour {
  return {
    onRequest(call: FakeCall) {
      const { method, params } = call.message.message;
      const kind = kinds.find((each) => forms[each].list === method);
      if (kind === undefined) return call.answer(describeUse(target, params['name'] ?? params['uri']));
      const { member, key, write } = forms[kind];
      const page = Number(params['cursor'] ?? 0);
      return call.answer({
        [member]: pages[page]!.map((text) => ({ [key]: write(text) })),
        ...(page + 1 < pages.length && { nextCursor: String(page + 1) }),
      });
    },
  };
}

const describeUse = (target: string, own: unknown): object => ({
  content: [{ type: 'text', text: `${target} ${own as string}` }],
});

type Ask = (method: string, params?: Record<string, unknown>) => Talk;

interface Listed {
  readonly names: readonly string[];
  readonly missing: ReadonlySet<string>;
  /** In place of a list. */
  readonly error: string | undefined;
}

async function readList(ask: Ask, { list, member, key }: Form): Promise<Listed> {
  const names: string[] = [];
  const missing = new Set<string>();
  let cursor: string | undefined;
  do {
    // eslint-disable-next-line no-await-in-loop -- each page says where the next one begins
    const { json } = await ask(list, cursor === undefined ? {} : { cursor }).done;
    const { result, error } = json as { result?: Record<string, unknown>; error?: { code: number; message: string } };
    if (result === undefined) return { names, missing, error: `${error!.code} ${error!.message}` };
    for (const entry of result[member] as Record<string, string>[]) names.push(entry[key]!);
    const meta = (result['_meta'] ?? {}) as Record<string, readonly string[]>;
    for (const target of meta['gateway.proxy/unavailable'] ?? []) missing.add(target);
    cursor = result['nextCursor'] as string | undefined;
  } while (cursor !== undefined);
  return { names, missing, error: undefined };
}

const says: Readonly<Record<TargetFailure['kind'], string>> = {
  down: 'cannot be reached',
  timeout: 'did not answer in time',
  garbage: 'sent an answer that cannot be read',
  refused: 'refused the request',
  'no-answer': 'broke off before it answered',
};

const unknown = (kind: Kind, called: string, era: 'legacy' | 'modern'): string =>
  kind === 'resource'
    ? `${era === 'modern' ? -32_602 : -32_002} Resource not found`
    : `-32602 Unknown ${kind}: ${called}`;

function readAnswer({ json }: Talk): string {
  const { error, result } = json as {
    error?: { code: number; message: string };
    result?: { content: { text: string }[] };
  };
  return error === undefined ? result!.content[0]!.text : `${error.code} ${error.message}`;
}

/** What clients call it. */
function rename(naming: 'always' | 'never', target: string, kind: Kind, own: string): string {
  if (naming === 'never') return own;
  return kind === 'tool' || kind === 'prompt' ? `${target}_${own}` : `${target}+${own}`;
}

async function connect(fixture: FederationFixture, era: 'legacy' | 'modern'): Promise<Ask> {
  if (era === 'modern') return (method, params) => fixture.askModern(method, params);
  const session = await fixture.initialize();
  return (method, params) => fixture.ask(session, method, params);
}

test('any federation', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(prefix, { minLength: 1, maxLength: 5 }),
      fc.array(drawn, { minLength: 5, maxLength: 5 }),
      fc.constantFrom('always' as const, 'never' as const),
      fc.constantFrom('legacy' as const, 'modern' as const),
      async (names, all, naming, era) => {
        const targets = names.map((target, at) => ({ target, ...all[at]! }));
        const behaviours = Object.fromEntries(targets.map((each) => [each.target, serve(each.target, each)]));
        const failsClosed = targets.filter((each) => each.failsClosed).map(({ target }) => target);
        const fixture = createFederation(behaviours, { config: { naming }, failsClosed });
        const ask = await connect(fixture, era);
        /** Those whose lists the gateway has seen. */
        const known = new Set<string>();
        for (let round = 0; round < rounds; round += 1) {
          const failing = new Map<string, TargetFailure['kind']>();
          for (const { target, failures } of targets) {
            const kind = failures[round];
            behaviours[target]!.failure = kind === undefined ? undefined : { kind };
            if (kind === undefined) known.add(target);
            else failing.set(target, kind);
          }
          const situation = { ask, targets, naming, era, failing, known };
          // Whose a name is depends on lists alone, those of templates for resources, too.
          for (const kind of kinds) {
            // eslint-disable-next-line no-await-in-loop
            await checkList(kind, situation);
          }
          // eslint-disable-next-line no-await-in-loop
          await Promise.all(kinds.map((kind) => checkUse(kind, situation)));
        }
      },
    ),
    { numRuns: effort(1_000, 60) },
  );
});

interface Situation {
  readonly ask: Ask;
  readonly targets: readonly (Drawn & { readonly target: string })[];
  readonly naming: 'always' | 'never';
  readonly era: 'legacy' | 'modern';
  readonly failing: ReadonlyMap<string, TargetFailure['kind']>;
  readonly known: ReadonlySet<string>;
}

const listOwn = (kind: Kind, { pages }: Drawn): readonly string[] => [...new Set(pages.flat().map(forms[kind].write))];

/** Names that several have, so that nobody does. */
function findContested(kind: Kind, { targets, naming, known }: Situation): ReadonlySet<string> {
  if (naming === 'always') return new Set();
  const all = targets.filter(({ target }) => known.has(target)).flatMap((each) => listOwn(kind, each));
  return new Set(all.filter((own, at) => all.indexOf(own) !== at));
}

async function checkList(kind: Kind, situation: Situation): Promise<void> {
  const { ask, targets, naming, failing } = situation;
  const contested = findContested(kind, situation);
  const listed = await readList(ask, forms[kind]);
  const indispensable = targets.find(({ target, failsClosed }) => failsClosed && failing.has(target));
  if (indispensable !== undefined) {
    assert.equal(
      listed.error,
      `-32603 The server ${indispensable.target} is not available, and this list must not be without it. Try again later.`,
    );
  } else if (failing.size === targets.length) {
    assert.equal(
      listed.error,
      `-32603 None of the servers is available: ${[...failing.keys()].join(', ')}. Try again later.`,
    );
  } else {
    const isPaged = naming === 'always' && (kind === 'resource' || kind === 'template');
    const expected = targets.flatMap((each) => {
      if (failing.has(each.target)) return [];
      // One page of resources may have what another one has.
      const own = isPaged
        ? each.pages.flatMap((page) => [...new Set(page.map(forms[kind].write))])
        : listOwn(kind, each);
      return own.filter((text) => !contested.has(text)).map((text) => rename(naming, each.target, kind, text));
    });
    assert.equal(listed.error, undefined);
    assert.deepEqual(listed.names, expected);
    assert.deepEqual(listed.missing, new Set(failing.keys()));
  }
}

async function checkUse(kind: Kind, situation: Situation): Promise<void> {
  const { ask, targets, naming, era, failing, known } = situation;
  const contested = findContested(kind, situation);
  const { use } = forms[kind];
  if (use === undefined) return;
  const [method, parameter] = use;
  /** Nobody's as long as it is not known whose it is. */
  const obstacle =
    naming === 'never' ? targets.find(({ target, failsClosed }) => failsClosed && !known.has(target)) : undefined;
  const asked: Promise<void>[] = [];
  for (const each of targets) {
    const { target } = each;
    for (const own of listOwn(kind, each)) {
      const called = rename(naming, target, kind, own);
      const why = failing.get(target);
      let expected = `${target} ${own}`;
      if (obstacle !== undefined) expected = `-32603 The server "${obstacle.target}" cannot be reached.`;
      else if (naming === 'never' && !known.has(target)) continue;
      else if (contested.has(own)) expected = unknown(kind, called, era);
      else if (why !== undefined) expected = `-32603 The server "${target}" ${says[why]}.`;
      const check = async (): Promise<void> =>
        assert.equal(readAnswer(await ask(method, { [parameter]: called }).done), expected, `${method} ${called}`);
      asked.push(check());
    }
  }
  await Promise.all(asked);
}
