// Who gets configuration: the pods of a Gateway, that of their own Gateway. Whoever comes with any other token, or with a token from another place, gets
// nothing, and is counted.
import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader, type JWTHeaderParameters, SignJWT } from 'jose';
import { createCertificate } from '../self-signed-certificate.ts';
import { askController, type ControllerAnswer, type ControllerQuestion } from './ask-controller.ts';
import {
  createEcho,
  createGateway,
  createNamespace,
  createRoute,
  createTlsSecret,
  toService,
} from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { waitForGatewayPod } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { installController, type InstalledController } from './installed-controller.ts';
import { observedImages, type PodObject, startObservedPod } from './observed-pod.ts';
import { waitForCondition, waitUntilWell } from './resource-conditions.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const home = claimNamespace('identity');
type Claim = Omit<ControllerQuestion, 'server'>;

/** Where the other Gateway is. */
const teamNamespace = 'identity-team';
const gateway = 'identity/web';
let cluster: Cluster;
let controller: InstalledController;
let server: string;
/** The pods of the two Gateways, and their tokens. */
let web: PodObject;
let team: PodObject;
let webToken: string;
let teamToken: string;

const secure = (secret: string): object[] => [
  { name: 'https', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: secret }] } },
];

before(async () => {
  cluster = await joinCluster({ images: observedImages, furtherNamespaces: [teamNamespace] });
  controller = await installController(cluster);
  const certificate = createCertificate({ names: ['example.com'] });
  await cluster.apply([
    createNamespace(teamNamespace),
    ...createEcho('echo'),
    ...createEcho('echo', teamNamespace),
    createTlsSecret('web', home, certificate),
    createTlsSecret('unrelated', home, certificate),
    createTlsSecret('team', teamNamespace, certificate),
    createGateway('web', { listeners: secure('web') }),
    createGateway('team', { namespace: teamNamespace, listeners: secure('team') }),
    createRoute('web', { to: toService('echo') }),
    createRoute('team', { namespace: teamNamespace, gateway: 'team', to: toService('echo') }),
  ]);
  await waitUntilWell(cluster, [
    { kind: 'Gateway', name: 'web' },
    { kind: 'Gateway', name: 'team', namespace: teamNamespace },
    { kind: 'HTTPRoute', name: 'web' },
    { kind: 'HTTPRoute', name: 'team', namespace: teamNamespace },
  ]);
  web = await waitForGatewayPod(cluster, 'web');
  team = await waitForGatewayPod(cluster, 'team', teamNamespace);
  webToken = await readToken(home, web.metadata.name);
  teamToken = await readToken(teamNamespace, team.metadata.name);
  await startObservedPod(cluster, 'intruder', { spec: { serviceAccountName: 'default' } });
  server = `http://${await controller.findAddress()}:9978`;
});
after(leaveCluster);

async function readToken(namespace: string, pod: string): Promise<string> {
  const command = ['cat', '/var/run/secrets/mcp-gateway/token'];
  return (await cluster.exec({ namespace, pod, command })).stdout.trim();
}

/** A token that the API server makes, as it does for pods. */
async function requestToken(
  namespace: string,
  account: string,
  { audience = 'proxy-xds', pod }: { audience?: string; pod?: PodObject } = {},
): Promise<string> {
  const bound = pod && { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid };
  const { status } = await cluster.api.create<{ status: { token: string } }>(
    `${locateResource({ kind: 'ServiceAccount', namespace, name: account })}/token`,
    { spec: { audiences: [audience], ...(bound && { boundObjectRef: bound }) } },
  );
  return status.token;
}

/** Asks from inside of a pod. */
async function askFrom(namespace: string, pod: string, claim: Claim): Promise<ControllerAnswer> {
  const program = '/app/test/cluster/ask-controller.ts';
  const command = ['/usr/local/bin/node', program, JSON.stringify({ server, ...claim })];
  const { stdout, stderr } = await cluster.exec({ namespace, pod, command });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as ControllerAnswer;
}

const askFromHost = (claim: Claim): Promise<ControllerAnswer> => askController({ server, ...claim });

test('a pod gets the configuration of its own Gateway, with the Secrets that this one needs and no other', async () => {
  const { code, resources } = await askFrom(home, web.metadata.name, {
    token: webToken,
    nodeId: web.metadata.name,
    gateway,
  });
  assert.equal(code, 'OK');
  const secrets = resources.filter((resource) => resource.startsWith('secrets '));
  assert.deepEqual(secrets, ['secrets Secret/identity/web']);
  assert.ok(resources.some((resource) => resource.startsWith('routes ') && resource.includes(gateway)));
  assert.deepEqual(
    resources.filter((resource) => /team|unrelated/.test(resource)),
    [],
  );
});

interface Refusal {
  readonly name: string;
  readonly code: 'Unauthenticated' | 'PermissionDenied';
  readonly message: RegExp;
  readonly ask: () => Promise<ControllerAnswer>;
}

/** The real claims of the pod, signed anew. */
async function sign(key: KeyObject, changes: object): Promise<string> {
  const header = decodeProtectedHeader(webToken) as JWTHeaderParameters;
  return new SignJWT({ ...decodeJwt(webToken), ...changes }).setProtectedHeader(header).sign(key);
}

const claimOfWeb = (token?: string): Claim => ({
  nodeId: web.metadata.name,
  gateway,
  ...(token === undefined ? {} : { token }),
});

const refusals: readonly Refusal[] = [
  {
    name: 'no token',
    code: 'Unauthenticated',
    message: /there is no token/,
    ask: () => askFromHost(claimOfWeb()),
  },
  {
    name: 'something that is no token',
    code: 'Unauthenticated',
    message: /not a ServiceAccount token/,
    ask: () => askFromHost(claimOfWeb('not.a.token')),
  },
  {
    name: 'the token of the pod, stolen and used from the test machine',
    code: 'PermissionDenied',
    message: /is not an address of pod identity\/web-proxy-/,
    ask: () => askFromHost(claimOfWeb(webToken)),
  },
  {
    name: 'the token of the pod, stolen and used from another pod',
    code: 'PermissionDenied',
    message: /is not an address of pod identity\/web-proxy-/,
    ask: () => askFrom(home, 'intruder', claimOfWeb(webToken)),
  },
  {
    name: 'the token of the pod, from its own address, for another pod of the Gateway',
    code: 'PermissionDenied',
    message: /the token belongs to pod web-proxy-.*, not to web-proxy-another/,
    ask: () => askFrom(home, web.metadata.name, { token: webToken, gateway, nodeId: 'web-proxy-another' }),
  },
  {
    name: 'the token of another Gateway, from the address of its pod',
    code: 'PermissionDenied',
    message: /must belong to system:serviceaccount:identity:web-proxy/,
    ask: () => askFrom(teamNamespace, team.metadata.name, { token: teamToken, gateway, nodeId: team.metadata.name }),
  },
  {
    name: 'the token of another ServiceAccount, for the right audience',
    code: 'PermissionDenied',
    message: /must belong to system:serviceaccount:identity:web-proxy/,
    ask: async () => askFrom(home, 'intruder', claimOfWeb(await requestToken(home, 'default'))),
  },
  {
    name: 'a ServiceAccount of the same name in another namespace',
    code: 'PermissionDenied',
    message: /must belong to system:serviceaccount:identity:web-proxy/,
    async ask() {
      const metadata = { name: 'web-proxy', namespace: teamNamespace };
      await cluster.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata });
      return askFromHost(claimOfWeb(await requestToken(teamNamespace, 'web-proxy')));
    },
  },
  {
    name: 'the right ServiceAccount, with a token for the API server',
    code: 'Unauthenticated',
    message: /not for the audience proxy-xds/,
    async ask() {
      const audience = 'https://kubernetes.default.svc.cluster.local';
      const token = await requestToken(home, 'web-proxy', { audience, pod: web });
      return askFrom(home, web.metadata.name, claimOfWeb(token));
    },
  },
  {
    name: 'the right ServiceAccount, with a token that is bound to no pod',
    code: 'PermissionDenied',
    message: /not bound to a pod/,
    ask: async () => askFrom(home, web.metadata.name, claimOfWeb(await requestToken(home, 'web-proxy'))),
  },
  {
    name: 'a token of the pod that has expired',
    code: 'Unauthenticated',
    message: /does not accept the token/,
    async ask() {
      const file = join(dirname(cluster.access.kubeconfigFile), 'service-account.key');
      const key = createPrivateKey(await readFile(file, 'utf8'));
      const now = Math.floor(Date.now() / 1000);
      // The same key and the same claims are good as long as they are not too old.
      const fresh = await sign(key, { iat: now, nbf: now, exp: now + 600 });
      assert.equal((await askFrom(home, web.metadata.name, claimOfWeb(fresh))).code, 'OK');
      const old = await sign(key, { iat: now - 7200, nbf: now - 7200, exp: now - 3600 });
      return askFrom(home, web.metadata.name, claimOfWeb(old));
    },
  },
  {
    name: 'a token that somebody else signed',
    code: 'Unauthenticated',
    message: /does not accept the token/,
    async ask() {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      return askFrom(home, web.metadata.name, claimOfWeb(await sign(privateKey, {})));
    },
  },
  {
    name: 'a good token, for a Gateway that does not exist',
    code: 'PermissionDenied',
    message: /Gateway identity\/nowhere is not served by this controller/,
    ask: () => askFrom(home, web.metadata.name, { ...claimOfWeb(webToken), gateway: 'identity/nowhere' }),
  },
  {
    name: 'a report about a Gateway by the pod of another',
    code: 'PermissionDenied',
    message: /must belong to system:serviceaccount:identity:web-proxy/,
    ask: () =>
      askFrom(teamNamespace, team.metadata.name, {
        call: 'report',
        token: teamToken,
        gateway,
        nodeId: team.metadata.name,
      }),
  },
  {
    name: 'a gateway that gives itself out as a replica of the controller',
    code: 'PermissionDenied',
    message: /must belong to system:serviceaccount:proxy-system:proxy/,
    ask: () => askFrom(home, web.metadata.name, { ...claimOfWeb(webToken), call: 'relay' }),
  },
];

const refusedMetric = 'mcp_gateway_controller_xds_refused_total';
const reasons = { Unauthenticated: 'unauthenticated', PermissionDenied: 'permission_denied' };

for (const { name, code, message, ask } of refusals) {
  test(`refused with ${code}: ${name}`, async () => {
    const labels = `reason="${reasons[code]}"`;
    const counted = await controller.readMetric(refusedMetric, labels);
    const answer = await ask();
    assert.deepEqual([answer.code, answer.resources], [code, []], answer.message);
    assert.match(answer.message, message);
    assert.equal(await controller.readMetric(refusedMetric, labels), counted + 1);
  });
}

test('what they said changed no status', async () => {
  await waitUntilWell(cluster, [
    { kind: 'Gateway', name: 'web' },
    { kind: 'Gateway', name: 'team', namespace: teamNamespace },
  ]);
});

test('refused with Unauthenticated: a token of a pod that was deleted', async () => {
  const token = await requestToken(home, 'web-proxy', { pod: web });
  await cluster.api.delete(locateResource({ kind: 'Pod', name: web.metadata.name }));
  await cluster.waitFor(
    () =>
      cluster.api.get(locateResource({ kind: 'Pod', name: web.metadata.name })).then(
        () => false,
        () => true,
      ),
    { what: 'the pod is gone', timeoutMs: 120_000 },
  );
  const { code, resources } = await askFromHost(claimOfWeb(token));
  assert.deepEqual([code, resources], ['Unauthenticated', []]);
  // The one that it used is known to the controller from a moment ago, and of no use either.
  const known = await askFrom(home, 'intruder', claimOfWeb(webToken));
  assert.notEqual(known.code, 'OK');
  assert.deepEqual(known.resources, []);
});

test('refused with PermissionDenied: a good token, when its Gateway is of another controller', async () => {
  const pod = await waitForGatewayPod(cluster, 'team', teamNamespace);
  const token = await readToken(teamNamespace, pod.metadata.name);
  const claim = { token, nodeId: pod.metadata.name, gateway: `${teamNamespace}/team` };
  const changed = createGateway('team', { namespace: teamNamespace, gatewayClassName: 'of-another-controller' });
  await cluster.apply(changed);
  await waitForCondition(
    cluster,
    { kind: 'Gateway', name: 'team', namespace: teamNamespace },
    { type: 'Accepted', status: 'Unknown' },
  );
  // Its pod goes away with it, so the question comes from here; what is said first is that there is nothing to ask for.
  const { code, message, resources } = await askFromHost(claim);
  assert.deepEqual([code, resources], ['PermissionDenied', []]);
  assert.match(message, /Gateway identity-team\/team is not served by this controller/);
});
