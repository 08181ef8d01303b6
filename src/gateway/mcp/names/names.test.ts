import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { FederationConfig, FederationTarget } from '../../config/federation-config.ts';
import { effort } from '../../../../test/kit/effort.ts';
import {
  readClientName,
  readClientTask,
  readClientUri,
  writeClientName,
  writeClientTask,
  writeClientUri,
} from './names.ts';

function federate(...prefixes: readonly string[]): FederationConfig {
  const targets = prefixes.map((prefix) => ({ name: prefix, prefix }) as FederationTarget);
  return {
    targets,
    naming: 'always',
    serverInfo: { name: 'all', title: undefined, version: '1', instructions: undefined },
  };
}

const two = federate('tix', 'tix-2');

test('names carry the prefix of their target', () => {
  const [first, second] = two.targets;
  assert.equal(writeClientName(first!, 'always', 'close'), 'tix_close');
  assert.equal(writeClientName(second!, 'always', '_close_all'), 'tix-2__close_all');
  assert.equal(writeClientName(first!, 'never', 'close'), 'close');
  assert.deepEqual(readClientName(two, 'tix_close'), { target: first, own: 'close' });
  assert.deepEqual(readClientName(two, 'tix-2__close_all'), { target: second, own: '_close_all' });
});

test('a name that leads to no target is nobody’s', () => {
  for (const name of [
    '',
    '_',
    'close',
    '_close',
    'tix',
    'tix_',
    'crm_close',
    'Tix_close',
    'tix-_close',
    `${'a'.repeat(70)}_x`,
  ])
    assert.equal(readClientName(two, name), undefined, name);
});

test('URIs carry the prefix before their scheme; ui:// keeps its own', () => {
  const [first] = two.targets;
  const cases = [
    ['file:///a', 'tix+file:///a'],
    ['git+ssh://host/x', 'tix+git+ssh://host/x'],
    ['urn:isbn:1', 'tix+urn:isbn:1'],
    ['ui://app/x.html', 'ui://tix/app/x.html'],
    ['file:///{path}', 'tix+file:///{path}'],
    ['UI://app', 'tix+UI://app'],
  ] as const;
  for (const [own, seen] of cases) {
    assert.equal(writeClientUri(first!, 'always', own), seen);
    assert.deepEqual(readClientUri(two, seen), { target: first, own });
    assert.equal(writeClientUri(first!, 'never', own), own);
  }
});

test('a URI without a scheme is none, under no naming', () => {
  for (const own of ['', 'a', '/a', '//host', ':a', '1a:b', '+file:///a']) {
    assert.equal(writeClientUri(two.targets[0]!, 'always', own), undefined, own);
    assert.equal(writeClientUri(two.targets[0]!, 'never', own), undefined, own);
  }
});

test('a URI that leads to no target is nobody’s', () => {
  const uris = [
    'file:///a',
    'tix+',
    'tix+a',
    'tix+/a',
    '+file:///a',
    'crm+file:///a',
    'TIX+file:///a',
    'ui://tix',

    'ui://crm/a',
  ];
  // A resource has one name: not also this one.
  for (const uri of [...uris, 'tix+ui://app']) assert.equal(readClientUri(two, uri), undefined, uri);
});

test('tasks carry their target', () => {
  const [, second] = two.targets;
  assert.deepEqual(readClientTask(two, writeClientTask(second!, 'a_b')), { target: second, own: 'a_b' });
});

const prefix = fc.stringMatching(/^[a-z][a-z0-9-]{0,19}$/);

test('what one server calls its own never leads to another one', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(prefix, { minLength: 2, maxLength: 8 }),
      fc.string({ minLength: 1 }),
      (prefixes, own) => {
        const federation = federate(...prefixes);
        for (const target of federation.targets) {
          assert.deepEqual(readClientName(federation, writeClientName(target, 'always', own)), { target, own });
          const uri = writeClientUri(target, 'always', `x:${own}`);
          assert.deepEqual(readClientUri(federation, uri!), { target, own: `x:${own}` });
          const page = writeClientUri(target, 'always', `ui://${own}`);
          assert.deepEqual(readClientUri(federation, page!), { target, own: `ui://${own}` });
        }
      },
    ),
    { numRuns: effort(1_000) },
  );
});
