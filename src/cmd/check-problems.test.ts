// One mistake at a time in a file that is good otherwise: the cause is reported first, at the field that is wrong, and what follows from it under it.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { checkCommand } from './check.ts';
import type { CheckReport } from './check-report.ts';
import { executeCommand } from './command.ts';

const testdata = join(import.meta.dirname, 'testdata');
const good = await readFile(join(testdata, 'check-broken.yaml'), 'utf8');

/** Replaces a text that must be there. */
function change(before: string | RegExp, after: string): (text: string) => string {
  return (text) => {
    const changed = text.replace(before, after);
    assert.notEqual(changed, text, `nothing to replace: ${before}`);
    return changed;
  };
}

/** Removes the document with a resource. */
function remove(kind: string, name: string): (text: string) => string {
  return (text) => {
    const documents = text.split('\n---\n');
    const kept = documents.filter((each) => !each.includes(`kind: ${kind}\nmetadata:\n  name: ${name}\n`));
    assert.equal(kept.length, documents.length - 1);
    return kept.join('\n---\n');
  };
}

const secureListener =
  '  - name: https\n    protocol: HTTPS\n    port: 8443\n    tls:\n      certificateRefs:\n      - name: cert\n---\n';

const cases: readonly (readonly [name: string, edit: (text: string) => string])[] = [
  ['wrong gatewayClassName', change('gatewayClassName: proxy', 'gatewayClassName: prox')],
  ['missing Secret of a policy', remove('Secret', 'idp')],
  ['missing Secret of a listener', change('---\n', secureListener)],
  ['the only listener has no Secret', change(/ {2}- name: http\n[^]*?---\n/, secureListener.replace('https', 'http'))],
  ['missing ConfigMap', remove('ConfigMap', 'idp-ca')],
  ['missing Secret and ConfigMap', (text) => remove('ConfigMap', 'idp-ca')(remove('Secret', 'idp')(text))],
  ['missing Service', remove('Service', 'tickets')],
  ['a Service without the port', change('type: ExternalName', 'ports: [{port: 80}]\n  type: ExternalName')],
  ['a Secret with a similar name', change(/metadata:\n {2}name: idp\n/, 'metadata:\n  name: idpp\n')],
  [
    'a Secret in another namespace',
    change(/metadata:\n {2}name: idp\n/, 'metadata:\n  name: idp\n  namespace: login\n'),
  ],
  ['missing ProxyBackend', remove('ProxyBackend', 'tickets')],
  [
    'a backend in another namespace without a ReferenceGrant',
    change(
      '      kind: ProxyBackend\n      name: tickets',
      '      kind: ProxyBackend\n      name: tickets\n      namespace: other',
    ),
  ],
  ['wrong sectionName of a route', change('sectionName: http', 'sectionName: htp')],
  ['a route to a Gateway that is not there', change('parentRefs:\n  - name: public', 'parentRefs:\n  - name: publik')],
  ['a hostname that no listener has', change('  parentRefs:', '  hostnames: [mcp.example.org]\n  parentRefs:')],
  [
    'a policy that targets nothing',
    change('kind: ProxyBackend\n    name: tickets', 'kind: ProxyBackend\n    name: ticket'),
  ],
  [
    'a policy that targets a section of nothing',
    change(
      / {2}targetRefs:[^]*?---\n/,
      `  targetRefs:
  - group: gateway.networking.k8s.io
    kind: HTTPRoute
    name: ticket
    sectionName: main
  traffic:
    authorization:
      action: Allow
      policy: {matchExpressions: ['has(jwt.sub)']}
---
`,
    ),
  ],
  [
    'two listeners on one port',
    change('---\n', '  - name: other\n    protocol: HTTP\n    port: 8080\n    hostname: mcp.example.com\n---\n'),
  ],
  ['two protocols on one port', change('---\n', secureListener.replace('8443', '8080'))],
  ['a protocol that is not supported', change('protocol: HTTP', 'protocol: TCP')],
  ['an address that cannot be bound', change('  listeners:', '  addresses:\n  - value: 224.0.0.1\n  listeners:')],
  ['a resource that is there twice', (text) => `${text}---\n${text.split('\n---\n')[3]}\n`],
  ['unknown field of a policy', change('issuer: https', 'isuer: https')],
  ['unknown field of a Gateway', change('    protocol: HTTP', '    protocl: HTTP')],
  ['unknown field of a route', change('value: /tickets', 'vlaue: /tickets')],
  ['unknown field of a backend', change('    targets:', '    target:')],
  ['two unknown fields of a backend', change('spec:\n  mcp:\n', 'spec:\n  one: 1\n  two: 2\n  mcp:\n')],
  ['unknown field of a Secret', change('stringData:', 'stringdata:')],
  [
    'wrong apiVersion',
    change('apiVersion: gateway.networking.k8s.io/v1', 'apiVersion: gateway.networking.k8s.io/v1beta9'),
  ],
  ['a field outside of spec', change('  gatewayClassName: proxy', 'gatewayClassName: proxy')],
  ['a field too deep', change('  rules:\n  - matches', '    rules:\n    - matches')],
  ['an unresolved reference outside of a Secret', change('issuer: https://idp.example.com', 'issuer: ${ISSUER}')],
  ['wrong kind', change('kind: HTTPRoute', 'kind: HttpRoute')],
  [
    "a route at the gateway's own endpoint",
    change(
      '  rules:\n',
      '  rules:\n  - matches: [{path: {type: Exact, value: /.well-known/oauth-protected-resource/tickets}}]\n    filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /}}}]\n',
    ),
  ],
];

async function runCheck(t: TestContext, text: string, ...flags: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'check-problems-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, text);
  let out = '';
  let err = '';
  const io = {
    stdout: (each: string) => void (out += each),
    stderr: (each: string) => void (err += each),
    color: false,
    env: {},
  };
  const code = await executeCommand(checkCommand, [file, ...flags], io);
  return { code, out, err: err.replaceAll(file, 'gateway.yaml') };
}

describe('the problems of check', () => {
  test('the file is good before it is broken', async (t) => {
    assert.deepEqual(await runCheck(t, good).then(({ code, err }) => [code, err]), [0, '']);
  });

  test('golden: each mistake with its cause first, at its field', async (t) => {
    let text = '';
    for (const [name, edit] of cases) {
      const { code, err } = await runCheck(t, edit(good));
      assert.equal(code, 1, name);
      text += `# ${name}\n${err}\n`;
    }
    const golden = join(testdata, 'check-broken.txt');
    if (process.env['UPDATE_GOLDENS'] === '1') await writeFile(golden, text);
    assert.equal(text, await readFile(golden, 'utf8'));
  });

  test('what follows from a problem stands behind it, and names it in JSON', async (t) => {
    for (const [name, edit] of cases) {
      const { out } = await runCheck(t, edit(good), '--json');
      const { problems } = JSON.parse(out) as CheckReport;
      assert.equal(problems[0]?.causedBy, null, name);
      for (const [index, { causedBy, line }] of problems.entries()) {
        assert.notEqual(line, null, name);
        if (causedBy !== null) assert.ok(causedBy < index && problems[causedBy]?.causedBy === null, name);
      }
    }
  });
});
