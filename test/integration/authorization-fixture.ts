// A gateway process with rules over requests of every kind, for tests of what clients are answered and what the operator is told.
import assert from 'node:assert/strict';
import type { JournaledRequest } from '../../src/gateway/observe/journaled-request.ts';
import {
  type AccessLine,
  ask,
  type Answer,
  readAccessLog,
  readError,
  resource,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
} from './gateway-fixture.ts';
import { backendResource, gatewayResource, routeResource } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer, type TestIssuer } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';

/** Whose tokens are accepted. */
export const issuer = 'https://idp.test';

const toRoute = (name: string, sectionName?: string): object => ({
  group: 'gateway.networking.k8s.io',
  kind: 'HTTPRoute',
  name,
  ...(sectionName === undefined ? {} : { sectionName }),
});

function policyOf(name: string, target: object, spec: object): object {
  return resource('gateway.proxy/v1alpha1', 'ProxyPolicy', name, { spec: { targetRefs: [target], ...spec } });
}

function rulesOf(name: string, target: object, action: string, ...matchExpressions: string[]): object {
  return policyOf(name, target, { traffic: { authorization: { action, policy: { matchExpressions } } } });
}

function jwtOf(name: string, target: object, jwks: object, rest: object = {}): object {
  const providers = [{ name: 'idp', issuer, audiences: ['mcp'], jwks }];
  return policyOf(name, target, { traffic: { jwtAuthentication: { providers, ...rest } } });
}

/** The claim that most rules want. */
export const team = 'jwt.team == "support"';

function listResources(port: number, upstreamPort: number, idp: TestIssuer): object[] {
  const to = [serviceRef('echo')];
  const jwks = { inline: idp.jwks };
  const origins = { allowOrigins: ['https://app.test'] };
  return [
    gatewayResource(port),
    ...serviceOf('echo', [upstreamPort]),
    backendResource('server', upstreamPort),
    // Nobody says who is asking.
    routeResource('claims', [rule('/claims', to)]),
    rulesOf('claims', toRoute('claims'), 'Allow', team),
    routeResource('broken', [rule('/broken', to)]),
    rulesOf('broken', toRoute('broken'), 'Deny', team),
    // The route says it.
    routeResource('strict', [rule('/strict', to)]),
    jwtOf('strict-jwt', toRoute('strict'), jwks),
    rulesOf('strict', toRoute('strict'), 'Allow', 'jwt.sub == "root"', team),
    routeResource('optional', [rule('/optional', to)]),
    jwtOf('optional-jwt', toRoute('optional'), jwks, { mode: 'Optional' }),
    rulesOf('optional', toRoute('optional'), 'Require', 'request.method != "DELETE" || has(jwt.sub)'),
    // Tokens in places of their own.
    routeResource('parameter', [rule('/parameter', to)]),
    jwtOf('parameter-jwt', toRoute('parameter'), jwks, { location: { queryParameter: { name: 'ticket' } } }),
    rulesOf(
      'parameter',
      toRoute('parameter'),
      'Deny',
      'request.query.ticket != "" && request.headers.authorization != ""',
    ),
    // The backend says it.
    routeResource('mcp', [
      rule('/mcp', [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'server' }], { name: 'main' }),
    ]),
    policyOf(
      'mcp-auth',
      { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'server' },
      {
        backend: {
          mcp: {
            authentication: {
              issuer,
              audiences: ['mcp'],
              flow: 'Direct',
              sessionBinding: false,
              jwks,
              requiredScopes: ['use'],
            },
          },
        },
      },
    ),
    rulesOf('mcp', toRoute('mcp', 'main'), 'Require', 'request.path != "/mcp/admin"', team),
    // What else a rule can lead to.
    routeResource('redirect', [
      rule('/redirect', [], {
        filters: [
          {
            type: 'RequestRedirect',
            requestRedirect: { statusCode: 302, path: { type: 'ReplaceFullPath', replaceFullPath: '/there' } },
          },
        ],
      }),
    ]),
    rulesOf('redirect', toRoute('redirect'), 'Require', 'request.query.go == "yes"'),
    routeResource('cors', [rule('/cors', to)]),
    policyOf('cors', toRoute('cors'), { traffic: { cors: origins } }),
    rulesOf('cors-rules', toRoute('cors'), 'Deny', 'request.method == "POST"'),
    routeResource('headers', [rule('/headers', to)]),
    rulesOf(
      'headers',
      toRoute('headers'),
      'Require',
      'request.headers["__proto__"] == "a, b"',
      'request.headers.constructor == "c"',
      '!("x-absent" in request.headers)',
    ),
    routeResource('query', [rule('/query', to)]),
    rulesOf('query', toRoute('query'), 'Allow', 'request.query.role == "reader of all"'),
  ];
}

/** The process, and what tests do with it. */
export interface RuledGateway {
  readonly gateway: GatewayRun;
  /** A token of alice, unless the claims say otherwise. */
  sign(claims?: Record<string, unknown>): Promise<string>;
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Answer>;
  /** With such a token. */
  getWith(path: string, claims: Record<string, unknown>): Promise<Answer>;
  /** The access line of an answer. */
  findLine(answer: Answer): Promise<AccessLine>;
  /** What the admin port knows of it. */
  findRequest(answer: Answer): Promise<JournaledRequest>;
  close(): Promise<void>;
}

/** Starts one. */
export async function startRuledGateway(): Promise<RuledGateway> {
  const idp = createIssuer(issuer, { audience: 'mcp', algorithm: 'ES256' });
  const upstream = await startUpstream();
  const gateway = await runGateway({
    resources: (port) => listResources(port, upstream.port, idp),
    flags: ['--log-format', 'json'],
  });
  const sign: RuledGateway['sign'] = (claims = {}) => idp.sign({ scope: 'use', azp: 'editor', ...claims });
  const get: RuledGateway['get'] = (path, headers = {}, method = 'GET') => ask(gateway.port, { path, headers, method });
  return {
    gateway,
    sign,
    get,
    getWith: async (path, claims) => get(path, { authorization: `Bearer ${await sign(claims)}` }),
    async findLine(answer) {
      const find = (): AccessLine | undefined =>
        readAccessLog(gateway).find((line) => line['request_id'] === idOf(answer));
      await waitFor(() => find() !== undefined);
      return find()!;
    },
    async findRequest(answer) {
      const url = `http://127.0.0.1:${gateway.adminPort}/requests/${idOf(answer)}`;
      await waitFor(async () => (await fetch(url)).ok);
      return (await (await fetch(url)).json()) as JournaledRequest;
    },
    async close() {
      await Promise.all([gateway.stop(), upstream.close()]);
    },
  };
}

/** The request id that the client sees. */
export function idOf(answer: Answer): string {
  return String(answer.headers['x-request-id']);
}

/** What a client may know: the reason, and nothing of the rules. */
export function checkDenial(answer: Answer): void {
  assert.equal(readError(answer), '403 rbac_denied');
  assert.deepEqual(JSON.parse(answer.body), {
    error: 'rbac_denied',
    error_description: 'The rules of this gateway do not allow this request.',
    request_id: idOf(answer),
  });
  assert.equal(answer.headers['www-authenticate'], undefined, 'another token is not asked for');
  assert.equal(answer.headers['cache-control'], 'no-store');
}
