// Whatever is accepted as a message has one meaning: a second reader (test/kit/json-tree.ts) is asked in all the ways in which
// servers read JSON (the first of two keys wins, or the last; keys with regard to case, or without) and always finds the same message.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { foldKeys } from './known-keys.ts';
import { parseBody } from './parse-message.ts';
import { effort } from '../../../../test/kit/effort.ts';
import { readJsonTree, type JsonTree } from '../../../../test/kit/json-tree.ts';

type Find = (tree: JsonTree | undefined, key: string) => JsonTree | undefined;

const isObject = (tree: JsonTree | undefined): tree is Extract<JsonTree, { members: unknown }> =>
  typeof tree === 'object' && tree !== null && !Array.isArray(tree);

/** The ways in which servers look a key up. */
function findBy(matches: (found: string, wanted: string) => boolean, pick: 'first' | 'last'): Find {
  return (tree, key) => {
    if (!isObject(tree)) return undefined;
    const found = tree.members.filter(([name]) => matches(name, key));
    return (pick === 'first' ? found[0] : found.at(-1))?.[1];
  };
}

const matchers: readonly ((found: string, wanted: string) => boolean)[] = [
  (found, wanted) => found === wanted,
  (found, wanted) => found.toLowerCase() === wanted.toLowerCase(),
  (found, wanted) => found.toUpperCase() === wanted.toUpperCase(),
  (found, wanted) => found.localeCompare(wanted, 'en', { sensitivity: 'base' }) === 0,
  // Up to the first NUL, as C does.
  (found, wanted) => found.split('\0')[0] === wanted,
];
const finders = matchers.flatMap((matches) => [findBy(matches, 'first'), findBy(matches, 'last')]);

/** All that decides about a message. */
function readMeaning(tree: JsonTree, find: Find): unknown {
  const params = find(tree, 'params');
  const ref = find(params, 'ref');
  return {
    version: find(tree, 'jsonrpc'),
    id: find(tree, 'id') ?? null,
    method: find(tree, 'method') ?? null,
    isAnswer: find(tree, 'result') !== undefined || find(tree, 'error') !== undefined,
    name: find(params, 'name') ?? null,
    uri: find(params, 'uri') ?? null,
    path: find(find(params, 'arguments'), 'path') ?? null,
    ref: [find(ref, 'type') ?? null, find(ref, 'name') ?? null, find(ref, 'uri') ?? null],
  };
}

const spellings = (key: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 24, arbitrary: fc.constant(key) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        key.toUpperCase(),
        key[0]!.toUpperCase() + key.slice(1),
        key.replace('i', 'ı'),
        key.replace('s', 'ſ'),
        `${key}\0`,
        `${key}\u200b`,
        ` ${key}`,
      ),
    },
  );

/** A JSON string, now and then with an escape that need not be. */
const quoted = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(value, fc.boolean())
    .map(([text, isEscaped]) =>
      isEscaped && text !== ''
        ? `"\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}${JSON.stringify(text.slice(1)).slice(1)}`
        : JSON.stringify(text),
    );

const gap = fc.constantFrom('', '', '', ' ', '\n', '\t ');

const object = (members: readonly fc.Arbitrary<readonly [string, string]>[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.shuffledSubarray([...members], { minLength: Math.max(0, members.length - 3) }), fc.nat(20))
    .chain(([chosen, twice]) =>
      fc
        .tuple(fc.tuple(...(twice === 0 && chosen[0] !== undefined ? [...chosen, chosen[0]] : chosen)), gap)
        .map(
          ([entries, space]) =>
            `{${space}${entries.map(([key, value]) => `${key}${space}:${space}${value}`).join(`,${space}`)}${space}}`,
        ),
    );

const member = (key: string, value: fc.Arbitrary<string>): fc.Arbitrary<readonly [string, string]> =>
  fc.tuple(quoted(spellings(key)), value);

const word = quoted(fc.constantFrom('tools/call', 'Tools/Call', 'a', 'b', '/etc', '', 'ref/prompt', '{"name":"x"}'));
const odd = fc.constantFrom('null', '1', '1.5', '"x"', '[]', '{}', 'true', '1e400', '"\\ud800"', '9007199254740993');
const mostly = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 30, arbitrary: value }, { weight: 1, arbitrary: odd });

const params = object([
  member('name', mostly(word)),
  member('uri', mostly(word)),
  member('arguments', mostly(object([member('path', word), member('deep', object([member('path', word)]))]))),
  member('ref', mostly(object([member('type', word), member('name', word), member('uri', word)]))),
]);

const body = object([
  member('jsonrpc', mostly(fc.constant('"2.0"'))),
  member('id', mostly(fc.oneof(fc.integer().map(String), word))),
  member('method', mostly(word)),
  member('params', mostly(params)),
  member('result', fc.constant('{}')),
]);

const mutated = fc.oneof(
  { weight: 6, arbitrary: body },
  {
    weight: 1,
    arbitrary: fc
      .tuple(body, fc.nat(), fc.constantFrom('', '"', '\\', ',', '{', '}', '\0', 'x', ':', ' '))
      .map(([text, place, piece]) => {
        const at = place % text.length;
        return text.slice(0, at) + piece + text.slice(at + 1);
      }),
  },
);

const argumentKeys = foldKeys(['path', 'deep']);

test('all readers find the same message in what is accepted', () => {
  let accepted = 0;
  fc.assert(
    fc.property(mutated, (text) => {
      const parsed = parseBody(Buffer.from(text), argumentKeys);
      if (!parsed.ok) return;
      accepted += 1;
      const tree = readJsonTree(text);
      const meaning = readMeaning(tree, finders[0]!);
      for (const find of finders) assert.deepEqual(readMeaning(tree, find), meaning);
      // And the gateway is one of them.
      const [message] = parsed.messages;
      const seen = meaning as { id: unknown; method: unknown; name: unknown; uri: unknown; isAnswer: boolean };
      if (message.kind === 'response') {
        assert.equal(seen.method, null);
        assert.equal(seen.isAnswer, true);
        return;
      }
      assert.deepEqual(
        [message.method, message.params['name'] ?? null, message.params['uri'] ?? null],
        [seen.method, flatten(seen.name), flatten(seen.uri)],
      );
      assert.equal(message.kind === 'request' ? message.id : null, seen.id);
      assert.equal(seen.isAnswer, false);
    }),
    { numRuns: effort(20_000) },
  );
  assert.ok(accepted > effort(1_000, 50), `only ${accepted} of the texts were accepted`);
});

/** A value as JSON.parse makes it. */
function flatten(tree: unknown): unknown {
  if (!isObject(tree as JsonTree)) return Array.isArray(tree) ? tree.map(flatten) : tree;
  return Object.fromEntries(
    (tree as Extract<JsonTree, { members: unknown }>).members.map(([key, value]) => [key, flatten(value)]),
  );
}

test('the second reader reads what JSON.parse reads', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const value: unknown = JSON.parse(text);
      fc.pre(!text.includes('__proto__'));
      assert.deepEqual(flatten(readJsonTree(text)), value);
    }),
    { numRuns: 1_000 },
  );
});
