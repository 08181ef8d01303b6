// The resources and the request that cases are made of.
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import type { BenchAnswer, BenchPorts, BenchRequest } from './bench-case.ts';
import { audience, issuer, jwks, oneToken } from './bench-tokens.ts';
import { answerPattern } from './nginx-upstream.ts';

/** The same for every case: what differs is what the gateway does. No two in a row are alike, as it is with those of clients: the length differs, too. Without its policy the gateway passes the token on. */
export const toolCall: BenchRequest = {
  method: 'POST',
  path: '/mcp',
  headers: {
    authorization: `Bearer ${oneToken}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-06-18',
    'user-agent': 'bench/1.0',
  },
  bodies: Array.from({ length: 16 }, (_, each) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: each + 1,
      method: 'tools/call',
      params: { name: 'ticket_read', arguments: { id: 4711 + each, fields: ['title', 'state'.slice(each % 5)] } },
    }),
  ),
};

/** What comes back when it is let through. */
export const toolAnswer: BenchAnswer = { status: 200, body: answerPattern };

/** The same without a token. */
export const anonymousToolCall: BenchRequest = {
  ...toolCall,
  headers: Object.fromEntries(Object.entries(toolCall.headers).filter(([name]) => name !== 'authorization')),
};

/** The same as a client of 2026-07-28 asks it. */
export const modernToolCall: BenchRequest = {
  ...toolCall,
  headers: {
    ...toolCall.headers,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'ticket_read',
  },
  bodies: toolCall.bodies!.map(addEnvelope),
};

/** The same to the server of a federation, whose prefix is `ticket`: the answer names its request. */
export const federatedToolCall: BenchRequest = {
  ...toolCall,
  bodies: toolCall.bodies!.map(askAsFirst),
  opening: {
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1.0' } },
    }),
    keeps: 'mcp-session-id',
  },
};

/** Both. */
export const modernFederatedToolCall: BenchRequest = {
  ...modernToolCall,
  bodies: modernToolCall.bodies!.map(askAsFirst),
};

function addEnvelope(body: string): string {
  const message = JSON.parse(body) as { readonly params: object };
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return JSON.stringify({ ...message, params: { ...message.params, _meta: meta } });
}

function askAsFirst(body: string): string {
  return JSON.stringify({ ...(JSON.parse(body) as object), id: 1 });
}

/** A gateway with one route to a federation of so many servers, which all answer at this path, and these policies. */
export function createFederation(
  policies: readonly object[],
  { gateway, upstream }: BenchPorts,
  { path, servers }: { readonly path: string; readonly servers: number },
): readonly object[] {
  const targets = Array.from({ length: servers }, (_, each) => ({
    name: each === 0 ? 'ticket' : `server-${each}`,
    static: { host: '127.0.0.1', port: upstream, path },
  }));
  return [
    gatewayResource(gateway),
    routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
    { ...backendResource('mcp', upstream), spec: { mcp: { targets } } },
    ...policies,
  ];
}

/** A gateway with one route to one MCP server, and these policies. */
export function createResources(
  policies: readonly object[],
  { gateway, upstream }: BenchPorts,
  mcp: object = {},
): readonly object[] {
  return [
    gatewayResource(gateway),
    routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
    backendResource('mcp', upstream, '/mcp', mcp),
    ...policies,
  ];
}

/** With the keys at hand: nothing is fetched while it is measured. */
export const jwtAuthentication = {
  providers: [{ name: 'idp', issuer, audiences: [audience], jwks: { inline: jwks } }],
};

/** JWT authentication on the route. */
export const jwtPolicy = createPolicy('jwt', routeTarget(), { traffic: { jwtAuthentication } });

/** The same on the MCP server, with all that MCP clients expect of it: the challenge and the metadata. */
export const mcpAuthenticationPolicy = createPolicy('login', backendTarget(), {
  backend: {
    mcp: {
      authentication: {
        issuer,
        audiences: [audience],
        flow: 'Direct',
        jwks: { inline: jwks },
        requiredScopes: ['tickets:read'],
      },
    },
  },
});

/** The same, with tokens that the gateway issues itself. */
export const issuerPolicy = createPolicy('issuer', backendTarget(), {
  backend: {
    mcp: {
      authentication: {
        issuer,
        flow: 'Issuer',
        endpoints: {
          authorization: 'https://idp.example.com/authorize',
          token: 'https://idp.example.com/token',
          userinfo: 'https://idp.example.com/userinfo',
        },
        registration: { mode: 'Shared', clientId: 'gateway' },
        requiredScopes: ['tickets:read'],
        resourceMetadata: { resource: audience },
      },
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
export const messageRules = createPolicy('allow-tools', backendTarget(), {
  backend: {
    mcp: {
      authorization: {
        action: 'Allow',
        policy: { matchExpressions: ['"support" in jwt.groups && mcp.tool.name.startsWith("ticket_")'] },
      },
    },
  },
});

function routeTarget(): object {
  return { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'mcp' };
}

function backendTarget(): object {
  return { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'mcp' };
}

/** A policy with this name on that target. */
export function createPolicy(name: string, targetRef: object, spec: object): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: { targetRefs: [targetRef], ...spec },
  };
}
