import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { valueOf } from '../../authentication/testing/auth-fixture.ts';
import {
  alice,
  aliceRules,
  createRules,
  type JudgedRequest,
  judgeRequest,
  message,
} from '../testing/message-fixture.ts';

describe('what is noted', () => {
  const note = async (judged: Partial<JudgedRequest>): Promise<string[]> => {
    const { context } = await judgeRequest({ rules: aliceRules, token: alice, ...judged });
    return context.decisions.map(
      ({ step, policy, mode, outcome, reason, decidedBy, rules: outcomes }) =>
        `${step} ${policy} ${mode}${outcome} ${reason ?? '-'} ${decidedBy === undefined ? '-' : `${decidedBy.action}/${decidedBy.index}`} ${outcomes.map(({ value }) => value).join(',')}`,
    );
  };
  const head = 'backend.mcp.authorization default/rules ';

  test('what passes, and by which rule', async () => {
    assert.deepEqual(await note({ message: message('tools/call', { name: 'open_a' }) }), [`${head}allow - Allow/0 `]);
    assert.deepEqual(await note({ message: message('tools/list') }), [`${head}allow - - `]);
    assert.deepEqual(await note({ message: message('prompts/get', { name: 'greet' }), explained: true }), [
      `${head}allow - Allow/1 skipped,true,skipped`,
    ]);
  });

  test('what does not, with every expression', async () => {
    assert.deepEqual(await note({ message: message('tools/call', { name: 'x' }) }), [
      `${head}respond item_hidden - false,skipped,skipped`,
    ]);
    assert.deepEqual(await note({ message: message('tools/call', { name: 'open_a', arguments: { amount: 100 } }) }), [
      `${head}deny rbac_denied - false,skipped,skipped`,
    ]);
    const closed = createRules({ action: 'Deny', expressions: ['jwt.sub == "x"', 'jwt.sub == "alice"'] });
    assert.deepEqual(await note({ rules: closed, message: message('ping') }), [
      `${head}deny rbac_denied Deny/1 false,true`,
    ]);
    assert.deepEqual(await note({ message: message('Tools/Call') }), [`${head}deny method_unknown - `]);
    assert.deepEqual(await note({ message: 7 }), [`${head}deny message_malformed - `]);
    assert.deepEqual(await note({ message: message('ping'), request: { headers: ['Mcp-Method', 'x'] } }), [
      `${head}deny header_mismatch - `,
    ]);
    assert.deepEqual(await note({ request: { method: 'PUT' } }), [`${head}deny method_not_allowed - `]);
    const scoped = createRules({ scopes: [{ scopes: ['x'] }] });
    assert.deepEqual(await note({ rules: scoped, message: message('ping') }), [`${head}deny insufficient_scope - `]);
  });

  test('when scopes are missing what the expressions said is noted for who asks why', async () => {
    const scoped = createRules({ expressions: ['jwt.sub == "alice"', 'jwt.sub == "x"'], scopes: [{ scopes: ['x'] }] });
    const posted = { rules: scoped, message: message('ping') };
    assert.deepEqual(await note(posted), [`${head}deny insufficient_scope - `]);
    assert.deepEqual(await note({ ...posted, explained: true }), [`${head}deny insufficient_scope - true,false`]);
  });

  test('each refusal of a batch, and that the rest passed', async () => {
    const messages = [message('tools/call', { name: 'x' }, 1), message('x/y', {}, 2), message('ping', {}, 3)];
    assert.deepEqual(await note({ message: messages }), [
      `${head}respond item_hidden - false,skipped,skipped`,
      `${head}deny method_unknown - `,
      `${head}allow - - `,
    ]);
  });

  test('the reason of an answer in the server’s place is for the log and the metrics', async () => {
    const { context, verdict } = await judgeRequest({
      rules: aliceRules,
      token: alice,
      message: message('tools/call', { name: 'x' }),
    });
    assert.equal(context.reason, 'item_hidden');
    assert.match(context.detail!, /^no Allow rule matches: policy default\/rules/);
    assert.ok(verdict.kind === 'respond');
    assert.deepEqual(verdict.headers, ['content-type', 'application/json', 'cache-control', 'no-store']);
  });

  test('web pages can read what they are told', async () => {
    for (const posted of [
      message('tools/call', { name: 'x' }),
      message('Tools/Call'),
      message('tools/call', { name: 'open_a', arguments: { amount: 100 } }),
    ]) {
      const request = { headers: ['Origin', 'https://app.example'] };
      const { verdict } = await judgeRequest({ rules: aliceRules, token: alice, message: posted, request });
      assert.ok(verdict.kind !== 'continue');
      const headers = verdict.kind === 'deny' ? verdict.responseHeaders : verdict.headers;
      assert.equal(valueOf(headers, 'access-control-allow-origin'), '*');
    }
  });

  test('a client that takes events only gets one', async () => {
    const { verdict } = await judgeRequest({
      rules: aliceRules,
      message: message('tools/call', { name: 'x' }),
      request: { headers: ['Accept', 'text/event-stream'] },
    });
    assert.ok(verdict.kind === 'respond');
    assert.equal(valueOf(verdict.headers, 'content-type'), 'text/event-stream');
    assert.match(verdict.body, /^event: message\ndata: \{"jsonrpc":"2\.0","id":1,"error":\{.*\}\}\n\n$/);
  });
});

describe('which message it was', () => {
  const see = async (judged: Partial<JudgedRequest>): Promise<string> => {
    const { context } = await judgeRequest({ rules: aliceRules, token: alice, ...judged });
    const { method, item, count } = context.mcpMessage ?? { method: '-', item: undefined, count: 0 };
    return `${method} ${item === undefined ? '-' : `${item.kind} ${item.name}`} ${count}`;
  };
  const open = message('tools/call', { name: 'open_a', arguments: { amount: 5 } }, 1);
  const listen = message('subscriptions/listen', {
    notifications: { resourceSubscriptions: ['file:///public/a', 'file:///b', 'file:///c'] },
  });
  const modern = ['MCP-Protocol-Version', '2026-07-28', 'Mcp-Method', 'subscriptions/listen'];

  test('its method and what it uses, whether it passes or not', async () => {
    assert.equal(await see({ message: open }), 'tools/call tool open_a 1');
    assert.equal(await see({ message: message('tools/call', { name: 'x' }) }), 'tools/call tool x 1');
    assert.equal(await see({ message: message('prompts/get', { name: 'greet' }) }), 'prompts/get prompt greet 1');
    assert.equal(await see({ message: message('resources/read', { uri: 'a' }) }), 'resources/read resource a 1');
    assert.equal(await see({ message: message('tools/list') }), 'tools/list - 1');
    assert.equal(await see({ message: message('x/y', { name: 'z' }) }), 'x/y - 1');
    assert.equal(await see({ message: message('tools/call', { name: 7 }) }), 'tools/call - 1');
    // Of several resources the one that was refused.
    assert.equal(
      await see({ message: listen, request: { headers: modern } }),
      'subscriptions/listen resource file:///b 1',
    );
    assert.equal(await see({ message: open, request: { headers: ['Mcp-Method', 'x'] } }), 'tools/call - 1');
  });

  test('nothing where no message was read, or it only answers the server', async () => {
    assert.equal(await see({ request: { method: 'GET' } }), '- - 0');
    assert.equal(await see({ message: 7 }), '- - 0');
    assert.equal(await see({ message: { jsonrpc: '2.0', id: 7, result: {} } }), '- - 0');
  });

  test('of a batch the first that was refused, else the first; and how many there are', async () => {
    const hidden = message('tools/call', { name: 'x' }, 2);
    const unknown = message('x/y', {}, 3);
    const answer = { jsonrpc: '2.0', id: 7, result: {} };
    assert.equal(await see({ message: [open, message('ping', {}, 2)] }), 'tools/call tool open_a 2');
    assert.equal(await see({ message: [open, hidden, unknown] }), 'tools/call tool x 3');
    assert.equal(await see({ message: [open, unknown, hidden] }), 'x/y - 3');
    assert.equal(await see({ message: [answer, open] }), 'tools/call tool open_a 2');
    assert.equal(await see({ message: [open, { ...open }] }), 'tools/call - 2', 'two of the same id');
  });
});
