// Streams that are open while the rules over messages change, through a real gateway: clients are told which lists look different now, between
// the events of the server and once, and what passes on the stream from then on passes under the new rules.
import assert from 'node:assert/strict';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { ask, openRequest, receiveResponse, resource, startUpstream, type Upstream } from './gateway-fixture.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const tool = (name: string): string => `mcp.tool.name == "${name}"`;
const prompt = (name: string): string => `mcp.prompt.name == "${name}"`;

/** Rules for a backend. */
function rulesFor(backend: string, action: string, ...matchExpressions: string[]): object {
  return resource('gateway.proxy/v1alpha1', 'ProxyPolicy', `rules-${backend}`, {
    spec: {
      targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: backend }],
      backend: { mcp: { authorization: { action, policy: { matchExpressions } } } },
    },
  });
}

let upstream: Upstream;
let gateway: GatewayRun;
let marks = 0;

/** The streams that the upstream has open, by path. */
const opened = new Map<string, ServerResponse>();

function listResources(port: number, policies: readonly object[], mark = 0): object[] {
  return [
    gatewayResource(port),
    routeResource('all', [
      ruleTo('/stream', 'stream'),
      ruleTo('/other', 'other'),
      ruleTo('/legacy', 'legacy'),
      // Tells which configuration is in force.
      {
        matches: [{ path: { type: 'Exact', value: `/mark-${mark}` } }],
        filters: [{ type: 'RequestRedirect', requestRedirect: { statusCode: 302, hostname: 'here.test' } }],
      },
    ]),
    backendResource('stream', upstream.port),
    backendResource('other', upstream.port, '/other'),
    resource('gateway.proxy/v1alpha1', 'ProxyBackend', 'legacy', {
      spec: {
        mcp: {
          targets: [
            { name: 'legacy', static: { host: '127.0.0.1', port: upstream.port, path: '/sse', protocol: 'SSE' } },
          ],
        },
      },
    }),
    ...policies,
  ];
}

/** Puts these policies in force. */
async function configure(...policies: object[]): Promise<void> {
  marks += 1;
  gateway.write(listResources(gateway.port, policies, marks));
  await waitFor(async () => (await ask(gateway.port, { path: `/mark-${marks}` })).status === 302);
}

/** A stream as a client has it. */
interface ClientStream {
  readonly message: ClientRequest;
  readonly response: IncomingMessage;
  /** Everything that came. */
  readonly text: () => string;
  /** The methods of the notifications that came, in order. */
  readonly notifications: () => string[];
  /** True once the stream has ended, cleanly or not. */
  readonly ended: () => 'no' | 'clean' | 'broken';
}

async function openStream(
  path: string,
  init: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {},
): Promise<ClientStream> {
  const { body, ...request } = init;
  const message = openRequest(gateway.port, {
    path,
    ...request,
    headers: { accept: 'text/event-stream', ...init.headers },
  });
  message.end(body);
  const response = await receiveResponse(message);
  let text = '';
  let ended: 'no' | 'clean' | 'broken' = 'no';
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  response.on('end', () => (ended = 'clean'));
  response.on('error', () => (ended = 'broken'));
  return {
    message,
    response,
    text: () => text,
    ended: () => ended,
    notifications: () =>
      Array.from(text.matchAll(/"method":"notifications\/(\w+)\/list_changed"/g), (match) => match[1]!),
  };
}

const list = (id: number, ...names: string[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { tools: names.map((name) => ({ name })) } });

before(async () => {
  upstream = await startUpstream();
  const serveEvents = (path: string, first: string): void =>
    upstream.handle(path, (request, response) => {
      if (request.method === 'GET' || request.headers['mcp-method'] === 'subscriptions/listen') {
        opened.set(path, response);
        response.writeHead(200, {
          'content-type': 'text/event-stream',
          'x-encoding': request.headers['accept-encoding'] ?? '',
        });
        response.flushHeaders();
        if (first !== '') response.write(first);
        return;
      }
      request.resume().on('end', () => response.writeHead(202).end('Accepted'));
    });
  serveEvents('/mcp', '');
  serveEvents('/other', '');
  serveEvents('/sse', 'event: endpoint\ndata: /messages?session=1\n\n');
  upstream.handle(
    '/messages',
    (request, response) => void request.resume().on('end', () => response.writeHead(202).end('Accepted')),
  );
  gateway = await runGateway({ resources: (port) => listResources(port, []) });
});

after(async () => {
  await gateway?.stop();
  await upstream?.close();
});

beforeEach(() => configure());

describe('the stream of a GET', () => {
  test(
    'that was opened without rules: its client is told once of what changed, and not of what did not',
    options,
    async (t) => {
      const stream = await openStream('/stream', { headers: { 'accept-encoding': 'gzip' } });
      const other = await openStream('/other');
      t.after(() => {
        stream.message.destroy();
        other.message.destroy();
      });
      assert.equal(stream.response.headers['x-encoding'], 'identity');

      await configure(rulesFor('stream', 'Deny', tool('a')));
      await waitFor(() => stream.notifications().length > 0);
      assert.equal(
        stream.text(),
        'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n',
      );
      // Edits that change nothing for this backend's lists.
      await configure(rulesFor('stream', 'Deny', tool('a'), tool('a')));
      await configure(rulesFor('stream', 'Deny', tool('a')), rulesFor('legacy', 'Deny', tool('a')));
      await configure(rulesFor('stream', 'Deny', tool('a'), prompt('p')));
      await waitFor(() => stream.notifications().length > 1);
      await configure();
      await waitFor(() => stream.notifications().length > 3);
      await configure(rulesFor('stream', 'Allow', tool('a')));
      await waitFor(() => stream.notifications().length > 6);
      assert.deepEqual(stream.notifications(), [
        'tools',
        'prompts',
        'tools',
        'prompts',
        'tools',
        'prompts',
        'resources',
      ]);
      assert.equal(other.text(), '');
    },
  );

  test('never in the middle of an event', options, async (t) => {
    const stream = await openStream('/stream');
    t.after(() => stream.message.destroy());
    const server = opened.get('/mcp')!;
    server.write('id: 1\ndata: {"a":');
    await waitFor(() => stream.text() !== '');
    await configure(rulesFor('stream', 'Deny', tool('a')));
    assert.equal(stream.text(), 'id: 1\ndata: {"a":');
    server.write('1}\n\nid: 2\ndata: 2\n\n');
    await waitFor(() => stream.text().endsWith('data: 2\n\n'));
    assert.equal(
      stream.text(),
      'id: 1\ndata: {"a":1}\n\nevent: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\nid: 2\ndata: 2\n\n',
    );
  });

  test('lists on it are judged by the rules that are in force when they come', options, async (t) => {
    const stream = await openStream('/stream');
    t.after(() => stream.message.destroy());
    const server = opened.get('/mcp')!;
    const received: string[] = [];
    let id = 0;
    const sendList = async (): Promise<string> => {
      id += 1;
      server.write(`data: ${list(id, 'a', 'b')}\n\n`);
      await waitFor(() => stream.text().includes(`"id":${id},`));
      const message = new RegExp(`data: (\\{"jsonrpc":"2.0","id":${id},.*)\\n`).exec(stream.text())![1]!;
      return (JSON.parse(message) as { result: { tools: { name: string }[] } }).result.tools
        .map(({ name }) => name)
        .join(' ');
    };
    received.push(await sendList());
    await configure(rulesFor('stream', 'Deny', tool('a')));
    received.push(await sendList());
    await configure(rulesFor('stream', 'Deny', tool('b')));
    received.push(await sendList());
    // Half an event is held back when the rules change under it: it is judged by the new ones.
    server.write(`data: ${list(100, 'a', 'b').slice(0, 30)}`);
    await configure(rulesFor('stream', 'Deny', tool('a'), tool('b')));
    server.write(`${list(100, 'a', 'b').slice(30)}\n\n`);
    await waitFor(() => stream.text().includes(list(100)));
    await configure();
    received.push(await sendList());
    assert.deepEqual(received, ['a b', 'b', 'a', 'a b']);
  });

  test('rules that do not let the caller have it end it', options, async (t) => {
    const stream = await openStream('/stream');
    t.after(() => stream.message.destroy());
    await configure(rulesFor('stream', 'Require', 'has(jwt.sub)'));
    await waitFor(() => stream.ended() !== 'no');
    assert.equal(stream.ended(), 'broken');
    assert.equal((await ask(gateway.port, { path: '/stream' })).status, 403);
  });
});

const updated = (uri: string, params: object = {}): string =>
  `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri, ...params } })}\n\n`;
const notHidden = '!mcp.resource.uri.startsWith("file:///hidden")';

describe('notices about resources', () => {
  for (const [title, path, upstreamPath, policy] of [
    ['the stream of a GET', '/stream', '/mcp', 'stream'],
    ['the stream of the older SSE transport', '/legacy', '/sse', 'legacy'],
  ] as const)
    test(`on ${title} reach only who may read the resource`, options, async (t) => {
      await configure(rulesFor(policy, 'Require', notHidden));
      const stream = await openStream(path);
      t.after(() => stream.message.destroy());
      if (path === '/legacy') await waitFor(() => stream.text().endsWith('\n\n'));
      const opening = stream.text();
      const server = opened.get(upstreamPath)!;
      server.write(updated('file:///hidden/a'));
      server.write(`id: 7\nevent: message\n${updated('file:///hidden/b').replaceAll('/', '\\/')}`);
      server.write(`id: 8\n${updated('file:///a')}`);
      await waitFor(() => stream.text().includes('id: 8\n') && stream.text().endsWith('\n\n'));
      assert.equal(stream.text().slice(opening.length), `id: 7\nevent: message\n\nid: 8\n${updated('file:///a')}`);
      // Rules that came while it was open count as well.
      await configure(rulesFor(policy, 'Require', notHidden.replace('hidden', 'a')));
      await waitFor(() => stream.notifications().length > 0);
      const told = stream.text();
      server.write(updated('file:///a') + updated('file:///hidden/a'));
      await waitFor(() => stream.text().length > told.length);
      assert.equal(stream.text().slice(told.length), updated('file:///hidden/a'));
    });
});

describe('the stream of the older SSE transport', () => {
  test('its client is told after the endpoint event, and lists on it are filtered from then on', options, async (t) => {
    const stream = await openStream('/legacy');
    t.after(() => stream.message.destroy());
    await waitFor(() => stream.text().endsWith('\n\n'));
    const endpoint = /^event: endpoint\ndata: (\/legacy\?mcp-endpoint=\S+)\n\n$/.exec(stream.text())![1]!;
    const server = opened.get('/sse')!;
    server.write(`event: message\ndata: ${list(1, 'a', 'b')}\n\n`);
    await waitFor(() => stream.text().includes(list(1, 'a', 'b')));
    await configure(rulesFor('legacy', 'Deny', tool('a')));
    await waitFor(() => stream.notifications().length > 0);
    // A list request is accepted as ever; its answer comes on the stream.
    const headers = { 'content-type': 'application/json' };
    const accepted = await ask(
      gateway.port,
      { method: 'POST', path: endpoint, headers },
      '{"jsonrpc":"2.0","id":2,"method":"tools/list"}',
    );
    assert.deepEqual([accepted.status, accepted.body], [202, 'Accepted']);
    server.write(`event: message\ndata: ${list(2, 'a', 'b')}\n\n`);
    await waitFor(() => stream.text().includes('"id":2'));
    assert.ok(stream.text().endsWith(`event: message\ndata: ${list(2, 'b')}\n\n`), stream.text());
    const refused = await ask(
      gateway.port,
      { method: 'POST', path: endpoint, headers },
      '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a"}}',
    );
    assert.ok(refused.status >= 400, refused.body);
  });
});

describe('subscriptions/listen', () => {
  const listen = (
    id: unknown,
    notifications: object,
  ): { method: string; headers: Record<string, string>; body: string } => ({
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-method': 'subscriptions/listen',
      'mcp-protocol-version': '2026-07-28',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'subscriptions/listen',
      params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }, notifications },
    }),
  });
  const acknowledge = (id: unknown, notifications: object): string =>
    `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': id } } })}\n\n`;

  test(
    'its client is told what it asked for, in the name of the subscription, after the acknowledgement',
    options,
    async (t) => {
      const stream = await openStream('/stream', listen('listen:0', { toolsListChanged: true }));
      t.after(() => stream.message.destroy());
      const server = opened.get('/mcp')!;
      await configure(rulesFor('stream', 'Allow', tool('a')));
      const acknowledgement = acknowledge('listen:0', { toolsListChanged: true });
      server.write(acknowledgement);
      await waitFor(() => stream.notifications().length > 0);
      const notification =
        'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}}}\n\n';
      assert.equal(stream.text(), acknowledgement + notification);
      await configure(rulesFor('stream', 'Allow', tool('b')));
      await waitFor(() => stream.notifications().length > 1);
      assert.equal(stream.text(), acknowledgement + notification + notification);
    },
  );

  const filter = { toolsListChanged: true, resourceSubscriptions: ['file:///a', 'file:///b'] };

  test('notices about resources that the caller may not read do not come', options, async (t) => {
    await configure(rulesFor('stream', 'Require', notHidden));
    const stream = await openStream('/stream', listen(1, filter));
    t.after(() => stream.message.destroy());
    const server = opened.get('/mcp')!;
    const meta = { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } };
    server.write(acknowledge(1, filter) + updated('file:///hidden', meta) + updated('file:///a/part', meta));
    await waitFor(() => stream.text().includes('file:///a/part'));
    assert.equal(stream.text(), acknowledge(1, filter) + updated('file:///a/part', meta));
  });

  test('it is judged again, with the resources that it watches', options, async (t) => {
    await configure(rulesFor('stream', 'Deny', tool('x')));
    const stream = await openStream('/stream', listen(1, filter));
    t.after(() => stream.message.destroy());
    opened.get('/mcp')!.write(acknowledge(1, filter));
    await configure(rulesFor('stream', 'Deny', tool('y')));
    await waitFor(() => stream.notifications().length > 0);
    // Resources that it does not watch.
    await configure(rulesFor('stream', 'Deny', 'mcp.resource.uri == "file:///c"'));
    opened.get('/mcp')!.write(updated('file:///a') + updated('file:///c') + updated('file:///b'));
    await waitFor(() => stream.text().includes(updated('file:///b')));
    assert.ok(!stream.text().includes('file:///c'), stream.text());
    assert.equal(stream.ended(), 'no');
    await configure(rulesFor('stream', 'Deny', 'mcp.resource.uri == "file:///b"'));
    await waitFor(() => stream.ended() !== 'no');
    assert.equal(stream.ended(), 'broken');
  });

  test('rules over the message itself end it, also when there were none before', options, async (t) => {
    for (const policies of [[], [rulesFor('stream', 'Deny', tool('x'))]]) {
      await configure(...policies);
      const stream = await openStream('/stream', listen(1, filter));
      t.after(() => stream.message.destroy());
      opened.get('/mcp')!.write(acknowledge(1, filter));
      await configure(rulesFor('stream', 'Deny', 'mcp.method == "subscriptions/listen"'));
      await waitFor(() => stream.ended() !== 'no');
      assert.equal(stream.ended(), 'broken');
    }
  });

  test('other answers to a POST are left alone', options, async (t) => {
    upstream.handle('/other', (request, response) => {
      request.resume();
      opened.set('/other', response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n');
    });
    const stream = await openStream('/other', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}',
    });
    t.after(() => stream.message.destroy());
    await configure(rulesFor('other', 'Deny', tool('a')));
    opened.get('/other')!.end('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
    await waitFor(() => stream.ended() === 'clean');
    assert.deepEqual(stream.notifications(), []);
  });
});
