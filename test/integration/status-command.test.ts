// `mcp-gatehouse status` against an API server: what it reads, what it makes of refusals, and its exit codes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StatusReport } from '../../src/cmd/status/status-report.ts';
import { goodResources, runStatus, startCluster, writeKubeconfig } from './status-command-fixture.ts';

describe('status', () => {
  test('all well: tables, exit code 0, and nothing is written', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    const { code, out, err } = await runStatus(['--kubeconfig', kubeconfig]);
    assert.equal(err, '');
    assert.equal(
      out,
      `Controller  not to be seen in namespace proxy-system

GatewayClasses
     NAME   ACCEPTED
  ✓  proxy  True

Gateways
     NAME    CLASS  ADDRESS     LISTENERS  ROUTES  ACCEPTED  PROGRAMMED
  ✓  public  proxy  192.0.2.10  http 80    1       True      True

HTTPRoutes
     NAME     HOSTNAMES        PARENT  ACCEPTED  RESOLVEDREFS
  ✓  tickets  mcp.example.com  public  True      True

ProxyPolicies
     NAME      TARGET             AT              ACCEPTED  ATTACHED  PROGRAMMED
  ✓  browsers  HTTPRoute tickets  Gateway public  True      True      True

ProxyBackends
     NAME     TARGETS                            ACCEPTED  RESOLVEDREFS
  ✓  tickets  tickets tickets.internal:3001/mcp  True      True

1 of 1 route is OPEN.

All is well.
`,
    );
    assert.equal(code, 0);
    assert.deepEqual([...new Set(cluster.requests.map(({ verb }) => verb))], ['list']);
    const read = cluster.requests.map(({ kind, namespace }) => `${kind} ${namespace ?? '*'}`).toSorted();
    assert.deepEqual(read, [
      'Deployment proxy-system',
      'Gateway default',
      'GatewayClass *',
      'HTTPRoute default',
      'InferencePool default',
      'Lease proxy-system',
      'ProxyBackend default',
      'ProxyPolicy default',
    ]);
    assert.equal(cluster.requests[0]?.headers['user-agent'], 'mcp-gatehouse-status');
  });

  test('KUBECONFIG, the namespace of its context, -n and -A', async (t) => {
    const { cluster } = await startCluster(t);
    const kubeconfig = await writeKubeconfig(t, cluster.url, 'team');
    const env = { KUBECONFIG: kubeconfig };
    const own = await runStatus([], env);
    assert.match(own.out, /There are no Gateways, .* in namespace team; -A shows all namespaces\./);
    assert.equal(own.code, 0);
    assert.match((await runStatus(['-n', 'default'], env)).out, /✓ {2}tickets/);
    assert.match((await runStatus(['-A'], env)).out, /✓ {2}default\/tickets/);
  });

  test('something is not well: why, what to do, exit code 1', async (t) => {
    const { kubeconfig } = await startCluster(t, goodResources.replace('name: tickets}]\n---', 'name: ticket}]\n---'));
    const { code, out } = await runStatus(['--kubeconfig', kubeconfig]);
    assert.equal(code, 1);
    assert.match(
      out,
      / {2}✗ {2}HTTPRoute default\/tickets, at Gateway default\/public\n {7}ResolvedRefs is False, BackendNotFound: .*ProxyBackend default\/ticket does not exist\n {7}What to do: Create what backendRefs names/,
    );
    assert.match(out, /\n1 of 5 resources is not well\.\n$/);
  });

  test('-o json is one object, with everything in it', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    const { code, out } = await runStatus(['--kubeconfig', kubeconfig, '-o', 'json', '-A']);
    assert.equal(code, 0);
    const report = JSON.parse(out) as StatusReport;
    assert.equal(report.server, cluster.url);
    assert.equal(report.namespace, null);
    assert.equal(report.well, true);
    assert.deepEqual(report.problems, []);
    assert.equal(report.httpRoutes[0]?.parents[0]?.gateway, 'default/public');
    assert.equal(report.gateways[0]?.listeners[0]?.attachedRoutes, 1);
  });

  test('names: patterns, and one that nothing has', async (t) => {
    const { kubeconfig } = await startCluster(t);
    const some = await runStatus(['--kubeconfig', kubeconfig, '-o', 'json', 'tick*']);
    const report = JSON.parse(some.out) as StatusReport;
    assert.deepEqual([report.gateways.length, report.httpRoutes.length, report.proxyBackends.length], [0, 1, 1]);
    assert.equal(some.code, 0);
    const none = await runStatus(['--kubeconfig', kubeconfig, 'tikets']);
    assert.equal(
      none.err,
      'mcp-gatehouse status: nothing is named "tikets" in namespace default; did you mean tickets?\n',
    );
    assert.equal(none.code, 1);
  });

  test('the controller: its Deployment and its leader', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    cluster.put({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'proxy', namespace: 'elsewhere', labels: { 'app.kubernetes.io/component': 'controller' } },
      spec: { replicas: 3 },
      status: { readyReplicas: 2 },
    });
    const { out } = await runStatus(['--kubeconfig', kubeconfig, '--controller-namespace', 'elsewhere']);
    assert.match(out, /^Controller {2}elsewhere\/proxy, 2 of 3 ready\n/);
  });
});

describe('status: what cannot be read', () => {
  test('one kind is forbidden: it says so, shows the rest, and does not say that all is well', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    const message = 'proxypolicies.gateway.proxy is forbidden: User "dev" cannot list resource "proxypolicies"';
    cluster.inject({
      verb: 'list',
      kind: 'ProxyPolicy',
      times: Infinity,
      fault: { type: 'status', code: 403, message },
    });
    cluster.inject({ verb: 'list', kind: 'Lease', times: Infinity, fault: { type: 'status', code: 403 } });
    const { code, out } = await runStatus(['--kubeconfig', kubeconfig]);
    assert.equal(code, 1);
    assert.match(out, /✓ {2}tickets/);
    assert.match(
      out,
      / {2}✗ {2}ProxyPolicy\n {7}proxypolicies\.gateway\.proxy is forbidden: .*\n {7}What to do: Ask for the right/,
    );
    assert.match(out, /Leases of namespace proxy-system may not be read/);
    assert.match(out, /\nNot all is well\.\n$/);
  });

  test('missing permission to read the controller is no fault', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    for (const kind of ['Lease', 'Deployment'])
      cluster.inject({ verb: 'list', kind, times: Infinity, fault: { type: 'status', code: 403 } });
    assert.equal((await runStatus(['--kubeconfig', kubeconfig])).code, 0);
  });

  test('kinds that are not installed: what to install', async (t) => {
    const { kubeconfig } = await startCluster(t, '', {
      without: ['GatewayClass', 'Gateway', 'HTTPRoute', 'ProxyPolicy', 'ProxyBackend'],
    });
    const { code, out } = await runStatus(['--kubeconfig', kubeconfig]);
    assert.equal(code, 1);
    assert.match(out, /Install the CRDs of the Gateway API: kubectl apply/);
    assert.match(out, /Install the CRDs of this gateway: helm install/);
  });

  test('a kind that cannot be listed is reported, and the others are shown', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    const message = 'etcd leader changed';
    cluster.inject({ verb: 'list', kind: 'Gateway', times: Infinity, fault: { type: 'status', code: 500, message } });
    const { code, out } = await runStatus(['--kubeconfig', kubeconfig]);
    assert.equal(code, 1);
    assert.match(out, / {2}✗ {2}Gateway\n {7}etcd leader changed/);
    assert.match(out, /✓ {2}tickets/);
  });
});

describe('status: InferencePools', () => {
  const pools = `${goodResources}---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: models}
spec:
  parentRefs: [{name: public}]
  rules:
  - backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: llama}]
---
apiVersion: v1
kind: Service
metadata: {name: picker}
spec: {ports: [{port: 9002}]}
---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: llama}
spec:
  selector: {matchLabels: {app: llama}}
  targetPorts: [{number: 8000}]
  endpointPickerRef: {name: picker, port: {number: 9002}}
`;

  test('with the conditions of each Gateway', async (t) => {
    const { kubeconfig, put } = await startCluster(t, pools);
    const well = await runStatus(['--kubeconfig', kubeconfig]);
    assert.match(
      well.out,
      /InferencePools\n +NAME +PICKER +PARENT +ACCEPTED +RESOLVEDREFS\n {2}✓ {2}llama {2}Service picker:9002, FailClose {2}public {2}True +True\n/,
    );
    assert.equal(well.code, 0);
    put(pools.slice(pools.lastIndexOf('---') + 3).replace('name: picker', 'name: nobody'));
    const unwell = await runStatus(['--kubeconfig', kubeconfig, 'llama']);
    assert.match(
      unwell.out,
      /✗ {2}InferencePool default\/llama, at Gateway default\/public\n {7}ResolvedRefs is False, InvalidExtensionRef: .*Service default\/nobody does not exist\n/,
    );
    assert.equal(unwell.code, 1);
  });

  test('without permission, or without the kind, they are not mentioned', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    cluster.inject({ kind: 'InferencePool', times: Infinity, fault: { type: 'status', code: 403 } });
    const without = await startCluster(t, goodResources, { without: ['InferencePool'] });
    for (const file of [kubeconfig, without.kubeconfig]) {
      const { code, out } = await runStatus(['--kubeconfig', file]);
      assert.deepEqual([code, out.includes('InferencePool')], [0, false]);
    }
  });
});

describe('status: no cluster, wrong usage', () => {
  const oneLine = /^mcp-gatehouse status: .+\n$/;

  test('no API server answers: one line, exit code 2', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    await cluster.goAway();
    const { code, out, err } = await runStatus(['--kubeconfig', kubeconfig]);
    assert.match(err, oneLine);
    assert.match(err, /ECONNREFUSED|refused/);
    assert.deepEqual([code, out], [2, '']);
  });

  test('credentials that are not accepted: one line, exit code 2', async (t) => {
    const { cluster, kubeconfig } = await startCluster(t);
    cluster.acceptedTokens = new Set(['other']);
    const { code, out, err } = await runStatus(['--kubeconfig', kubeconfig]);
    assert.match(err, /^mcp-gatehouse status: the API server does not accept the credentials of the kubeconfig: .+\n$/);
    assert.deepEqual([code, out], [2, '']);
  });

  test('a kubeconfig that is not there, a context that it does not have', async (t) => {
    const { kubeconfig } = await startCluster(t);
    for (const args of [
      ['--kubeconfig', `${kubeconfig}x`],
      ['--kubeconfig', kubeconfig, '--context', 'other'],
    ]) {
      const { code, out, err } = await runStatus(args);
      assert.match(err, oneLine);
      assert.deepEqual([code, out], [2, '']);
    }
  });

  test('flags', async () => {
    const cases: readonly (readonly [readonly string[], string])[] = [
      [['-n', 'a', '-A'], 'give -n or -A, not both: one namespace, or all of them'],
      [['-o', 'yaml'], '--output must be one of table, json, not "yaml"'],
      [['-n', 'A/b'], '-n must be the name of a namespace, not "A/b"'],
      [['--controller-namespace', 'A b'], '--controller-namespace must be the name of a namespace, not "A b"'],
      [['--wath'], 'unknown flag --wath; did you mean --watch?'],
    ];
    for (const [args, line] of cases) {
      const { code, out, err } = await runStatus(args);
      assert.equal(err, `mcp-gatehouse status: ${line}\nSee mcp-gatehouse status --help.\n`);
      assert.deepEqual([code, out], [2, '']);
    }
  });
});
