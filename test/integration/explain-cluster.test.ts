// `mcp-gatehouse explain --from-cluster`: the same answers as from files, and a word about everything that could not be known.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test, type TestContext } from 'node:test';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ExplainReport } from '../../src/cmd/explain/explain-report.ts';
import { createCertificate } from '../self-signed-certificate.ts';
import {
  baseResources,
  gatewayTarget,
  jwtPolicy,
  printResources,
  routeTarget,
  rulesPolicy,
  type Run,
  runExplain,
  toolRules,
  writeFolder,
} from './explain-fixture.ts';
import { type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { writeKubeconfig } from './status-command-fixture.ts';

const gatewayClass = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'proxy' },
  spec: { controllerName: 'gateway.proxy/controller' },
};
const url = 'http://mcp.example.com:8080/mcp';
const inferenceFile = join(import.meta.dirname, '../../src/cmd/testdata/check-inference.yaml');

interface Setup {
  readonly cluster: FakeApiServer;
  readonly explain: (...args: readonly string[]) => Promise<Run>;
  readonly read: (...args: readonly string[]) => Promise<ExplainReport>;
}

/** Objects as an API server has them: with a namespace where the kind has one. */
function complete(resource: object): object {
  const { kind, metadata } = resource as { kind: string; metadata: object };
  return kind === 'GatewayClass' || kind === 'Namespace'
    ? resource
    : { ...resource, metadata: { namespace: 'default', ...metadata } };
}

/** The Gateway of the fixture binds an address, which in a cluster is none of its business. */
function inCluster(resources: readonly object[]): readonly object[] {
  return resources.map((resource) => {
    const copy = structuredClone(resource) as { kind: string; spec: { addresses?: unknown } };
    if (copy.kind === 'Gateway') delete copy.spec.addresses;
    return copy;
  });
}

async function setUp(t: TestContext, resources: readonly object[]): Promise<Setup> {
  const cluster = await startFakeApiServer(t);
  for (const resource of [gatewayClass, ...resources]) cluster.put(complete(resource));
  const kubeconfig = await writeKubeconfig(t, cluster.url);
  const explain: Setup['explain'] = (...args) => runExplain(['--from-cluster', '--kubeconfig', kubeconfig, ...args]);
  return {
    cluster,
    explain,
    async read(...args) {
      const { out, err } = await explain('--json', ...args);
      assert.equal(err, '');
      return JSON.parse(out) as ExplainReport;
    },
  };
}

function httpsGateway(name: string, secret: string, namespace = 'default'): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace },
    spec: {
      gatewayClassName: 'proxy',
      listeners: [
        {
          name: 'https',
          protocol: 'HTTPS',
          port: 443,
          hostname: 'mcp.example.com',
          tls: { certificateRefs: [{ name: secret }] },
        },
      ],
    },
  };
}

function route(name: string, gateway: string): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name },
    spec: {
      parentRefs: [{ name: gateway }],
      rules: [{ backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets' }] }],
    },
  };
}

const backend = baseResources(8080).find((resource) => (resource as { kind: string }).kind === 'ProxyBackend')!;
const claims = { sub: 'alice', groups: ['support'] };

describe('explain --from-cluster', () => {
  test('says what explain says by the same resources in a file', async (t) => {
    const resources = inCluster([
      ...baseResources(8080),
      jwtPolicy({ url: 'https://idp.example.com/jwks' }),
      rulesPolicy('team', routeTarget, 'Allow', ['"support" in jwt.groups']),
      toolRules,
    ]);
    const { cluster, explain } = await setUp(t, resources);
    const folder = await writeFolder(t, {
      'gateway.yaml': printResources(resources),
      'alice.json': JSON.stringify(claims),
      'dave.json': JSON.stringify({ sub: 'dave', groups: [] }),
    });
    for (const args of [
      ['--claims', join(folder, 'alice.json'), '--tool', 'ticket_list'],
      ['--claims', join(folder, 'dave.json'), '--tool', 'ticket_list'],
      [
        '--claims',
        join(folder, 'alice.json'),
        '--tool',
        'ticket_close',
        '--tool',
        'admin_reset',
        '--tool',
        'ticket_list',
      ],
      [],
    ]) {
      const request = ['--request', `POST ${url}`, ...args];
      const fromCluster = await explain(...request);
      const fromFile = await runExplain(['-f', join(folder, 'gateway.yaml'), ...request]);
      assert.deepEqual({ ...fromCluster, out: plain(fromCluster.out) }, { ...fromFile, out: plain(fromFile.out) });
    }
    const verbs = new Set(cluster.requests.map(({ verb }) => verb));
    assert.deepEqual([...verbs], ['list'], 'nothing refers to a Secret, so none is read');
  });

  test('reads the Secrets that are referred to, and no others', async (t) => {
    const { cert, key } = createCertificate({ names: ['mcp.example.com'] });
    const { cluster, read } = await setUp(t, [httpsGateway('public', 'mcp-tls'), route('tickets', 'public'), backend]);
    cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'mcp-tls', namespace: 'default' },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': Buffer.from(cert).toString('base64'), 'tls.key': Buffer.from(key).toString('base64') },
    });
    cluster.put({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'other', namespace: 'default' } });
    const report = await read('--request', 'POST https://mcp.example.com/mcp');
    assert.equal(report.verdict.outcome, 'forwarded');
    assert.deepEqual(report.notes, []);
    const secrets = cluster.requests.filter(({ kind }) => kind === 'Secret');
    assert.deepEqual(
      secrets.map(({ verb, name }) => `${verb} ${name}`),
      ['get mcp-tls'],
    );
  });

  test('without the right to read Secrets: as far as possible, and it says what is not known', async (t) => {
    const { cluster, read } = await setUp(t, [httpsGateway('public', 'mcp-tls'), route('tickets', 'public'), backend]);
    cluster.inject({ kind: 'Secret', times: Infinity, fault: { type: 'status', code: 403 } });
    const report = await read('--request', 'POST https://mcp.example.com/mcp');
    assert.equal(report.verdict.outcome, 'forwarded');
    assert.deepEqual(report.notes, ['May not be read, and is taken as there and good: Secret default/mcp-tls.']);
  });

  test('a Secret that is not there closes what it closes in a gateway', async (t) => {
    const { explain } = await setUp(t, [httpsGateway('public', 'mcp-tls'), route('tickets', 'public'), backend]);
    const { code, err } = await explain('--request', 'POST https://mcp.example.com/mcp');
    assert.equal(
      err,
      'mcp-gatehouse explain: no Gateway of this controller has a listener that is served; mcp-gatehouse status -A says why\n',
    );
    assert.equal(code, 2);
  });

  test('two Gateways with one port are two: --gateway chooses', async (t) => {
    const [gateway] = inCluster(baseResources(8080)) as [{ metadata: object }];
    const other = { ...gateway, metadata: { name: 'other' } };
    const { explain, read } = await setUp(t, [
      ...inCluster(baseResources(8080)),
      other,
      route('everything', 'other'),
      rulesPolicy('closed', gatewayTarget, 'Deny', ['true']),
    ]);
    const several = await explain('--request', `POST ${url}`);
    assert.match(
      several.err,
      /several Gateways could be meant: default\/other, default\/test; name one with --gateway/,
    );
    assert.equal(several.code, 2);
    const open = await read('--request', `POST ${url}`, '--gateway', 'default/other');
    assert.equal(open.listener?.gateway, 'default/other');
    assert.equal(open.verdict.outcome, 'forwarded');
    const closed = await read('--request', `POST ${url}`, '--gateway', 'test');
    assert.equal(closed.listener?.gateway, 'default/test');
    assert.equal(closed.verdict.outcome, 'denied');
    const wrong = await explain('--request', `POST ${url}`, '--gateway', 'default/tets');
    assert.match(wrong.err, /--gateway default\/tets: no Gateway of this name is served; did you mean default\/test\?/);
  });

  test('a policy that is not valid closes what it targets, as in a gateway', async (t) => {
    const { read } = await setUp(t, [
      ...inCluster(baseResources(8080)),
      rulesPolicy('broken', routeTarget, 'Allow', ['this is no expression (']),
    ]);
    const report = await read('--request', `POST ${url}`);
    assert.deepEqual([report.verdict.outcome, report.answer?.status], ['denied', 500]);
    assert.match(report.notes.join('\n'), /The resources have \d+ problems?; mcp-gatehouse status -A lists/);
  });
});

describe('explain --from-cluster: InferencePools', () => {
  const resources = parseAllDocuments(readFileSync(inferenceFile, 'utf8')).map((document) => document.toJS() as object);
  const request = ['--request', 'POST http://127.0.0.1:8080/llama'];

  test('are read with --inference-extension, with their Pods and what annotations name', async (t) => {
    const { cluster, read } = await setUp(t, inCluster(resources));
    const pool = resources.find((each) => (each as { metadata: { name: string } }).metadata.name === 'llama')!;
    cluster.put(
      complete({
        ...pool,
        metadata: { name: 'llama', annotations: { 'gateway.proxy/endpoint-picker-ca': 'authority' } },
      }),
    );
    cluster.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'authority', namespace: 'default' },
      data: { 'ca.crt': createCertificate({ names: ['picker.default.svc'] }).cert },
    });
    const report = await read(...request, '--inference-extension');
    assert.equal(report.forward?.backend, 'InferencePool default/llama');
    assert.deepEqual(report.forward.picker?.endpoints, ['127.0.0.9:9002']);
    assert.equal(report.forward.picker.tls, 'verified');
    assert.deepEqual(report.forward.endpoints, ['http://127.0.0.2:8000', 'http://127.0.0.2:8001']);
  });

  test('are not asked for without it', async (t) => {
    const { cluster, read } = await setUp(t, inCluster(resources));
    for (const kind of ['InferencePool', 'Pod'])
      cluster.inject({ kind, times: Infinity, fault: { type: 'status', code: 403 } });
    const report = await read(...request);
    assert.deepEqual([report.verdict.outcome, report.answer?.status], ['denied', 500]);
    assert.match(report.verdict.detail ?? '', /--inference-extension/);
    assert.ok(cluster.requests.every(({ kind }) => kind !== 'InferencePool' && kind !== 'Pod'));
  });
});

describe('explain --from-cluster: what may not be read', () => {
  test('policies: no answer, because it could be wrong', async (t) => {
    const { cluster, explain } = await setUp(t, inCluster(baseResources(8080)));
    const message = 'proxypolicies.gateway.proxy is forbidden';
    cluster.inject({ kind: 'ProxyPolicy', times: Infinity, fault: { type: 'status', code: 403, message } });
    const { code, out, err } = await explain('--request', `POST ${url}`);
    assert.equal(
      err,
      'mcp-gatehouse explain: proxypolicies.gateway.proxy is forbidden; without the kind ProxyPolicy the answer could be wrong\n',
    );
    assert.deepEqual([code, out], [2, '']);
  });

  test('what belongs to no namespace: assumed, and told', async (t) => {
    const { cluster, read } = await setUp(t, inCluster(baseResources(8080)));
    for (const kind of ['GatewayClass', 'Namespace'])
      cluster.inject({ kind, times: Infinity, fault: { type: 'status', code: 403 } });
    const report = await read('--request', `POST ${url}`, '-n', 'default');
    assert.equal(report.verdict.outcome, 'forwarded');
    assert.equal(report.notes.length, 3);
    assert.match(report.notes.join('\n'), /Only namespace default was read/);
    assert.match(report.notes.join('\n'), /GatewayClasses may not be read/);
    assert.match(report.notes.join('\n'), /Namespaces may not be read/);
  });

  test('no cluster, and no Gateway API: one line each', async (t) => {
    const cluster = await startFakeApiServer(t, { without: ['Gateway', 'HTTPRoute'] });
    const kubeconfig = await writeKubeconfig(t, cluster.url);
    const args = ['--from-cluster', '--kubeconfig', kubeconfig, '--request', `POST ${url}`];
    const bare = await runExplain(args);
    assert.match(
      bare.err,
      /^mcp-gatehouse explain: the cluster has no kind Gateway: the Gateway API is not installed\n/,
    );
    await cluster.goAway();
    const gone = await runExplain(args);
    assert.match(gone.err, /^mcp-gatehouse explain: .+\n$/);
    assert.deepEqual([bare.code, gone.code, gone.out], [2, 2, '']);
  });
});

test('flags that do not go together', async (t) => {
  const folder = await writeFolder(t, { 'a.yaml': '' });
  const request = ['--request', `POST ${url}`];
  const file = join(folder, 'a.yaml');
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['-f', file, '--from-cluster', ...request], 'give one of -f and --from-cluster: one configuration decides'],
    [
      ['--from-cluster', '--admin', 'http://a', ...request],
      'give one of --from-cluster and --admin: one configuration decides',
    ],
    [['-f', file, '--gateway', 'a', ...request], '--gateway goes with --from-cluster'],
    [['-f', file, '-n', 'a', ...request], '-n goes with --from-cluster'],
    [['--from-cluster', '-n', 'A_b', ...request], '-n must be the name of a namespace, not "A_b"'],
    [
      ['--from-cluster', '--request-id', 'abc'],
      '--request-id asks one gateway about a request that happened: --admin says where, not --from-cluster',
    ],
    [
      ['--admin', 'http://127.0.0.1:1', '--online', ...request],
      '--online goes with -f or --from-cluster: a gateway does not show all that it fetches keys with',
    ],
  ];
  for (const [args, line] of cases) {
    const { code, out, err } = await runExplain(args);
    assert.equal(err.split('\n')[0], `mcp-gatehouse explain: ${line}`);
    assert.deepEqual([code, out], [2, '']);
  }
});

/** Ids are new every time. */
function plain(text: string): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID');
}
