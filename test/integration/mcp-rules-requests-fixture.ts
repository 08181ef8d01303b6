// What the mcp-rules-requests*.test.ts files stand on: a real gateway whose backends have rules over messages, in front of a server that
// answers whatever reaches it and remembers it.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type RecordedRequest, type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { type Answer, ask, gatewayOf, resource, startUpstream, type Upstream } from './gateway-fixture.ts';
import { backendResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer, type TestIssuer } from '../kit/test-issuer.ts';

/** What a message may have. */
export const limit = 4 * 1024 * 1024;

const tools = ['ticket_open', 'ticket_close', 'ticket_pay', 'wipe'];

/** A server with a few tools. It answers whatever it is asked: what must not reach it must not get that far. */
function answerMcp(request: RecordedRequest, response: ServerResponse): void {
  if (request.method !== 'POST') return void response.writeHead(200).end();
  const body: unknown = JSON.parse(Buffer.from(request.body, 'latin1').toString());
  const answers = (Array.isArray(body) ? body : [body]).flatMap((received: { id?: unknown; method?: string }) =>
    received.id === undefined || received.method === undefined
      ? []
      : [
          {
            jsonrpc: '2.0',
            id: received.id,
            result:
              received.method === 'tools/list' ? { tools: tools.map((name) => ({ name })) } : { done: received.method },
          },
        ],
  );
  if (answers.length === 0) return void response.writeHead(202).end();
  response
    .setHeader('content-type', 'application/json')
    .end(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
}

const target = (name: string): object => ({ group: 'gateway.proxy', kind: 'ProxyBackend', name });
const policyOf = (name: string, mcp: object): object =>
  resource('gateway.proxy/v1alpha1', 'ProxyPolicy', name, { spec: { targetRefs: [target(name)], backend: { mcp } } });

function listResources(port: number, upstream: number, plain: number, idp: TestIssuer): object[] {
  const authentication = {
    issuer: idp.issuer,
    audiences: [idp.audience],
    flow: 'Direct',
    sessionBinding: false,
    requiredScopes: ['mcp'],
    jwks: { inline: idp.jwks },
  };
  const authorization = {
    action: 'Allow',
    policy: {
      matchExpressions: [
        '"support" in jwt.groups && mcp.tool.name.startsWith("ticket_") && (!has(mcp.tool.arguments.amount) || mcp.tool.arguments.amount < 100)',
        '"support" in jwt.groups && mcp.resource.uri.startsWith("ticket:")',
        'mcp.method == "acme/sync"',
      ],
    },
    scopes: [{ methods: ['tools/call'], tools: ['ticket_close*'], scopes: ['tickets:write'] }],
  };
  const legacy = resource('gateway.proxy/v1alpha1', 'ProxyBackend', 'legacy', {
    spec: {
      mcp: {
        targets: [{ name: 'legacy', static: { host: '127.0.0.1', port: upstream, path: '/sse', protocol: 'SSE' } }],
      },
    },
  });
  return [
    gatewayOf('test', [{ name: 'http', protocol: 'HTTP', port }]),
    routeResource('all', [
      ruleTo('/mcp', 'tickets'),
      ruleTo('/open', 'open'),
      ruleTo('/scoped', 'scoped'),
      ruleTo('/legacy', 'legacy'),
    ]),
    backendResource('tickets', upstream),
    backendResource('open', plain),
    backendResource('scoped', upstream),
    legacy,
    policyOf('tickets', { authentication, authorization }),
    policyOf('scoped', { authorization: { scopes: [{ methods: ['tools/call'], scopes: ['call'] }] } }),
    policyOf('legacy', {
      authorization: { action: 'Deny', policy: { matchExpressions: ['mcp.tool.name == "wipe"'] } },
    }),
  ];
}

/** How a body is sent. */
export interface Sent {
  /** Default alice's. */
  readonly token?: string;
  /** Default /mcp, a backend with authentication, rules and scopes. /scoped has scopes only, /legacy is of the older transport, /open has no policy. */
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** The gateway, what is behind it, and a client. */
export interface RuledSystem {
  readonly gateway: GatewayRun;
  /** Behind every path but /open. */
  readonly upstream: RecordingUpstream;
  /** Behind /open. */
  readonly plain: Upstream;
  /** In the group support, with the scope mcp. */
  readonly alice: string;
  /** In the group sales, with the scopes mcp and tickets:write. */
  readonly bob: string;
  sign(sub: string, claims: Record<string, unknown>): Promise<string>;
  /** Sends a body as it is. */
  post(body: string, sent?: Sent): Promise<Answer>;
  /** "400 {...}" of an answer in the form of JSON-RPC, when nothing reached the server. */
  readRpc(answer: Answer): string;
  close(): Promise<void>;
}

/** Starts it all. */
export async function startRuledSystem(): Promise<RuledSystem> {
  const idp = createIssuer('https://idp.test', { audience: 'mcp' });
  const [upstream, plain] = await Promise.all([startRecordingUpstream('mcp', answerMcp), startUpstream('plain')]);
  const sign = (sub: string, claims: Record<string, unknown>): Promise<string> => idp.sign({ sub, ...claims });
  const [alice, bob] = await Promise.all([
    sign('alice', { groups: ['support'], scope: 'mcp' }),
    sign('bob', { groups: ['sales'], scope: 'mcp tickets:write' }),
  ]);
  const gateway = await runGateway({
    resources: (port) => listResources(port, upstream.port, plain.port, idp),
    flags: ['--log-format', 'json'],
  });
  return {
    gateway,
    upstream,
    plain,
    alice,
    bob,
    sign,
    post(body, { token = alice, path = '/mcp', method = 'POST', headers = {} } = {}) {
      const length = String(Buffer.byteLength(body));
      const all = { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'content-length': length };
      return ask(gateway.port, { method, path, headers: { ...all, ...headers } }, body);
    },
    readRpc(answer) {
      assert.equal(answer.headers['content-type'], 'application/json');
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.match(String(answer.headers['x-request-id']), /^[0-9a-f-]{36}$/);
      assert.equal(upstream.headCount, 0);
      return `${answer.status} ${answer.body}`;
    },
    async close() {
      await gateway.stop();
      await Promise.all([upstream.close(), plain.close()]);
    },
  };
}

/** A request. */
export function message(method: string, params?: object, id: number | string = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
}

/** A call of a tool. */
export function call(name: string, given: object = {}, id: number | string = 1): string {
  return message('tools/call', { name, arguments: given }, id);
}

/** What readRpc gives for an error. */
export function rpcError(status: number, id: unknown, code: number, text: string): string {
  return `${status} ${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: text } })}`;
}
