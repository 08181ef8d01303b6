import assert from 'node:assert/strict';
import { readFile, writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { FilesSource } from '../sources/files/files-source.ts';
import { translate } from '../translate/translate.ts';
import { formatStatusProblems, formatUnattached } from './status-problems.ts';

/** Translates the good file with one mistake in it. */
async function translateWith(t: TestContext, right: string, wrong: string) {
  const folder = await mkdtemp(join(tmpdir(), 'status-problems-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const good = await readFile(join(import.meta.dirname, 'testdata/check-broken.yaml'), 'utf8');
  const file = join(folder, 'gateway.yaml');
  assert.ok(good.includes(right));
  await writeFile(file, good.replace(right, wrong));
  const source = new FilesSource({ paths: [file], environment: {}, watch: false });
  assert.deepEqual(await source.start(), { ok: true });
  const resources = source.resources.get();
  const places = { locate: source.locate.bind(source), workingDirectory: folder };
  return { resources, translation: translate(resources), places };
}

test('lines of the log: the cause first, at its field, and what follows from it names it', async (t) => {
  const { resources, translation, places } = await translateWith(
    t,
    'gatewayClassName: proxy',
    'gatewayClassName: prox',
  );
  assert.deepEqual(formatStatusProblems(translation, resources, places), [
    'gateway.yaml:7:21 spec.gatewayClassName: Gateway default/public: is not served: its GatewayClass prox does not exist; use the GatewayClass proxy',
    'gateway.yaml:60:11 spec.targetRefs[0].name: ProxyPolicy default/login, at ProxyBackend default/tickets: No Gateway leads to ProxyBackend/tickets yet (Pending); because of gateway.yaml:7:21',
  ]);
  assert.match(
    formatStatusProblems(translation, resources)[1] ?? '',
    /^spec\.targetRefs.*; because of Gateway default\/public$/,
  );
});

test('a policy that misses its target has one line, at the target, which says what that closes', async (t) => {
  const { resources, translation, places } = await translateWith(
    t,
    'kind: ProxyBackend\n    name: tickets\n  backend:',
    'kind: ProxyBackend\n    name: ticket\n  backend:',
  );
  assert.deepEqual(formatStatusProblems(translation, resources, places, translation.unattached), []);
  const said =
    'gateway.yaml:60:11 spec.targetRefs[0].name: ProxyPolicy default/login protects less than it should: ProxyBackend/ticket does not exist in namespace default. Did you mean tickets?';
  assert.deepEqual(formatUnattached(translation, resources, false, places), [
    `${said} Meanwhile routes that nothing protects answer 403 (policy_unattached).`,
  ]);
  assert.deepEqual(formatUnattached(translation, resources, true, places), [
    `${said} What it was to protect may be open (--allow-unattached).`,
  ]);
});

test('a target that is not valid is not missing: the policy is told so, and nothing is closed because of it', async (t) => {
  const { resources, translation, places } = await translateWith(t, '    targets:', '    target:');
  assert.deepEqual(formatUnattached(translation, resources, false, places), []);
  assert.match(
    formatStatusProblems(translation, resources, places, translation.unattached).at(-1) ?? '',
    /^gateway\.yaml:60:11 spec\.targetRefs\[0\]\.name: .*: ProxyBackend\/tickets is invalid \(TargetNotFound\); because of ProxyBackend default\/tickets$/,
  );
});
