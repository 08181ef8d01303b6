// The commands of docs/explain.md that are about a cluster, run as they stand there. UPDATE_GOLDENS=1 writes the outputs anew.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readObjects } from '../../src/cmd/status/testing/cluster-case.ts';
import { runExplain, writeFolder } from './explain-fixture.ts';
import { startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { writeKubeconfig } from './status-command-fixture.ts';

const page = join(import.meta.dirname, '../../docs/explain.md');
const named = /^`([\w-]+\.\w+)`:\n\n```\w+\n([\s\S]*?)^```$/gm;
const shown = /^```console\n\$ (mcp-gatehouse explain.*)\n([\s\S]*?)^```$/gm;

test('docs/explain.md: the commands for a cluster print what it shows', async (t) => {
  const text = await readFile(page, 'utf8');
  const { 'gateway.yaml': resources, ...files } = Object.fromEntries(
    [...text.matchAll(named)].map(([, name, content]) => [name!, content!]),
  );
  const folder = await writeFolder(t, files);
  const cluster = await startFakeApiServer(t);
  const gatewayClass = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'proxy' },
    spec: { controllerName: 'gateway.proxy/controller' },
  };
  for (const object of [gatewayClass, ...readObjects(resources!)]) cluster.put(object);
  const kubeconfig = await writeKubeconfig(t, cluster.url);
  const examples = [...text.matchAll(shown)].map(([, command, output]) => ({ command: command!, output: output! }));
  assert.equal(examples.length, 1);
  let written = text;
  for (const { command, output } of examples) {
    const [, , ...words] = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
    const args = words.map((word) => (Object.hasOwn(files, word) ? join(folder, word) : word));
    const { out, err } = await runExplain([...args, '--kubeconfig', kubeconfig]);
    assert.equal(err, '', command);
    const settled = out.replaceAll(
      /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      '5f0c7f1e-5d2b-4c39-9f43-0c9c1a8a2f6b',
    );
    if (process.env['UPDATE_GOLDENS'] === '1')
      written = written.replace(`$ ${command}\n${output}\`\`\``, () => `$ ${command}\n${settled}\`\`\``);
    else assert.equal(settled, output, command);
  }
  if (written !== text) await writeFile(page, written);
});
