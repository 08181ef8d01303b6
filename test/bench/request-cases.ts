// One request and what it costs: our gateway with more and more to do, and its peers with as much of it as they can.
import type { BenchCase, BenchProxy } from './bench-case.ts';
import {
  anonymousToolCall,
  createFederation,
  createResources,
  federatedToolCall,
  issuerPolicy,
  jwtPolicy,
  mcpAuthenticationPolicy,
  messageRules,
  modernFederatedToolCall,
  modernToolCall,
  requestRules,
  toolAnswer,
  toolCall,
} from './bench-resources.ts';
import { createForgedTokens, createIssuedToken, createTokens, signingKeyFile } from './bench-tokens.ts';
import { legacyServerPath, modernServerPath } from './nginx-upstream.ts';
import { configureEnvoy } from './peers/envoy-configuration.ts';
import { configureHaproxy } from './peers/haproxy-configuration.ts';
import { configureNginx } from './peers/nginx-configuration.ts';

/** More than any cache of verified tokens holds, so that whoever comes round again is a stranger. */
const strangers = 12_000;

const groups = {
  plain: 'No check at all',
  token: 'A token is checked',
  rules: 'A token is checked and rules are asked',
  own: 'The gateway answers itself',
} as const;

/** Our gateway. */
export const ourCases: readonly BenchCase[] = [
  {
    name: 'plain',
    description: 'passes everything on, the token too',
    group: groups.plain,
    proxy: gatewayWith(),
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'jwt',
    description: 'validates an RS256 token that it has seen before, and does not pass it on',
    group: groups.token,
    proxy: gatewayWith(jwtPolicy),
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'jwt-1000',
    description: 'does that with 1,000 tokens in turn',
    group: groups.token,
    proxy: gatewayWith(jwtPolicy),
    request: { ...toolCall, tokens: () => createTokens(1_000) },
    answer: toolAnswer,
  },
  {
    name: 'jwt-first',
    description: 'sees every token for the first time',
    group: groups.token,
    proxy: gatewayWith(jwtPolicy),
    request: { ...toolCall, tokens: () => createTokens(strangers) },
    answer: toolAnswer,
  },
  {
    name: 'jwt-rules',
    description: 'validates the token and asks two CEL rules about claims and request',
    group: groups.rules,
    proxy: gatewayWith(jwtPolicy, ...requestRules),
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'mcp-rules',
    description: 'validates the token, reads the message and asks a CEL rule about group and tool',
    group: groups.rules,
    proxy: gatewayWith(jwtPolicy, messageRules),
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'mcp-rules-modern',
    description: 'does that for a client of MCP 2026-07-28',
    group: groups.rules,
    proxy: gatewayWith(jwtPolicy, messageRules),
    request: modernToolCall,
    answer: toolAnswer,
  },
  {
    name: 'federation',
    description: 'does what mcp-rules does in front of a federation of two servers, in a session',
    group: groups.rules,
    proxy: federationOf(2, legacyServerPath),
    request: federatedToolCall,
    answer: toolAnswer,
  },
  {
    name: 'federation-32',
    description: 'does that in front of 32 servers',
    group: groups.rules,
    proxy: federationOf(32, legacyServerPath),
    request: federatedToolCall,
    answer: toolAnswer,
  },
  {
    name: 'federation-modern',
    description: 'does that in front of two servers of 2026-07-28, for a client of that version',
    group: groups.rules,
    proxy: federationOf(2, modernServerPath),
    request: modernFederatedToolCall,
    answer: toolAnswer,
  },
  {
    name: 'mcp-auth',
    description: 'protects the MCP server with MCP authentication and validates the token for it',
    group: groups.token,
    proxy: gatewayWith(mcpAuthenticationPolicy),
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'issued',
    description: 'does the same with tokens that it issues itself (ES256)',
    group: groups.token,
    proxy: { ...gatewayWith(issuerPolicy), signingKeys: signingKeyFile },
    request: { ...toolCall, headers: { ...toolCall.headers, authorization: `Bearer ${createIssuedToken()}` } },
    answer: toolAnswer,
  },
  {
    name: 'challenge',
    description: 'answers a request without a token with 401 and where to log in',
    group: groups.own,
    proxy: gatewayWith(mcpAuthenticationPolicy),
    request: anonymousToolCall,
    answer: { status: 401 },
  },
  {
    name: 'forged',
    description: 'answers tokens with 401 whose signature is wrong, no two alike',
    group: groups.own,
    proxy: gatewayWith(jwtPolicy),
    request: { ...anonymousToolCall, tokens: () => createForgedTokens(strangers) },
    answer: { status: 401 },
  },
  {
    name: 'metadata',
    description: 'serves the metadata of the protected resource',
    group: groups.own,
    proxy: gatewayWith(mcpAuthenticationPolicy),
    request: {
      method: 'GET',
      path: '/.well-known/oauth-protected-resource/mcp',
      headers: { accept: 'application/json', 'user-agent': 'bench/1.0' },
    },
    answer: { status: 200, body: /"resource":/ },
  },
];

/** The others. All get the request that our gateway gets, and let it through. */
export const peerCases: readonly BenchCase[] = [
  {
    name: 'nginx',
    description: 'passes everything on and checks nothing',
    group: groups.plain,
    proxy: { kind: 'nginx', configure: configureNginx },
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'haproxy-jwt',
    description: 'verifies the token with jwt_verify, and its issuer, audience and expiry, each time anew',
    group: groups.token,
    proxy: { kind: 'haproxy', configure: configureHaproxy },
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'envoy',
    description: 'passes everything on and checks nothing',
    group: groups.plain,
    proxy: { kind: 'envoy', configure: (ports) => configureEnvoy(ports, {}) },
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'envoy-jwt',
    description: 'verifies the token with jwt_authn, each time anew',
    group: groups.token,
    proxy: { kind: 'envoy', configure: (ports) => configureEnvoy(ports, { jwt: {} }) },
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'envoy-jwt-cache',
    description: 'verifies the token with jwt_authn and keeps it in its cache',
    group: groups.token,
    proxy: { kind: 'envoy', configure: (ports) => configureEnvoy(ports, { jwt: { cache: true } }) },
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'envoy-jwt-rbac',
    description: 'does that, and asks rbac about two claims',
    group: groups.rules,
    proxy: { kind: 'envoy', configure: (ports) => configureEnvoy(ports, { jwt: { cache: true }, rbac: true }) },
    request: toolCall,
    answer: toolAnswer,
  },
];

/** All of them. */
export const requestCases: readonly BenchCase[] = [...ourCases, ...peerCases];

function federationOf(servers: number, path: string): Extract<BenchProxy, { kind: 'gateway' }> {
  return {
    kind: 'gateway',
    resources: (ports) => createFederation([jwtPolicy, messageRules], ports, { path, servers }),
  };
}

function gatewayWith(...policies: readonly object[]): Extract<BenchProxy, { kind: 'gateway' }> {
  return { kind: 'gateway', resources: (ports) => createResources(policies, ports) };
}
