// A federation on a cluster: one target is a Service with a pod, the other a server outside of the cluster. What clients see, what the status says, and what
// both do while a Service is missing, a resource is wrong, a pod crashes and rules change.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { program } from '../kit/gateway-program.ts';
import { createIssuer } from '../kit/test-issuer.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { type SdkClient, sdkV1, sdkV2, sdkV2Stateless } from '../mcp/sdk-clients.ts';
import { ApiError } from './api-client.ts';
import {
  createGateway,
  createPolicy,
  createRoute,
  createWorkload,
  toProxyBackend,
  toService,
} from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { waitUntilReachable } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { createNodeImage } from './image-table.ts';
import { installController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { waitForCondition, waitUntilWell } from './resource-conditions.ts';
import { locateResource, locateResources, type ResourceName } from './resource-paths.ts';
import { CommandFailedError, runCommand } from './run-command.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('federation');
const issuer = createIssuer('https://idp.example.com');
const backend: ResourceName = { kind: 'ProxyBackend', name: 'tools' };
const rules: ResourceName = { kind: 'ProxyPolicy', name: 'who-uses-what' };
/** The container of the target `tickets`; crashes are made with the second one. */
const ticketServer = createNodeImage('test/cluster/serve-sample-mcp.ts');
const crashing = { entrypoint: ['/bin/false'] };

const ofTickets = ['tix_ticket_list', 'tix_ticket_create', 'tix_ticket_close', 'tix_desk_report'];
const ofWiki = ['wiki_find', 'wiki_edit'];

let cluster: Cluster;
let wiki: FederationServer;
let url: string;
/** In support, and nobody in particular. */
let ann: string;
let bob: string;

before(async () => {
  cluster = await joinCluster({ images: { 'ticket-server': ticketServer, 'crm-server': ticketServer } });
  wiki = await startFederationServer({
    name: 'wiki',
    era: 'legacy',
    host: cluster.addresses.host,
    tools: [{ name: 'find' }, { name: 'edit' }],
  });
  [ann, bob] = await Promise.all([issuer.sign({ groups: ['support'] }), issuer.sign({ sub: 'bob', groups: [] })]);
  await installController(cluster);
  const jwks = { inline: issuer.jwks };
  await cluster.apply([
    ...createServer('tickets', 'ticket-server'),
    createGateway('web'),
    createFederation([tickets, atWiki()]),
    createPolicy('login', backendRef, {
      backend: {
        mcp: { authentication: { issuer: issuer.issuer, audiences: [issuer.audience], flow: 'Direct', jwks } },
      },
    }),
    createRules('"support" in jwt.groups', 'mcp.tool.name == "wiki_find"'),
    createRoute('tools', { path: '/mcp', to: toProxyBackend('tools') }),
  ]);
  await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web' }, rules]);
  url = `http://${await waitUntilReachable(cluster, 'web')}/mcp`;
});
after(async () => {
  await leaveCluster();
  await wiki?.close();
});

const backendRef = { kind: 'ProxyBackend', name: 'tools' } as const;
const tickets = { name: 'tickets', prefix: 'tix', backendRef: toService('tickets') };

function atWiki(): object {
  return { name: 'wiki', static: { host: cluster.addresses.host, port: wiki.port } };
}

function createFederation(targets: readonly object[], name = 'tools'): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { name, namespace },
    spec: { mcp: { targets } },
  };
}

function createRules(...matchExpressions: readonly string[]): object {
  return createPolicy(rules.name, backendRef, {
    backend: { mcp: { authorization: { action: 'Allow', policy: { matchExpressions } } } },
  });
}

/** A server with tools for tickets, as a Deployment and its Service. */
function createServer(name: string, image: string): object[] {
  return createWorkload(name, { container: { image, args: ['support'] }, port: 8080 });
}

/** A client that is closed after the test. */
async function connect(t: { after(run: () => Promise<void>): void }, token = ann, library = sdkV1): Promise<SdkClient> {
  const client = await library.connect({ url, headers: { authorization: `Bearer ${token}` } });
  t.after(() => client.close());
  return client;
}

const isComplete = async (client: SdkClient): Promise<boolean> => (await client.listMissing()).length === 0;

test('servers that no client has led a gateway to are neither up nor down', async () => {
  for (const type of ['Accepted', 'ResolvedRefs'])
    // eslint-disable-next-line no-await-in-loop
    await waitForCondition(cluster, backend, { type, status: 'True' });
  const { message } = await waitForCondition(cluster, backend, {
    type: 'TargetsHealthy',
    status: 'Unknown',
    reason: 'NotAskedYet',
  });
  assert.match(message, /^Not asked yet: tickets, wiki\./);
});

for (const library of [sdkV1, sdkV2, sdkV2Stateless]) {
  test(`${library.name} sees the tools of both servers under their prefixes, and calls both`, async (t) => {
    const client = await connect(t, ann, library);
    assert.equal(client.serverName, 'tools');
    await cluster.waitFor(() => isComplete(client), { what: 'both servers are there' });
    assert.deepEqual(await client.listTools(), [...ofTickets, ...ofWiki]);
    assert.match(await client.callTool('tix_ticket_list', {}), /T-\d|ticket/i);
    assert.equal(await client.callTool('wiki_find', { word: 'x' }), 'wiki find {"word":"x"}');
  });
}

test('the status says that both are up', async () => {
  await waitUntilWell(cluster, [backend]);
  const { message } = await waitForCondition(cluster, backend, { type: 'TargetsHealthy', status: 'True' });
  assert.equal(message, 'All 2 servers are up.');
});

test('who has no token gets in nowhere, and who is in no group sees one tool', async (t) => {
  await assert.rejects(sdkV1.connect({ url }), /missing_token/);
  const client = await connect(t, bob);
  assert.deepEqual(await client.listTools(), ['wiki_find']);
  assert.equal(await client.callTool('wiki_find', {}), 'wiki find {}');
  await assert.rejects(client.callTool('tix_ticket_list', {}), /-32602.*Unknown tool: tix_ticket_list/);
});

test('a change of rules: open streams tell of it, and the lists are others', async (t) => {
  const client = await connect(t, bob);
  assert.deepEqual(await client.listTools(), ['wiki_find']);
  const told = client.changed.length;
  await cluster.apply(createRules('"support" in jwt.groups', 'mcp.target.name == "wiki"'));
  await cluster.waitFor(() => client.changed.length > told, { what: 'the stream tells of the change' });
  assert.deepEqual(await client.listTools(), ofWiki);
  await waitUntilWell(cluster, [rules]);
});

test('a target whose Service does not exist: the status names it, the others are served, and it heals when the Service comes', async (t) => {
  const client = await connect(t);
  assert.deepEqual(await client.listTools(), [...ofTickets, ...ofWiki]);
  const told = client.changed.length;
  await cluster.apply(createFederation([tickets, atWiki(), { name: 'crm', backendRef: toService('crm') }]));
  const condition = await waitForCondition(cluster, backend, {
    type: 'ResolvedRefs',
    status: 'False',
    reason: 'BackendNotFound',
  });
  assert.equal(condition.message, `target crm: Service ${namespace}/crm does not exist`);
  await waitForCondition(cluster, backend, { type: 'Accepted', status: 'True' });
  const health = await waitForCondition(cluster, backend, { type: 'TargetsHealthy', status: 'False' });
  assert.equal(health.message, `1 of 3 servers is down: ${condition.message.replace('target ', '')}`);
  await cluster.waitFor(() => client.changed.length > told, { what: 'the stream tells of another target' });
  assert.deepEqual(await client.listMissing(), ['crm']);
  assert.deepEqual(await client.listTools(), [...ofTickets, ...ofWiki]);
  await client.callTool('tix_ticket_list', {});
  await client.callTool('wiki_find', {});
  await assert.rejects(client.callTool('crm_ticket_list', {}), /"crm"/);

  await cluster.apply(createServer('crm', 'crm-server'));
  await waitForCondition(cluster, backend, { type: 'ResolvedRefs', status: 'True' });
  await cluster.waitFor(() => isComplete(client), { what: 'crm is served', timeoutMs: 120_000 });
  await waitUntilWell(cluster, [backend]);
  assert.deepEqual(await client.listTools(), [
    ...ofTickets,
    ...ofWiki,
    ...ofTickets.map((name) => name.replace('tix', 'crm')),
  ]);
  await client.callTool('crm_ticket_list', {});

  await cluster.apply(createFederation([tickets, atWiki()]));
  await cluster.waitFor(async () => !(await client.listTools()).includes('crm_ticket_list'), { what: 'crm is gone' });
});

test('what a schema can express is refused when it is written, with its field', async () => {
  const path = locateResources('ProxyBackend', namespace);
  for (const [targets, message] of [
    [[tickets, { ...atWiki(), prefix: 'tix' }], /spec\.mcp\.targets: .*the prefixes of targets must be unique/],
    [[tickets, { ...atWiki(), name: 'tickets' }], /spec\.mcp\.targets\[1\]: Duplicate value/],
    [[tickets, { ...atWiki(), prefix: 'a_b' }], /spec\.mcp\.targets\[1\]\.prefix: .*should match/],
    [[tickets, { ...atWiki(), name: 'wiki.example' }], /spec\.mcp\.targets: .*a target needs a prefix/],
    [[{ ...tickets, tools: {} }, atWiki()], /spec\.mcp\.targets\[0\]\.tools: .*at least one of include, exclude/],
    [[tickets], /spec\.mcp\.targets: .*prefix has no effect with one transparent target/],
  ] as const) {
    // eslint-disable-next-line no-await-in-loop
    await assert.rejects(cluster.api.create(path, createFederation(targets, 'wrong')), (error) => {
      assert.ok(error instanceof ApiError && error.status === 422, String(error));
      assert.match(error.message, message);
      return true;
    });
  }
});

test('what it cannot express is refused in the status, with its field, and heals', async () => {
  const wrong: ResourceName = { kind: 'ProxyBackend', name: 'wrong' };
  const outside = { name: 'outside', static: { host: '10.0.0.256', port: 80 } };
  await cluster.apply([
    createFederation([tickets, outside], 'wrong'),
    createRoute('wrong', { path: '/wrong', to: toProxyBackend('wrong') }),
  ]);
  const { message } = await waitForCondition(cluster, wrong, { type: 'Accepted', status: 'False', reason: 'Invalid' });
  assert.match(message, /spec\.mcp\.targets\[1\]\.static\.host: must be a lower-case host name or an IP address/);
  await waitForCondition(cluster, { kind: 'HTTPRoute', name: 'wrong' }, { type: 'ResolvedRefs', status: 'False' });

  await cluster.apply(createFederation([tickets, atWiki()], 'wrong'));
  await waitForCondition(cluster, wrong, { type: 'Accepted', status: 'True' });
  await waitUntilWell(cluster, [{ kind: 'HTTPRoute', name: 'wrong' }]);
});

test('a pod crashes and does not come up: the other server is served, lists name the missing one, and it is back when its pod is', async (t) => {
  const client = await connect(t);
  const late = await connect(t, ann, sdkV2Stateless);
  await cluster.waitFor(() => isComplete(client), { what: 'both servers are there' });
  await client.callTool('tix_ticket_list', {});
  const pods = await cluster.api.list<PodObject>(locateResources('Pod', namespace));
  const pod = pods.find(({ metadata }) => metadata.labels?.['app'] === 'tickets')!.metadata.name;
  await cluster.addImages({ 'ticket-server': crashing });
  let told = client.changed.length;
  await cluster.signalContainer({ namespace, pod }, 'SIGKILL');

  for (const each of [client, late]) {
    // eslint-disable-next-line no-await-in-loop
    await cluster.waitFor(async () => !(await isComplete(each)), { what: 'the list names what is missing' });
    // eslint-disable-next-line no-await-in-loop
    assert.deepEqual([await each.listMissing(), await each.listTools()], [['tickets'], ofWiki]);
    // eslint-disable-next-line no-await-in-loop
    assert.equal(await each.callTool('wiki_find', {}), 'wiki find {}');
    // eslint-disable-next-line no-await-in-loop
    await assert.rejects(each.callTool('tix_ticket_list', {}), /"tickets"/);
  }
  const down = await waitForCondition(cluster, backend, {
    type: 'TargetsHealthy',
    status: 'False',
    reason: 'TargetsDown',
  });
  assert.match(down.message, /^1 of 2 servers is down: tickets \(since /);
  const flags = ['--kubeconfig', cluster.access.kubeconfigFile, '-n', namespace];
  const said = await runCommand(process.execPath, [program, 'status', ...flags]).catch((error: unknown) => error);
  assert.ok(said instanceof CommandFailedError, 'status ends with an error');
  for (const text of ['TARGETSHEALTHY', down.message.slice(0, 60)]) assert.ok(said.stdout.includes(text), said.stdout);
  await cluster.waitFor(() => client.changed.length > told, { what: 'the stream tells that it is missing' });
  told = client.changed.length;

  await cluster.addImages({ 'ticket-server': ticketServer });
  await cluster.waitForObject<PodObject>(
    locateResource({ kind: 'Pod', name: pod }),
    ({ status }) => status.containerStatuses?.[0]?.ready === true,
    { what: 'the pod is ready again', timeoutMs: 120_000 },
  );
  const start = performance.now();
  await cluster.waitFor(() => client.changed.length > told, {
    what: 'the stream tells that it is back',
    timeoutMs: 120_000,
  });
  t.diagnostic(`the stream told ${Math.round(performance.now() - start)} ms after the pod was ready`);
  for (const each of [client, late]) {
    // eslint-disable-next-line no-await-in-loop
    assert.deepEqual([await each.listMissing(), await each.listTools()], [[], [...ofTickets, ...ofWiki]]);
    // A session that the pod has lost is begun again.
    // eslint-disable-next-line no-await-in-loop
    await each.callTool('tix_ticket_list', {});
  }
  await waitUntilWell(cluster, [backend]);
});
