// The commands of docs/status.md, run as they stand there against a cluster with its resources. UPDATE_GOLDENS=1 writes the outputs anew.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { adviceByReason } from '../../src/cmd/status/advice.ts';
import { runStatus, startCluster } from './status-command-fixture.ts';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'docs/status.md');
const shown = /^```console\n\$ (mcp-gatehouse status.*)\n([\s\S]*?)^```$/gm;

/** What a chart and a controller leave in a cluster. */
const controller = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: proxy}
spec: {controllerName: gateway.proxy/controller}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: proxy, namespace: proxy-system, labels: {app.kubernetes.io/component: controller}}
spec: {replicas: 2}
status: {readyReplicas: 2}
---
`;

function splitWords(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
}

describe('docs/status.md', () => {
  test('its commands print what it shows', async (t) => {
    const text = await readFile(page, 'utf8');
    const [, resources] = /^```yaml\n([\s\S]*?)^```$/m.exec(text)!;
    const { kubeconfig } = await startCluster(t, `${controller}${resources}`);
    let written = text;
    const examples = [...text.matchAll(shown)].map(([, command, output]) => ({ command: command!, output: output! }));
    assert.equal(examples.length, 2);
    for (const { command, output } of examples) {
      const [, , ...args] = splitWords(command);
      const { out, err } = await runStatus([...args, '--kubeconfig', kubeconfig]);
      assert.equal(err, '', command);
      if (process.env['UPDATE_GOLDENS'] === '1')
        written = written.replace(`$ ${command}\n${output}\`\`\``, () => `$ ${command}\n${out}\`\`\``);
      else assert.equal(out, output, command);
    }
    if (written !== text) await writeFile(page, written);
  });

  test('the types of -o json are those of the code', async () => {
    const source = await readFile(join(root, 'src/cmd/status/status-report.ts'), 'utf8');
    const types = source.slice(source.indexOf('\n\n') + 2);
    const text = await readFile(page, 'utf8');
    const [, block] = /^```ts\n([\s\S]*?)^```$/m.exec(text)!;
    if (process.env['UPDATE_GOLDENS'] === '1')
      await writeFile(
        page,
        text.replace(`\`\`\`ts\n${block}`, () => `\`\`\`ts\n${types}`),
      );
    else assert.equal(block, types);
  });

  test('every page that an advice names is there', async () => {
    for (const advice of Object.values(adviceByReason).flatMap((table) => Object.values(table)))
      for (const [path] of advice.matchAll(/\bdocs\/[\w./-]+\w/g))
        await readFile(join(root, path, path.endsWith('.md') ? '' : 'README.md'));
  });
});
