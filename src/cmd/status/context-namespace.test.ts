import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { readContextNamespace } from './context-namespace.ts';

test('the namespace of the context, of the flag, of KUBECONFIG, or default', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'namespace-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [one, two, broken] = ['one', 'two', 'broken'].map((name) => join(folder, name)) as [string, string, string];
  await writeFile(one, 'current-context: a\ncontexts:\n- {name: a, context: {cluster: c, namespace: team}}\n');
  await writeFile(
    two,
    'current-context: b\ncontexts:\n- {name: b, context: {cluster: c}}\n- {name: a, context: {namespace: x}}\n',
  );
  await writeFile(broken, '{');
  const none = { env: {}, kubeconfig: undefined, context: undefined };
  assert.equal(await readContextNamespace({ ...none, kubeconfig: one }), 'team');
  assert.equal(await readContextNamespace({ ...none, kubeconfig: two }), 'default');
  assert.equal(await readContextNamespace({ ...none, kubeconfig: two, context: 'a' }), 'x');
  assert.equal(await readContextNamespace({ ...none, env: { KUBECONFIG: one } }), 'team');
  assert.equal(await readContextNamespace({ ...none, env: { KUBECONFIG: [one, two].join(delimiter) } }), 'team');
  assert.equal(await readContextNamespace({ ...none, env: { KUBECONFIG: one }, kubeconfig: two }), 'default');
  for (const file of [broken, join(folder, 'missing')])
    assert.equal(await readContextNamespace({ ...none, kubeconfig: file }), 'default');
  assert.equal(await readContextNamespace({ ...none, env: { HOME: folder } }), 'default');
});
