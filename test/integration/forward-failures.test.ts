// What goes wrong, and what each side gets to see of it.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import {
  backendOn,
  connectRaw,
  fetchAnswer,
  findClosedPort,
  openRequest,
  readAll,
  readChunk,
  receiveResponse,
  startForwardingGateway,
  startRawUpstream,
  startUpstream,
  withBody,
  type Answer,
  type TestGateway,
} from './forwarding-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };

function assertError(answer: Answer, status: number, reason: string): void {
  assert.equal(answer.status, status);
  assert.equal(answer.headers['content-type'], 'application/json');
  const body = JSON.parse(answer.body) as { error: string; error_description: string; request_id: string };
  assert.equal(body.error, reason);
  assert.equal(body.request_id, answer.headers['x-request-id']);
  assert.equal(answer.rawHeaders.filter((name) => name.toLowerCase() === 'x-request-id').length, 1);
}

/** The stream of this answer must end as an error. */
async function assertBrokenOff(response: IncomingMessage): Promise<void> {
  await assert.rejects(readAll(response), { code: 'ECONNRESET' });
  assert.ok(!response.complete);
}

/** The head of an answer whose time runs out after it. On a busy machine it may run out before, which is another case: then with twice the time. */
async function receiveHeadInTime(start: (timeMs: number) => Promise<TestGateway>) {
  for (let timeMs = 60; ; timeMs *= 2) {
    const gateway = await start(timeMs);
    const message = openRequest(gateway);
    message.end();
    const response = await receiveResponse(message);
    if (response.statusCode !== 504) return { gateway, response };
  }
}

async function startSilentUpstream(
  t: Parameters<typeof startUpstream>[0],
  withHead: boolean,
): Promise<{ port: number; requests: IncomingMessage[]; closed: () => number }> {
  const requests: IncomingMessage[] = [];
  let closed = 0;
  const { port } = await startUpstream(t, (request, response) => {
    requests.push(request);
    request.resume();
    response.once('close', () => (closed += 1));
    if (withHead) response.writeHead(200).flushHeaders();
  });
  return { port, requests, closed: () => closed };
}

const first = (): number => 0;

async function startHolding(
  t: Parameters<typeof startUpstream>[0],
): Promise<{ gateway: TestGateway; held: ServerResponse[] }> {
  const held: ServerResponse[] = [];
  const { port } = await startUpstream(t, (_request, response) => void held.push(response));
  const gateway = await startForwardingGateway(t, {
    backend: backendOn([port]),
    limits: { maxConcurrentRequests: 1, maxWaitingRequests: 1 },
  });
  return { gateway, held };
}

describe('before the answer', () => {
  test('connection refused: 502', options, async (t) => {
    const gateway = await startForwardingGateway(t, { backend: backendOn([await findClosedPort()]) });
    assertError(await fetchAnswer(gateway), 502, 'upstream_unreachable');
    const { context } = await gateway.finished(0);
    assert.equal(context.reason, 'upstream_unreachable');
    assert.match(context.detail!, /ECONNREFUSED/);
    assert.equal(context.retries, 0);
  });

  test('the name does not resolve: 502', options, async (t) => {
    const backend = { ...backendOn([]), endpoints: [{ host: 'upstream.invalid', port: 80 }] };
    const gateway = await startForwardingGateway(t, { backend });
    assertError(await fetchAnswer(gateway), 502, 'upstream_unreachable');
  });

  test('no connection in time: 504', options, async (t) => {
    // Takes the connection but never the TLS handshake.
    const port = await startRawUpstream(t, () => {});
    const backend = backendOn([port], {
      connectTimeoutMs: 50,
      tls: { serverName: 'x', ca: undefined, insecureSkipVerify: true },
    });
    const gateway = await startForwardingGateway(t, { backend });
    assertError(await fetchAnswer(gateway), 504, 'upstream_connect_timeout');
  });

  test('no endpoints, or no such backend: 503', options, async (t) => {
    const gateway = await startForwardingGateway(t, { backend: backendOn([]) });
    assertError(await fetchAnswer(gateway), 503, 'no_endpoints');
    gateway.upstreams.reconcile(new Map());
    assertError(await fetchAnswer(gateway), 503, 'no_endpoints');
  });

  for (const [what, answer] of [
    ['is not HTTP', 'hello\r\n\r\n'],
    ['has two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    [
      'has a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    ],
    ['has a header of 100 kB', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`],
    ['switches protocols unasked', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
  ] as const) {
    test(`an answer that ${what}: 502`, options, async (t) => {
      const port = await startRawUpstream(t, (socket) => socket.once('data', () => socket.write(answer)));
      const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
      assertError(await fetchAnswer(gateway), 502, 'upstream_protocol_error');
    });
  }

  test('no answer in the time of the route, or of the backend: 504, and the upstream is let go', options, async (t) => {
    let closed = 0;
    const port = await startRawUpstream(t, (socket) => {
      socket.resume();
      socket.once('end', () => (closed += 1));
    });
    const backend = backendOn([port]);
    const byRoute = await startForwardingGateway(t, { backend, plan: () => ({ backendRequestTimeoutMs: 50 }) });
    assertError(await fetchAnswer(byRoute), 504, 'upstream_timeout');
    const byBackend = await startForwardingGateway(t, { backend: { ...backend, requestTimeoutMs: 50 } });
    assertError(await fetchAnswer(byBackend), 504, 'upstream_timeout');
    const whole = await startForwardingGateway(t, { backend, plan: () => ({ requestTimeoutMs: 50 }) });
    assertError(await fetchAnswer(whole), 504, 'request_timeout');
    await waitFor(() => closed === 3);
  });

  test('a value that would break the header lines is refused and not sent', options, async (t) => {
    let hits = 0;
    const { port } = await startUpstream(t, (_request, response) => {
      hits += 1;
      response.end();
    });
    for (const value of ['a\r\nx-injected: 1', 'a\nb', 'a\0b']) {
      const gateway = await startForwardingGateway(t, {
        backend: backendOn([port]),
        plan: () => ({ headers: ['x-auth-subject', value] }),
      });
      assertError(await fetchAnswer(gateway), 400, 'bad_request');
    }
    assert.equal(hits, 0);
  });

  test('errors carry the headers that every answer gets', options, async (t) => {
    const gateway = await startForwardingGateway(t, {
      backend: backendOn([]),
      plan: (context) => ({
        extraResponseHeaders: ['access-control-allow-origin', 'https://a.example', 'X-Request-Id', context.requestId],
      }),
    });
    const answer = await fetchAnswer(gateway);
    assertError(answer, 503, 'no_endpoints');
    assert.equal(answer.headers['access-control-allow-origin'], 'https://a.example');
  });
});

describe('in the middle of the answer', () => {
  for (const [what, answer, end] of [
    ['closes before its content-length', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\npart', 'end'],
    ['closes before its last chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n', 'end'],
    [
      'closes before its last chunk, as it said it would',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n',
      'end',
    ],
    ['resets the connection', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n', 'reset'],
    ['sends a chunk that is none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\nzz\r\n', 'stay'],
  ] as const) {
    test(`the upstream ${what}: the client sees an error, not an end`, options, async (t) => {
      let socket: Socket | undefined;
      const port = await startRawUpstream(t, (upstream) => {
        socket = upstream;
        upstream.once('data', () => upstream.write(answer));
      });
      const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
      const message = openRequest(gateway);
      message.end();
      const response = await receiveResponse(message);
      if (end !== 'stay') {
        assert.equal(await readChunk(response), 'part');
        if (end === 'reset') socket!.resetAndDestroy();
        else socket!.end();
      }
      await assertBrokenOff(response);
      const { context, clean } = await gateway.finished(0);
      assert.equal(clean, false);
      assert.equal(context.reason, 'upstream_aborted');
    });
  }

  test('an answer that ends with its connection ends cleanly', options, async (t) => {
    const port = await startRawUpstream(t, (socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it')),
    );
    const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
    assert.equal((await fetchAnswer(gateway)).body, 'all of it');
    assert.equal((await gateway.finished(0)).context.reason, undefined);
  });

  test('silence for longer than the idle time ends the stream as an error', options, async (t) => {
    let answer: ServerResponse | undefined;
    const { port } = await startUpstream(t, (_request, response) => {
      answer = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    });
    const { gateway, response } = await receiveHeadInTime((idleTimeoutMs) =>
      startForwardingGateway(t, { backend: backendOn([port], { idleTimeoutMs }) }),
    );
    await assertBrokenOff(response);
    assert.equal((await gateway.finished(0)).context.reason, 'upstream_idle_timeout');
    await waitFor(() => answer!.closed);
  });

  test('the time of the request is over: the stream ends as an error', options, async (t) => {
    const { port } = await startUpstream(t, (_request, response) => response.writeHead(200).flushHeaders());
    const { gateway, response } = await receiveHeadInTime((requestTimeoutMs) =>
      startForwardingGateway(t, { backend: backendOn([port]), plan: () => ({ requestTimeoutMs }) }),
    );
    await assertBrokenOff(response);
    assert.equal((await gateway.finished(0)).context.reason, 'request_timeout');
  });
});

describe('the client leaves', () => {
  test('before the answer: the upstream call ends at once', options, async (t) => {
    const upstream = await startSilentUpstream(t, false);
    const gateway = await startForwardingGateway(t, { backend: backendOn([upstream.port]) });
    const message = openRequest(gateway);
    message.end();
    await waitFor(() => upstream.requests.length === 1);
    message.destroy();
    await waitFor(() => upstream.closed() === 1);
    const { context, clean } = await gateway.finished(0);
    assert.deepEqual([clean, context.reason], [false, 'client_disconnected']);
  });

  test('in the middle of the answer', options, async (t) => {
    const upstream = await startSilentUpstream(t, true);
    const gateway = await startForwardingGateway(t, { backend: backendOn([upstream.port]) });
    const message = openRequest(gateway);
    message.end();
    await receiveResponse(message);
    message.destroy();
    await waitFor(() => upstream.closed() === 1);
    assert.equal((await gateway.finished(0)).context.reason, 'client_disconnected');
  });

  test('in the middle of its body: the upstream does not take what it got for everything', options, async (t) => {
    const begun: IncomingMessage[] = [];
    const closed: boolean[] = [];
    const { port } = await startUpstream(t, (request) => {
      begun.push(request.resume().on('error', () => {}));
      request.once('close', () => closed.push(request.complete));
    });
    const framings: Record<string, string>[] = [
      { 'content-length': '100' },
      { 'transfer-encoding': 'chunked' },
      { 'transfer-encoding': 'chunked', trailer: 'x-sum' },
    ];
    const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
    for (const [i, headers] of framings.entries()) {
      const message = openRequest(gateway, { method: 'POST', headers });
      message.write('a part');
      await waitFor(() => begun.length === i + 1);
      message.destroy();
      await waitFor(() => closed.length === i + 1);
      assert.equal((await gateway.finished(i)).context.reason, 'client_disconnected');
    }
    assert.deepEqual(closed, [false, false, false]);
  });

  test('while it waits for a connection: it never reaches the upstream', options, async (t) => {
    let upstream: Socket | undefined;
    const port = await startRawUpstream(t, (socket) => socket.once('data', () => (upstream = socket)));
    const backend = backendOn([port], {
      connectTimeoutMs: 0,
      tls: { serverName: 'x', ca: undefined, insecureSkipVerify: true },
    });
    const gateway = await startForwardingGateway(t, { backend });
    const message = openRequest(gateway);
    message.end();
    await waitFor(() => upstream !== undefined);
    message.destroy();
    assert.equal((await gateway.finished(0)).context.reason, 'client_disconnected');
    const [endpoint] = gateway.upstreams.get(backend.key)!.endpoints;
    assert.equal(endpoint!.outstanding, 1);
    upstream!.destroy();
    await waitFor(() => endpoint!.outstanding === 0);
  });
});

describe('retries', () => {
  test('a request that reached no endpoint is retried at another one, with its body', options, async (t) => {
    let hits = 0;
    const { port } = await startUpstream(t, (request, response) => {
      hits += 1;
      void withBody(request, (body) => response.end(body));
    });
    const gateway = await startForwardingGateway(t, {
      backend: backendOn([await findClosedPort(), port]),
      random: first,
    });
    const answer = await fetchAnswer(gateway, { method: 'POST' }, 'the body');
    assert.deepEqual([answer.status, answer.body, hits], [200, 'the body', 1]);
    assert.equal(gateway.contexts[0]!.retries, 1);
    assert.equal(gateway.contexts[0]!.endpoint, `127.0.0.1:${port}`);
  });

  test('the number of tries is bounded', options, async (t) => {
    const ports = await Promise.all([1, 2, 3, 4, 5].map(() => findClosedPort()));
    const gateway = await startForwardingGateway(t, { backend: backendOn(ports), limits: { maxRetries: 2 } });
    assertError(await fetchAnswer(gateway), 502, 'upstream_unreachable');
    assert.equal(gateway.contexts[0]!.retries, 2);
  });

  for (const method of ['GET', 'POST'] as const) {
    test(`a ${method} that may have been seen is not sent again`, options, async (t) => {
      let hits = 0;
      const count = (socket: Socket): void =>
        void socket.once('data', () => {
          hits += 1;
          socket.destroy();
        });
      const ports = [await startRawUpstream(t, count), await startRawUpstream(t, count)];
      const gateway = await startForwardingGateway(t, { backend: backendOn(ports) });
      assertError(
        await fetchAnswer(gateway, { method }, method === 'POST' ? 'body' : undefined),
        502,
        'upstream_reset',
      );
      assert.equal(hits, 1);
      assert.equal(gateway.contexts[0]!.retries, 0);
    });
  }

  test('a kept connection that the upstream closed is replaced before the request is written', options, async (t) => {
    let connections = 0;
    let hits = 0;
    const port = await startRawUpstream(t, (socket) => {
      connections += 1;
      socket.on('data', () => {
        hits += 1;
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      });
    });
    const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
    for (let i = 1; i <= 5; i++) {
      assert.equal((await fetchAnswer(gateway)).body, 'ok');
      assert.deepEqual([connections, hits], [i, i]);
    }
  });

  test('an endpoint that fails is ejected and tried again later', options, async (t) => {
    const { port } = await startUpstream(t, (_request, response) => response.end('ok'));
    let now = 0;
    const dead = await findClosedPort();
    const gateway = await startForwardingGateway(t, {
      backend: backendOn([dead, port]),
      random: first,
      now: () => now,
      limits: { ejectAfterFailures: 2, ejectionTimeMs: 1_000, ejectionTimeMaxMs: 60_000 },
    });
    const retries = async (): Promise<number> => {
      assert.equal((await fetchAnswer(gateway)).status, 200);
      return gateway.contexts.at(-1)!.retries;
    };
    assert.deepEqual([await retries(), await retries()], [1, 1]);
    assert.deepEqual([await retries(), await retries()], [0, 0]);
    now = 1_000;
    assert.deepEqual([await retries(), await retries()], [1, 0]);
    now = 2_999;
    assert.equal(await retries(), 0);
    now = 3_000;
    assert.equal(await retries(), 1);
  });

  test('when all are ejected they are tried anyway', options, async (t) => {
    const ports = [await findClosedPort(), await findClosedPort()];
    const gateway = await startForwardingGateway(t, {
      backend: backendOn(ports),
      now: () => 0,
      limits: { ejectAfterFailures: 1, maxRetries: 0 },
    });
    for (let i = 0; i < 4; i++) assertError(await fetchAnswer(gateway), 502, 'upstream_unreachable');
    const { server, port } = await startUpstream(t, (_request, response) => response.end('back'));
    assert.ok(server.listening);
    gateway.reconcile(backendOn([...ports, port]));
    assert.equal((await fetchAnswer(gateway)).body, 'back');
  });
});

describe('too many requests', () => {
  test('one runs, one waits, the next is told so', options, async (t) => {
    const { gateway, held } = await startHolding(t);
    const running = fetchAnswer(gateway);
    await waitFor(() => held.length === 1);
    const waiting = fetchAnswer(gateway);
    await waitFor(() => gateway.contexts.length === 2);
    assertError(await fetchAnswer(gateway), 503, 'upstream_overloaded');
    assert.equal(held.length, 1);
    held[0]!.end('first');
    assert.equal((await running).body, 'first');
    await waitFor(() => held.length === 2);
    held[1]!.end('second');
    assert.equal((await waiting).body, 'second');
  });

  test('one that leaves gives up its place in line', options, async (t) => {
    const { gateway, held } = await startHolding(t);
    const running = fetchAnswer(gateway);
    await waitFor(() => held.length === 1);
    for (let i = 1; i <= 3; i++) {
      const leaving = openRequest(gateway);
      leaving.end();
      await waitFor(() => gateway.contexts.length === i + 1);
      leaving.destroy();
      await gateway.finished(i);
    }
    const waiting = fetchAnswer(gateway);
    await waitFor(() => gateway.contexts.length === 5);
    held[0]!.end('first');
    await running;
    await waitFor(() => held.length === 2);
    held[1]!.end('second');
    assert.equal((await waiting).body, 'second');
    assert.equal(held.length, 2);
  });
});

test('a client that breaks its chunked body gets 400, and the upstream no complete request', options, async (t) => {
  let complete = false;
  const { port } = await startUpstream(t, (request) => {
    request.resume();
    request.on('error', () => {});
    request.on('end', () => (complete = true));
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const socket = await connectRaw(t, gateway.port);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n');
  await waitFor(() => gateway.contexts.length === 1);
  socket.write('zz\r\n');
  assert.match(await readAll(socket), /^HTTP\/1\.1 400 /);
  await gateway.finished(0);
  assert.equal(complete, false);
});
