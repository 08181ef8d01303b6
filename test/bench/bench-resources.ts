// The resources and the request that cases are made of.
import { createTestKey } from '../../src/gateway/token/testing/test-issuer.ts';
import { forgeToken, signAs } from '../../src/gateway/token/testing/forge-token.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../integration/run-gateway.ts';
import type { BenchPorts, BenchRequest } from './bench-case.ts';

const issuer = 'https://idp.example.com/realms/mcp';
const audience = 'https://mcp.example.com/mcp';
const key = createTestKey('RS256', { kid: 'bench', alg: 'RS256', use: 'sig' });

/** A token as identity providers make them: some claims more than anybody looks at. */
function createToken(): string {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  return forgeToken({
    header: { alg: 'RS256', typ: 'at+jwt', kid: 'bench' },
    claims: {
      iss: issuer,
      aud: audience,
      sub: '2f1c6a0e-7d7b-4d3b-9a57-3f6b1f0c9d11',
      azp: 'cursor',
      jti: 'f3f0c1de-4a8e-4cf0-8df4-0a6d7c1e2b3a',
      exp: nowSeconds + 24 * 3_600,
      iat: nowSeconds - 10,
      scope: 'openid profile tickets:read tickets:write',
      groups: ['engineering', 'support', 'berlin'],
      team: 'platform',
      email: 'alice@example.com',
    },
    signer: signAs('RS256', key.privateKey),
  });
}

/** The same for every case: what differs is what the gateway does. Without its policy the gateway passes the token on. */
export const toolCall: BenchRequest = {
  method: 'POST',
  path: '/mcp',
  headers: {
    authorization: `Bearer ${createToken()}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-06-18',
    'user-agent': 'bench/1.0',
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'ticket_read', arguments: { id: 4711, fields: ['title', 'state'] } },
  }),
};

/** A gateway with one route to one MCP server, and these policies. */
export function createResources(policies: readonly object[], { gateway, upstream }: BenchPorts): readonly object[] {
  return [
    gatewayResource(gateway),
    routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
    backendResource('mcp', upstream),
    ...policies,
  ];
}

/** JWT authentication on the route, with the keys at hand: nothing is fetched while it is measured. */
export const jwtPolicy = createPolicy('jwt', routeTarget(), {
  traffic: {
    jwtAuthentication: {
      providers: [
        { name: 'idp', issuer, audiences: [audience], jwks: { inline: JSON.stringify({ keys: [key.publicJwk] }) } },
      ],
    },
  },
});

/** Two rules over the request and its claims: one of each kind that people write most. */
export const requestRules = [
  createPolicy('allow-teams', routeTarget(), {
    traffic: {
      authorization: {
        action: 'Allow',
        policy: { matchExpressions: ['jwt.team in ["platform", "support"] && request.method != "DELETE"'] },
      },
    },
  }),
  createPolicy(
    'require-support',
    { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'test' },
    { traffic: { authorization: { action: 'Require', policy: { matchExpressions: ['"support" in jwt.groups'] } } } },
  ),
];

/** A rule over MCP messages: who may use which tools. */
export const messageRules = createPolicy(
  'allow-tools',
  { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'mcp' },
  {
    backend: {
      mcp: {
        authorization: {
          action: 'Allow',
          policy: { matchExpressions: ['"support" in jwt.groups && mcp.tool.name.startsWith("ticket_")'] },
        },
      },
    },
  },
);

function routeTarget(): object {
  return { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'mcp' };
}

function createPolicy(name: string, targetRef: object, spec: object): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: { targetRefs: [targetRef], ...spec },
  };
}
