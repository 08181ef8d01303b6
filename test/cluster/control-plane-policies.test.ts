// Policies that are not in force as they are: rejected by the gateway alone, without keys, or in conflict. Their routes are closed, their status has the
// reason, and both heal at once.
import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { SignJWT } from 'jose';
import { startOidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { createSigningKey, type SigningKey } from '../idp/signing-keys.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import {
  createEcho,
  createGateway,
  createPolicy,
  createProxyBackend,
  createRoute,
  toProxyBackend,
  toService,
} from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { waitForGatewayPod, waitUntilReachable } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { installController, type InstalledController } from './installed-controller.ts';
import { waitForCondition, waitForEvent, waitUntilWell } from './resource-conditions.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('policies');
const issuer = 'https://idp.example.com';
/** A key set in form, and no key in it: the point is not on the curve. Only who is to use it finds out. */
const unusable = JSON.stringify({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'broken', x: 'AAAA', y: 'AAAA' }] });

let cluster: Cluster;
let controller: InstalledController;
let key: SigningKey;
let address: string;

before(async () => {
  key = await createSigningKey();
  cluster = await joinCluster();
  controller = await installController(cluster);
  await cluster.apply([
    ...createEcho('echo'),
    createGateway('web'),
    createRoute('open', { path: '/open', to: toService('echo') }),
  ]);
  await waitUntilWell(cluster, [{ kind: 'HTTPRoute', name: 'open' }]);
  address = await waitUntilReachable(cluster, 'web');
  await cluster.waitFor(async () => (await ask('/open')).status === 200, { what: 'the open route answers' });
});
after(leaveCluster);

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function ask(path: string, token?: string): Promise<Answer> {
  const answer = await fetch(`http://${address}${path}`, {
    method: 'POST',
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    headers: {
      'content-type': 'application/json',
      connection: 'close',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  });
  return { status: answer.status, body: await answer.text() };
}

function createToken(audience: string): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ alg: key.alg, kid: key.kid })
    .setIssuer(issuer)
    .setSubject('alice')
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('10m')
    .sign(key.privateKey);
}

/** Asks without a token, again and again, until it is stopped. Every status that was seen. */
async function watchRoute(path: string): Promise<{ stop(): Promise<ReadonlySet<number>> }> {
  const seen = new Set<number>();
  const note = async (): Promise<void> => void seen.add((await ask(path)).status);
  const state = { isRunning: true };
  await note();
  const loop = (async () => {
    while (state.isRunning) await note();
  })();
  return {
    async stop() {
      state.isRunning = false;
      await loop;
      await note();
      return seen;
    },
  };
}

interface Case {
  readonly name: string;
  readonly path: string;
  /** Without the route: it comes last, so that it is never there without its policy. */
  readonly resources: (inline: string) => object[];
  readonly route: object;
  /** The edit of the policy's spec. */
  readonly edit: (inline: string) => object;
  readonly audience: () => string;
}

const jwtProviders = (inline: string): object[] => [{ name: 'company', issuer, audiences: ['api'], jwks: { inline } }];

const cases: readonly Case[] = [
  {
    name: 'JWT authentication on an HTTPRoute',
    path: '/jwt',
    resources: (inline) => [
      createPolicy(
        'jwt',
        { kind: 'HTTPRoute', name: 'jwt' },
        { traffic: { jwtAuthentication: { providers: jwtProviders(inline) } } },
      ),
    ],
    route: createRoute('jwt', { path: '/jwt', to: toService('echo') }),
    edit: (inline) => ({ traffic: { jwtAuthentication: { providers: jwtProviders(inline) } } }),
    audience: () => 'api',
  },
  {
    name: 'MCP authentication on a ProxyBackend',
    path: '/mcp',
    resources: (inline) => [
      createProxyBackend('mcp', { service: toService('echo') }),
      createPolicy(
        'mcp',
        { kind: 'ProxyBackend', name: 'mcp' },
        { backend: { mcp: { authentication: { issuer, audiences: ['mcp'], flow: 'Direct', jwks: { inline } } } } },
      ),
    ],
    route: createRoute('mcp', { path: '/mcp', to: toProxyBackend('mcp') }),
    edit: (inline) => ({ backend: { mcp: { authentication: { jwks: { inline } } } } }),
    audience: () => 'mcp',
  },
];

for (const { name, path, resources, route, edit, audience } of cases) {
  describe(`rejected by the gateway: ${name}`, () => {
    const policy: ResourceName = { kind: 'ProxyPolicy', name: path.slice(1) };
    const editPolicy = (inline: string): Promise<unknown> =>
      cluster.api.patch(locateResource(policy), { spec: edit(inline) });
    const good = (): string => JSON.stringify({ keys: [key.publicJwk] });
    const waitForStatus = (status: number, token?: string): Promise<Answer> =>
      cluster.waitFor(
        async () => {
          const answer = await ask(path, token);
          return answer.status === status ? answer : undefined;
        },
        { what: `${path} answers ${status}` },
      );

    test('its route answers 500 with a reason, and its status and an Event have the words of the gateway', async () => {
      const nacks = await controller.readMetric('mcp_gateway_controller_xds_nacks_total');
      await cluster.apply(resources(unusable));
      await cluster.apply(route);
      const { body } = await waitForStatus(500);
      assert.match(body, /policy/);
      const told = await waitForCondition(cluster, policy, { type: 'Programmed', status: 'False', reason: 'Rejected' });
      assert.match(told.message, /The gateway rejects it: .*the inline key set .*500/);
      const accepted = await waitForCondition(cluster, policy, { type: 'Accepted', status: 'True' });
      assert.equal(accepted.reason, 'Accepted', 'nothing was wrong with it before the gateway saw it');
      const event = await waitForEvent(cluster, policy, 'Rejected');
      assert.equal(event.type, 'Warning');
      assert.match(event.note, /policies\/web cannot use it: .*the inline key set/);
      assert.ok((await controller.readMetric('mcp_gateway_controller_xds_nacks_total')) > nacks);
    });

    test('a token that was good for others does not help, and other routes do not suffer', async () => {
      assert.equal((await ask(path, await createToken(audience()))).status, 500);
      assert.equal((await ask('/open')).status, 200);
    });

    test('it stays closed when the gateway is killed and starts again', async () => {
      const pod = await waitForGatewayPod(cluster, 'web');
      await cluster.signalContainer({ namespace, pod: pod.metadata.name }, 'SIGKILL');
      await cluster.waitFor(async () => (await ask('/open')).status === 200, { what: 'the gateway is back' });
      assert.equal((await ask(path)).status, 500);
      await waitForCondition(cluster, policy, { type: 'Programmed', status: 'False', reason: 'Rejected' });
    });

    test('repairing it heals both; breaking it again closes the route at once', async (t) => {
      const watched = await watchRoute(path);
      await measureHealing(t);
      assert.equal((await ask(path, await createToken(audience()))).status, 200);

      await editPolicy(unusable);
      await waitForStatus(500, await createToken(audience()));
      await waitForCondition(cluster, policy, { type: 'Programmed', status: 'False', reason: 'Rejected' });
      await measureHealing(t);
      assert.deepEqual(await watched.stop(), new Set([500, 401]), 'what clients without a token saw all the time');
    });

    async function measureHealing(t: TestContext): Promise<void> {
      await editPolicy(good());
      const start = performance.now();
      const since = (): number => Math.round(performance.now() - start);
      const [enforced, told] = await Promise.all([
        waitForStatus(401).then(since),
        waitForCondition(cluster, policy, { type: 'Programmed', status: 'True' }).then(since),
      ]);
      t.diagnostic(`healed after the edit: the route in ${enforced} ms, the status in ${told} ms`);
    }
  });
}

test('an identity provider that is down from the start closes its routes, and they open when it comes', async (t) => {
  const authority = createAuthority();
  const { host } = cluster.addresses;
  const idp = await startOidcProviderIdp({
    listen: { address: host, certificate: createCertificate({ names: [host], issuer: authority }) },
  });
  t.after(() => idp.close());
  idp.server.goDown();
  const policy: ResourceName = { kind: 'ProxyPolicy', name: 'login' };
  const authentication = {
    issuer: idp.issuer,
    jwks: { caCertificateRef: { name: 'idp-ca' } },
    resourceMetadata: { resource: 'https://mcp.example.com/login' },
  };
  await cluster.apply([
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'idp-ca' }, data: { 'ca.crt': authority.cert } },
    createProxyBackend('login', { service: toService('echo') }),
    createPolicy('login', { kind: 'ProxyBackend', name: 'login' }, { backend: { mcp: { authentication } } }),
    createRoute('login', { path: '/login', to: toProxyBackend('login') }),
  ]);
  await cluster.waitFor(async () => (await ask('/login')).status === 503, { what: 'the route is closed' });
  const told = await waitForCondition(cluster, policy, {
    type: 'Programmed',
    status: 'False',
    reason: 'KeysUnavailable',
  });
  assert.ok(told.message.includes(idp.issuer), told.message);
  const event = await waitForEvent(cluster, policy, 'KeysUnavailable');
  assert.match(event.note, /requests are answered with 503/);
  assert.equal((await ask('/open')).status, 200);

  idp.server.comeUp();
  const start = performance.now();
  await cluster.waitFor(async () => (await ask('/login')).status === 401, { what: 'the route asks for tokens' });
  await waitUntilWell(cluster, [policy]);
  t.diagnostic(`healed ${Math.round(performance.now() - start)} ms after the identity provider came up`);
});

test('of two policies that want the same, the older is in force, and the other says so until it is its turn', async () => {
  const [first, second]: ResourceName[] = [
    { kind: 'ProxyPolicy', name: 'conflict-a' },
    { kind: 'ProxyPolicy', name: 'conflict-b' },
  ];
  const inline = JSON.stringify({ keys: [key.publicJwk] });
  const create = ({ name }: ResourceName, audience: string): object =>
    createPolicy(
      name,
      { kind: 'HTTPRoute', name: 'conflict' },
      {
        traffic: {
          jwtAuthentication: { providers: [{ name: 'company', issuer, audiences: [audience], jwks: { inline } }] },
        },
      },
    );
  await cluster.apply([
    create(first!, 'of-first'),
    createRoute('conflict', { path: '/conflict', to: toService('echo') }),
  ]);
  await waitUntilWell(cluster, [first!]);
  await cluster.apply(create(second!, 'of-second'));
  const told = await waitForCondition(cluster, second!, { type: 'Accepted', status: 'False', reason: 'Conflicted' });
  assert.match(told.message, /policies\/conflict-a/);
  assert.match((await waitForEvent(cluster, second!, 'Conflicted')).note, /policies\/conflict-a/);
  await waitUntilWell(cluster, [first!]);
  assert.equal((await ask('/conflict', await createToken('of-first'))).status, 200);
  assert.equal((await ask('/conflict', await createToken('of-second'))).status, 401);

  await cluster.api.delete(locateResource(first!));
  await waitUntilWell(cluster, [second!]);
  assert.equal((await ask('/conflict', await createToken('of-second'))).status, 200);
  assert.equal((await ask('/conflict', await createToken('of-first'))).status, 401);
});
