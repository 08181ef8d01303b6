import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendConfig } from '../../config/runtime-config.ts';
import { createContext } from '../../authentication/testing/auth-fixture.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { bodyBudget } from '../../http/body-budget.ts';
import { judgeMessages } from './judge-messages.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';
import type { MessageVerdict } from '../../request/judged-messages.ts';
import { measureSubscription, recallSubscription, rememberSubscription } from './open-subscription.ts';
import { createRules, message, printVerdict } from '../testing/message-fixture.ts';

const watch = (...resourceSubscriptions: string[]): object =>
  message(
    'subscriptions/listen',
    { notifications: { toolsListChanged: true, resourceSubscriptions }, more: 'text' },
    5,
  );

function listen(posted: object = watch('file:///a', 'file:///b')): RequestContext {
  return createContext({
    method: 'POST',
    headers: [
      'Content-Type',
      'application/json',
      'MCP-Protocol-Version',
      '2026-07-28',
      'Mcp-Method',
      'subscriptions/listen',
    ],
    body: [JSON.stringify(posted)],
  }).context;
}

const backend = { mcp: { transport: 'streamable-http' } } as unknown as BackendConfig;
const judge = async (
  context: RequestContext,
  rules: McpAuthorizationConfig,
  isAgain: boolean,
): Promise<MessageVerdict> =>
  judgeMessages({ context, rules, backend, token: undefined, resource: undefined, isAgain });
const deny = (expression: string): McpAuthorizationConfig => createRules({ action: 'Deny', expressions: [expression] });

test('only what is judged again is kept', () => {
  const { exchange } = listen();
  rememberSubscription(exchange, {
    kind: 'request',
    id: 5,
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['ab', 'c'] }, _meta: { large: 'x' } },
  });
  assert.deepEqual(recallSubscription(exchange), {
    kind: 'request',
    id: 5,
    method: 'subscriptions/listen',
    params: { notifications: { resourceSubscriptions: ['ab', 'c'] } },
  });
  assert.equal(measureSubscription(exchange), 3);
  const { exchange: other } = listen();
  rememberSubscription(other, { kind: 'request', id: 5, method: 'tools/list', params: {} });
  assert.equal(measureSubscription(other), 0);
  assert.deepEqual(recallSubscription(other).params, {});
});

test('a subscription is judged again by other rules, without its body', async () => {
  const context = listen();
  const first = await judge(context, deny('mcp.tool.name == "x"'), false);
  assert.equal(printVerdict(first), 'forward');
  for (const [rules, expected] of [
    [deny('mcp.resource.uri == "file:///c"'), 'forward'],
    [deny('mcp.resource.uri == "file:///b"'), '200 5 -32602 Resource not found'],
    [deny('mcp.method == "subscriptions/listen"'), 'deny rbac_denied'],
    [deny('mcp.method == "tools/call"'), 'forward'],
  ] as const)
    assert.equal(printVerdict(await judge(context, rules, true)), expected);
});

test('one that came when there were no rules is judged as far as it is known', async () => {
  const context = listen();
  assert.equal(printVerdict(await judge(context, deny('mcp.resource.uri == "file:///b"'), true)), 'forward');
  assert.equal(
    printVerdict(await judge(context, deny('mcp.method == "subscriptions/listen"'), true)),
    'deny rbac_denied',
  );
});

test('of its body only the kept texts count once it is on its way', async () => {
  const context = listen(watch('file:///a', 'x'.repeat(5_000)));
  const held = bodyBudget.heldBytes;
  const verdict = await judge(context, deny('mcp.tool.name == "x"'), false);
  assert.ok(verdict.kind === 'continue' && verdict.releaseBody !== undefined);
  assert.equal(bodyBudget.heldBytes - held, verdict.body!.length);
  verdict.releaseBody();
  assert.equal(bodyBudget.heldBytes - held, 'file:///a'.length + 5_000);
});
