// A policy whose target does not exist protects nothing. What it was meant for is not known, so no route without protection is served meanwhile.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { createReadMarker, type ReadMarker } from '../kit/read-marker.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';

const issuer = createIssuer('https://idp.example.com', { algorithm: 'ES256' });
const jwt = { traffic: { jwtAuthentication: { providers: [providerOf('idp', issuer)] } } };
const rules = { traffic: { authorization: { action: 'Allow', policy: { matchExpressions: ['has(jwt.sub)'] } } } };
const messageRules = {
  backend: { mcp: { authorization: { action: 'Allow', policy: { matchExpressions: ['has(jwt.sub)'] } } } },
};
const login = { backend: { mcp: { authentication: { issuer: 'https://idp.example.com' } } } };

const groups: Readonly<Record<string, string>> = { ProxyBackend: 'gateway.proxy' };
const refer = (kind: string, name: string, more: object = {}): object => ({
  group: groups[kind] ?? 'gateway.networking.k8s.io',
  kind,
  name,
  ...more,
});
const policy = (targetRefs: readonly object[], spec: object, metadata: object = {}): object => ({
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: 'guard', ...metadata },
  spec: { targetRefs, ...spec },
});

/** What a person got wrong, and the policy that was to protect the tools. */
const mistakes: Readonly<Record<string, object>> = {
  'a slip in the name of the route': policy([refer('HTTPRoute', 'tols')], jwt),
  'a slip in the name of the backend': policy([refer('ProxyBackend', 'tols')], login),
  'a slip, with rules over requests': policy([refer('HTTPRoute', 'tols')], rules),
  'a slip, with rules over messages': policy([refer('ProxyBackend', 'tols')], messageRules),
  'a slip in the name of the Gateway': policy([refer('Gateway', 'tset')], jwt),
  'the wrong kind': policy([refer('Gateway', 'tools')], jwt),
  'the wrong namespace': policy([refer('HTTPRoute', 'tools')], jwt, { namespace: 'elsewhere' }),
  'a section that is not there': policy([refer('HTTPRoute', 'other', { sectionName: 'tools' })], jwt),
  'two targets, one of them missing': policy([refer('HTTPRoute', 'guarded'), refer('HTTPRoute', 'tols')], jwt, {
    name: 'zz-second',
  }),
  'a selector that selects nothing': {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'guard' },
    spec: {
      targetSelectors: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', matchLabels: { protect: 'ja' } }],
      ...jwt,
    },
  },
  'a policy that is not valid, either': policy([refer('HTTPRoute', 'tols')], {
    traffic: { jwtAuthentication: { mode: 'Sometimes', providers: [] } },
  }),
  'a policy that cannot be read, in the wrong namespace': {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'guard', namespace: 'elsewhere' },
    spec: { targets: 'tools' },
  },
};

let upstream: RecordingUpstream;
let gateway: GatewayRun;
let marker: ReadMarker;
let folder: string;

const base = (port: number): object[] => [
  gatewayResource(port),
  routeResource('guarded', [ruleTo('/guarded', 'guarded')]),
  backendResource('guarded', upstream.port),
  policy([refer('HTTPRoute', 'guarded')], jwt, { name: 'guarded' }),
  routeResource('other', [{ name: 'one', ...ruleTo('/other', 'guarded') }]),
  policy([refer('HTTPRoute', 'other')], rules, { name: 'other' }),
];
const tools = (): object[] => [
  routeResource('tools', [ruleTo('/tools', 'tools')]),
  backendResource('tools', upstream.port),
];

async function callTool(path: string, token?: string): Promise<string> {
  const answer = await fetch(gateway.urlOf(path), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'delete_everything' } }),
  });
  const body = (await answer.json()) as { error?: string };
  return `${answer.status}${typeof body.error === 'string' ? ` ${body.error}` : ''}`;
}

/** A file of its own for one part of the configuration. */
const put = (name: string, resources: readonly object[]): void =>
  writeFileSync(join(folder, name), resources.map((resource) => JSON.stringify(resource)).join('\n---\n'));

before(async () => {
  upstream = await startMcpUpstream();
  marker = createReadMarker();
  folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-parts-'));
  put('tools.yaml', tools());
  gateway = await runGateway({ resources: base, flags: [...marker.flags, '-f', folder] });
});

after(async () => {
  await gateway?.stop();
  await upstream?.close();
  marker?.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe('an anonymous tool call is refused while a policy misses its target', () => {
  test('what nobody wanted to protect is open', async () => {
    assert.equal(await callTool('/tools'), '200');
  });

  for (const [mistake, guard] of Object.entries(mistakes)) {
    test(mistake, async () => {
      gateway.write([...base(gateway.port), guard]);
      await marker.waitUntilRead(gateway);
      const seen = upstream.requests.length;
      assert.equal(await callTool('/tools'), '403 policy_unattached');
      const token = await issuer.sign({ sub: 'alice' });
      assert.equal(await callTool('/tools', token), '403 policy_unattached', 'a token changes nothing');
      assert.equal(upstream.requests.length, seen, 'nothing got through');
      // What is protected goes on.
      assert.equal(await callTool('/guarded'), '401 missing_token');
      assert.equal(await callTool('/guarded', token), '200');
      const marked = await fetch(gateway.urlOf('/marker'), { redirect: 'manual' });
      assert.equal(marked.status, 302, 'a redirect leads to no backend');
    });
  }

  test('CORS refuses nothing, so a target that it misses closes nothing', async () => {
    const cors = { traffic: { cors: { allowOrigins: ['https://app.example.com'] } } };
    gateway.write([...base(gateway.port), policy([refer('HTTPRoute', 'tols')], cors)]);
    await marker.waitUntilRead(gateway);
    assert.equal(await callTool('/tools'), '200');
  });

  test('the preflight of a browser is refused, too', async () => {
    gateway.write([...base(gateway.port), policy([refer('HTTPRoute', 'tols')], jwt)]);
    await marker.waitUntilRead(gateway);
    const answer = await fetch(gateway.urlOf('/tools'), { method: 'OPTIONS' });
    assert.equal(answer.status, 403);
  });

  test('the log names the policy, the name that was meant, and what follows', () => {
    assert.match(
      gateway.readOutput(),
      /Gateway\/tools does not exist .* There is an HTTPRoute of this name: did you mean kind: HTTPRoute\?/,
    );
    assert.match(
      gateway.readOutput(),
      /HTTPRoute\/tools does not exist in namespace elsewhere\. There is one in namespace default, .*: move the policy there\./,
    );
    assert.match(
      gateway.readOutput(),
      /"error".*ProxyPolicy default\/guard protects less than it should: HTTPRoute\/tols does not exist in namespace default\. Did you mean tools\? Meanwhile routes that nothing protects answer 403 \(policy_unattached\)\./,
    );
  });
});

describe('whatever the order in which files appear', () => {
  test('a policy that comes before its route closes the rest until the route is there', async () => {
    put('late-policy.yaml', [policy([refer('HTTPRoute', 'late')], jwt, { name: 'late' })]);
    gateway.write(base(gateway.port));
    await marker.waitUntilRead(gateway);
    assert.equal(await callTool('/tools'), '403 policy_unattached');
    put('late.yaml', [routeResource('late', [ruleTo('/late', 'guarded')])]);
    await marker.waitUntilRead(gateway);
    assert.equal(await callTool('/late'), '401 missing_token');
    assert.equal(await callTool('/tools'), '200');
  });

  test('a route that is removed while its policy stays', async () => {
    rmSync(join(folder, 'late.yaml'));
    await marker.waitUntilRead(gateway);
    assert.equal(await callTool('/late'), '404 no_route');
    assert.equal(await callTool('/tools'), '403 policy_unattached');
    rmSync(join(folder, 'late-policy.yaml'));
    await marker.waitUntilRead(gateway);
    assert.equal(await callTool('/tools'), '200');
  });

  for (const first of ['the route', 'the policy']) {
    test(`${first} is written first, and the other right after it: never open`, async () => {
      const parts = [
        () => put('new.yaml', [routeResource('new', [ruleTo('/new', 'guarded')])]),
        () => put('new-policy.yaml', [policy([refer('HTTPRoute', 'new')], jwt, { name: 'new' })]),
      ];
      const seen = upstream.requests.length;
      const answers = new Set<string>();
      const isRead = new AbortController();
      const asking = (async () => {
        while (!isRead.signal.aborted) answers.add(await callTool('/new'));
      })();
      for (const write of first === 'the route' ? parts : parts.toReversed()) write();
      await marker.waitUntilRead(gateway);
      isRead.abort();
      await asking;
      assert.equal(await callTool('/new'), '401 missing_token');
      assert.deepEqual(
        [...answers].filter((answer) => !['404 no_route', '401 missing_token'].includes(answer)),
        [],
      );
      assert.equal(upstream.requests.length, seen, 'nothing got through');
      for (const name of ['new.yaml', 'new-policy.yaml']) rmSync(join(folder, name));
      await marker.waitUntilRead(gateway);
    });
  }

  test('a policy file that is empty first and broken then holds back the route that came with it', async () => {
    writeFileSync(join(folder, 'half.yaml'), '');
    await marker.waitUntilRead(gateway);
    // Nothing new is read while it is broken, so the marker does not get in either.
    writeFileSync(join(folder, 'half.yaml'), 'kind: ProxyPolicy\n  metadata: {\n');
    put('half-route.yaml', [routeResource('half', [ruleTo('/half', 'guarded')])]);
    const isSaid = (): boolean =>
      /half\.yaml.*it may hold a policy, so the previous configuration stays/.test(gateway.readOutput());
    while (!isSaid()) assert.equal(await callTool('/half'), '404 no_route');
    assert.equal(await callTool('/half'), '404 no_route');
    put('half.yaml', [policy([refer('HTTPRoute', 'half')], jwt, { name: 'half' })]);
    await marker.waitUntilRead(gateway);
    assert.equal(await callTool('/half'), '401 missing_token');
  });
});

test('--allow-unattached serves as before, with a warning', async (t) => {
  const lenient = await runGateway({
    resources: (port) => [gatewayResource(port), ...tools(), policy([refer('HTTPRoute', 'tols')], jwt)],
    flags: ['--allow-unattached'],
  });
  t.after(() => lenient.stop());
  const answer = await fetch(lenient.urlOf('/tools'), { method: 'POST', body: '{}' });
  assert.equal(answer.status, 200);
  assert.match(
    lenient.readOutput(),
    /"warn".*ProxyPolicy default\/guard protects less than it should: .* What it was to protect may be open \(--allow-unattached\)\./,
  );
});
