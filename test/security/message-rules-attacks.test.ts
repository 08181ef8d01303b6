// Rules over MCP messages against callers who want what the rules hide: URIs that servers read differently than they are written, bodies
// that two readers could understand differently, lists in strange shapes, and messages that cost more than they are worth.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { FlowAnswer } from '../idp/flow-client.ts';
import { backendPolicy, type GuardedGateway, startGuardedGatewayProcess } from './guarded-gateway.ts';
import { readResidentBytes } from './process-memory.ts';
import type { RecordedRequest } from '../kit/recording-upstream.ts';
import type { GatewayProcessRun } from '../kit/run-gateway.ts';
import { connectWire, readAnswers } from './wire-client.ts';

const megabyte = 1024 * 1024;
const rulesOf = (name: string, action: string, ...matchExpressions: string[]): object =>
  backendPolicy(name, { authorization: { action, policy: { matchExpressions } } });

/** What the server answers next; an empty result when there is nothing. */
let next: ((request: RecordedRequest, response: ServerResponse) => void) | undefined;
let gateway: GuardedGateway<GatewayProcessRun>;

before(async () => {
  gateway = await startGuardedGatewayProcess({
    routes: ['files', 'secrets', 'tools', 'force', 'arguments'],
    policies: [
      rulesOf('files', 'Allow', 'mcp.resource.uri.startsWith("file:///public/")', 'mcp.tool.name == "echo"'),
      rulesOf('secrets', 'Deny', 'mcp.resource.uri.startsWith("file:///secret")'),
      rulesOf('tools', 'Allow', 'mcp.tool.name == "echo"'),
      rulesOf('force', 'Deny', 'mcp.tool.arguments.exists(key, key == "force")'),
      rulesOf('arguments', 'Deny', 'has(mcp.tool.arguments.path) && mcp.tool.arguments.path == "/secret"'),
    ],
    answer(request, response) {
      if (next !== undefined) return next(request, response);
      const { id = null } =
        request.body === '' ? {} : (JSON.parse(Buffer.from(request.body, 'latin1').toString()) as { id?: unknown });
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
    },
  });
});
after(() => gateway.close());
beforeEach(() => {
  next = undefined;
  gateway.upstream.forget();
});

const send = (
  path: string,
  method: string,
  params: object,
  headers: Record<string, string> = {},
): Promise<FlowAnswer> => gateway.post(path, undefined, { jsonrpc: '2.0', id: 1, method, params }, headers);
const call = (name: string, given: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } });

/** Hidden by a Deny rule: the server is asked for a name that it does not have, and never for what is denied. */
function assertReplaced(answer: FlowAnswer, denied: RegExp, what: string): void {
  assert.equal(answer.status, 200, `${what}: ${answer.body}`);
  const seen = gateway.upstream.requests.map(({ body }) => body);
  assert.equal(seen.length, 1, what);
  assert.doesNotMatch(decodeURIComponent(seen[0]!), denied, what);
}

/** Refused for what it is, whether there is such an item or not. */
function assertRefused(answer: FlowAnswer, problem: RegExp, what: string): void {
  assert.equal(answer.status, 400, `${what}: ${answer.body}`);
  const error = answer.json()['error'] as { code: number; message: string };
  assert.equal(error.code, -32_602, `${what}: ${answer.body}`);
  assert.match(error.message, problem, what);
  assert.equal(gateway.upstream.headCount, 0, `${what} reached the server`);
}

describe('URIs that servers read differently than they are written', () => {
  const walks = [
    'file:///public/../secret/key',
    'file:///public/a/../../secret/key',
    'file:///public/%2e%2e/secret/key',
    'file:///public/.%2E/secret/key',
    'file:///public/..\\secret\\key',
    'file:///public/..%2fsecret%2fkey',
    'file:///public/%2e%2e%5csecret',
    'file:///public/..',
    'file:///public/x//../../secret',
    'file:///public/x%2f%2f..%2f..%2fsecret',
    'file:///public/?/../../secret',
    'file:///public/#/../../secret',
    'file:///public/%252e%252e/secret',
    'file:///public/..;/secret',
    'file:///public/;x/../../secret',
    'file:///public/%c0%ae%c0%ae/secret',
    'file:///public/\uFF0E\uFF0E/secret',
  ];
  test('a way out of what is allowed', async () => {
    for (const uri of walks) {
      for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe'])
        assertRefused(await send('/files', method, { uri }), /^The message has a uri that /, `${method} ${uri}`);
      const ref = { type: 'ref/resource', uri };
      const completed = await send('/files', 'completion/complete', { ref, argument: {} });
      assertRefused(completed, /^The message has a uri that /, `complete ${uri}`);
      const watch = { notifications: { resourceSubscriptions: ['file:///public/a', uri] } };
      const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
      const watched = await send('/files', 'subscriptions/listen', watch, modern);
      assertRefused(watched, /^The message has a uri that /, `watch ${uri}`);
    }
  });

  test('another spelling of what is denied', async () => {
    for (const uri of ['file:///secret/key', 'FILE:///secret/key', 'file:///%73ecret/key']) {
      gateway.upstream.forget();
      assertReplaced(await send('/secrets', 'resources/read', { uri }), /secret/i, uri);
    }
    gateway.upstream.forget();
    for (const uri of [
      ' file:///secret/key',
      'file:/secret/key',
      'file:\\\\\\secret\\key',
      'file:////secret/key',
      'file://localhost/secret/key',
      'file:///./secret/key',
      'file:///public/..%2fsecret/key',
      'file:///public/%2e%2e/secret/key',
    ])
      assertRefused(await send('/secrets', 'resources/read', { uri }), /^The message has a uri that /, uri);
  });

  test('allowed messages pass unchanged', async () => {
    for (const uri of [
      'file:///public/a',
      'file:///public/a%20b',
      'file:///public/..a/...',
      'file:///public/100%25',
      'file:///public/ü b',
    ]) {
      gateway.upstream.forget();
      assert.equal((await send('/files', 'resources/read', { uri })).status, 200, uri);
      const body = JSON.parse(Buffer.from(gateway.upstream.requests[0]!.body, 'latin1').toString()) as {
        params: object;
      };
      assert.deepEqual(body.params, { uri });
    }
  });

  test('where no rule reads resources, their URIs are the business of the server', async () => {
    for (const uri of walks) {
      gateway.upstream.forget();
      assert.equal((await send('/force', 'resources/read', { uri })).status, 200, uri);
      assert.equal(gateway.upstream.headCount, 1, uri);
    }
  });

  test('lists show what could be read', async () => {
    const uris = [
      'file:///public/a',
      'file:///public/../secret',
      'file:///public/a/../b',
      'file:///public/%2e%2e/secret',
      'file:///public/a%2fb',
      'FILE:///public/b',
    ];
    next = (_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { resources: uris.map((uri) => ({ uri })) } }));
    };
    const answer = await send('/files', 'resources/list', {});
    assert.deepEqual(answer.json()['result'], { resources: [{ uri: 'file:///public/a' }] });
    next = (_, response) => {
      response.setHeader('content-type', 'application/json');
      const resourceTemplates = [{ uriTemplate: 'file:///public/{+path}' }, { uriTemplate: 'file:///{+path}' }];
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { resourceTemplates } }));
    };
    const templates = await send('/files', 'resources/templates/list', {});
    assert.deepEqual(templates.json()['result'], { resourceTemplates: [{ uriTemplate: 'file:///public/{+path}' }] });
  });
});

describe('bodies that two readers could understand differently', () => {
  const hidden = call('wipe');
  const allowed = call('echo');
  const json = 'application/json';

  test('by their form', async (t) => {
    const utf16 = Buffer.from(hidden, 'utf16le').toString('latin1');
    const form = `a=${encodeURIComponent(hidden)}`;
    const forms: [contentType: string, body: string, fields?: string][] = [
      [json, utf16],
      [`${json}; charset=utf-16le`, utf16],
      [`${json}; charset=utf-8; charset=utf-16`, allowed],
      [`${json}; x="; charset=utf-16"`, allowed],
      [`${json};charset=utf-7`, allowed],
      [json, `\u00ef\u00bb\u00bf${allowed}`],
      [json, `${allowed}\n${hidden}`],
      [json, `${allowed}\0${hidden}`],
      [json, `\x1e${allowed}\n`],
      [`${json}, application/x-www-form-urlencoded`, allowed],
      ['application/x-www-form-urlencoded', form],
      ['multipart/form-data; boundary=b', `--b\r\ncontent-type: ${json}\r\n\r\n${hidden}\r\n--b--\r\n`],
      ['application/json-seq', `\x1e${hidden}\n`],
      ['application/vnd.mcp+json', hidden],
      [json, allowed, 'Content-Encoding: gzip\r\n'],
      [json, allowed, 'Content_Encoding: gzip\r\n'],
      [json, allowed, 'Content_Type: text/plain\r\n'],
      [json, `[${allowed},[${hidden}]]`],
      [json, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[${hidden}]}`],
    ];
    for (const [type, body, fields = ''] of forms) {
      const client = await connectWire(t, gateway.port);
      client.send(
        `POST /tools HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: ${type}\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      const [answer] = readAnswers(await client.waitForClose());
      assert.ok(answer!.status === 400 || answer!.status === 415, `${type} ${body}: ${answer!.status} ${answer!.body}`);
    }
    assert.equal(gateway.upstream.headCount, 0);
  });

  test('by their keys', async () => {
    const message = (rest: string): string => `{"jsonrpc":"2.0","id":1,${rest}}`;
    for (const body of [
      message('"method":"tools/call","params":{"name":"echo","Name":"wipe"}'),
      message('"method":"tools/call","params":{"name":"echo","name":"wipe"}'),
      message('"method":"tools/call","params":{"name":"echo","n\\u0061me":"wipe"}'),
      message('"method":"ping","Method":"tools/call","params":{"name":"wipe"}'),
      message('"method":"ping","me\u0442hod":"x","METHOD":"tools/call","params":{"name":"wipe"}'),
      message('"method":"tools/call","params":{"name":"echo"},"Params":{"name":"wipe"}'),
      message('"result":{},"Method":"tools/call","params":{"name":"wipe"}'),
      message('"result":{},"method":"tools/call","params":{"name":"wipe"}'),
      message('"result":{},"method":null,"params":{"name":"wipe"}'),
      message('"method":["tools/call"],"params":{"name":"wipe"}'),
      message('"method":"tools/call","params":{"name":["wipe"]}'),
      message('"method":"tools/call","params":{"name":"echo\\u0000wipe"}'),
      message('"method":"tools/call","params":{"__proto__":{"name":"wipe"},"name":"echo"}'),
    ]) {
      const answer = await gateway.post('/tools', undefined, body);
      assert.equal(answer.status, 400, `${body}: ${answer.body}`);
    }
    assert.equal(gateway.upstream.headCount, 0);
  });

  test('by keys of arguments, also those that a loop looks for', async () => {
    for (const [path, given, status] of [
      ['/force', { force: true }, 403],
      ['/force', { Force: true }, 400],
      ['/force', { ｆorce: true }, 400],
      ['/force', { a: 1 }, 200],
      ['/arguments', { path: '/secret' }, 403],
      ['/arguments', { Path: '/secret' }, 400],
      ['/arguments', { path: '/x', paTH: '/secret' }, 400],
      ['/arguments', { path: '/x' }, 200],
    ] as const) {
      gateway.upstream.forget();
      const answer = await gateway.post(path, undefined, call('x', given));
      assert.equal(answer.status, status, `${path} ${JSON.stringify(given)}: ${answer.body}`);
      assert.equal(gateway.upstream.headCount, status === 200 ? 1 : 0);
    }
  });

  test('by what stands around them', async (t) => {
    const head = 'Host: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n';
    const length = `Content-Length: ${hidden.length}\r\n`;
    for (const [request, status] of [
      [`GET /tools HTTP/1.1\r\n${head}X-HTTP-Method-Override: POST\r\n${length}\r\n${hidden}`, 400],
      [`DELETE /tools HTTP/1.1\r\n${head}X-HTTP-Method-Override: POST\r\n${length}\r\n${hidden}`, 400],
      [`PUT /tools HTTP/1.1\r\n${head}${length}\r\n${hidden}`, 405],
      [`QUERY /tools HTTP/1.1\r\n${head}${length}\r\n${hidden}`, 405],
      [
        `OPTIONS /tools HTTP/1.1\r\n${head}Origin: http://127.0.0.1\r\nAccess-Control-Request-Method: POST\r\n${length}\r\n${hidden}`,
        405,
      ],
      [`HEAD /tools HTTP/1.1\r\n${head}\r\n`, 405],
    ] as const) {
      const client = await connectWire(t, gateway.port);
      client.send(request);
      const received = await client.waitForClose();
      assert.match(received, new RegExp(`^HTTP/1.1 ${status} `), request);
      assert.equal(gateway.upstream.headCount, 0, request);
    }
    // What comes after the body, or is said about it, is not passed on.
    const client = await connectWire(t, gateway.port);
    const chunk = `${allowed.length.toString(16)}\r\n${allowed}\r\n`;
    client.send(
      `POST /tools HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\nTrailer: Mcp-Name\r\n\r\n${chunk}0\r\nMcp-Name: wipe\r\nContent-Encoding: gzip\r\n\r\n`,
    );
    assert.match(await client.waitForClose(), /^HTTP\/1.1 200 /);
    const [request] = gateway.upstream.requests;
    assert.equal(request!.body, allowed);
    assert.deepEqual(request!.trailers, []);
    assert.deepEqual(request!.all('trailer'), []);
    assert.deepEqual(request!.all('content-length'), [String(allowed.length)]);
  });
});

describe('lists in strange shapes', () => {
  const hide = (text: string, type: string, status = 200): void => {
    next = (_, response) => void response.writeHead(status, { 'content-type': type }).end(text, 'latin1');
  };
  const list = (tools: string, id = '1'): string => `{"jsonrpc":"2.0","id":${id},"result":{"tools":${tools}}}`;

  test('show nothing that is hidden', async () => {
    const both = '[{"name":"echo"},{"name":"wipe"}]';
    const events = (data: string): string => `event: message\ndata: ${data}\n\n`;
    for (const [text, type] of [
      [list(both), 'application/json'],
      [list('[{"name":"echo"},{"name":"\\u0077ipe"}]'), 'application/json'],
      [list('{"0":{"name":"wipe"}}'), 'application/json'],
      [list('[["wipe"],"wipe",{"name":"echo","Name":"wipe"},{"title":"wipe"}]'), 'application/json'],
      [`{"jsonrpc":"2.0","id":1,"result":{"tools":[],"tools":${both}}}`, 'application/json'],
      [`{"jsonrpc":"2.0","id":1,"result":{"Tools":${both}}}`, 'application/json'],
      [`{"jsonrpc":"2.0","id":1,"result":{"\\u0074ools":${both}}}`, 'application/json'],
      [`{"jsonrpc":"2.0","id":1,"Result":{"tools":${both}}}`, 'application/json'],
      [`\u00ef\u00bb\u00bf${list(both)}`, 'application/json'],
      [`[${list(both)}]`, 'application/json'],
      [list(both, '"1"'), 'application/json'],
      [list(both), 'text/plain'],
      [list(both), 'application/problem+json'],
      [events(list(both)), 'text/event-stream'],
      [events(list(both)).replaceAll('\n', '\r'), 'text/event-stream'],
      [events(list(both)).replaceAll('\n', '\r\n'), 'text/event-stream; charset=utf-8'],
      [events(list(both, '"other"')), 'TEXT/Event-Stream'],
      [events(`[${list(both)}]`), 'text/event-stream'],
      [events(list(both)).slice(0, -1), 'text/event-stream'],
      [`\u00ef\u00bb\u00bfdata:${list(both)}\n\n`, 'text/event-stream'],
      [`id: 7\ndata: {"jsonrpc":"2.0","id":1,"result":\ndata: {"tools":\ndata: ${both}}}\n\n`, 'text/event-stream'],
      [events(list('[{"name":"echo"},{"name":"w\\u0069pe"}]')), 'text/event-stream'],
    ] as const) {
      hide(text, type);
      const answer = await send('/tools', 'tools/list', {});
      assert.doesNotMatch(answer.body, /w(?:i|\\u0069)pe|\\u0077ipe/, `${type} ${text}`);
      // Also when it is told again on another stream (Last-Event-ID).
      if (!type.toLowerCase().startsWith('text/event-stream')) continue;
      const again = await gateway.get('/tools', undefined, { accept: 'text/event-stream', 'last-event-id': '6' });
      assert.doesNotMatch(again.body, /w(?:i|\\u0069)pe|\\u0077ipe/, `GET ${text}`);
    }
  });
});

describe('notices about resources', () => {
  const notice = (uri: string, name = 'notifications/resources/updated'): string =>
    `{"jsonrpc":"2.0","method":"${name}","params":{"uri":"${uri}"}}`;
  const notices = [
    notice('file:///secret/key'),
    notice('file:///public/../secret/key'),
    notice('file:///public/%2e%2e/secret/key'),
    notice('file:\\/\\/\\/secret\\/key', 'notifications\\/resources\\/updated'),
    notice('\\u0066ile:///secret/key', 'notification\\u0073/resources/update\\u0064'),
    `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///public/a","uri":"file:///secret/key"}}`,
    `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///public/a"},"Params":{"uri":"file:///secret/key"}}`,
    `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"URI":"file:///secret/key"}}`,
    `[${notice('file:///secret/key')}]`,
    ` ${notice('file:///secret/key').replace('"params"', '\ndata: "params"')}`,
  ];

  test('tell nothing of what the caller may not read, on any stream', async () => {
    next = (_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(notices.map((data, index) => `id: ${index}\nevent: message\ndata: ${data}\n\n`).join(''));
      response.end(`event: message\ndata: ${notice('file:///public/a')}\n\n`);
    };
    const watch = { notifications: { resourceSubscriptions: ['file:///public/a'] } };
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
    for (const answer of [
      await gateway.get('/files', undefined, { accept: 'text/event-stream' }),
      await send('/files', 'subscriptions/listen', watch, modern),
      await send('/files', 'tools/call', { name: 'echo' }),
    ]) {
      assert.doesNotMatch(answer.body, /secret/);
      // The ids are there, so that a client can go on from them, and the one notice that may be seen.
      assert.equal(
        answer.body,
        `${notices.map((_, index) => `id: ${index}\nevent: message\n\n`).join('')}event: message\ndata: ${notice('file:///public/a')}\n\n`,
      );
    }
  });
});

describe('header fields that Connection names', () => {
  test('reach the server as they were judged', async (t) => {
    const body = call('echo');
    const client = await connectWire(t, gateway.port);
    client.send(
      [
        'POST /tools HTTP/1.1',
        'Host: 127.0.0.1',
        'Connection: close, content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, mcp-param-x, x-hop',
        'Content-Type: application/json',
        'MCP-Protocol-Version: 2026-07-28',
        'Mcp-Method: tools/call',
        'Mcp-Name: echo',
        'Mcp-Session-Id: s',
        'Mcp-Param-X: 1',
        'X-Hop: 1',
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n'),
    );
    assert.match(await client.waitForClose(), /^HTTP\/1.1 200 /);
    const [request] = gateway.upstream.requests;
    const expected = {
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
      'mcp-session-id': 's',
      'mcp-param-x': '1',
    };
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(request!.all(name), [value], name);
    assert.deepEqual(request!.all('x-hop'), []);
  });

  test('a subscription is known by its header, so it must have it', async () => {
    const answer = await send('/files', 'subscriptions/listen', {});
    assert.equal(answer.status, 400, answer.body);
    assert.equal(gateway.upstream.headCount, 0);
  });
});

describe('contents of a refusal', () => {
  test('nothing of the rules, and nothing of what there is', async () => {
    const wipe = await gateway.post('/tools', undefined, call('wipe'));
    const never = await gateway.post('/tools', undefined, call('never'));
    assert.equal(wipe.status, 200);
    assert.equal(wipe.body.replace('wipe', 'never'), never.body);
    const names = (answer: FlowAnswer): string[] => Object.keys(answer.headers).toSorted();
    assert.deepEqual(names(wipe), names(never));
    for (const answer of [wipe, await gateway.post('/force', undefined, call('x', { force: 1 }))])
      assert.doesNotMatch(
        answer.body + JSON.stringify(answer.headers),
        /echo|exists|matchExpressions|-backend|default\//,
      );
    assert.equal(gateway.upstream.headCount, 0);
  });
});

describe('messages that cost more than they are worth', () => {
  // Without a bound each of these keeps the gateway from everything else for minutes: the tests would not end.
  test('keys that take long to compare', async () => {
    const marks = '\u0315\u0300'.repeat(900_000);
    for (const key of [`path${marks}`, marks, '\ufdfa'.repeat(1_300_000)]) {
      const answer = await gateway.post('/arguments', undefined, call('x', { [key]: 1 }));
      assert.ok(answer.status === 200 || answer.status === 400, answer.body);
    }
    assert.equal((await gateway.post('/arguments', undefined, call('x', { [`path${marks}`]: 1 }))).status, 400);
  });

  test('a batch of millions, and as many subscriptions', async () => {
    const batch = await gateway.post('/tools', undefined, `[${'1,'.repeat(2_000_000)}1]`);
    assert.equal(batch.status, 400);
    const uris = Array.from({ length: 1_001 }, () => 'file:///public/a');
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
    const watch = { notifications: { resourceSubscriptions: uris } };
    assert.equal((await send('/files', 'subscriptions/listen', watch, headers)).status, 400);
    assert.equal(gateway.upstream.headCount, 0);
  });

  test('a body that comes byte by byte takes no more memory than its bytes', async (t) => {
    const pid = gateway.run.child.pid;
    const block = Buffer.from('1\r\n \r\n'.repeat(50_000), 'latin1');
    const clients = await Promise.all(Array.from({ length: 4 }, () => connectWire(t, gateway.port)));
    const earlier = readResidentBytes(pid);
    for (const client of clients) {
      client.send(
        'POST /tools HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
      for (let sent = 0; sent < 20; sent += 1)
        await new Promise<void>((resolve) => client.socket.write(block, () => resolve()));
    }
    // A round trip through the gateway: what was sent before has been read.
    for (let round = 0; round < 20; round += 1) await gateway.post('/tools', undefined, call('wipe'));
    const grown = readResidentBytes(pid) - earlier;
    t.diagnostic(`${Math.round(grown / megabyte)} MiB`);
    assert.ok(grown < 300 * megabyte, `${Math.round(grown / megabyte)} MiB for 4 MiB of bodies`);
  });
});
