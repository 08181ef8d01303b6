// A target of a federation that hangs, breaks off, sends garbage, or answers what nobody asked: each with an exact answer.
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { waitFor } from '../kit/wait-for.ts';
import { startFederationServer } from '../mcp/federation-servers.ts';
import { ask, connectTo, readText, speakAs, startAsk, startListening } from './federation-target-fixture.ts';
import { answerTo, beginStream, type Message, script, sendJson, writeEvent } from './scripted-target.ts';

const text = (said: string): object => ({ content: [{ type: 'text', text: said }], resultType: 'complete' });
/** Clients of 2026-07-28 get log messages only for requests that ask for them. */
const call = { name: 'x', _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } };

const eras = ['legacy', 'modern'] as const;

for (const serverEra of eras)
  for (const era of eras) {
    const title = `${era} client, ${serverEra} server`;

    test(`${title}: garbage in every form`, async (t) => {
      const bodies: [string, string][] = [
        ['application/json', 'no JSON'],
        ['application/json', '{"jsonrpc":"2.0"}'],
        ['application/json', '[]'],
        ['application/json', ''],
        ['application/json', '{"jsonrpc":"2.0","id":1,"result":{},"result":{}}'],
        ['text/html', '<html>'],
        ['text/event-stream', 'data: no JSON\n\n'],
        ['text/event-stream', 'data: 17\n\n'],
        ['text/event-stream', 'data: \xff\n\n'],
      ];
      let next = 0;
      const { target } = await script(t, serverEra, (message, response) => {
        if (message.method !== 'tools/call') return sendJson(response, answerTo(message, text('well')));
        const [type, body] = bodies[next]!;
        next += 1;
        response.writeHead(200, { 'content-type': type }).end(Buffer.from(body, 'latin1'));
      });
      const speaker = speakAs(era);
      while (next < bodies.length) {
        const { failure } = await ask(target, speaker, 'tools/call', call);
        assert.equal(failure?.kind, 'garbage', bodies[next - 1]!.join(' '));
      }
      assert.equal(target.describe().health, 'up');
      assert.ok(target.describe().lastFailure !== undefined);
    });

    test(`${title}: a stream that ends before its answer, and a connection that breaks`, async (t) => {
      let breaks = false;
      const { target } = await script(t, serverEra, (message, response) => {
        if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
        beginStream(response);
        writeEvent(response, { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'a' } });
        setImmediate(() => (breaks ? response.destroy() : response.end()));
      });
      const speaker = speakAs(era);
      const ended = await ask(target, speaker, 'tools/call', call);
      assert.equal(ended.failure?.kind, 'no-answer');
      assert.equal(ended.messages.length, 1);
      breaks = true;
      assert.equal((await ask(target, speaker, 'tools/call', call)).failure?.kind, 'no-answer');
      assert.equal(target.describe().health, 'up');
    });

    test(`${title}: two answers for one id, and answers that nobody asked for`, async (t) => {
      const { target } = await script(t, serverEra, (message, response) => {
        if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
        beginStream(response);
        writeEvent(response, answerTo({ id: 'nobody' }, text('nobody')));
        writeEvent(response, answerTo({ id: 4711 }, text('nobody')));
        writeEvent(response, answerTo(message, text('first')));
        writeEvent(response, answerTo(message, text('second')));
        response.end();
      });
      const outcome = await ask(target, speakAs(era), 'tools/call', call);
      assert.equal(outcome.failure, undefined);
      assert.equal(outcome.messages.length, 1);
      assert.equal(readText(outcome), 'first');
    });

    test(`${title}: a server that does not end its stream after the answer, and one that ignores the client`, async (t) => {
      const { target } = await script(t, serverEra, (message, response) => {
        if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
        beginStream(response);
        writeEvent(response, answerTo(message, text('here')));
      });
      const outcomes = await Promise.all([1, 2, 3].map(() => ask(target, speakAs(era), 'tools/call', call)));
      for (const outcome of outcomes) assert.equal(readText(outcome), 'here');
    });

    test(`${title}: refusals are passed on with their fields`, async (t) => {
      let status = 401;
      const { target } = await script(t, serverEra, (message, response) => {
        if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
        response.setHeader('www-authenticate', 'Bearer scope="more"');
        response.setHeader('retry-after', '7');
        response.setHeader('set-cookie', 'a=b');
        const error = { code: -32_000, message: 'No.' };
        return sendJson(response, { jsonrpc: '2.0', id: message.id, error }, status);
      });
      const speaker = speakAs(era);
      for (status of [401, 403, 429, 502, 503, 504]) {
        const { failure } = await ask(target, speaker, 'tools/call', call);
        assert.equal(failure?.kind, 'refused');
        assert.equal(failure.status, status);
        assert.deepEqual(failure.headers, ['www-authenticate', 'Bearer scope="more"', 'retry-after', '7']);
        assert.equal(failure.detail, `it answered ${status}: No.`);
      }
    });

    test(`${title}: time limits of the backend`, async (t) => {
      const { target } = await script(
        t,
        serverEra,
        (message, response) => {
          if (message.method !== 'tools/call') sendJson(response, answerTo(message, {}));
        },
        { requestTimeoutMs: 200 },
      );
      const { failure } = await ask(target, speakAs(era), 'tools/call', call);
      assert.equal(failure?.kind, 'timeout');
      assert.equal(target.describe().health, 'up');
    });

    test(`${title}: nothing comes after abort, and the server learns of it`, async (t) => {
      let closed = 0;
      const { target, received } = await script(t, serverEra, (message, response) => {
        if (message.method === 'notifications/cancelled') return void response.writeHead(202).end();
        if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
        response.on('close', () => (closed += 1));
        beginStream(response);
        writeEvent(response, { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'a' } });
      });
      const asked = startAsk(target, speakAs(era), 'tools/call', call);
      await waitFor('the first message is there', () => asked.messages.length === 1);
      asked.call.abort(true);
      await waitFor('the stream is closed', () => closed === 1);
      if (serverEra === 'modern') return;
      const cancelled = await waitFor('the server was told', () =>
        received.find(({ method }) => method === 'notifications/cancelled'),
      );
      const asking = received.find(({ method }) => method === 'tools/call');
      assert.deepEqual(cancelled.params, { requestId: asking?.id });
      assert.equal(asked.messages.length, 1);
    });

    test(`${title}: a client that is slow holds up the server, and misses nothing`, async (t) => {
      const count = 50;
      const { target } = await script(t, serverEra, (message, response) => {
        if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
        beginStream(response);
        for (let data = 0; data < count; data += 1)
          writeEvent(response, { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });
        writeEvent(response, answerTo(message, text('end')));
        response.end();
      });
      const asked = startAsk(target, speakAs(era), 'tools/call', call, { takes: () => false });
      let before = 0;
      await waitFor(
        'all have come, one at a time',
        () => {
          assert.ok(asked.messages.length <= before + 1);
          before = asked.messages.length;
          asked.call.resume();
          return before >= count;
        },
        { intervalMs: 0 },
      );
      assert.equal(readText(await asked.done), 'end');
    });
  }

test('a message that is too large', async (t) => {
  const { target } = await script(t, 'modern', (message, response) => {
    if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
    return sendJson(response, answerTo(message, text('x'.repeat(17 * 1024 * 1024))));
  });
  const { failure } = await ask(target, speakAs('modern'), 'tools/call', call);
  assert.equal(failure?.kind, 'garbage');
});

test('a server that asks a client which cannot be asked gets an error, and one in the same era gets its answer', async (t) => {
  const answers: unknown[] = [];
  const waiting: { response?: ServerResponse; message?: Message } = {};
  const { target } = await script(t, 'legacy', (message, response) => {
    if (message.method === undefined) {
      answers.push(message);
      response.writeHead(202).end();
      writeEvent(waiting.response!, answerTo(waiting.message!, text('done')));
      waiting.response!.end();
      return;
    }
    if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
    waiting.response = response;
    waiting.message = message;
    beginStream(response);
    writeEvent(response, { jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} });
  });
  const modern = await ask(target, speakAs('modern'), 'tools/call', call);
  assert.equal(readText(modern), 'done');
  assert.equal(modern.messages.length, 1);
  assert.equal((answers[0] as { error: { code: number } }).error.code, -32_601);

  const speaker = speakAs('legacy');
  const asked = startAsk(target, speaker, 'tools/call', call);
  const question = await waitFor('the question is there', () => asked.messages[0]);
  assert.equal(question.kind, 'request');
  assert.equal(question.id, '"q"');
  assert.equal(await target.notify(speaker, '{"jsonrpc":"2.0","id":"q","result":{"model":"m"}}'), undefined);
  assert.equal(readText(await asked.done), 'done');
  assert.deepEqual(answers[1], { jsonrpc: '2.0', id: 'q', result: { model: 'm' } });
});

test('a stream that a legacy server closes early is taken up where it ended', async (t) => {
  let asked: Message = {};
  const { target, https } = await script(t, 'legacy', (message, response, request) => {
    if (request.method === 'GET') {
      assert.equal(request.headers['last-event-id'], 'e-1');
      beginStream(response);
      writeEvent(response, answerTo(asked, text('late')), 'e-2');
      return void response.end();
    }
    if (message.method !== 'tools/call') return sendJson(response, answerTo(message, {}));
    asked = message;
    beginStream(response);
    response.end('id: e-1\nretry: 5\ndata: \n\n');
  });
  for (const era of eras) assert.equal(readText(await ask(target, speakAs(era), 'tools/call', call)), 'late');
  assert.equal(https.filter((method) => method === 'GET').length, 2);
});

test('the second GET stream of a session is opened when the first is gone', async (t) => {
  const open = new Set<ServerResponse>();
  let refused = 0;
  const { target } = await script(t, 'legacy', (message, response, request) => {
    if (request.method !== 'GET') return sendJson(response, answerTo(message, {}));
    if (open.size > 0) {
      refused += 1;
      return sendJson(response, {}, 409);
    }
    open.add(response);
    response.on('close', () => open.delete(response));
    beginStream(response);
    writeEvent(response, { jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  });
  const speaker = speakAs('legacy');
  await target.introduce(speaker);
  const first = startListening(target, speaker);
  await waitFor('the first hears', () => first.messages.length === 1);
  const second = startListening(target, speaker);
  await waitFor('the second was refused', () => refused > 0);
  first.call.abort(true);
  await waitFor('the second hears', () => second.messages.length === 1);
  second.call.abort(true);
});

test('a stream of notifications that broke off is taken up where it ended, also after a conflict', async (t) => {
  const asked: (string | undefined)[] = [];
  const { target } = await script(t, 'legacy', (message, response, request) => {
    if (request.method !== 'GET') return sendJson(response, answerTo(message, {}));
    const after = request.headers['last-event-id'];
    asked.push(typeof after === 'string' ? after : undefined);
    if (asked.length === 2) return sendJson(response, {}, 409);
    beginStream(response);
    const number = asked.length;
    writeEvent(response, { jsonrpc: '2.0', method: `notifications/n${number}` }, `e-${number}`);
    if (number === 1) setImmediate(() => response.destroy());
  });
  const speaker = speakAs('legacy');
  const heard = startListening(target, speaker);
  await waitFor('it goes on', () => heard.messages.length === 2);
  assert.deepEqual(
    heard.messages.map(({ method, eventId }) => `${method} ${eventId}`),
    ['notifications/n1 e-1', 'notifications/n3 e-3'],
  );
  assert.deepEqual(asked, [undefined, 'e-1', 'e-1']);
  heard.call.abort(true);
});

test('a server without streams ends the listening, and one that refuses says so', async (t) => {
  let status = 405;
  const { target } = await script(t, 'legacy', (message, response, request) => {
    if (request.method === 'GET') return sendJson(response, {}, status);
    return sendJson(response, answerTo(message, {}));
  });
  for (const era of eras) {
    status = 405;
    assert.equal((await startListening(target, speakAs(era)).done).failure, undefined);
    status = 403;
    assert.equal((await startListening(target, speakAs(era)).done).failure?.status, 403);
  }
});

test('a target that is not there: down at once, and at once again', async (t) => {
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const connected = connectTo({ ports: [port] });
  t.after(() => connected.close());
  const { target } = connected;
  let changes = 0;
  target.onHealthChange(() => (changes += 1));
  for (const era of eras) {
    const introduction = await target.introduce(speakAs(era));
    assert.equal(introduction.ok ? undefined : introduction.failure.kind, 'down');
    assert.equal((await ask(target, speakAs(era), 'tools/list')).failure?.kind, 'down');
  }
  assert.equal(target.describe().health, 'down');
  assert.match(target.describe().lastFailure?.detail ?? '', /ECONNREFUSED/);
  assert.equal(changes, 1);
});

test('an argument that its server wants repeated: a header made from the listed schema, after one refusal', async (t) => {
  const seen: (string | undefined)[] = [];
  let field = 'Region';
  const { target, received } = await script(t, 'modern', (message, response, request) => {
    if (message.method === 'tools/list') {
      const inputSchema = { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': field } } };
      return sendJson(response, answerTo(message, { ...text(''), tools: [{ name: 'x', inputSchema }] }));
    }
    const value = request.headers[`mcp-param-${field.toLowerCase()}`];
    seen.push(typeof value === 'string' ? value : undefined);
    if (value === '=?base64?w6Q=?=') return sendJson(response, answerTo(message, text('right')));
    return sendJson(response, { jsonrpc: '2.0', id: message.id, error: { code: -32_020, message: 'No.' } }, 400);
  });
  const params = { name: 'x', arguments: { a: 'ä' } };
  const speaker = speakAs('legacy');
  await target.introduce(speaker);
  received.length = 0;
  seen.length = 0;
  assert.equal(readText(await ask(target, speaker, 'tools/call', params)), 'right');
  assert.deepEqual(seen, [undefined, '=?base64?w6Q=?=']);
  assert.deepEqual(
    received.map(({ method }) => method),
    ['tools/call', 'tools/list', 'tools/call'],
  );
  field = 'Place';
  assert.equal(readText(await ask(target, speaker, 'tools/call', params)), 'right');
  received.length = 0;
  const wrong = await ask(target, speaker, 'tools/call', { name: 'x', arguments: { a: 'b' } });
  assert.equal(wrong.answer?.error?.code, -32_020);
  assert.equal(received.length, 3);
});

test('a lost session is begun again once; what is lost twice is refused', async (t) => {
  const { target, received } = await script(t, 'legacy', (_message, response) => {
    sendJson(response, { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'No session.' } }, 400);
  });
  for (const era of eras) {
    received.length = 0;
    const { failure } = await ask(target, speakAs(era), 'tools/call', call);
    assert.equal(failure?.status, 400);
    assert.equal(received.filter(({ method }) => method === 'tools/call').length, 2);
  }
});

test('callers that nobody knows get a session for each request, which ends with it', async (t) => {
  const { target, https } = await script(t, 'legacy', (message, response) => {
    sendJson(response, answerTo(message, text('well')));
  });
  const speaker = speakAs('modern', { owner: undefined });
  for (let n = 1; n <= 2; n += 1) {
    assert.equal(readText(await ask(target, speaker, 'tools/call', call)), 'well');
    await waitFor('the session has ended', () => https.filter((method) => method === 'DELETE').length === n);
  }
});

for (const era of eras)
  test(`several endpoints: a session stays at its own, and begins again at another when that is gone (${era} client)`, async (t) => {
    const servers = await Promise.all(['a', 'b'].map((name) => startFederationServer({ name, era: 'legacy' })));
    const connected = connectTo({ ports: servers.map(({ port }) => port) });
    t.after(async () => {
      await connected.close();
      await Promise.all(servers.map((server) => server.close()));
    });
    const { target } = connected;
    const speaker = speakAs(era);
    const where = async (): Promise<string> => readText(await ask(target, speaker, 'tools/call', { name: 'where' }));
    const first = await where();
    for (let n = 0; n < 10; n += 1) assert.equal(await where(), first);
    const own = servers.find(({ name }) => first.startsWith(name))!;
    const other = servers.find((server) => server !== own)!;
    assert.equal(own.sessionCount, 1);
    assert.equal(other.sessionCount, 0);
    await own.kill();
    await waitFor('the other has it', async () => (await where()) === `${other.name} where {}`);
    assert.equal(target.describe().health, 'up');
  });

test('a server that is replaced by one of another era is spoken to in that', async (t) => {
  const first = await startFederationServer({ name: 'first', era: 'legacy' });
  const connected = connectTo({ ports: [first.port] });
  t.after(() => connected.close());
  const { target } = connected;
  const speakers = eras.map((era) => speakAs(era));
  const isAsked = async (name: string): Promise<boolean> => {
    const said = await Promise.all(speakers.map((speaker) => ask(target, speaker, 'tools/call', { name: 'where' })));
    return said.every((outcome) => readText(outcome) === `${name} where {}`);
  };
  assert.ok(await isAsked('first'));
  await first.kill();
  const second = await startFederationServer({ name: 'second', era: 'modern', port: first.port });
  t.after(() => second.close());
  await waitFor('the second answers', () => isAsked('second'));
  await second.kill();
  const third = await startFederationServer({ name: 'third', era: 'legacy', port: first.port });
  t.after(() => third.close());
  await waitFor('the third answers', () => isAsked('third'));
});

test('a server that hangs when it is asked who it is is down until it answers', async (t) => {
  let hangs = true;
  const server = createServer((request, response) => {
    request.resume();
    if (!hangs) sendJson(response, {}, 401);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connected = connectTo({ ports: [port], backend: { connectTimeoutMs: 100 }, introductionMs: 200 });
  t.after(async () => {
    await connected.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { target } = connected;
  const introduction = await target.introduce(speakAs('legacy'));
  assert.equal(introduction.ok ? undefined : introduction.failure.kind, 'timeout');
  assert.equal(target.describe().health, 'down');
  hangs = false;
  await waitFor('it is up', () => target.describe().health === 'up');
  const { failure } = await ask(target, speakAs('modern'), 'tools/list');
  assert.equal(failure?.status, 401);
});

test('a legacy client cancels a call at a modern server', async (t) => {
  let closed = 0;
  const { target } = await script(t, 'modern', (message, response) => {
    if (message.method !== 'tools/call') return sendJson(response, {}, 400);
    response.on('close', () => (closed += 1));
    beginStream(response);
    writeEvent(response, { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'a' } });
  });
  const speaker = speakAs('legacy');
  const asked = startAsk(target, speaker, 'tools/call', call, { id: 'mine' });
  await waitFor('it runs', () => asked.messages.length === 1);
  const cancel = (requestId: string): Promise<unknown> =>
    target.notify(
      speaker,
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
    );
  await cancel('other');
  await target.notify(
    speakAs('legacy'),
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mine"}}',
  );
  assert.equal(closed, 0);
  await cancel('mine');
  const outcome = await asked.done;
  assert.equal(outcome.answer, undefined);
  assert.equal(outcome.failure, undefined);
  await waitFor('the stream is closed', () => closed === 1);
});

for (const era of eras)
  test(`the only endpoint moves: sessions begin again at the new one, and the target was never down (${era} client)`, async (t) => {
    const servers = await Promise.all(['a', 'b'].map((name) => startFederationServer({ name, era: 'legacy' })));
    const connected = connectTo({ ports: [servers[0]!.port] });
    t.after(async () => {
      await connected.close();
      await Promise.all(servers.map((server) => server.close()));
    });
    const { target } = connected;
    const health: string[] = [];
    target.onHealthChange(() => health.push(target.describe().health));
    const speaker = speakAs(era);
    assert.equal(readText(await ask(target, speaker, 'tools/call', { name: 'where' })), 'a where {}');
    connected.move([servers[1]!.port]);
    assert.equal(readText(await ask(target, speaker, 'tools/call', { name: 'where' })), 'b where {}');
    assert.deepEqual(health, ['up']);
  });

test('a shared session that nobody uses is ended, and one that is listened on is not', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let nowMs = 0;
  const server = await startFederationServer({ name: 'one', era: 'legacy' });
  const connected = connectTo({ ports: [server.port], clock: () => nowMs });
  t.after(async () => {
    await connected.close();
    await server.close();
  });
  const { target } = connected;
  const [idle, listening] = ['idle', 'listening'].map((owner) => speakAs('modern', { owner }));
  for (const speaker of [idle!, idle!, listening!]) await ask(target, speaker, 'tools/list');
  assert.equal(server.sessionCount, 2);
  const heard = startListening(target, listening!);
  await waitFor('it listens', () => heard.messages.length > 0);
  const passTime = (ms: number): void => {
    nowMs += ms;
    t.mock.timers.tick(30_000);
  };
  passTime(299_000);
  await ask(target, listening!, 'tools/list');
  assert.equal(server.sessionCount, 2);
  passTime(2_000);
  await waitFor('one has ended', () => server.sessionCount === 1);
  assert.equal(server.requests.filter(({ method }) => method === 'DELETE').length, 1);
  heard.call.abort(true);
  passTime(301_000);
  await waitFor('the other has ended', () => server.sessionCount === 0);
  await ask(target, idle!, 'tools/list');
  assert.equal(server.sessionCount, 1);
});
