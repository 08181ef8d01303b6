// The HTTP+SSE transport of 2024-11-05 behind authentication: its message URLs are its sessions, and belong to who opened them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as startRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test, type TestContext } from 'node:test';
import { startQuirky } from '../idp/auth-setups.ts';
import { listTools, postMcp } from '../idp/flow-client.ts';
import { type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import { waitFor } from '../kit/wait-for.ts';

let idp: QuirkyIdp;
let upstream: Server;
let gateway: ProtectedGateway;
let url: string;
/** Targets of the messages that arrived. */
let messages: string[] = [];
let streams = 0;

before(async () => {
  const started = await startQuirky({}, {});
  idp = started.quirky;
  upstream = createServer((request, response) => {
    if (request.method === 'GET') {
      streams += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: /messages?sessionId=${streams}\n\n`);
      return;
    }
    messages.push(request.url ?? '');
    request.resume();
    response.writeHead(202).end();
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo;
  gateway = await startProtectedGateway({
    backends: [{ path: '/mcp', port, targetPath: '/sse', protocol: 'SSE', authentication: started.authentication }],
  });
  url = gateway.urlOf('/mcp');
});
after(async () => {
  await gateway?.stop();
  await idp?.close();
  upstream?.close();
  upstream?.closeAllConnections();
});
beforeEach(() => {
  messages = [];
});

const issue = (user: string): Promise<string> => idp.issueAccessToken({ user, resource: url });

/** Opens a stream, and reads the URL that it announces. */
async function openStream(t: TestContext, token: string): Promise<string> {
  const request = startRequest(url, { headers: { accept: 'text/event-stream', authorization: `Bearer ${token}` } });
  t.after(() => request.destroy());
  request.on('error', () => {});
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  let text = '';
  response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  response.on('error', () => {});
  await waitFor(() => text.includes('\n\n'));
  return new URL(/^data: (.*)$/m.exec(text)![1]!, url).href;
}

test('a stream without a token is refused', async () => {
  const opened = streams;
  const response = await fetch(url, { headers: { accept: 'text/event-stream' } });
  await response.body?.cancel();
  assert.equal(response.status, 401);
  assert.equal(streams, opened);
});

test('the POST is checked like the GET: it needs a token of the user who opened the stream', async (t) => {
  const endpoint = await openStream(t, await issue('alice'));
  assert.equal(new URL(endpoint).pathname, '/mcp');
  assert.doesNotMatch(endpoint, /sessionId/, 'the URL of the server is sealed');
  const post = async (token?: string, target = endpoint): Promise<number> =>
    (await postMcp(target, listTools, token === undefined ? {} : { authorization: `Bearer ${token}` })).status;
  assert.equal(await post(), 401);
  assert.equal(await post('x'), 401);
  assert.equal(await post(await issue('bob')), 404);
  assert.ok([400, 404].includes(await post(await issue('alice'), `${endpoint}x`)));
  assert.deepEqual(messages, []);
  assert.equal(await post(await issue('alice')), 202);
  assert.equal(messages.length, 1);
  assert.match(messages[0]!, /^\/messages\?sessionId=\d+$/);
});
