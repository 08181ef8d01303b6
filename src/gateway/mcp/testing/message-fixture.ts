// For tests of rules over messages without sockets: rules from text, and verdicts about requests with a body.
import { create } from '@bufbuild/protobuf';
import { AuthorizationAction, McpAuthorizationSchema } from '../../../ir/gen/config_pb.ts';
import { compileMcpAuthorization } from '../../config/compile/compile-mcp-authorization.ts';
import type { FederationConfig } from '../../config/federation-config.ts';
import type { BackendConfig } from '../../config/runtime-config.ts';
import type { ServerConfig } from '../../config/server-config.ts';
import { readRequestVariables } from '../../authorization/request-variables.ts';
import { createContext, createToken, type FakeRequest } from '../../authentication/testing/auth-fixture.ts';
import type { ProtectedResource } from '../../config/protected-resource.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { VerifiedToken } from '../../authentication/token/verified-token.ts';
import type { Caller } from '../judge/judge-message.ts';
import { judgeMessages } from '../judge/judge-messages.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';
import type { MessageVerdict } from '../../request/judged-messages.ts';

export interface WrittenRules {
  readonly action?: 'Allow' | 'Deny' | 'Require';
  /** Undefined: only scopes. */
  readonly expressions?: readonly string[];
  readonly scopes?: readonly {
    readonly methods?: readonly string[];
    readonly tools?: readonly string[];
    readonly scopes: readonly string[];
  }[];
}

const actions = {
  Allow: AuthorizationAction.ALLOW,
  Deny: AuthorizationAction.DENY,
  Require: AuthorizationAction.REQUIRE,
} as const;

/** The rules of a policy default/rules. */
export function createRules({ action = 'Allow', expressions, scopes = [] }: WrittenRules): McpAuthorizationConfig {
  const authorization = create(McpAuthorizationSchema, {
    ...(expressions === undefined ? {} : { rules: { action: actions[action], expressions: [...expressions] } }),
    scopes: scopes.map((entry) => ({
      methods: [...(entry.methods ?? [])],
      tools: [...(entry.tools ?? [])],
      scopes: [...entry.scopes],
    })),
  });
  return compileMcpAuthorization(authorization, {
    policy: 'default/rules',
    level: 'ProxyBackend',
    target: 'ProxyBackend default/tickets',
  });
}

/** A federation of targets with these names and prefixes. */
export function createFederation(
  prefixes: Readonly<Record<string, string>>,
  naming: FederationConfig['naming'] = 'always',
): FederationConfig {
  const all = (): boolean => true;
  const targets = Object.entries(prefixes).map(([name, prefix]) => ({
    name,
    prefix,
    failsClosed: false,
    backend: { key: `ProxyBackend/default/desk/targets/${name}` } as ServerConfig,
    selects: { tool: all, prompt: all, resource: all },
  }));
  const serverInfo = { name: 'desk', title: undefined, version: '1', instructions: undefined };
  return { targets, naming, serverInfo };
}

/** A caller with these claims. */
export function createCaller(rules: McpAuthorizationConfig, claims: Readonly<Record<string, unknown>> = {}): Caller {
  const { context } = createContext();
  const token = { issuer: 'i', subject: undefined, scopes: undefined, expiresAtMs: 0, claims };
  return { rules, variables: readRequestVariables(context, token), sessionId: '' };
}

export interface JudgedRequest {
  readonly rules: McpAuthorizationConfig;
  readonly request?: FakeRequest;
  /** The body, as JSON. */
  readonly message?: unknown;
  readonly token?: VerifiedToken;
  readonly transport?: 'streamable-http' | 'sse';
  readonly resource?: ProtectedResource;
  readonly explained?: boolean;
}

/** What the rules say about a POST with a message, or about another request. */
export async function judgeRequest(judged: JudgedRequest): Promise<{
  readonly verdict: MessageVerdict;
  readonly context: RequestContext;
}> {
  const { rules, request, message: posted, token, resource, transport = 'streamable-http' } = judged;
  const post: FakeRequest =
    posted === undefined
      ? {}
      : { method: 'POST', headers: ['Content-Type', 'application/json'], body: [JSON.stringify(posted)] };
  const headers = [...(post.headers ?? []), ...(request?.headers ?? [])];
  const created = createContext({ ...post, ...request, headers });
  const context: RequestContext = { ...created.context, explained: judged.explained ?? false };
  const backend = { mcp: { transport } } as unknown as BackendConfig;
  const verdict = await judgeMessages({ context, rules, backend, token, resource });
  return { verdict, context };
}

/** "200 -32602 Unknown tool: a", "403 rbac_denied", "forward": a verdict in short. */
export function printVerdict(verdict: MessageVerdict): string {
  switch (verdict.kind) {
    case 'continue':
      return 'forward';
    case 'deny':
      return `deny ${verdict.reason}`;
    case 'respond':
      return `${verdict.status} ${printErrors(verdict.body)}`;
  }
}

interface RpcErrorResponse {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly error: { readonly code: number; readonly message: string };
}

function printErrors(body: string): string {
  const json = JSON.parse(body.replace(/^event: message\ndata: /, '')) as RpcErrorResponse | RpcErrorResponse[];
  const print = ({ id, error }: RpcErrorResponse): string => `${JSON.stringify(id)} ${error.code} ${error.message}`;
  return Array.isArray(json) ? json.map(print).join(' | ') : print(json);
}

/** In the group support, with the scope read. */
export const alice: VerifiedToken = createToken({
  claims: { sub: 'alice', groups: ['support'] },
  scopes: new Set(['read']),
});

/** Allow alice what begins with "open_", with an amount below 100 where there is one; hide everything else. */
export const aliceRules: McpAuthorizationConfig = createRules({
  expressions: [
    'jwt.sub == "alice" && mcp.tool.name.startsWith("open_") && !(has(mcp.tool.arguments.amount) && mcp.tool.arguments.amount >= 100)',
    'jwt.sub == "alice" && mcp.prompt.name == "greet"',
    'jwt.sub == "alice" && mcp.resource.uri.startsWith("file:///public/")',
  ],
});

/** A request. */
export function message(method: string, params?: object, id: number | string = 1): object {
  return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) };
}
