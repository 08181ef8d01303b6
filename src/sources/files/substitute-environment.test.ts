import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findStrayReferences, substituteEnvironment, type Substitution } from './substitute-environment.ts';

const files: Record<string, string> = {
  '/run/secrets/token': 'from-file\n',
  '/conf/rel/key.pem': '-----BEGIN\nx\n\n',
  '/empty': '\n',
};

function substitute(raw: unknown): Promise<Substitution> {
  return substituteEnvironment(raw, {
    environment: { TOKEN: 'from-env', EMPTY: '', NESTED: '${TOKEN}', _x1: 'under' },
    folder: '/conf',
    readValueFile: async (path) =>
      Object.hasOwn(files, path) ? { ok: true, value: files[path]! } : { ok: false, message: 'does not exist' },
  });
}

async function substituteValue(value: string): Promise<unknown> {
  const { raw, problems } = await substitute({ kind: 'Secret', stringData: { key: value } });
  if (problems.length > 0) return problems.map(({ message }) => message).join('; ');
  return (raw as { stringData: { key: string } }).stringData.key;
}

describe('substituteEnvironment', () => {
  const cases: readonly [value: string, result: string][] = [
    ['${TOKEN}', 'from-env'],
    ['Bearer ${TOKEN}.', 'Bearer from-env.'],
    ['${TOKEN}${_x1}', 'from-envunder'],
    ['${NESTED}', '${TOKEN}'],
    ['${file:/run/secrets/token}', 'from-file'],
    ['${file:rel/key.pem}', '-----BEGIN\nx\n'],
    ['plain', 'plain'],
    ['', ''],
    ['pa$word', 'pa$word'],
    ['$TOKEN $(TOKEN) $1 $', '$TOKEN $(TOKEN) $1 $'],
    ['$$ $$TOKEN', '$$ $$TOKEN'],
    ['$${TOKEN}', '${TOKEN}'],
    ['a}b', 'a}b'],
    ['${MISSING}', 'the environment variable MISSING is not set; set it, or write ${file:/path/to/file}'],
    ['${toString}', 'the environment variable toString is not set; set it, or write ${file:/path/to/file}'],
    ['${EMPTY}', 'the environment variable EMPTY is empty'],
    ['${file:/nope}', 'the file /nope does not exist'],
    ['${file:/empty}', 'the file /empty is empty'],
    ['${file:}', 'names no file; write ${file:/path/to/file}'],
  ];
  for (const [value, result] of cases) {
    test(`${JSON.stringify(value)} becomes ${JSON.stringify(result)}`, async () => {
      assert.equal(await substituteValue(value), result);
    });
  }

  test('what is no reference is a problem that does not show the value', async () => {
    for (const value of ['hunter2${', 'hunter2${}', 'hunter2${a b}', 'hunter2${hunter2-x}', '${hunter2']) {
      const message = await substituteValue(value);
      assert.match(String(message), /starts no reference/);
      assert.doesNotMatch(String(message), /hunter2/);
    }
  });

  test('only stringData of a Secret, and nothing is changed in place', async () => {
    const secret = {
      kind: 'Secret',
      metadata: { name: '${TOKEN}' },
      data: { a: '${TOKEN}' },
      stringData: { b: '${TOKEN}', c: 1 },
    };
    const before = structuredClone(secret);
    const { raw, problems } = await substitute(secret);
    assert.deepEqual(problems, []);
    assert.deepEqual(raw, { ...before, stringData: { b: 'from-env', c: 1 } });
    assert.deepEqual(secret, before);
    for (const other of [
      { kind: 'ConfigMap', data: { a: '${TOKEN}' }, stringData: { a: '${TOKEN}' } },
      { kind: 'Secret', stringData: '${TOKEN}' },
      '${TOKEN}',
      null,
      [1],
    ]) {
      assert.equal((await substitute(other)).raw, other);
    }
  });

  test('says which files it needed, also those that are missing', async () => {
    const { files: needed, problems } = await substitute({
      kind: 'Secret',
      stringData: { a: '${file:/nope} ${file:rel/key.pem}', b: '${file:/nope}' },
    });
    assert.deepEqual(needed, ['/nope', '/conf/rel/key.pem']);
    assert.deepEqual(
      problems.map(({ path }) => path),
      [
        ['stringData', 'a'],
        ['stringData', 'b'],
      ],
    );
  });
});

test('references outside of a Secret are found when they are the whole value', () => {
  const raw = { kind: 'A', spec: { issuer: '${ISSUER}', list: ['x', '${file:/a}'], text: 'a ${B}', rewrite: '${1}' } };
  assert.deepEqual(
    findStrayReferences(raw).map(({ path }) => path.join('.')),
    ['spec.issuer', 'spec.list.1'],
  );
  assert.deepEqual(findStrayReferences({ ...raw, kind: 'Secret' }), []);
  assert.deepEqual(findStrayReferences('x'), []);
});
