// A platform enforces at its Gateway what tenants can neither replace nor weaken at their routes: `enforcement: Override`.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createSealKey } from '../../src/base/sealed.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import {
  ask,
  readError,
  resource,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
  type Upstream,
} from '../integration/gateway-fixture.ts';
import { bearerOf } from '../integration/jwt-authentication-fixture.ts';
import { createPkce, startBrokerGateway, startBrokerIdp } from '../integration/mcp-auth-broker-fixture.ts';
import { backendResource, gatewayResource, routeResource } from '../kit/gateway-resources.ts';
import { guardAddressExceptLoopback } from '../kit/loopback-address-policy.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';

const platform = createIssuer('https://platform.example');
const tenant = createIssuer('https://tenant.example');
/** A tenant who names the platform's issuer, with keys of its own. */
const impostor = createIssuer('https://platform.example');

const onRoute = (name: string, sectionName?: string) => ({
  group: 'gateway.networking.k8s.io',
  kind: 'HTTPRoute',
  name,
  ...(sectionName === undefined ? {} : { sectionName }),
});
const onGateway = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'test' };
const onListener = { ...onGateway, sectionName: 'http' };
const server = { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'server' };

function policyOf(name: string, target: object, traffic: object, enforcement?: string): object {
  const spec = { targetRefs: [target], ...(enforcement === undefined ? {} : { enforcement }), traffic };
  return resource('gateway.proxy/v1alpha1', 'ProxyPolicy', name, { spec });
}

const jwt = (providers: readonly object[], rest: object = {}) => ({ jwtAuthentication: { providers, ...rest } });
const rules = (action: string, ...matchExpressions: string[]) => ({
  authorization: { action, policy: { matchExpressions } },
});

let upstream: Upstream;
before(async () => {
  upstream = await startUpstream('echo');
});
after(() => upstream?.close());

function listResources(port: number, platformPolicies: readonly object[]): object[] {
  const to = [serviceRef('echo')];
  return [
    gatewayResource(port),
    ...serviceOf('echo', [upstream.port]),
    backendResource('server', upstream.port),
    ...platformPolicies,
    routeResource('plain', [rule('/plain', to)]),
    routeResource('impostor', [rule('/impostor', to)]),
    policyOf('impostor', onRoute('impostor'), jwt([providerOf('platform', impostor)])),
    routeResource('permissive', [rule('/permissive', to)]),
    policyOf('permissive', onRoute('permissive'), jwt([providerOf('platform', platform)], { mode: 'Permissive' })),
    routeResource('optional', [rule('/optional', to)]),
    policyOf('optional', onRoute('optional'), jwt([providerOf('tenant', tenant)], { mode: 'Optional' })),
    routeResource('by-rule', [{ ...rule('/by-rule', to), name: 'all' }]),
    policyOf('by-rule', onRoute('by-rule', 'all'), jwt([providerOf('tenant', tenant)])),
    routeResource('allows', [rule('/allows', to)]),
    policyOf('allows', onRoute('allows'), rules('Allow', 'true')),
    routeResource('narrow', [rule('/narrow', to)]),
    policyOf('narrow', onRoute('narrow'), rules('Allow', 'jwt.team == "a"')),
    routeResource('mcp', [rule('/mcp', [server])]),
    resource('gateway.proxy/v1alpha1', 'ProxyPolicy', 'login', {
      spec: {
        targetRefs: [server],
        backend: {
          mcp: {
            authentication: {
              issuer: tenant.issuer,
              audiences: ['api'],
              flow: 'Direct',
              sessionBinding: false,
              jwks: { inline: tenant.jwks },
            },
          },
        },
      },
    }),
  ];
}

function describeWith(name: string, platformPolicies: readonly object[], body: (outcome: Outcome) => void): void {
  describe(name, () => {
    let gateway: GatewayRun;
    before(async () => {
      gateway = await runGateway({ resources: (port) => listResources(port, platformPolicies) });
    });
    after(() => gateway?.stop());
    body(async (path, signed) => {
      const token = await signed;
      const answer = await ask(gateway.port, { path, headers: token === undefined ? {} : bearerOf(token) });
      return answer.status === 200 ? 'passed' : readError(answer);
    });
  });
}

type Outcome = (path: string, token?: Promise<string>) => Promise<string>;

const routes = ['/plain', '/impostor', '/permissive', '/optional', '/by-rule'];

for (const [where, target] of [
  ['the Gateway', onGateway],
  ['a listener', onListener],
] as const) {
  const enforced = policyOf('platform', target, jwt([providerOf('platform', platform)]), 'Override');
  describeWith(`JWT authentication that ${where} enforces`, [enforced], (outcome) => {
    for (const path of routes) {
      test(`${path}: only tokens of the platform pass`, async () => {
        assert.equal(await outcome(path, platform.sign({})), 'passed');
        assert.equal(await outcome(path), '401 missing_token');
        assert.equal(await outcome(path, impostor.sign({})), '401 token_bad_signature');
        assert.equal(await outcome(path, tenant.sign({})), '401 token_wrong_issuer');
      });
    }

    test('the login of a backend is asked in addition', async () => {
      assert.equal(await outcome('/mcp', tenant.sign({})), '401 token_wrong_issuer');
      assert.equal(await outcome('/mcp', platform.sign({})), '401 token_wrong_issuer');
    });

    test("the gateway's own endpoints stay open: a login begins without a token", async () => {
      assert.equal(await outcome('/.well-known/oauth-protected-resource/mcp'), 'passed');
    });
  });
}

describeWith(
  'the same without enforcement',
  [policyOf('platform', onGateway, jwt([providerOf('platform', platform)]))],
  (outcome) => {
    test('routes replace it', async () => {
      assert.equal(await outcome('/plain'), '401 missing_token');
      assert.equal(await outcome('/permissive'), 'passed');
      assert.equal(await outcome('/optional'), 'passed');
      assert.equal(await outcome('/impostor', impostor.sign({})), 'passed');
    });
  },
);

describeWith(
  'of two Overrides the less specific wins',
  [
    policyOf('platform', onGateway, jwt([providerOf('platform', platform)]), 'Override'),
    policyOf('listener', onListener, jwt([providerOf('tenant', tenant)]), 'Override'),
  ],
  (outcome) => {
    test('tokens of the listener do not pass', async () => {
      assert.equal(await outcome('/plain', tenant.sign({})), '401 token_wrong_issuer');
      assert.equal(await outcome('/plain', platform.sign({})), 'passed');
    });
  },
);

describeWith(
  'rules that the Gateway enforces',
  [
    policyOf(
      'platform',
      onGateway,
      { ...jwt([providerOf('platform', platform)]), ...rules('Allow', 'jwt.staff == true') },
      'Override',
    ),
  ],
  (outcome) => {
    test('its Allow must match by itself', async () => {
      assert.equal(await outcome('/allows', platform.sign({ staff: true })), 'passed');
      assert.equal(await outcome('/allows', platform.sign({})), '403 rbac_denied');
    });

    test('in addition to what the route allows', async () => {
      assert.equal(await outcome('/narrow', platform.sign({ staff: true })), '403 rbac_denied');
      assert.equal(await outcome('/narrow', platform.sign({ team: 'a' })), '403 rbac_denied');
      assert.equal(await outcome('/narrow', platform.sign({ staff: true, team: 'a' })), 'passed');
    });

    test('where the route has none, it decides', async () => {
      assert.equal(await outcome('/plain', platform.sign({ staff: true })), 'passed');
      assert.equal(await outcome('/plain', platform.sign({ staff: 'true' })), '403 rbac_denied');
    });
  },
);

const isStaff = 'jwt.staff == true';

describeWith(
  'rules that the Gateway enforces without JWT authentication of its own',
  [policyOf('platform', onGateway, rules('Require', isStaff), 'Override')],
  (outcome) => {
    test('believe no token: whoever chooses the issuer could satisfy them', async () => {
      assert.equal(await outcome('/impostor', impostor.sign({ staff: true })), '403 rbac_denied');
      assert.equal(await outcome('/by-rule', tenant.sign({ staff: true })), '403 rbac_denied');
      assert.equal(await outcome('/mcp', tenant.sign({ staff: true })), '403 rbac_denied');
    });
  },
);

describeWith(
  'Allow rules that the Gateway enforces, with JWT authentication that routes may replace',
  [
    policyOf('jwt', onGateway, jwt([providerOf('platform', platform)])),
    policyOf('rules', onGateway, rules('Allow', isStaff), 'Override'),
  ],
  (outcome) => {
    test('see the tokens of the Gateway, and no others', async () => {
      assert.equal(await outcome('/plain', platform.sign({ staff: true })), 'passed');
      assert.equal(await outcome('/plain', platform.sign({})), '403 rbac_denied');
      assert.equal(await outcome('/impostor', impostor.sign({ staff: true })), '403 rbac_denied');
      assert.equal(await outcome('/by-rule', tenant.sign({ staff: true })), '403 rbac_denied');
      assert.equal(await outcome('/permissive'), '403 rbac_denied');
    });
  },
);

describeWith(
  'Allow rules that the Gateway and a listener enforce',
  [
    policyOf(
      'platform',
      onGateway,
      { ...jwt([providerOf('platform', platform)]), ...rules('Allow', isStaff) },
      'Override',
    ),
    policyOf('listener', onListener, rules('Allow', 'jwt.team == "a"'), 'Override'),
  ],
  (outcome) => {
    test('must match each by itself', async () => {
      assert.equal(await outcome('/plain', platform.sign({ staff: true, team: 'a' })), 'passed');
      assert.equal(await outcome('/plain', platform.sign({ staff: true })), '403 rbac_denied');
      assert.equal(await outcome('/plain', platform.sign({ team: 'a' })), '403 rbac_denied');
    });
  },
);

describe('CORS that the Gateway enforces', () => {
  const cors = (origin: string) => ({ cors: { allowOrigins: [origin] } });
  let gateway: GatewayRun;
  before(async () => {
    const to = [serviceRef('echo')];
    const filter = { type: 'CORS', cors: { allowOrigins: ['https://tenant.example'] } };
    gateway = await runGateway({
      resources: (port) => [
        gatewayResource(port),
        ...serviceOf('echo', [upstream.port]),
        policyOf('platform', onGateway, cors('https://platform.example'), 'Override'),
        routeResource('by-policy', [rule('/by-policy', to)]),
        policyOf('by-policy', onRoute('by-policy'), cors('https://tenant.example')),
        routeResource('by-filter', [{ ...rule('/by-filter', to), filters: [filter] }]),
      ],
    });
  });
  after(() => gateway?.stop());

  for (const path of ['/by-policy', '/by-filter'])
    test(`${path}: is that of the platform`, async () => {
      const allowed = async (origin: string): Promise<unknown> =>
        (await ask(gateway.port, { path, headers: { origin } })).headers['access-control-allow-origin'];
      assert.equal(await allowed('https://platform.example'), 'https://platform.example');
      assert.equal(await allowed('https://tenant.example'), undefined);
    });
});

describe("the gateway's own OAuth endpoints", () => {
  const redirectUri = 'http://127.0.0.1:33418/callback';

  test('need no token and pass no rules: a client registers, logs in and gets a token', async (t) => {
    const idp = await startBrokerIdp();
    t.after(() => idp.close());
    const gateway = await startBrokerGateway({
      backends: [{ path: '/mcp', port: upstream.port, authentication: { issuer: idp.issuer, flow: 'Broker' } }],
      keys: [createSealKey()],
      fetcher: { addressPolicy: guardAddressExceptLoopback },
      resources: [
        policyOf(
          'platform',
          onGateway,
          { ...jwt([providerOf('platform', platform)]), ...rules('Require', isStaff) },
          'Override',
        ),
      ],
    });
    t.after(() => gateway.close());
    assert.equal((await fetch(`${gateway.url}/mcp`, { method: 'POST', body: '{}' })).status, 401);
    const asked = `${gateway.url}/mcp`;
    const described = await fetch(`${gateway.url}/.well-known/oauth-protected-resource/mcp`);
    assert.equal(((await described.json()) as { resource: string }).resource, asked);
    const metadata = (await (
      await fetch(`${gateway.url}/.well-known/oauth-authorization-server/mcp`)
    ).json()) as Readonly<Record<string, string>>;
    const registered = await fetch(metadata['registration_endpoint']!, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'none',
        client_name: 'a client',
      }),
    });
    assert.equal(registered.status, 201);
    const { client_id: clientId } = (await registered.json()) as { client_id: string };
    const { verifier, challenge } = createPkce();
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state: 'state',
      resource: asked,
    });
    const url = `${metadata['authorization_endpoint']}?${query.toString()}`;
    const code = (await new BrowserAgent().authorize(url, redirectUri)).searchParams.get('code')!;
    const answer = await fetch(metadata['token_endpoint']!, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        client_id: clientId,
        redirect_uri: redirectUri,
        resource: asked,
      }),
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    assert.ok(((await answer.json()) as { access_token?: string }).access_token);
  });
});
