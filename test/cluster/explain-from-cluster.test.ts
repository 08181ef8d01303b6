// `mcp-gatehouse explain` about a real cluster, as a person runs it: by the resources in the API server, and by what a deployed gateway has in force. What it
// says is what the deployed gateway does.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SignJWT } from 'jose';
import { parse, stringify } from 'yaml';
import type { ExplainReport } from '../../src/cmd/explain/explain-report.ts';
import { createSigningKey, type SigningKey } from '../idp/signing-keys.ts';
import { type Run, runExplain } from '../integration/explain-fixture.ts';
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
import { installController } from './installed-controller.ts';
import { waitUntilWell } from './resource-conditions.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('explained');
const issuer = 'https://idp.example.com';
const policies: readonly ResourceName[] = [
  { kind: 'ProxyPolicy', name: 'who' },
  { kind: 'ProxyPolicy', name: 'teams' },
];

let cluster: Cluster;
let key: SigningKey;
let url: string;

before(async () => {
  key = await createSigningKey();
  cluster = await joinCluster();
  await installController(cluster);
  const jwks = { inline: JSON.stringify({ keys: [key.publicJwk] }) };
  await cluster.apply([
    ...createEcho('echo'),
    createGateway('web'),
    createProxyBackend('tickets', { service: toService('echo') }),
    createPolicy(
      'who',
      { kind: 'Gateway', name: 'web' },
      {
        traffic: {
          jwtAuthentication: {
            providers: [{ name: 'company', issuer, audiences: ['tickets'], jwks }],
            claimsToHeaders: [{ claim: 'sub', header: 'x-auth-subject' }],
          },
        },
      },
    ),
    createPolicy('teams', { kind: 'HTTPRoute', name: 'tickets' }, allowTeam('support')),
    createRoute('tickets', { path: '/tickets', to: toProxyBackend('tickets') }),
  ]);
  await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web' }, { kind: 'HTTPRoute', name: 'tickets' }, ...policies]);
  url = `http://${await waitUntilReachable(cluster, 'web')}/tickets`;
  await waitForStatus(200, await createToken(alice));
});
after(leaveCluster);

function allowTeam(team: string): object {
  return { traffic: { authorization: { action: 'Allow', policy: { matchExpressions: [`jwt.team == "${team}"`] } } } };
}

interface Person {
  readonly sub: string;
  readonly team?: string;
  readonly audience?: string;
}
const alice: Person = { sub: 'alice', team: 'support' };
const dave: Person = { sub: 'dave', team: 'sales' };

function createToken({ sub, audience = 'tickets', ...claims }: Person, signer = key): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: signer.alg, kid: key.kid })
    .setIssuer(issuer)
    .setSubject(sub)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('10m')
    .sign(signer.privateKey);
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Asks the deployed gateway. */
async function ask(token?: string, to = url): Promise<Answer> {
  const answer = await fetch(to, {
    method: 'POST',
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    headers: {
      'content-type': 'application/json',
      connection: 'close',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  });
  return { status: answer.status, headers: answer.headers, body: await answer.text() };
}

async function waitForStatus(status: number, token?: string): Promise<void> {
  await cluster.waitFor(async () => (await ask(token)).status === status, { what: `${url} answers ${status}` });
}

/** The command with the kubeconfig in KUBECONFIG, as a shell has it. */
function explain(args: readonly string[], token?: string, kubeconfig?: string): Promise<Run> {
  const env = { PATH: process.env['PATH'], KUBECONFIG: kubeconfig ?? cluster.access.kubeconfigFile };
  if (token === undefined) return runExplain(args, { env });
  return runExplain([...args, '--token', '-'], { env, stdin: token });
}

/** The same inside a pod of the gateway, where its admin port is. */
async function explainInPod(args: readonly string[], token?: string): Promise<Run> {
  const pod = await waitForGatewayPod(cluster, 'web');
  const script = `const { spawnSync } = require('node:child_process');
const { dirname } = require('node:path');
const [input, ...args] = process.argv.slice(1);
// What Node makes of the sources is kept for the next time, in the one folder that can be written to: to make it takes longer than all the rest.
const env = { ...process.env, NODE_COMPILE_CACHE: dirname(process.env.MCP_GATEHOUSE_SNAPSHOT_FILE) + '/compiled' };
const { status, stdout, stderr } = spawnSync(process.execPath, args, { input, env });
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = status;`;
  const line = ['/app/bin/mcp-gatehouse.mjs', 'explain', ...args, ...(token === undefined ? [] : ['--token', '-'])];
  const { exitCode, stdout, stderr } = await cluster.exec({
    namespace,
    pod: pod.metadata.name,
    command: ['/usr/local/bin/node', '-e', script, '--', token ?? '', ...line],
  });
  return { code: exitCode, out: stdout, err: stderr };
}

const withoutIds = (text: string): string => text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID');

/** What explain says is what the gateway answered. */
function expectAgreement(run: Run, real: Answer): ExplainReport {
  assert.equal(run.err, '');
  const report = JSON.parse(run.out) as ExplainReport;
  if (report.answer === null) {
    assert.equal(run.code, 0);
    assert.equal(report.verdict.outcome, 'forwarded');
    assert.equal(real.status, 200);
    const echo = JSON.parse(real.body) as { path: string; headers: Readonly<Record<string, readonly string[]>> };
    assert.equal(echo.path, report.forward?.target);
    for (const [name, value] of report.forward?.addedHeaders ?? [])
      assert.deepEqual(findHeader(echo.headers, name), [value], name);
    for (const name of report.forward?.removedHeaders ?? []) assert.equal(findHeader(echo.headers, name), undefined);
  } else {
    assert.equal(run.code, 1);
    assert.equal(report.verdict.outcome, 'denied');
    assert.equal(report.answer.status, real.status);
    assert.equal(withoutIds(report.answer.body ?? ''), withoutIds(real.body));
    for (const [name, value] of report.answer.headers)
      assert.equal(withoutIds(real.headers.get(name) ?? ''), withoutIds(value), name);
  }
  return report;
}

function findHeader(
  headers: Readonly<Record<string, readonly string[]>>,
  wanted: string,
): readonly string[] | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1];
}

interface Case {
  readonly what: string;
  readonly token?: () => Promise<string>;
  readonly path?: string;
  readonly status: number;
  readonly reason: string | null;
}

const cases: readonly Case[] = [
  { what: 'somebody whom the rule allows', token: () => createToken(alice), status: 200, reason: null },
  { what: 'nobody', status: 401, reason: 'missing_token' },
  { what: 'somebody of another team', token: () => createToken(dave), status: 403, reason: 'rbac_denied' },
  {
    what: 'a token for somebody else',
    token: () => createToken({ ...alice, audience: 'billing' }),
    status: 401,
    reason: 'token_wrong_audience',
  },
  {
    what: 'a token with the signature of another key',
    token: async () => createToken(alice, await createSigningKey()),
    status: 401,
    reason: 'token_bad_signature',
  },
  { what: 'a path that no route has', path: '/nothing', status: 404, reason: 'no_route' },
];

describe('--from-cluster', () => {
  for (const { what, token, path = '', status, reason } of cases) {
    test(`agrees with the deployed gateway: ${what}`, async () => {
      const to = path === '' ? url : new URL(path, url).href;
      const credential = await token?.();
      const real = await ask(credential, to);
      assert.equal(real.status, status);
      const run = await explain(['--from-cluster', '--json', '--request', `POST ${to}`], credential);
      const report = expectAgreement(run, real);
      assert.equal(report.verdict.reason, reason);
      const noToken = 'The request has no token; --token FILE or --claims FILE says who asks.';
      assert.deepEqual(report.notes, reason === 'missing_token' ? [noToken] : []);
    });
  }

  test('names the endpoints that the Service really has', async () => {
    const { out } = await explain(['--from-cluster', '--json', '--request', `POST ${url}`], await createToken(alice));
    const pods = await cluster.api.list<{ metadata: { name: string }; status: { podIP: string } }>(
      `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Decho`,
    );
    const { forward } = JSON.parse(out) as ExplainReport;
    assert.deepEqual(
      forward?.endpoints,
      pods.map(({ status }) => `http://${status.podIP}:3000`),
    );
  });

  test('says it to a person: who, where, by which rule, and the answer', async () => {
    const { code, out, err } = await explain(['--from-cluster', '--request', `POST ${url}`], await createToken(dave));
    assert.deepEqual({ code, err }, { code: 1, err: '' });
    assert.match(out, /^ {2}token {5}dave, of https:\/\/idp\.example\.com$/m);
    assert.match(out, /^ {2}listener {2}http of Gateway explained\/web, HTTP 80, any host$/m);
    assert.match(out, /^ {2}✗ {2}traffic\.authorization +explained\/teams +on HTTPRoute explained\/tickets$/m);
    assert.match(out, /jwt\.team = "sales"/);
    assert.match(out, /^Denied: rbac_denied; no Allow rule matches: policy explained\/teams$/m);
    assert.match(out, /^ {2}HTTP\/1\.1 403 Forbidden$/m);
    const allowed = await explain(['--from-cluster', '--request', `POST ${url}`], await createToken(alice));
    assert.match(allowed.out, /^Allowed: forwarded to ProxyBackend explained\/tickets$/m);
    assert.match(allowed.out, /^ {2}\+ x-auth-subject: alice$/m);
  });

  test('reads one namespace, and says that it did', async () => {
    const run = await explain(
      ['--from-cluster', '-n', namespace, '--gateway', 'web', '--json', '--request', `POST ${url}`],
      await createToken(alice),
    );
    assert.equal(run.code, 0, run.err);
    const { notes } = JSON.parse(run.out) as ExplainReport;
    assert.deepEqual(notes, [
      'Only namespace explained was read; what is in others, and refers to it or is referred to, is not known.',
    ]);
  });
});

describe('--admin and --request-id, in a pod of the gateway', () => {
  const admin = ['--admin', 'http://127.0.0.1:15000', '--json'];

  for (const { what, token, path = '' } of cases.filter(({ reason }) => reason !== 'token_bad_signature')) {
    test(`agrees with the deployed gateway: ${what}`, async () => {
      const to = path === '' ? url : new URL(path, url).href;
      const credential = await token?.();
      const run = await explainInPod([...admin, '--request', `POST ${to}`], credential);
      expectAgreement(run, await ask(credential, to));
    });
  }

  test('tells of a request that happened', async () => {
    const real = await ask(await createToken(dave));
    const id = real.headers.get('x-request-id') ?? '';
    const { code, out, err } = await explainInPod([...admin, '--request-id', id]);
    assert.deepEqual({ code, err }, { code: 1, err: '' });
    const { request, route, verdict, token } = JSON.parse(out) as ExplainReport;
    assert.equal(request.id, id);
    assert.equal(route?.httpRoute, 'explained/tickets');
    assert.equal(verdict.reason, 'rbac_denied');
    assert.equal(token?.subject, 'dave');
  });
});

test('a rule that is changed: explain knows at once, and the gateway follows', async () => {
  const tokens = { alice: await createToken(alice), dave: await createToken(dave) };
  await cluster.api.patch(locateResource(policies[1]!), { spec: allowTeam('sales') });
  const request = ['--json', '--request', `POST ${url}`];
  const fromCluster = {
    dave: await explain(['--from-cluster', ...request], tokens.dave),
    alice: await explain(['--from-cluster', ...request], tokens.alice),
  };
  await waitForStatus(200, tokens.dave);
  for (const name of ['alice', 'dave'] as const) {
    const real = await ask(tokens[name]);
    expectAgreement(fromCluster[name], real);
    expectAgreement(await explainInPod(['--admin', 'http://127.0.0.1:15000', ...request], tokens[name]), real);
  }
});

describe('what cannot be asked: one line, exit code 2', () => {
  const request = (): readonly string[] => ['--from-cluster', '--request', `POST ${url}`];

  /** The kubeconfig of the cluster, changed. */
  async function writeKubeconfig(name: string, change: (text: string) => string): Promise<string> {
    const file = join(cluster.folder, name);
    const { stdout } = await cluster.kubectl(['config', 'view', '--raw', '--flatten']);
    await writeFile(file, change(stdout), { mode: 0o600 });
    return file;
  }

  async function expectRefusal(args: readonly string[], message: RegExp, kubeconfig?: string): Promise<void> {
    const { code, out, err } = await explain(args, undefined, kubeconfig);
    assert.deepEqual({ code, out }, { code: 2, out: '' }, err);
    assert.match(err, message);
    assert.doesNotMatch(err, /^\s+at /m, 'no stack');
  }

  test('a kubeconfig that is not there', async () => {
    const missing = join(cluster.folder, 'missing');
    const message = /^mcp-gatehouse explain: there is no kubeconfig \S+missing\n$/;
    await expectRefusal(request(), message, missing);
    await expectRefusal([...request(), '--kubeconfig', missing], message);
  });

  test('a context that the kubeconfig does not have', async () => {
    const { stdout } = await cluster.kubectl(['config', 'current-context']);
    await expectRefusal(
      [...request(), '--context', 'nowhere'],
      new RegExp(`^mcp-gatehouse explain: the kubeconfig \\S+ has no context nowhere; it has ${stdout.trim()}\\n$`),
    );
  });

  test('a Gateway that does not exist, and one with a name like it', async () => {
    await expectRefusal(
      [...request(), '--gateway', 'explained/wep'],
      /^mcp-gatehouse explain: --gateway explained\/wep: no Gateway of this name is served; did you mean explained\/web\?\n$/,
    );
    await expectRefusal(
      [...request(), '--gateway', 'other/public'],
      /^mcp-gatehouse explain: --gateway other\/public: no Gateway of this name is served; there is explained\/web\n$/,
    );
  });

  test('a listener that no Gateway has', async () => {
    await expectRefusal([...request(), '--listener', 'https'], /^mcp-gatehouse explain: .*https/);
  });

  test('an API server that is not there', async () => {
    const kubeconfig = await writeKubeconfig('elsewhere', (text) => text.replace(/(server: \S+):\d+/, '$1:1'));
    await expectRefusal(request(), /^mcp-gatehouse explain: .*:1\b.*ECONNREFUSED/, kubeconfig);
  });

  /** A kubeconfig with this token and no other credentials. */
  const writeTokenConfig = (name: string, token: string): Promise<string> =>
    writeKubeconfig(name, (text) => {
      const config = parse(text) as { users: { name: string; user: object }[] };
      return stringify({ ...config, users: config.users.map((user) => ({ name: user.name, user: { token } })) });
    });

  test('credentials that the API server does not accept', async () => {
    const kubeconfig = await writeTokenConfig('stranger', 'made-up');
    await expectRefusal(
      request(),
      /^mcp-gatehouse explain: the API server does not accept the credentials of the kubeconfig: .*Unauthorized/,
      kubeconfig,
    );
  });

  test('a kind that one may not read', async () => {
    await cluster.kubectl(['create', 'serviceaccount', 'reader', '-n', namespace]);
    const resources = [
      'gatewayclasses,gateways,httproutes,referencegrants',
      'proxybackends,gatewayparameters',
      'services,namespaces,endpointslices',
    ].join(',');
    await cluster.kubectl(['create', 'clusterrole', 'reader', '--verb=list', `--resource=${resources}`]);
    const subject = ['--clusterrole=reader', '--serviceaccount=explained:reader'];
    await cluster.kubectl(['create', 'clusterrolebinding', 'reader', ...subject]);
    const { stdout } = await cluster.kubectl(['create', 'token', 'reader', '-n', namespace]);
    const kubeconfig = await writeTokenConfig('reader', stdout.trim());
    await expectRefusal(
      request(),
      /^mcp-gatehouse explain: .*proxypolicies.* is forbidden.*; without the kind ProxyPolicy the answer could be wrong\n$/,
      kubeconfig,
    );
    // With the right to read it, there is an answer.
    await cluster.kubectl(['create', 'clusterrole', 'more', '--verb=list', '--resource=proxypolicies']);
    await cluster.kubectl(['create', 'clusterrolebinding', 'more', '--clusterrole=more', subject[1]!]);
    const answered = await cluster.waitFor(
      async () => {
        const run = await explain(['--json', ...request()], undefined, kubeconfig);
        return run.code === 2 ? undefined : run;
      },
      { what: 'the right has come into force' },
    );
    expectAgreement(answered, await ask());
  });
});
