import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createResource, createToken, valueOf } from '../../authentication/testing/auth-fixture.ts';
import {
  alice,
  aliceRules,
  createRules,
  type JudgedRequest,
  judgeRequest,
  message,
  printVerdict,
} from '../testing/message-fixture.ts';

const modernHeaders = (method: string, name?: string): string[] => [
  'MCP-Protocol-Version',
  '2026-07-28',
  'Mcp-Method',
  method,
  ...(name === undefined ? [] : ['Mcp-Name', name]),
];

async function judge(judged: Partial<JudgedRequest>): Promise<string> {
  const { verdict } = await judgeRequest({ rules: aliceRules, token: alice, ...judged });
  return printVerdict(verdict);
}

describe('single messages', () => {
  const legacy = ['MCP-Protocol-Version', '2025-06-18'];
  for (const [name, posted, headers, expected] of [
    ['a list', message('tools/list'), legacy, 'forward'],
    ['initialize', message('initialize', { protocolVersion: '2025-11-25' }), [], 'forward'],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, legacy, 'forward'],
    ['an answer to the server', { jsonrpc: '2.0', id: 7, result: {} }, legacy, 'forward'],
    ['a tool', message('tools/call', { name: 'open_a' }), legacy, 'forward'],
    ['a tool with arguments', message('tools/call', { name: 'open_a', arguments: { amount: 5 } }), legacy, 'forward'],
    ['a prompt', message('prompts/get', { name: 'greet' }), legacy, 'forward'],
    ['a resource', message('resources/read', { uri: 'file:///public/a' }), legacy, 'forward'],
    [
      'a completion',
      message('completion/complete', {
        ref: { type: 'ref/prompt', name: 'greet' },
        argument: { name: 'a', value: '' },
      }),
      legacy,
      'forward',
    ],
    ['a hidden tool', message('tools/call', { name: 'closed' }), legacy, '200 1 -32602 Unknown tool: closed'],
    [
      'a hidden tool, asked with a text for an id',
      message('tools/call', { name: 'x' }, 'a'),
      legacy,
      '200 "a" -32602 Unknown tool: x',
    ],
    ['a hidden prompt', message('prompts/get', { name: 'x' }), legacy, '200 1 -32602 Unknown prompt: x'],
    ['a hidden resource', message('resources/read', { uri: 'file:///x' }), legacy, '200 1 -32002 Resource not found'],
    [
      'a hidden resource, watched',
      message('resources/subscribe', { uri: 'x' }),
      legacy,
      '200 1 -32002 Resource not found',
    ],
    [
      'a completion for a hidden prompt',
      message('completion/complete', { ref: { type: 'ref/prompt', name: 'x' } }),
      legacy,
      '200 1 -32602 Unknown prompt: x',
    ],
    [
      'a hidden resource in 2026-07-28',
      message('resources/read', { uri: 'x' }),
      modernHeaders('resources/read', 'x'),
      '200 1 -32602 Resource not found',
    ],
    [
      'hidden resources among those that are watched',
      message('subscriptions/listen', { notifications: { resourceSubscriptions: ['file:///public/a', 'x'] } }),
      modernHeaders('subscriptions/listen'),
      '200 1 -32602 Resource not found',
    ],
    [
      'resources that may be watched',
      message('subscriptions/listen', { notifications: { resourceSubscriptions: ['file:///public/a'] } }),
      modernHeaders('subscriptions/listen'),
      'forward',
    ],
    [
      'arguments that are not allowed',
      message('tools/call', { name: 'open_a', arguments: { amount: 100 } }),
      legacy,
      'deny rbac_denied',
    ],
    [
      'arguments of another kind',
      message('tools/call', { name: 'open_a', arguments: { amount: '1' } }),
      legacy,
      'deny rbac_denied',
    ],
    ['a tool without a name', message('tools/call', {}), legacy, '400 1 -32602 The message has no name.'],
    ['an unknown method', message('Tools/Call', { name: 'open_a' }), legacy, '200 1 -32601 Method not found'],
    ['a slash too many', message('tools//call', { name: 'open_a' }), legacy, '200 1 -32601 Method not found'],
    ['a space too many', message('tools/call ', { name: 'open_a' }), legacy, '200 1 -32601 Method not found'],
    [
      'an unknown method of 2026-07-28',
      message('initialize'),
      modernHeaders('initialize'),
      '404 1 -32601 Method not found',
    ],
    ['a notification as a request', message('notifications/initialized'), legacy, '200 1 -32601 Method not found'],
    [
      'an unknown notification',
      { jsonrpc: '2.0', method: 'notifications/x' },
      legacy,
      '400 null -32601 Method not found',
    ],
    [
      'a call without an id',
      { jsonrpc: '2.0', method: 'tools/call', params: { name: 'open_a' } },
      legacy,
      '400 null -32600 The message has no id, but its method requires one.',
    ],
    [
      'an answer in 2026-07-28',
      { jsonrpc: '2.0', id: 1, result: {} },
      ['MCP-Protocol-Version', '2026-07-28'],
      '400 null -32600 The message is a response, which this protocol version does not have.',
    ],
    [
      'headers that disagree',
      message('tools/call', { name: 'open_a' }),
      modernHeaders('tools/call', 'open_b'),
      '400 1 -32020 The Mcp-Name header does not match the name in the message.',
    ],
    [
      'headers that are missing',
      message('tools/list'),
      ['MCP-Protocol-Version', '2026-07-28'],
      '400 1 -32020 The Mcp-Method header is missing.',
    ],
    [
      'two versions',
      message('tools/list'),
      ['MCP-Protocol-Version', '2025-06-18', 'mcp-protocol-version', '2025-06-18'],
      '400 null -32020 The MCP-Protocol-Version header was sent more than once.',
    ],
    ['no message', [], legacy, '400 null -32600 The body is an empty batch.'],
    ['a text', 'tools/call', legacy, '400 null -32600 The body is not a JSON-RPC message.'],
  ] as const)
    test(name, async () => assert.equal(await judge({ message: posted, request: { headers } }), expected));

  test('somebody else may do nothing with items, and everything else', async () => {
    const token = createToken({ claims: { sub: 'bob' } });
    assert.equal(await judge({ token, message: message('tools/list') }), 'forward');
    assert.equal(
      await judge({ token, message: message('tools/call', { name: 'open_a' }) }),
      '200 1 -32602 Unknown tool: open_a',
    );
  });

  test('no rule over items, but one over everything: 403 in place of a secret', async () => {
    const closed = createRules({ action: 'Deny', expressions: ['mcp.method == "tools/list"', 'mcp.method == "ping"'] });
    assert.equal(await judge({ rules: closed, message: message('tools/list') }), 'deny rbac_denied');
    assert.equal(await judge({ rules: closed, message: message('tools/call', { name: 'a' }) }), 'forward');
  });

  test('an item that may be used in one way only is no secret', async () => {
    const reading = createRules({ action: 'Deny', expressions: ['mcp.method == "resources/subscribe"'] });
    assert.equal(await judge({ rules: reading, message: message('resources/read', { uri: 'u' }) }), 'forward');
    assert.equal(
      await judge({ rules: reading, message: message('resources/subscribe', { uri: 'u' }) }),
      'deny rbac_denied',
    );
  });

  test('methods that a rule names pass, in exactly that spelling', async () => {
    const naming = createRules({ expressions: ['mcp.method in ["acme/sync", "tools/list"]'] });
    assert.equal(await judge({ rules: naming, message: message('acme/sync', { name: 'x' }) }), 'forward');
    assert.equal(await judge({ rules: naming, message: { jsonrpc: '2.0', method: 'acme/sync' } }), 'forward');
    assert.equal(await judge({ rules: naming, message: message('Acme/Sync') }), '200 1 -32601 Method not found');
    const scoped = createRules({ scopes: [{ methods: ['acme/sync'], scopes: ['read'] }] });
    assert.equal(await judge({ rules: scoped, message: message('acme/sync') }), 'forward');
    assert.equal(await judge({ rules: scoped, message: message('acme/other') }), '200 1 -32601 Method not found');
  });

  test('keys that look like those that rules read are not guessed about', async () => {
    const posted = message('tools/call', { name: 'open_a', arguments: { Amount: 1_000 } });
    assert.equal(await judge({ message: posted }), '400 1 -32600 The body has a key that could be taken for amount.');
  });
});

describe('on the older transport errors are errors of HTTP', () => {
  for (const [name, posted, expected] of [
    ['a hidden tool', message('tools/call', { name: 'closed' }), '400 1 -32602 Unknown tool: closed'],
    ['an unknown method', message('Tools/Call'), '400 1 -32601 Method not found'],
    ['a batch', [message('ping')], '400 null -32600 The body is a batch, which this protocol version does not have.'],
    ['what is not allowed', message('tools/call', { name: 'open_a', arguments: { amount: 100 } }), 'deny rbac_denied'],
    ['what is', message('tools/call', { name: 'open_a' }), 'forward'],
  ] as const)
    test(name, async () => assert.equal(await judge({ message: posted, transport: 'sse' }), expected));
});

describe('requests without a message', () => {
  const anonymous = createRules({ action: 'Require', expressions: ['jwt.sub == "alice"', 'mcp.method != "ping"'] });
  for (const [name, judged, expected] of [
    ['GET', { request: { method: 'GET' } }, 'forward'],
    ['DELETE', { request: { method: 'DELETE' } }, 'forward'],
    ['PUT', { request: { method: 'PUT' } }, 'deny method_not_allowed'],
    ['HEAD', { request: { method: 'HEAD' } }, 'deny method_not_allowed'],
    ['PATCH', { request: { method: 'PATCH' } }, 'deny method_not_allowed'],
    ['post', { request: { method: 'post' } }, 'deny method_not_allowed'],
    ['OPTIONS', { request: { method: 'OPTIONS' } }, 'deny method_not_allowed'],
    [
      'a preflight',
      {
        request: {
          method: 'OPTIONS',
          headers: ['Origin', 'https://a.example', 'Access-Control-Request-Method', 'POST'],
        },
      },
      'forward',
    ],
    ['a GET with a body', { request: { method: 'GET', body: ['{}'] } }, 'deny message_malformed'],
    ['a DELETE with an empty one', { request: { method: 'DELETE', body: [] } }, 'forward'],
    ['a POST without a body', { request: { method: 'POST' } }, '400 null -32700 The body is not JSON.'],
    [
      'a POST of a form',
      { request: { method: 'POST', headers: ['Content-Type', 'application/x-www-form-urlencoded'], body: ['a=b'] } },
      'deny body_not_readable',
    ],
    [
      'a compressed POST',
      {
        request: {
          method: 'POST',
          headers: ['Content-Type', 'application/json', 'Content-Encoding', 'gzip'],
          body: ['{}'],
        },
      },
      'deny body_not_readable',
    ],
    [
      'a POST that is too large',
      {
        request: {
          method: 'POST',
          headers: ['Content-Type', 'application/json', 'Content-Length', '4194305'],
          body: ['{}'],
        },
      },
      'deny body_too_large',
    ],
    [
      'a POST that breaks off',
      { request: { method: 'POST', headers: ['Content-Type', 'application/json'], body: ['{'], bodyEnd: 'broken' } },
      'deny client_disconnected',
    ],
    ['GET with rules over callers', { rules: anonymous, request: { method: 'GET' } }, 'forward'],
    [
      'GET of another caller',
      { rules: anonymous, token: createToken({ claims: { sub: 'bob' } }), request: { method: 'GET' } },
      'deny rbac_denied',
    ],
    [
      'DELETE of another caller',
      { rules: anonymous, token: createToken({ claims: {} }), request: { method: 'DELETE' } },
      'deny rbac_denied',
    ],
  ] as const)
    test(name, async () => assert.equal(await judge(judged as Partial<JudgedRequest>), expected));

  test('a switch of protocols is refused', async () => {
    const { context } = await judgeRequest({ rules: aliceRules, request: { method: 'GET' } });
    const { judgeMessages } = await import('./judge-messages.ts');
    const exchange = { ...context.exchange, upgradeProtocol: 'websocket' };
    const request = { context: { ...context, exchange }, rules: aliceRules, backend: {} as never, token: alice };
    const verdict = await judgeMessages({ ...request, resource: undefined });
    assert.equal(printVerdict(verdict), 'deny upgrade_refused');
  });

  test('the methods that are taken are listed', async () => {
    const { verdict } = await judgeRequest({ rules: aliceRules, request: { method: 'PUT' } });
    assert.ok(verdict.kind === 'deny');
    assert.equal(valueOf(verdict.responseHeaders, 'allow'), 'GET, POST, DELETE');
  });
});

describe('what goes on', () => {
  const forwarded = async (
    judged: Partial<JudgedRequest>,
  ): Promise<{ readonly body: string | undefined; readonly isFiltered: boolean }> => {
    const { verdict } = await judgeRequest({ rules: aliceRules, token: alice, ...judged });
    assert.equal(verdict.kind, 'continue');
    assert.ok(verdict.kind === 'continue');
    const body = verdict.body === undefined ? undefined : Buffer.from(verdict.body).toString();
    return { body, isFiltered: verdict.filterAnswer !== undefined };
  };

  test('is the body as it was written, and answers are filtered', async () => {
    const body = ['{ "jsonrpc":"2.0", "id" : 1.0,', '"method":"ping","params":{"n":12345678901234567890}} '];
    const request = { method: 'POST', headers: ['Content-Type', 'application/json'], body };
    assert.deepEqual(await forwarded({ request }), { body: body.join(''), isFiltered: true });
  });

  test('streams of a GET are filtered, what a DELETE answers is not', async () => {
    assert.deepEqual(await forwarded({ request: { method: 'GET' } }), { body: undefined, isFiltered: true });
    assert.deepEqual(await forwarded({ request: { method: 'DELETE' } }), { body: undefined, isFiltered: false });
  });

  test('with scopes only answers are not looked at', async () => {
    const scoped = createRules({ scopes: [{ scopes: ['read'] }] });
    const posted = message('tools/list');
    assert.deepEqual(await forwarded({ rules: scoped, message: posted }), {
      body: JSON.stringify(posted),
      isFiltered: false,
    });
    assert.deepEqual(await forwarded({ rules: scoped, request: { method: 'GET' } }), {
      body: undefined,
      isFiltered: false,
    });
  });
});

describe('scopes', () => {
  const scoped = createRules({
    expressions: ['mcp.tool.name != "hidden"'],
    scopes: [
      { methods: ['tools/call'], scopes: ['call'] },
      { tools: ['close_*'], scopes: ['write'] },
    ],
  });
  const resource = createResource({ message: { requiredScopes: ['mcp'] } });
  const challenge = async (posted: object, token = alice): Promise<string> => {
    const { verdict } = await judgeRequest({ rules: scoped, token, resource, message: posted });
    if (verdict.kind !== 'deny') return printVerdict(verdict);
    return `${verdict.reason} ${valueOf(verdict.responseHeaders, 'www-authenticate')}`;
  };
  const where = 'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"';

  test('of every entry that fits, and of every request', async () => {
    assert.equal(
      await challenge(message('tools/call', { name: 'close_a' })),
      `insufficient_scope Bearer error="insufficient_scope", ${where}, scope="mcp call write"`,
    );
    assert.equal(
      await challenge(message('tools/call', { name: 'echo' })),
      `insufficient_scope Bearer error="insufficient_scope", ${where}, scope="mcp call"`,
    );
    assert.equal(await challenge(message('tools/list')), 'forward');
    const token = createToken({ scopes: new Set(['call', 'write']) });
    assert.equal(await challenge(message('tools/call', { name: 'close_a' }), token), 'forward');
  });

  test('come after the rules: what is hidden stays so', async () => {
    // As for any tool that the server does not have.
    assert.equal(
      await challenge(message('tools/call', { name: 'hidden' })),
      await challenge(message('tools/call', { name: 'absent' })),
    );
  });

  test('a token that carries none is told so', async () => {
    assert.equal(
      await challenge(message('tools/call', { name: 'echo' }), createToken({ scopes: undefined })),
      'token_without_scopes undefined',
    );
  });
});
