import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createContext, type FakeRequest } from '../authentication/testing/auth-fixture.ts';
import type { BackendConfig } from '../config/runtime-config.ts';
import { judgeMessages } from '../mcp/judge/judge-messages.ts';
import { createRules } from '../mcp/testing/message-fixture.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { BackendRequest } from '../request/run-steps.ts';
import type { Verdict } from '../request/verdict.ts';
import { readFederatedMessage } from './read-federated-message.ts';

const json = ['Content-Type', 'application/json'];
const backend = { mcp: { transport: 'streamable-http' }, federation: {} } as unknown as BackendConfig;
const anything = createRules({ action: 'Deny', expressions: ['mcp.tool.name == "nothing"'] });

async function read(request: FakeRequest, matched: { matchedPrefix: string | undefined } = { matchedPrefix: '/mcp' }) {
  const { context } = createContext({ method: 'POST', headers: json, ...request });
  const verdict = await readFederatedMessage({
    context,
    backend,
    matched,
  } as unknown as BackendRequest);
  return { context, verdict };
}

function print(verdict: Verdict, { reason, detail }: RequestContext): unknown {
  if (verdict.kind === 'continue') return 'fine';
  if (verdict.kind === 'respond') return [verdict.status, verdict.body, verdict.headers, reason, detail];
  return [verdict.reason, verdict.description, verdict.responseHeaders, verdict.detail];
}

describe('what cannot be read gets the answer that it gets from rules', () => {
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}';
  const cases: readonly (readonly [string, FakeRequest])[] = [
    ['no JSON', { body: ['{'] }],
    ['nothing', { body: [] }],
    ['no body', {}],
    ['a key twice', { body: ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'] }],
    ['a lookalike', { body: ['{"jsonrpc":"2.0","id":1,"Method":"ping","method":"ping"}'] }],
    ['no message', { body: ['7'] }],
    ['JSON-RPC 1', { body: ['{"id":1,"method":"ping"}'] }],
    ['an empty batch', { body: ['[]'] }],
    ['a batch of another version', { headers: [...json, 'MCP-Protocol-Version', '2025-11-25'], body: [`[${call}]`] }],
    ['two of one id', { body: [`[${call},${call}]`] }],
    ['an initialize in a batch', { body: ['[{"jsonrpc":"2.0","id":1,"method":"initialize"}]'] }],
    ['another content type', { headers: ['Content-Type', 'text/plain'], body: [call] }],
    ['compressed', { headers: [...json, 'Content-Encoding', 'gzip'], body: [call] }],
    ['another charset', { headers: ['Content-Type', 'application/json; charset=utf-16'], body: [call] }],
    ['another method in the header', { headers: [...json, 'Mcp-Method', 'ping'], body: [call] }],
    ['another name in the header', { headers: [...json, 'Mcp-Name', 'b'], body: [call] }],
    ['no method in the header', { headers: [...json, 'MCP-Protocol-Version', '2026-07-28'], body: [call] }],
    ['two versions', { headers: [...json, 'MCP-Protocol-Version', 'a', 'mcp-protocol-version', 'b'], body: [call] }],
    ['too long', { headers: [...json, 'Content-Length', '99999999'], body: [call] }],
    ['broken off', { body: [call.slice(0, 9)], bodyEnd: 'broken' }],
    ['a GET with a body', { method: 'GET', body: ['x'] }],
    ['a GET with an empty body', { method: 'GET', body: [''] }],
    ['a PUT', { method: 'PUT', body: [call] }],
    ['a HEAD', { method: 'HEAD' }],
    ['of a script', { headers: ['Origin', 'https://app.example'], body: [call] }],
    ['good', { body: [call] }],
    ['a good batch', { body: [`[${call},{"jsonrpc":"2.0","method":"notifications/x"}]`] }],
  ];
  for (const [name, request] of cases)
    test(name, async () => {
      const { context, verdict } = await read(request);
      const judged = createContext({ method: 'POST', headers: json, ...request }).context;
      const rules = { rules: anything, backend, token: undefined, resource: undefined };
      const byRules = await judgeMessages({ context: judged, ...rules });
      if (name === 'a good batch') assert.equal(verdict.kind, 'continue');
      else assert.deepEqual(print(verdict, context), print(byRules, judged));
    });
});

test('where rules have read the messages, theirs are used', async () => {
  const body = ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'];
  const { context } = createContext({ method: 'POST', headers: json, body });
  const verdict = await judgeMessages({ context, rules: anything, backend, token: undefined, resource: undefined });
  assert.ok(verdict.kind === 'continue' && verdict.read !== undefined);
  context.messages = verdict;
  await readFederatedMessage({ context, backend, matched: { matchedPrefix: '/mcp' } } as unknown as BackendRequest);
  assert.equal(context.messages, verdict);
});

test('where rules have changed them, they are read as they are now', async () => {
  const body = ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}'];
  const { context } = createContext({ method: 'POST', headers: json, body });
  const verdict = await judgeMessages({ context, rules: anything, backend, token: undefined, resource: undefined });
  assert.ok(verdict.kind === 'continue' && verdict.read === undefined);
  context.messages = verdict;
  await readFederatedMessage({ context, backend, matched: { matchedPrefix: '/mcp' } } as unknown as BackendRequest);
  const [message] = context.messages.read!.messages;
  assert.ok(message?.kind === 'request');
  assert.notEqual(message.params['name'], 'nothing');
});

test('the endpoint has no paths behind it', async () => {
  const at = async (path: string, prefix: string | undefined): Promise<string> => {
    const { verdict } = await read({ method: 'GET', path }, { matchedPrefix: prefix });
    return verdict.kind === 'deny' ? verdict.reason : verdict.kind;
  };
  assert.equal(await at('/mcp', '/mcp'), 'continue');
  assert.equal(await at('/mcp/', '/mcp'), 'continue');
  assert.equal(await at('/mcp/x', '/mcp'), 'no_route');
  assert.equal(await at('/', ''), 'continue');
  assert.equal(await at('/x', ''), 'no_route');
  assert.equal(await at('/x', undefined), 'continue');
});

test('one server is not a federation: nothing is read', async () => {
  const { context } = createContext({ method: 'POST', headers: json, body: ['{'] });
  const verdict = readFederatedMessage({ context, backend: {}, matched: {} } as unknown as BackendRequest);
  assert.equal((verdict as Verdict).kind, 'continue');
  assert.equal(context.messages, undefined);
});
