// HTTP/2 upstreams with prior knowledge.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  connect,
  createServer,
  type ClientHttp2Session,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
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
  withBody,
  type TestGateway,
} from './forwarding-fixture.ts';
import { waitFor, waitForStandstill } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
type Starter = Parameters<typeof startRawUpstream>[0];

async function startHttp2(
  t: Starter,
  onStream: (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void,
  settings = {},
): Promise<{ port: number; server: Http2Server; sessions: ServerHttp2Session[] }> {
  const sessions: ServerHttp2Session[] = [];
  const server = createServer({ settings });
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: Record<string, unknown>) => {
    stream.on('error', () => {});
    onStream(stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const session of sessions) session.destroy();
  });
  return { port: (server.address() as AddressInfo).port, server, sessions };
}

async function openHttp2(t: Starter, gateway: TestGateway): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${gateway.port}`);
  session.on('error', () => {});
  t.after(() => session.destroy());
  await once(session, 'remoteSettings');
  return session;
}

const h2c = { protocol: 'h2c' } as const;

test('a request and its answer, on one connection for many', options, async (t) => {
  const { port, sessions } = await startHttp2(t, (stream, headers) => {
    void withBody(stream, (body) => {
      stream.respond({
        ':status': 201,
        'x-seen': `${String(headers[':method'])} ${String(headers[':path'])} ${String(headers[':authority'])} ${String(headers['x-test'])}`,
      });
      stream.end(body);
    });
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      fetchAnswer(
        gateway,
        {
          method: 'POST',
          path: `/p?i=${i}`,
          headers: { host: 'mcp.example', 'X-Test': 'a', connection: 'x-gone', 'x-gone': '1' },
        },
        `body ${i}`,
      ),
    ),
  );
  for (const [i, answer] of answers.entries()) {
    assert.deepEqual(
      [answer.status, answer.headers['x-seen'], answer.body],
      [201, `POST /p?i=${i} mcp.example a`, `body ${i}`],
    );
  }
  assert.equal(sessions.length, 1);
});

test('repeated fields keep their number and their order', options, async (t) => {
  let seen: string[] = [];
  const { port, server } = await startHttp2(t, () => {});
  server.on('stream', (stream: ServerHttp2Stream, _headers: unknown, _flags: number, raw: string[]) => {
    seen = raw;
    stream.respond({ ':status': 200, 'set-cookie': ['a=1', 'b=2'] });
    stream.end();
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const headers = ['host', 'x', 'X-B', '1', 'content-type', 'a', 'Content-Type', 'b', 'x-a', '2', 'X-B', '3'];
  const answer = await fetchAnswer(gateway, { headers });
  assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
  assert.deepEqual(seen.slice(8, 18), ['x-b', '1', 'content-type', 'a', 'content-type', 'b', 'x-a', '2', 'x-b', '3']);
});

test('bytes flow at once both ways, before the request has a single byte of body', options, async (t) => {
  const { port } = await startHttp2(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.on('data', (chunk: Buffer) => stream.write(`got ${chunk.toString()}`));
    stream.on('end', () => stream.end());
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const message = openRequest(gateway, { method: 'POST', headers: { 'transfer-encoding': 'chunked' } });
  message.flushHeaders();
  // The answer's head comes although the client has not sent anything of its body.
  const response = await receiveResponse(message);
  for (const text of ['one', 'two']) {
    message.write(text);
    assert.equal(await readChunk(response), `got ${text}`);
  }
  message.end();
  assert.equal(await readAll(response), '');
});

test('trailers both ways, te: trailers, as gRPC needs them', options, async (t) => {
  const { port } = await startHttp2(t, (stream, headers) => {
    const seen: string[] = [];
    stream.on('trailers', (trailers) => seen.push(String(trailers['x-check'])));
    void withBody(stream, (body) => {
      stream.respond({ ':status': 200, 'x-te': String(headers.te) }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-echo': seen.join() }));
      stream.end(body);
    });
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const session = await openHttp2(t, gateway);
  const stream = session.request({ ':method': 'POST', ':path': '/svc', te: 'trailers' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-check': 'abc' }));
  const trailers = once(stream, 'trailers') as Promise<[Record<string, string>]>;
  const response = once(stream, 'response') as Promise<[Record<string, string>]>;
  stream.end('message');
  assert.equal((await response)[0]['x-te'], 'trailers');
  assert.equal(await readAll(stream), 'message');
  assert.deepEqual([(await trailers)[0]['grpc-status'], (await trailers)[0]['x-echo']], ['0', 'abc']);
});

test('a stream that the upstream resets ends as an error; before the answer it is 502', options, async (t) => {
  const streams: ServerHttp2Stream[] = [];
  const { port } = await startHttp2(t, (stream, headers) => {
    if (headers[':path'] === '/early') {
      stream.close(2);
      return;
    }
    stream.respond({ ':status': 200 });
    stream.write('part');
    streams.push(stream);
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const early = await fetchAnswer(gateway, { path: '/early' });
  assert.deepEqual([early.status, JSON.parse(early.body).error], [502, 'upstream_reset']);
  for (const end of ['stream', 'connection'] as const) {
    const message = openRequest(gateway);
    message.end();
    const response = await receiveResponse(message);
    assert.equal(await readChunk(response), 'part');
    const stream = streams.at(-1)!;
    if (end === 'stream') stream.destroy(new Error('broken'));
    else stream.session!.destroy();
    await assert.rejects(readAll(response), { code: 'ECONNRESET' });
    assert.equal((await gateway.finished(gateway.contexts.length - 1)).context.reason, 'upstream_aborted');
  }
});

function formatFrame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** An upstream made of frames: answers the first request with these. */
async function startFrames(t: Starter, frames: () => Buffer[]): Promise<number> {
  return startRawUpstream(t, (socket) => {
    socket.write(formatFrame(4, 0, 0));
    let received = Buffer.alloc(0);
    let answered = false;
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      for (let at = 24; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) {
        if (received[at + 3] !== 1 || answered) continue;
        answered = true;
        socket.write(Buffer.concat([formatFrame(4, 1, 0), ...frames()]));
      }
    });
  });
}

const headFrame = formatFrame(1, 4, 1, Buffer.from([0x88]));
const resetFrame = (code: number): Buffer => formatFrame(3, 0, 1, Buffer.from([0, 0, 0, code]));

for (const code of [0, 1, 2, 7, 8]) {
  test(`a reset with code ${code} is never taken for the end of an answer`, options, async (t) => {
    const port = await startFrames(t, () => [headFrame, formatFrame(0, 0, 1, Buffer.from('part')), resetFrame(code)]);
    const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
    const socket = await connectRaw(t, gateway.port);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const received = await readAll(socket);
    assert.ok(!received.includes('\r\n0\r\n'), received);
    assert.equal((await gateway.finished(0)).context.reason, 'upstream_aborted');
  });
}

for (const [what, frames] of [
  [
    'in the last data frame',
    () => [headFrame, formatFrame(0, 0, 1, Buffer.from('all ')), formatFrame(0, 1, 1, Buffer.from('of it'))],
  ],
  ['in an empty data frame', () => [headFrame, formatFrame(0, 0, 1, Buffer.from('all of it')), formatFrame(0, 1, 1)]],
  [
    'in the trailers',
    () => [
      headFrame,
      formatFrame(0, 0, 1, Buffer.from('all of it')),
      formatFrame(1, 5, 1, Buffer.from([0x00, 0x01, 0x78, 0x01, 0x31])),
    ],
  ],
  [
    'and a reset with NO_ERROR after it',
    () => [headFrame, formatFrame(0, 1, 1, Buffer.from('all of it')), resetFrame(0)],
  ],
] as const) {
  test(`an end ${what} is an end`, options, async (t) => {
    const port = await startFrames(t, () => [...frames()]);
    const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
    assert.equal((await fetchAnswer(gateway)).body, 'all of it');
    assert.equal((await gateway.finished(0)).context.reason, undefined);
  });
}

test('an answer with nothing but a head is complete', options, async (t) => {
  const port = await startFrames(t, () => [formatFrame(1, 5, 1, Buffer.from([0x89]))]);
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  assert.equal((await fetchAnswer(gateway)).status, 204);
});

test('a client that leaves resets the stream, and the connection lives on', options, async (t) => {
  const codes: number[] = [];
  const { port, sessions } = await startHttp2(t, (stream, headers) => {
    stream.respond({ ':status': 200 });
    if (headers[':path'] === '/ok') stream.end('ok');
    else stream.once('close', () => codes.push(stream.rstCode));
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const message = openRequest(gateway);
  message.end();
  await receiveResponse(message);
  message.destroy();
  await waitFor(() => codes.length === 1);
  assert.deepEqual(codes, [8]);
  assert.equal((await fetchAnswer(gateway, { path: '/ok' })).body, 'ok');
  assert.equal(sessions.length, 1);
});

test('more streams than the upstream takes on one connection open further ones', options, async (t) => {
  const open: ServerHttp2Stream[] = [];
  const { port, sessions } = await startHttp2(
    t,
    (stream) => {
      stream.respond({ ':status': 200 });
      open.push(stream);
    },
    { maxConcurrentStreams: 2 },
  );
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const responses = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const message = openRequest(gateway);
      message.end();
      return receiveResponse(message);
    }),
  );
  assert.equal(sessions.length, 3);
  for (const stream of open) stream.end('done');
  assert.deepEqual(
    await Promise.all(responses.map((response) => readAll(response))),
    Array.from({ length: 5 }, () => 'done'),
  );
});

test('a goodbye of the upstream lets streams finish and new ones go to a new connection', options, async (t) => {
  const open: ServerHttp2Stream[] = [];
  const { port, sessions } = await startHttp2(t, (stream, headers) => {
    stream.respond({ ':status': 200 });
    if (headers[':path'] === '/hold') open.push(stream);
    else stream.end('new');
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const message = openRequest(gateway, { path: '/hold' });
  message.end();
  const response = await receiveResponse(message);
  sessions[0]!.goaway();
  await waitFor(() => sessions[0]!.closed || sessions[0]!.destroyed || open.length === 1);
  // The goodbye travels on its own; until it is there requests still share the old connection.
  await waitFor('a new connection', async () => {
    assert.equal((await fetchAnswer(gateway)).body, 'new');
    return sessions.length > 1;
  });
  open[0]!.end('held');
  assert.equal(await readAll(response), 'held');
});

test('removed while a stream is open: the stream ends first, then the connection', options, async (t) => {
  const open: ServerHttp2Stream[] = [];
  const { port, sessions } = await startHttp2(t, (stream) => {
    stream.respond({ ':status': 200 });
    open.push(stream);
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const message = openRequest(gateway);
  message.end();
  const response = await receiveResponse(message);
  const closing = gateway.upstreams.close();
  open[0]!.end('last');
  assert.equal(await readAll(response), 'last');
  await closing;
  await waitFor(() => sessions[0]!.destroyed);
});

test('a slow client slows an HTTP/2 upstream down', options, async (t) => {
  const total = 32 * 1024 * 1024;
  let written = 0;
  const chunk = Buffer.alloc(65_536, 'x');
  const { port } = await startHttp2(t, (stream) => {
    stream.respond({ ':status': 200 });
    const pump = (): void => {
      while (written < total) {
        written += chunk.length;
        if (!stream.write(chunk)) {
          stream.once('drain', pump);
          return;
        }
      }
      stream.end();
    };
    pump();
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const message = openRequest(gateway);
  message.end();
  const response = await receiveResponse(message);
  await waitForStandstill(() => written);
  assert.ok(written < total / 2, String(written));
  let received = 0;
  for await (const part of response as AsyncIterable<Buffer>) received += part.length;
  assert.equal(received, total);
});

test('no HTTP/2 on the other side, and nobody there at all', options, async (t) => {
  const port = await startRawUpstream(t, (socket) => {
    socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'));
  });
  const plain = await startForwardingGateway(t, { backend: backendOn([port], h2c) });
  const answer = await fetchAnswer(plain);
  assert.equal(answer.status, 502);
  const nobody = await startForwardingGateway(t, { backend: backendOn([await findClosedPort()], h2c) });
  assert.equal(JSON.parse((await fetchAnswer(nobody)).body).error, 'upstream_unreachable');
});
