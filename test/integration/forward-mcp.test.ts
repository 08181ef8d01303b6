// Sessions of MCP servers stay where they began, and legacy SSE servers are reached through the gateway only.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import type { McpConfig } from '../../src/gateway/config/server-config.ts';
import {
  backendOn,
  connectRaw,
  fetchAnswer,
  findClosedPort,
  openRequest,
  readAll,
  readUntil,
  receiveResponse,
  startForwardingGateway,
  startUpstream,
  withBody,
  type TestGateway,
} from './forwarding-fixture.ts';
import type { IncomingMessage } from 'node:http';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
type Starter = Parameters<typeof startUpstream>[0];

function mcp(overrides: Partial<McpConfig> = {}): McpConfig {
  return { target: 'tickets', path: '/mcp', transport: 'streamable-http', sessionRouting: 'stateful', ...overrides };
}

/** Opens a session without an id, knows only its own ones otherwise. */
async function startServer(t: Starter, name: string): Promise<number> {
  const sessions = new Set<string>();
  const { port } = await startUpstream(t, (request, response) => {
    const given = request.headers['mcp-session-id'] as string | undefined;
    if (given === undefined) {
      const id = `${name}-${sessions.size}`;
      sessions.add(id);
      response.setHeader('Mcp-Session-Id', id).end(name);
    } else if (sessions.has(given)) {
      response.end(`${name} ${given}`);
    } else {
      response.writeHead(404).end('unknown session');
    }
  });
  return port;
}
const open = async (gateway: TestGateway): Promise<{ id: string; server: string }> => {
  const answer = await fetchAnswer(gateway, { method: 'POST' }, '{}');
  return { id: answer.headers['mcp-session-id'] as string, server: answer.body };
};
const use = (gateway: TestGateway, id: string, method = 'POST'): ReturnType<typeof fetchAnswer> =>
  fetchAnswer(gateway, { method, headers: { 'mcp-session-id': id } });

interface LegacyServer {
  readonly port: number;
  readonly streams: ServerResponse[];
  readonly posts: string[];
  readonly headers: IncomingMessage['headers'][];
}

async function startLegacy(t: Starter, announce: (port: number) => string): Promise<LegacyServer> {
  const server: LegacyServer & { port: number } = { port: 0, streams: [], posts: [], headers: [] };
  const { port } = await startUpstream(t, (request, response) => {
    if (request.method === 'GET') {
      server.headers.push(request.headers);
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.write(`event: endpoint\ndata: ${announce(server.port)}\n\n`);
      server.streams.push(response);
    } else {
      void withBody(request, (body) => {
        server.posts.push(`${request.url} ${body}`);
        response.writeHead(202).end('Accepted');
      });
    }
  });
  server.port = port;
  return server;
}

async function readEndpoint(gateway: TestGateway, path = '/mcp'): Promise<{ response: IncomingMessage; url: string }> {
  const message = openRequest(gateway, { path, headers: { 'accept-encoding': 'gzip' } });
  message.end();
  const response = await receiveResponse(message);
  const text = await readUntil(response as never, '\n\n');
  return { response, url: /^event: endpoint\ndata: (.*)\n\n$/.exec(text)![1]! };
}

describe('sessions', () => {
  test(
    'every request of a session goes to the endpoint that opened it, also from another gateway',
    options,
    async (t) => {
      const ports = [await startServer(t, 'a'), await startServer(t, 'b'), await startServer(t, 'c')];
      const backend = backendOn(ports, { mcp: mcp() });
      const gateways = [
        await startForwardingGateway(t, { backend }),
        await startForwardingGateway(t, { backend: backendOn(ports.toReversed(), { mcp: mcp() }) }),
      ];
      const servers = new Set<string>();
      for (let i = 0; i < 20; i++) {
        const { id, server } = await open(gateways[0]!);
        servers.add(server);
        for (const gateway of gateways) {
          for (const method of ['POST', 'GET', 'DELETE'])
            assert.match((await use(gateway, id, method)).body, new RegExp(`^${server} ${server}-\\d+$`));
        }
      }
      assert.equal(servers.size, 3);
    },
  );

  test('from one endpoint to two and back', options, async (t) => {
    const [a, b] = [await startServer(t, 'a'), await startServer(t, 'b')];
    const gateway = await startForwardingGateway(t, { backend: backendOn([a], { mcp: mcp() }) });
    const { id } = await open(gateway);
    gateway.reconcile(backendOn([b, a], { mcp: mcp() }));
    for (let i = 0; i < 5; i++) assert.equal((await use(gateway, id)).body, 'a a-0');
    gateway.reconcile(backendOn([b], { mcp: mcp() }));
    const gone = await use(gateway, id);
    assert.equal(gone.status, 404);
    assert.equal(JSON.parse(gone.body).error, 'session_gone');
  });

  test('an endpoint of a session that is down is 502, not 404, and no other endpoint is asked', options, async (t) => {
    const a = await startServer(t, 'a');
    const dead = await findClosedPort();
    const gateway = await startForwardingGateway(t, { backend: backendOn([a, dead], { mcp: mcp() }) });
    const [, endpoint] = gateway.upstreams.get('default/upstream')!.endpoints;
    const answer = await use(gateway, `x~${endpoint!.tag}`);
    assert.equal(answer.status, 502);
    assert.equal(gateway.contexts[0]!.retries, 0);
  });

  test('a made-up session ID reaches an endpoint of this backend or none', options, async (t) => {
    const gateway = await startForwardingGateway(t, {
      backend: backendOn([await startServer(t, 'a'), await startServer(t, 'b')], { mcp: mcp() }),
    });
    assert.equal(JSON.parse((await use(gateway, 'x~AAAAAA')).body).error, 'session_gone');
    assert.equal((await use(gateway, 'plain')).body, 'unknown session');
    const twice = await fetchAnswer(gateway, { headers: { 'mcp-session-id': ['a', 'b'] } });
    assert.equal(twice.status, 400);
  });

  test('stateless backends and plain HTTP ones keep the ids as they are', options, async (t) => {
    const port = await startServer(t, 'a');
    for (const backend of [backendOn([port], { mcp: mcp({ sessionRouting: 'stateless' }) }), backendOn([port])]) {
      const gateway = await startForwardingGateway(t, { backend });
      const { id } = await open(gateway);
      assert.match(id, /^a-\d+$/);
      assert.equal((await use(gateway, id)).body, `a ${id}`);
    }
  });
});

describe('legacy SSE', () => {
  const legacy = mcp({ transport: 'sse', path: '/sse' });
  const plan = { plan: () => ({ target: '/sse' }) };

  test('the client posts through the gateway to what the server announced', options, async (t) => {
    const server = await startLegacy(t, () => '/messages?sessionId=1');
    const gateway = await startForwardingGateway(t, { backend: backendOn([server.port], { mcp: legacy }), ...plan });
    const { response, url } = await readEndpoint(gateway, '/mcp?team=a');
    assert.match(url, /^\/mcp\?team=a&mcp-endpoint=/);
    assert.equal(server.headers[0]!['accept-encoding'], 'identity');
    const posted = await fetchAnswer(gateway, { method: 'POST', path: url }, '{"a":1}');
    assert.deepEqual([posted.status, posted.body], [202, 'Accepted']);
    assert.deepEqual(server.posts, ['/messages?sessionId=1 {"a":1}']);
    // Everything after the announcement passes untouched and at once.
    for (const event of ['event: message\ndata: {}\n\n', 'data: event: endpoint\n\n']) {
      server.streams[0]!.write(event);
      assert.equal(await readUntil(response as never, '\n\n'), event);
    }
    // Another announcement could lead the client to another route of the gateway.
    server.streams[0]!.write('event: endpoint\ndata: /x\n\n');
    await assert.rejects(readUntil(response as never, '\n\n'));
    assert.equal((await gateway.finished(0)).context.reason, 'upstream_protocol_error');
  });

  test('absolute URLs of the server itself are its own', options, async (t) => {
    const server = await startLegacy(t, (port) => `http://127.0.0.1:${port}/messages/?session_id=abc`);
    const gateway = await startForwardingGateway(t, { backend: backendOn([server.port], { mcp: legacy }), ...plan });
    const { url } = await readEndpoint(gateway);
    await fetchAnswer(gateway, { method: 'POST', path: url }, 'x');
    assert.deepEqual(server.posts, ['/messages/?session_id=abc x']);
  });

  test('an announcement of another origin ends the stream and is not forwarded', options, async (t) => {
    const server = await startLegacy(t, () => 'https://evil.example/collect');
    const gateway = await startForwardingGateway(t, { backend: backendOn([server.port], { mcp: legacy }), ...plan });
    const socket = await connectRaw(t, gateway.port);
    socket.write('GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n');
    const received = await readAll(socket);
    assert.ok(!received.includes('evil.example') && !received.includes('\r\n0\r\n'), received);
    assert.equal((await gateway.finished(0)).context.reason, 'upstream_protocol_error');
    await waitFor(() => server.streams[0]!.closed);
  });

  test('a session stays on its endpoint, from any gateway with the same key', options, async (t) => {
    const servers = [await startLegacy(t, () => '/messages?s=1'), await startLegacy(t, () => '/messages?s=2')];
    const backend = backendOn(
      servers.map(({ port }) => port),
      { mcp: legacy },
    );
    const legacySseKey = new Uint8Array(32).fill(1);
    const gateways = [
      await startForwardingGateway(t, { backend, legacySseKey, ...plan }),
      await startForwardingGateway(t, { backend, legacySseKey, ...plan }),
    ];
    const stranger = await startForwardingGateway(t, { backend, ...plan });
    for (let i = 0; i < 10; i++) {
      const { url } = await readEndpoint(gateways[0]!);
      const owner = servers.findIndex(
        ({ streams }, index) =>
          streams.length > 0 && gateways[0]!.contexts.at(-1)!.endpoint === `127.0.0.1:${servers[index]!.port}`,
      );
      const before = servers.map(({ posts }) => posts.length);
      for (const gateway of gateways) await fetchAnswer(gateway, { method: 'POST', path: url }, 'x');
      assert.deepEqual(
        servers.map(({ posts }, index) => posts.length - before[index]!),
        owner === 0 ? [2, 0] : [0, 2],
      );
      assert.equal((await fetchAnswer(stranger, { method: 'POST', path: url }, 'x')).status, 404);
    }
    const { url } = await readEndpoint(gateways[0]!);
    gateways[0]!.reconcile(backendOn([await findClosedPort()], { mcp: legacy }));
    assert.equal(
      JSON.parse((await fetchAnswer(gateways[0]!, { method: 'POST', path: url }, 'x')).body).error,
      'session_gone',
    );
  });

  test('no other path of the server can be posted to', options, async (t) => {
    const server = await startLegacy(t, () => '/messages?s=1');
    const gateway = await startForwardingGateway(t, { backend: backendOn([server.port], { mcp: legacy }), ...plan });
    const { url } = await readEndpoint(gateway);
    const [tag, , mac] = url.slice(url.indexOf('mcp-endpoint=') + 13).split('.');
    const forged = `/mcp?mcp-endpoint=${tag}.${Buffer.from('/admin').toString('base64url')}.${mac}`;
    assert.equal(
      JSON.parse((await fetchAnswer(gateway, { method: 'POST', path: forged }, 'x')).body).error,
      'session_gone',
    );
    assert.deepEqual(server.posts, []);
  });

  test(
    'a POST without it goes where the plan says: clients find out that way which transport a server speaks',
    options,
    async (t) => {
      const server = await startLegacy(t, () => '/messages');
      const gateway = await startForwardingGateway(t, { backend: backendOn([server.port], { mcp: legacy }), ...plan });
      await fetchAnswer(gateway, { method: 'POST', path: '/mcp' }, 'x');
      assert.deepEqual(server.posts, ['/sse x']);
    },
  );
});
