// What a client up to 2025-11-25 asks for once, at a target that speaks 2026-07-28: the level of logs goes into each request, subscriptions into the stream.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { type WishLimits, WishTable } from '../../src/gateway/mcp/federation/session-wishes.ts';
import type { Speaker } from '../../src/gateway/mcp/federation/target.ts';
import { waitFor } from '../kit/wait-for.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import {
  ask,
  connectTo,
  type Outcome,
  readText,
  speakAs,
  startAsk,
  startListening,
} from './federation-target-fixture.ts';
import { answerTo, beginStream, type Message, script, type Scripted, sendJson, writeEvent } from './scripted-target.ts';

const updated = 'notifications/resources/updated';
const text = (said: string): object => ({ content: [{ type: 'text', text: said }], resultType: 'complete' });
const printError = ({ answer, failure }: Outcome): string =>
  answer?.error === undefined
    ? JSON.stringify(answer?.result ?? failure?.kind)
    : `${answer.error.code} ${answer.error.message} ${JSON.stringify(answer.error.data)}`;

/** A stream of `subscriptions/listen` at a scripted server. */
interface Stream {
  readonly uris: readonly string[];
  readonly response: ServerResponse;
  acknowledge(uris?: readonly string[]): void;
  say(method: string, params?: object): void;
}

interface Listened extends Scripted {
  /** The open ones, the oldest first. */
  readonly streams: Stream[];
  /** All that were ever asked for, by their URIs. */
  readonly asked: (readonly string[])[];
}

/** A server that acknowledges what it is asked for, unless the test does it. */
async function serveStreams(t: TestContext, onStream = (stream: Stream) => stream.acknowledge()): Promise<Listened> {
  const streams: Stream[] = [];
  const asked: (readonly string[])[] = [];
  const scripted = await script(
    t,
    'modern',
    (message, response) => {
      if (message.method !== 'subscriptions/listen') return sendJson(response, answerTo(message, text('well')));
      const { resourceSubscriptions: uris = [] } = message.params!['notifications'] as Record<string, string[]>;
      const say = (method: string, params: object = {}): void =>
        writeEvent(response, {
          jsonrpc: '2.0',
          method,
          params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': message.id } },
        });
      const stream: Stream = {
        uris,
        response,
        say,
        acknowledge: (honored = uris) =>
          say('notifications/subscriptions/acknowledged', { notifications: { resourceSubscriptions: honored } }),
      };
      beginStream(response);
      response.flushHeaders();
      streams.push(stream);
      asked.push(uris);
      response.on('close', () => streams.splice(streams.indexOf(stream), 1));
      onStream(stream);
    },
    {},
    { resources: { subscribe: true } },
  );
  return { ...scripted, streams, asked };
}

function limited(limits: Partial<WishLimits>): Speaker {
  const speaker = speakAs('legacy');
  return { ...speaker, sessions: { ...speaker.sessions!, wishes: new WishTable({ isEnded: () => false, limits }) } };
}

const subscribe = 'resources/subscribe';
const unsubscribe = 'resources/unsubscribe';

test('a change is heard as soon as the subscription is answered, and not after it is taken back', async (t) => {
  const server: FederationServer = await startFederationServer({
    name: 'one',
    era: 'modern',
    resources: [{ uri: 'file:///a', name: 'a' }],
  });
  const connected = connectTo({ ports: [server.port] });
  t.after(async () => {
    await connected.close();
    await server.close();
  });
  const { target } = connected;
  const speaker = speakAs('legacy');
  await target.introduce(speaker);
  const heard = startListening(target, speaker);
  const uris = (): string[] =>
    heard.messages
      .filter(({ method }) => method === updated)
      .map((message) => (JSON.parse(message.text) as { params: { uri: string } }).params.uri);
  const all = ['file:///a', 'file:///b', 'file:///c'];
  for (const [index, uri] of all.entries()) {
    assert.deepEqual((await ask(target, speaker, subscribe, { uri })).answer?.result, {});
    // Once: what comes after the answer is not missed.
    await server.tellUpdated(uri);
    await waitFor('the change is heard', () => uris().length > index);
    assert.deepEqual((await ask(target, speaker, unsubscribe, { uri })).answer?.result, {});
    await server.tellUpdated(uri);
  }
  assert.deepEqual(uris(), all);
  heard.call.abort(true);
});

test('what a server leaves out, refuses or does not know is no subscription; each with its answer', async (t) => {
  let answer: (message: Message, response: ServerResponse) => void = () => {};
  const { target } = await script(t, 'modern', (message, response) => {
    if (message.method === 'initialize') sendJson(response, {}, 400);
    else answer(message, response);
  });
  const speaker = speakAs('legacy');
  await target.introduce(speaker);
  const error =
    (code: number, message: string, data?: object, status = 200) =>
    (asked: Message, response: ServerResponse): void =>
      sendJson(response, { jsonrpc: '2.0', id: asked.id, error: { code, message, data } }, status);
  const acknowledged = { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged' };
  const cases: [typeof answer, string][] = [
    [
      (_asked, response) => {
        beginStream(response);
        writeEvent(response, { ...acknowledged, params: { notifications: { resourceSubscriptions: ['x:2'] } } });
      },
      '-32602 The server does not tell of changes of this resource. {"uri":"x:1"}',
    ],
    [
      (asked, response) => {
        beginStream(response);
        writeEvent(response, { ...acknowledged, params: { notifications: {} } });
        writeEvent(response, answerTo(asked, { resultType: 'complete' }));
        response.end();
      },
      '-32602 The server does not tell of changes of this resource. {"uri":"x:1"}',
    ],
    [error(-32_602, 'Resource not found', { uri: 'x:1' }), '-32002 Resource not found {"uri":"x:1"}'],
    [error(-32_602, 'Resource not found', { uri: 'x:1' }, 400), '-32002 Resource not found {"uri":"x:1"}'],
    [error(-32_601, 'Method not found', undefined, 404), '-32601 Method not found undefined'],
    [error(-32_603, 'Subscription limit reached'), '-32603 Subscription limit reached undefined'],
    [error(-32_000, 'No.', undefined, 403), '"refused"'],
    [
      (_asked, response) => {
        beginStream(response);
        response.end();
      },
      '"no-answer"',
    ],
  ];
  for (const [given, expected] of cases) {
    answer = given;
    assert.equal(printError(await ask(target, speaker, subscribe, { uri: 'x:1' })), expected);
    assert.equal(speaker.sessions!.wishes.size, 0);
  }
});

test('a server that refuses a stream with one more resource: the client learns of it, and hears of the others as before', async (t) => {
  const streams: { readonly uris: readonly string[]; readonly response: ServerResponse }[] = [];
  const { target } = await script(
    t,
    'modern',
    ({ method, params }, response) => {
      if (method !== 'subscriptions/listen') return sendJson(response, {}, 400);
      const { resourceSubscriptions: uris = [] } = params!['notifications'] as Record<string, string[]>;
      if (uris.length > 1) return sendJson(response, { error: 'too much' }, 403);
      beginStream(response);
      const notifications = { resourceSubscriptions: uris };
      writeEvent(response, {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications },
      });
      streams.push({ uris, response });
    },
    {},
    { resources: { subscribe: true } },
  );
  const speaker = speakAs('legacy');
  await target.introduce(speaker);
  const heard = startListening(target, speaker);
  assert.equal(printError(await ask(target, speaker, subscribe, { uri: 'x:1' })), '{}');
  assert.equal(
    printError(await ask(target, speaker, subscribe, { uri: 'x:2' })),
    '-32603 The server refuses a stream that tells of this resource as well. {"uri":"x:2"}',
  );
  const { wishes, name } = speaker.sessions!;
  assert.deepEqual([...wishes.listUris(name, target.config.name)], ['x:1']);
  const { response } = streams.findLast(({ uris, response: { destroyed } }) => uris.includes('x:1') && !destroyed)!;
  writeEvent(response, { jsonrpc: '2.0', method: updated, params: { uri: 'x:1' } });
  await waitFor('the change is heard', () => heard.messages.some(({ method }) => method === updated));
  heard.call.abort(true);
});

test('a server that does not say what it will tell of is not waited for without end', async (t) => {
  const { target, streams } = await serveStreams(t, () => {});
  const speaker = speakAs('legacy');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked = startAsk(target, speaker, subscribe, { uri: 'x:1' });
  // Not `waitFor`, which needs the timers.
  for (let turn = 0; turn < 1_000_000 && streams.length === 0; turn += 1)
    // eslint-disable-next-line no-await-in-loop
    await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(15_000);
  assert.equal(printError(await asked.done), '"timeout"');
  t.mock.timers.reset();
  assert.equal(speaker.sessions!.wishes.size, 0);
  await waitFor('the stream is closed', () => streams.length === 0);
});

test('unsubscribing: what was never subscribed costs no request, and what is kept goes also when the server is down', async (t) => {
  const server = await startFederationServer({ name: 'one', era: 'modern', resources: [] });
  const connected = connectTo({ ports: [server.port] });
  t.after(async () => {
    await connected.close();
    await server.close();
  });
  const { target } = connected;
  const speaker = speakAs('legacy');
  await target.introduce(speaker);
  server.forgetRequests();
  assert.equal(printError(await ask(target, speaker, unsubscribe, { uri: 'x:1' })), '{}');
  assert.equal(server.requests.length, 0);
  assert.equal(printError(await ask(target, speaker, subscribe, { uri: 'x:1' })), '{}');
  // Again, and the server is not asked again.
  assert.equal(printError(await ask(target, speaker, subscribe, { uri: 'x:1' })), '{}');
  assert.equal(server.listRequests('subscriptions/listen').length, 1);
  await server.kill();
  await waitFor('it is known to be down', async () => {
    await ask(target, speaker, 'tools/list');
    return target.describe().health === 'down';
  });
  assert.equal(printError(await ask(target, speaker, subscribe, { uri: 'x:2' })), '"down"');
  assert.equal(printError(await ask(target, speaker, unsubscribe, { uri: 'x:1' })), '{}');
  assert.equal(speaker.sessions!.wishes.listUris(speaker.sessions!.name, 'one').size, 0);
  assert.equal(printError(await ask(target, speaker, unsubscribe, { uri: 'x:1' })), '"down"');
});

test('limits', async (t) => {
  const { target } = await serveStreams(t);
  const at = async (speaker: Speaker, uris: readonly string[]): Promise<string[]> => {
    const said: string[] = [];
    // eslint-disable-next-line no-await-in-loop
    for (const uri of uris) said.push(printError(await ask(target, speaker, subscribe, { uri })));
    return said;
  };
  assert.deepEqual(await at(limited({ uris: 2, uriLength: 5 }), ['x:1', 'x:2', 'x:3', 'x:1', 'x:1234']), [
    '{}',
    '{}',
    '-32603 A session has at most 2 subscriptions at a server that speaks 2026-07-28. undefined',
    '{}',
    '-32602 The URI is longer than 5 characters. undefined',
  ]);
  assert.deepEqual(await at(limited({ characters: 4 }), ['x:1', 'x:2']), [
    '{}',
    '-32603 The gateway cannot keep more subscriptions at the moment. undefined',
  ]);
});

test('the stream is replaced without a gap, once for all changes that come meanwhile', async (t) => {
  const hold = { isOn: false };
  const held: Stream[] = [];
  const server = await serveStreams(t, (stream) => {
    if (hold.isOn && stream.uris.length !== 1) held.push(stream);
    else stream.acknowledge();
  });
  const { target, streams } = server;
  const speaker = speakAs('legacy');
  await target.introduce(speaker);
  const heard = startListening(target, speaker);
  await waitFor('a stream', () => streams.length === 1);
  assert.equal(printError(await ask(target, speaker, subscribe, { uri: 'x:1' })), '{}');
  await waitFor('it is replaced', () => streams.length === 1 && streams[0]!.uris.length === 1);
  const [first] = streams;
  hold.isOn = true;
  const second = startAsk(target, speaker, subscribe, { uri: 'x:2' });
  await waitFor('the next one', () => held.length === 1);
  assert.deepEqual(held[0]!.uris, ['x:1', 'x:2']);
  const third = startAsk(target, speaker, subscribe, { uri: 'x:3' });
  const { sessions } = speaker;
  await waitFor('the third is kept', () => sessions!.wishes.listUris(sessions!.name, 'one').has('x:3'));
  // The first one still speaks, of lists as well.
  first!.say(updated, { uri: 'x:1' });
  first!.say('notifications/tools/list_changed');
  await waitFor('both are heard', () => heard.messages.length === 2);
  assert.equal(held.length, 1);
  // Taken back before the streams know.
  assert.equal(printError(await ask(target, speaker, unsubscribe, { uri: 'x:1' })), '{}');
  first!.say(updated, { uri: 'x:1' });
  first!.say(updated, { uri: 'x:1/part' });
  await waitFor('the part is heard', () => heard.messages.length === 3);
  assert.match(heard.messages[2]!.text, /x:1\/part/);
  held[0]!.acknowledge();
  const [, last] = await waitFor('one for all changes', () => (held.length === 2 ? held : undefined));
  assert.deepEqual(last!.uris, ['x:2', 'x:3']);
  last!.acknowledge();
  assert.equal(printError(await second.done), '{}');
  assert.equal(printError(await third.done), '{}');
  await waitFor('one is left', () => streams.length === 1);
  assert.equal(streams[0], last);
  heard.call.abort(true);
  await waitFor('none is left', () => streams.length === 0);
  const asked = server.asked.length;
  await ask(target, speaker, unsubscribe, { uri: 'x:2' });
  assert.equal(server.asked.length, asked);
});

test('a stream that broke off begins with all subscriptions, and says that they may have changed', async (t) => {
  const { target, streams } = await serveStreams(t, (stream) => stream.acknowledge(stream.uris.slice(0, 1)));
  const speaker = speakAs('legacy');
  await ask(target, speaker, subscribe, { uri: 'x:1' });
  await ask(target, speaker, subscribe, { uri: 'x:2' });
  const heard = startListening(target, speaker);
  const stream = await waitFor('a stream', () => streams.find(({ uris }) => uris.join(' ') === 'x:1 x:2'));
  stream.response.destroy();
  // Of what the server leaves out now nobody knows whether it has changed.
  await waitFor('it is told', () => heard.messages.length === 4);
  assert.deepEqual(
    heard.messages.map(({ text: said }) => said),
    [
      '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
      '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}',
      '{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}',
      '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:1"}}',
    ],
  );
  heard.call.abort(true);
});

test('a subscription is answered also where a stream does not follow, and by one that ends', async (t) => {
  let isRefusing = false;
  const { target, streams } = await serveStreams(t, (stream) => {
    if (isRefusing && stream.uris.length > 1) stream.response.destroy();
    else stream.acknowledge();
  });
  const speaker = speakAs('legacy');
  const heard = startListening(target, speaker);
  await waitFor('a stream', () => streams.length === 1);
  await ask(target, speaker, subscribe, { uri: 'x:1' });
  isRefusing = true;
  const asked = startAsk(target, speaker, subscribe, { uri: 'x:2' });
  const { sessions } = speaker;
  await waitFor('it is kept', () => sessions!.wishes.listUris(sessions!.name, 'one').has('x:2'));
  heard.call.abort(true);
  assert.equal(printError(await asked.done), '{}');
});

test('the level of logs is in each request, and not in streams', async (t) => {
  const seen: [string | undefined, unknown][] = [];
  const { target } = await script(
    t,
    'modern',
    (message, response) => {
      if (message.method === 'initialize') return sendJson(response, {}, 400);
      const meta = message.params?.['_meta'] as Record<string, unknown>;
      seen.push([message.method, meta['io.modelcontextprotocol/logLevel']]);
      sendJson(response, answerTo(message, text('well')));
    },
    {},
    { logging: {} },
  );
  const speaker = speakAs('legacy');
  const { name, wishes } = speaker.sessions!;
  await ask(target, speaker, 'tools/call', { name: 'x' });
  assert.equal(printError(await ask(target, speaker, 'logging/setLevel', { level: 'warning' })), '{}');
  wishes.setLevel(name, 'warning');
  await ask(target, speaker, 'tools/call', { name: 'x', _meta: { progressToken: 1 } });
  await ask(target, speaker, 'prompts/get', { name: 'x' });
  await ask(target, speakAs('legacy'), 'tools/call', { name: 'x' });
  await ask(target, speakAs('modern'), 'tools/call', {
    name: 'x',
    _meta: { 'io.modelcontextprotocol/logLevel': 'info' },
  });
  await ask(target, speaker, subscribe, { uri: 'x:1' });
  assert.deepEqual(seen, [
    ['tools/call', undefined],
    ['tools/call', 'warning'],
    ['prompts/get', 'warning'],
    ['tools/call', undefined],
    ['tools/call', 'info'],
    ['subscriptions/listen', undefined],
  ]);
});

test('a server without logs does not know the method', async (t) => {
  const { target } = await script(t, 'modern', (message, response) => sendJson(response, answerTo(message, {})));
  const answer = await ask(target, speakAs('legacy'), 'logging/setLevel', { level: 'info' });
  assert.equal(printError(answer), '-32601 Method not found undefined');
});

test('a client of 2026-07-28 gets those log messages of an older server that it asks for', async (t) => {
  const { target } = await script(t, 'legacy', (message, response) => {
    beginStream(response);
    for (const level of ['debug', 'warning', 'error'])
      writeEvent(response, { jsonrpc: '2.0', method: 'notifications/message', params: { level, data: level } });
    writeEvent(response, answerTo(message, text('end')));
    response.end();
  });
  const listen = async (speaker: Speaker, logLevel?: string): Promise<number> => {
    const meta = logLevel === undefined ? {} : { 'io.modelcontextprotocol/logLevel': logLevel };
    const outcome = await ask(target, speaker, 'tools/call', { name: 'x', _meta: meta });
    assert.equal(readText(outcome), 'end');
    return outcome.messages.length - 1;
  };
  const modern = speakAs('modern');
  assert.deepEqual([await listen(modern), await listen(modern, 'warning'), await listen(modern, 'debug')], [0, 2, 3]);
  assert.equal(await listen(speakAs('legacy')), 3);
});
