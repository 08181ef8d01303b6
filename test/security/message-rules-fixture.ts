// What the message-rules*.test.ts files stand on: an MCP server with items for everybody and items for few, users of both kinds, and a gateway
// that tells them apart.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { FlowAnswer } from '../idp/flow-client.ts';
import { backendPolicy, type GuardedGateway, routePolicy, startGuardedGateway } from './guarded-gateway.ts';
import type { RecordedRequest } from '../kit/recording-upstream.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';

const provider = createIssuer('https://idp.example.com', { algorithm: 'ES256' });

/** May use what begins with ticket_, is called welcome or lies in /public/. */
export const support = await provider.sign({ sub: 'sam', groups: ['support'], scope: 'tickets:read' });
/** May use everything. */
export const admin = await provider.sign({ sub: 'ada', groups: ['admins'], scope: 'tickets:read' });
/** May use nothing. */
export const nobody = await provider.sign({ sub: 'nemo', groups: [], scope: 'tickets:read' });

/** Every item of the server, and which of them `support` may use. */
export const items = {
  tools: { open: ['ticket_read', 'ticket_close'], hidden: ['admin_delete', 'Ticket_read', 'xticket_read', 'ticket'] },
  prompts: { open: ['welcome'], hidden: ['Welcome', 'welcome2', 'secret'] },
  resources: { open: ['file:///public/a'], hidden: ['file:///private/a', 'file:///publi', 'FILE:///public/a'] },
  templates: { open: ['file:///public/{name}'], hidden: ['file:///{name}', 'file:///private/{name}'] },
} as const;

const names = (kind: keyof typeof items): readonly string[] => [...items[kind].open, ...items[kind].hidden];
const results: Readonly<Record<string, object>> = {
  'tools/list': { tools: names('tools').map((name) => ({ name, inputSchema: { type: 'object' } })) },
  'prompts/list': { prompts: names('prompts').map((name) => ({ name })) },
  'resources/list': { resources: names('resources').map((uri) => ({ uri, name: uri })) },
  'resources/templates/list': { resourceTemplates: names('templates').map((uri) => ({ uriTemplate: uri, name: uri })) },
};

/** Answers every message of a body, as JSON or, when the request says `x-form: events`, as events. */
function answerMessages(request: RecordedRequest, response: ServerResponse): void {
  if (request.method === 'GET') {
    // A stream that is taken up again: the answer to an earlier request comes on it.
    const list = JSON.stringify({ jsonrpc: '2.0', id: 7, result: results['tools/list'] });
    response.setHeader('content-type', 'text/event-stream').end(`id: 1\nevent: message\ndata: ${list}\n\n`);
    return;
  }
  let body: unknown = {};
  try {
    body = JSON.parse(request.body);
  } catch {
    // Answered all the same: what matters is that it arrived.
  }
  const answers = [body].flat().map((each) => answerMessage(each as { id?: unknown; method?: string }));
  const text = JSON.stringify(Array.isArray(body) ? answers : answers[0]);
  const isStream = request.all('x-form')[0] === 'events';
  response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
  response.end(isStream ? `event: message\ndata: ${text}\n\n` : text);
}

function answerMessage({ id = null, method = '' }: { id?: unknown; method?: string }): object {
  return { jsonrpc: '2.0', id, result: results[method] ?? { content: [{ type: 'text', text: 'done' }] } };
}

/** `/mcp` has rules over messages, `/scoped` demands scopes for tools, `/optional` has the rules and lets anybody ask. */
export function startMessageGateway(): Promise<GuardedGateway> {
  const guard = { jwtAuthentication: { providers: [providerOf('idp', provider)] } };
  const rules = {
    authorization: {
      action: 'Allow',
      policy: {
        matchExpressions: [
          '"admins" in jwt.groups',
          '"support" in jwt.groups && mcp.tool.name.startsWith("ticket_")',
          '"support" in jwt.groups && mcp.prompt.name == "welcome"',
          '"support" in jwt.groups && mcp.resource.uri.startsWith("file:///public/")',
        ],
      },
    },
  };
  const scopes = [
    { tools: ['a.b*'], scopes: ['dots'] },
    { tools: ['[x]', '(y)', '$z^'], scopes: ['marks'] },
  ];
  return startGuardedGateway({
    routes: ['mcp', 'scoped', 'optional'],
    answer: answerMessages,
    policies: [
      routePolicy('mcp', guard),
      backendPolicy('mcp', rules),
      routePolicy('scoped', guard),
      backendPolicy('scoped', { authorization: { scopes } }),
      routePolicy('optional', { jwtAuthentication: { ...guard.jwtAuthentication, mode: 'Optional' } }),
      backendPolicy('optional', rules),
    ],
  });
}

/** A message. */
export function message(method: string, params: object = {}, id: string | number = 1): object {
  return { jsonrpc: '2.0', id, method, params };
}

/** A call of a tool. */
export function call(name: unknown, id: string | number = 1): object {
  return message('tools/call', { name, arguments: {} }, id);
}

/** The one JSON-RPC answer in an answer, from JSON or from one event. */
export function readRpc(answer: FlowAnswer): Record<string, unknown> {
  if (!String(answer.headers['content-type']).startsWith('text/event-stream')) return answer.json();
  const data = /^data: (.*)$/m.exec(answer.body)?.[1];
  assert.ok(data !== undefined, answer.body);
  return JSON.parse(data) as Record<string, unknown>;
}

/** The names in the answer to a list. */
export function readNames(answer: FlowAnswer): string[] {
  const { result } = readRpc(answer) as {
    result?: Record<string, { name?: string; uri?: string; uriTemplate?: string }[]>;
  };
  assert.ok(result !== undefined, answer.body);
  return Object.values(result)[0]!.map(({ name, uri, uriTemplate }) => uriTemplate ?? uri ?? name!);
}

/** The error of a JSON-RPC answer; empty when it has none. */
export function errorOf(answer: FlowAnswer): { readonly code?: number; readonly message?: string } {
  return readRpc(answer)['error'] ?? {};
}

/** Nothing of it reached the server. */
export function assertStopped({ upstream }: GuardedGateway, answer: FlowAnswer, what: string): void {
  assert.equal(upstream.headCount, 0, `${what} reached the server, answered ${answer.status} ${answer.body}`);
  assert.equal(answer.body.includes('done'), false, what);
}
