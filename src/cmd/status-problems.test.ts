import assert from 'node:assert/strict';
import { readFile, writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FilesSource } from '../sources/files/files-source.ts';
import { translate } from '../translate/translate.ts';
import { formatStatusProblems } from './status-problems.ts';

test('lines of the log: the cause first, at its field, and what follows from it names it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'status-problems-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const good = await readFile(join(import.meta.dirname, 'testdata/check-broken.yaml'), 'utf8');
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, good.replace('gatewayClassName: proxy', 'gatewayClassName: prox'));
  const source = new FilesSource({ paths: [file], environment: {}, watch: false });
  assert.deepEqual(await source.start(), { ok: true });
  const resources = source.resources.get();
  const translation = translate(resources);
  const places = { locate: source.locate.bind(source), workingDirectory: folder };
  assert.deepEqual(formatStatusProblems(translation, resources, places), [
    'gateway.yaml:7:21 spec.gatewayClassName: Gateway default/public: is not served: its GatewayClass prox does not exist; use the GatewayClass proxy',
    'gateway.yaml:60:11 spec.targetRefs[0].name: ProxyPolicy default/login, at ProxyBackend default/tickets: No Gateway leads to ProxyBackend/tickets yet (Pending); because of gateway.yaml:7:21',
  ]);
  assert.match(
    formatStatusProblems(translation, resources)[1] ?? '',
    /^spec\.targetRefs.*; because of Gateway default\/public$/,
  );
});
