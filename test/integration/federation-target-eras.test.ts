// Clients of 2026-07-28 at a server with sessions: whose session it is, and what of it each of them sees.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { waitFor } from '../kit/wait-for.ts';
import { startFederationServer } from '../mcp/federation-servers.ts';
import { ask, connectTo, readText, speakAs, startAsk, startListening } from './federation-target-fixture.ts';
import { answerTo, beginStream, type Message, script, sendJson, writeEvent } from './scripted-target.ts';

const text = (said: string): object => ({ content: [{ type: 'text', text: said }] });

test('a subscription of 2026-07-28 is acknowledged without what an older server refuses', async (t) => {
  const { target } = await script(t, 'legacy', (message, response, request) => {
    if (request.method === 'GET') {
      beginStream(response);
      return response.flushHeaders();
    }
    const error = { code: -32_002, message: 'Resource not found' };
    const isKnown = message.params?.['uri'] !== 'x:2';
    sendJson(response, isKnown ? answerTo(message, {}) : { jsonrpc: '2.0', id: message.id, error });
  });
  // The second one joins the stream of the first.
  for (const uris of [
    ['x:1', 'x:2'],
    ['x:2', 'x:1'],
  ]) {
    const heard = startListening(target, speakAs('modern'), uris);
    const [first] = await waitFor('the acknowledgement', () =>
      heard.messages.length > 0 ? heard.messages : undefined,
    );
    t.after(() => heard.call.abort(true));
    const { params } = JSON.parse(first!.text) as { params: { notifications: { resourceSubscriptions: string[] } } };
    assert.deepEqual(params.notifications.resourceSubscriptions, ['x:1']);
  }
});

test('a subscription that comes while another one begins is no less one', async (t) => {
  let release = (): void => {};
  const { target, received } = await script(t, 'legacy', (message, response, request) => {
    if (request.method === 'GET') {
      beginStream(response);
      return response.flushHeaders();
    }
    const answer = (): void => sendJson(response, answerTo(message, {}));
    if (message.params?.['uri'] === 'x:1') release = answer;
    else answer();
  });
  const asked = (): unknown[] => received.flatMap(({ params }) => (params as { uri?: string } | undefined)?.uri ?? []);
  const first = startListening(target, speakAs('modern'), ['x:1']);
  await waitFor('the first one is asked for', () => asked().length === 1);
  const second = startListening(target, speakAs('modern'), ['x:2']);
  t.after(() => [first, second].forEach(({ call: listening }) => listening.abort(true)));
  await new Promise((resolve) => setImmediate(resolve));
  release();
  await waitFor('both are acknowledged', () => first.messages.length > 0 && second.messages.length > 0);
  assert.deepEqual(asked(), ['x:1', 'x:2']);
});

test('clients of 2026-07-28 share a session of the server when all that it knows of them is the same, and get their own answers', async (t) => {
  const waiting: { message: Message; response: ServerResponse }[] = [];
  const { target, received } = await script(t, 'legacy', (message, response, request) => {
    if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
    assert.match(String(request.headers['mcp-session-id']), /^s-/);
    beginStream(response);
    waiting.push({ message, response });
    if (waiting.length < 2) return undefined;
    // The last one first.
    for (const each of waiting.splice(0).toReversed()) {
      const { progressToken } = each.message.params!['_meta'] as { progressToken: unknown };
      const params = { progressToken, progress: 1 };
      writeEvent(each.response, { jsonrpc: '2.0', method: 'notifications/progress', params });
      writeEvent(each.response, answerTo(each.message, text(String(each.message.params!['name']))));
      each.response.end();
    }
    return undefined;
  });
  const asked = ['one', 'two'].map((name) =>
    startAsk(target, speakAs('modern'), 'tools/call', { name, _meta: { progressToken: 'p' } }, { id: 7 }),
  );
  for (const [index, { done }] of asked.entries()) {
    const outcome = await done;
    assert.equal(outcome.answer?.id, 7);
    assert.equal(readText(outcome), ['one', 'two'][index]);
    assert.match(outcome.messages[0]!.text, /"progressToken":"p"/);
  }
  const ids = received.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test('another user, client or capability is another session', async (t) => {
  const server = await startFederationServer({ name: 'one', era: 'legacy' });
  const connected = connectTo({ ports: [server.port] });
  t.after(async () => {
    await connected.close();
    await server.close();
  });
  const list = (changes: Parameters<typeof speakAs>[1]): Promise<unknown> =>
    ask(connected.target, speakAs('modern', changes), 'tools/list');
  const seen: number[] = [];
  for (const changes of [
    {},
    {},
    { owner: 'else' },
    { clientInfo: '{"name":"other","version":"1"}' },
    { capabilities: '{"extensions":{"io.modelcontextprotocol/ui":{}}}' },
    // The server is not told of what would let it ask.
    { capabilities: '{"roots":{}}' },
  ]) {
    await list(changes);
    seen.push(server.sessionCount);
  }
  assert.deepEqual(seen, [1, 1, 2, 3, 4, 4]);
  const told = server.listRequests('initialize').map(({ body }) => JSON.parse(body) as { params: object });
  assert.deepEqual(
    told.map(({ params }) => (params as { capabilities: object }).capabilities),
    [{}, {}, {}, { extensions: { 'io.modelcontextprotocol/ui': {} } }],
  );
});
