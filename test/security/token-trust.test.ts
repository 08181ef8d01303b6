// Two tenants behind one Gateway. What the platform's rules at the Gateway see of a token that a tenant's route let in: nothing, unless the Gateway accepts it as well.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
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
import { backendResource, gatewayResource, routeResource } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';

const platform = createIssuer('https://platform.example');
const tenant = createIssuer('https://tenant.example');
/** A tenant who calls itself the platform, with keys of its own. */
const impostor = createIssuer('https://platform.example');

const admin = { role: 'admin', sub: 'root' };
let upstream: Upstream;
let gateway: GatewayRun;

function policyOf(name: string, target: object, spec: object): object {
  return resource('gateway.proxy/v1alpha1', 'ProxyPolicy', name, { spec: { targetRefs: [target], ...spec } });
}

const onRoute = (name: string) => ({ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name });
const onGateway = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'test' };
const rules = (action: string, ...matchExpressions: string[]) => ({
  traffic: { authorization: { action, policy: { matchExpressions } } },
});
const jwt = (providers: readonly object[], rest: object = {}) => ({
  traffic: { jwtAuthentication: { providers, ...rest } },
});

const isAdmin = 'jwt.role == "admin"';

function listResources(port: number, platformRules: readonly object[]): object[] {
  const to = [serviceRef('echo')];
  const server = { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'server' };
  return [
    gatewayResource(port),
    ...serviceOf('echo', [upstream.port]),
    backendResource('server', upstream.port),
    ...platformRules,
    routeResource('platform', [rule('/platform', to)]),
    routeResource('tenant', [rule('/tenant', to)]),
    policyOf('tenant-jwt', onRoute('tenant'), jwt([providerOf('tenant', tenant)])),
    routeResource('impostor', [rule('/impostor', to)]),
    policyOf('impostor-jwt', onRoute('impostor'), jwt([providerOf('platform', impostor)])),
    routeResource('both', [rule('/both', to)]),
    policyOf('both-jwt', onRoute('both'), jwt([providerOf('tenant', tenant), providerOf('platform', platform)])),
    // A rule of the tenant's own sees what the tenant lets in.
    routeResource('own', [rule('/own', to)]),
    policyOf('own-jwt', onRoute('own'), {
      traffic: { ...jwt([providerOf('tenant', tenant)]).traffic, ...rules('Require', isAdmin).traffic },
    }),
    // The backend lets in, and the route does not ask.
    routeResource('mcp', [rule('/mcp', [server])]),
    policyOf(
      'mcp-jwt',
      onRoute('mcp'),
      jwt([providerOf('tenant', tenant)], { mode: 'Optional', location: { cookie: { name: 'session' } } }),
    ),
    policyOf('login', server, {
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
    }),
  ];
}

async function outcome(path: string, signed?: Promise<string>): Promise<string> {
  const token = await signed;
  const answer = await ask(gateway.port, { path, headers: token === undefined ? {} : bearerOf(token) });
  return answer.status === 200 ? 'passed' : readError(answer);
}

before(async () => {
  upstream = await startUpstream('echo');
});
after(() => upstream?.close());

describe('a Gateway with JWT authentication and rules', () => {
  before(async () => {
    gateway = await runGateway({
      resources: (port) =>
        listResources(port, [
          policyOf('platform-jwt', onGateway, jwt([providerOf('platform', platform)])),
          policyOf('platform-rules', onGateway, rules('Require', isAdmin)),
        ]),
    });
  });
  after(() => gateway?.stop());

  test('believes its own tokens, on routes that accept them', async () => {
    assert.equal(await outcome('/platform', platform.sign(admin)), 'passed');
    assert.equal(await outcome('/both', platform.sign(admin)), 'passed');
    assert.equal(await outcome('/platform', platform.sign({ role: 'guest' })), '403 rbac_denied');
    assert.equal(await outcome('/both', platform.sign({ role: 'guest' })), '403 rbac_denied');
  });

  test('does not believe a token that only a route lets in', async () => {
    assert.equal(await outcome('/tenant', tenant.sign(admin)), '403 rbac_denied');
    assert.equal(await outcome('/both', tenant.sign(admin)), '403 rbac_denied');
    assert.equal(await outcome('/own', tenant.sign(admin)), '403 rbac_denied');
  });

  test('nor a token whose issuer calls itself the platform', async () => {
    assert.equal(await outcome('/impostor', impostor.sign(admin)), '403 rbac_denied');
    assert.equal(await outcome('/impostor', platform.sign(admin)), '401 token_bad_signature');
  });

  test('nor one that the backend lets in', async () => {
    assert.equal(await outcome('/mcp', tenant.sign(admin)), '403 rbac_denied');
  });

  test('tells the operator what its rule saw', async () => {
    const id = (await ask(gateway.port, { path: '/tenant', headers: bearerOf(await tenant.sign(admin)) })).headers[
      'x-request-id'
    ];
    const shown = await (
      await fetch(`http://127.0.0.1:${gateway.adminPort}/requests/${String(id)}?format=json`)
    ).text();
    assert.match(shown, /jwt\.role/);
    assert.match(shown, /jwt\.role is absent/);
  });
});

describe('a Deny rule of such a Gateway', () => {
  before(async () => {
    gateway = await runGateway({
      resources: (port) =>
        listResources(port, [
          policyOf('platform-jwt', onGateway, jwt([providerOf('platform', platform)])),
          policyOf('platform-rules', onGateway, rules('Deny', 'jwt.sub == "mallory"')),
        ]),
    });
  });
  after(() => gateway?.stop());

  test('denies callers without a name from a trusted issuer', async () => {
    assert.equal(await outcome('/platform', platform.sign({ sub: 'alice' })), 'passed');
    assert.equal(await outcome('/tenant', tenant.sign({ sub: 'alice' })), '403 rbac_denied');
  });
});

describe('a Gateway with rules and no JWT authentication', () => {
  before(async () => {
    gateway = await runGateway({
      resources: (port) => listResources(port, [policyOf('platform-rules', onGateway, rules('Require', isAdmin))]),
    });
  });
  after(() => gateway?.stop());

  test('lets lower levels decide which issuers to trust', async () => {
    assert.equal(await outcome('/tenant', tenant.sign(admin)), 'passed');
    assert.equal(await outcome('/tenant', tenant.sign({ role: 'guest' })), '403 rbac_denied');
    assert.equal(await outcome('/own', tenant.sign(admin)), 'passed');
    assert.equal(await outcome('/impostor', impostor.sign(admin)), 'passed');
    assert.equal(await outcome('/platform'), '403 rbac_denied');
  });

  test('and the backend, whose login is below the routes', async () => {
    // The route's own providers are not above the rules of the Gateway: nobody at that level vouches, so the backend may.
    assert.equal(await outcome('/mcp', tenant.sign(admin)), 'passed');
  });
});

describe('rules that such a Gateway enforces', () => {
  before(async () => {
    gateway = await runGateway({
      resources: (port) =>
        listResources(port, [
          policyOf('platform-rules', onGateway, { enforcement: 'Override', ...rules('Require', isAdmin) }),
        ]),
    });
  });
  after(() => gateway?.stop());

  test('believe nobody whom lower levels let in', async () => {
    for (const path of ['/tenant', '/own', '/mcp'])
      assert.equal(await outcome(path, tenant.sign(admin)), '403 rbac_denied', path);
    assert.equal(await outcome('/impostor', impostor.sign(admin)), '403 rbac_denied');
  });
});
