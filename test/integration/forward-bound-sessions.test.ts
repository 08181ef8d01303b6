// Sessions that are bound to a user, over sockets: they stay on their endpoint, any replica with the key serves them, and nobody else's id opens anything.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { createSealer, createSealKey } from '../../src/base/sealed.ts';
import type { McpConfig } from '../../src/gateway/config/server-config.ts';
import {
  backendOn,
  fetchAnswer,
  openRequest,
  readUntil,
  receiveResponse,
  startForwardingGateway,
  startUpstream,
  type TestGateway,
} from './forwarding-fixture.ts';

const options = { timeout: 180_000 };
const mcp: McpConfig = { target: 'tickets', path: '/mcp', transport: 'streamable-http', sessionRouting: 'stateful' };
const key = createSealKey();

/** A gateway in which the header `user` stands for a token. */
function startBoundGateway(t: TestContext, ports: readonly number[], config: McpConfig): Promise<TestGateway> {
  const sealer = createSealer([key]);
  const backend = backendOn(ports, { mcp: config });
  return startForwardingGateway(t, {
    backend,
    plan: ({ exchange }) => ({
      ...(config.transport === 'sse' && { target: '/sse' }),
      session: {
        sealer,
        issuer: 'https://idp.example.com',
        subject: exchange.headers[exchange.headers.indexOf('user') + 1]!,
        backend: backend.key,
      },
    }),
  });
}

/** Gives out an id and repeats it in every answer, as many servers do. */
async function startServer(t: TestContext, name: string): Promise<number> {
  const { port } = await startUpstream(t, (request, response) => {
    const given = request.headers['mcp-session-id'];
    const id = `${name}-session`;
    if (given !== undefined && given !== id) return void response.writeHead(404).end(`not mine: ${String(given)}`);
    return void response.setHeader('Mcp-Session-Id', id).end(name);
  });
  return port;
}

const send = (gateway: TestGateway, user: string, id?: string): ReturnType<typeof fetchAnswer> =>
  fetchAnswer(gateway, { method: 'POST', headers: { user, ...(id !== undefined && { 'mcp-session-id': id }) } }, '{}');

describe('a bound session', () => {
  test('stays on its endpoint, on every replica, under one id', options, async (t) => {
    const ports = [await startServer(t, 'a'), await startServer(t, 'b')];
    const [first, second] = [await startBoundGateway(t, ports, mcp), await startBoundGateway(t, ports, mcp)];
    for (let round = 0; round < 8; round += 1) {
      const opened = await send(first, 'alice');
      const id = opened.headers['mcp-session-id'] as string;
      assert.ok(!id.includes('session'), 'the id of the server is not shown');
      for (const gateway of [first, second, first]) {
        const answer = await send(gateway, 'alice', id);
        assert.deepEqual([answer.status, answer.body], [200, opened.body]);
        assert.equal(answer.headers['mcp-session-id'], id);
      }
    }
  });

  test('is unknown to everybody else, and so is the id of the server itself', options, async (t) => {
    const gateway = await startBoundGateway(t, [await startServer(t, 'a')], mcp);
    const { headers } = await send(gateway, 'alice');
    const id = headers['mcp-session-id'] as string;
    for (const [user, given] of [
      ['bob', id],
      ['', id],
      ['alice', 'a-session'],
      ['alice', `${id}A`],
    ] as const) {
      const answer = await send(gateway, user, given);
      assert.equal(answer.status, 404);
      assert.equal((JSON.parse(answer.body) as { error: string }).error, 'session_gone');
    }
    assert.equal((await send(gateway, 'alice', id)).status, 200);
  });
});

test('the message URL of a legacy SSE server is bound like a session', options, async (t) => {
  const posts: string[] = [];
  const { port } = await startUpstream(t, (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: endpoint\ndata: /messages?sessionId=1\n\n');
    } else {
      posts.push(request.url!);
      response.writeHead(202).end();
    }
  });
  const config: McpConfig = { ...mcp, transport: 'sse', path: '/sse' };
  const [first, second] = [await startBoundGateway(t, [port], config), await startBoundGateway(t, [port], config)];
  const message = openRequest(first, { path: '/mcp', headers: { user: 'alice' } });
  message.end();
  const event = await readUntil((await receiveResponse(message)) as never, '\n\n');
  const url = /data: (\S+)/.exec(event)![1]!;
  assert.ok(!url.includes('messages'));
  const post = (gateway: TestGateway, user: string): ReturnType<typeof fetchAnswer> =>
    fetchAnswer(gateway, { method: 'POST', path: url, headers: { user } }, '{}');
  assert.equal((await post(first, 'bob')).status, 404);
  assert.deepEqual(posts, []);
  assert.equal((await post(first, 'alice')).status, 202);
  assert.equal((await post(second, 'alice')).status, 202, 'any replica');
  assert.deepEqual(posts, ['/messages?sessionId=1', '/messages?sessionId=1']);
  message.destroy();
});
