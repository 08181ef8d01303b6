// Bytes flow both ways as they come, in order, and never faster than they are read.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import {
  backendOn,
  connectRaw,
  fetchAnswer,
  openRequest,
  readAll,
  readChunk,
  readUntil,
  receiveResponse,
  startForwardingGateway,
  startRawUpstream,
  startUpstream,
  withBody,
} from './forwarding-fixture.ts';
import { waitFor, waitForStandstill } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };

test('the head and every chunk reach the client at once', options, async (t) => {
  let answer: ServerResponse | undefined;
  const { port } = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    answer = response;
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const message = openRequest(gateway);
  message.end();
  // The upstream writes the next part only after the client has the one before.
  const response = await receiveResponse(message);
  assert.equal(response.headers['content-type'], 'text/event-stream');
  for (const event of ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n']) {
    answer!.write(event);
    assert.equal(await readChunk(response), event);
  }
  answer!.end();
  assert.equal(await readAll(response), '');
  assert.ok(response.complete);
  const { context, clean } = await gateway.finished(0);
  assert.ok(clean);
  assert.equal(context.reason, undefined);
  assert.equal(context.status, 200);
  assert.ok(context.upstreamMs! >= 0);
});

test(
  'every chunk of the request reaches the upstream at once, and the answer can overtake the request',
  options,
  async (t) => {
    const received: string[] = [];
    const { port } = await startUpstream(t, (request, response) => {
      response.writeHead(200);
      response.flushHeaders();
      request.on('data', (chunk: Buffer) => {
        received.push(chunk.toString());
        response.write(`got ${chunk.toString()}`);
      });
      request.on('end', () => response.end('bye'));
    });
    const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
    const message = openRequest(gateway, { method: 'POST' });
    message.write('one');
    const response = await receiveResponse(message);
    assert.equal(await readChunk(response), 'got one');
    message.write('two');
    assert.equal(await readChunk(response), 'got two');
    message.end();
    assert.equal(await readAll(response), 'bye');
    assert.deepEqual(received, ['one', 'two']);
  },
);

test('a body keeps its content-length, and a body without one is chunked', options, async (t) => {
  const { port } = await startUpstream(t, (request, response) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    void withBody(request, (body) => response.end(JSON.stringify({ length, encoding, body })));
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const sized = await fetchAnswer(gateway, { method: 'POST', headers: { 'content-length': '5' } }, 'hello');
  assert.deepEqual(JSON.parse(sized.body), { length: '5', body: 'hello' });
  const chunked = await fetchAnswer(gateway, { method: 'POST', headers: { 'transfer-encoding': 'chunked' } }, 'hello');
  assert.deepEqual(JSON.parse(chunked.body), { encoding: 'chunked', body: 'hello' });
  const empty = await fetchAnswer(gateway, { method: 'POST' });
  assert.equal(JSON.parse(empty.body).body, '');
  const deleted = await fetchAnswer(gateway, { method: 'DELETE', headers: { 'content-length': '2' } }, 'hi');
  assert.equal(JSON.parse(deleted.body).body, 'hi');
});

test('answers without a body: HEAD, 204, 304 and an empty 202', options, async (t) => {
  const { port } = await startUpstream(t, (request, response) => {
    if (request.method === 'HEAD') response.writeHead(200, { 'content-length': '42', etag: '"x"' }).end();
    else if (request.url === '/304') response.writeHead(304, { etag: '"x"', 'content-length': '42' }).end();
    else response.writeHead(Number(request.url!.slice(1))).end();
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const head = await fetchAnswer(gateway, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers['content-length'], head.body], [200, '42', '']);
  for (const status of [204, 304, 202]) {
    const answer = await fetchAnswer(gateway, { path: `/${status}` });
    assert.deepEqual([answer.status, answer.body], [status, '']);
  }
});

test('4xx and 5xx of the upstream pass untouched', options, async (t) => {
  const { port } = await startUpstream(t, (request, response) => {
    response.writeHead(Number(request.url!.slice(1)), {
      'content-type': 'application/json',
      'www-authenticate': 'Bearer x="y"',
    });
    response.end('{"jsonrpc":"2.0"}');
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  for (const status of [400, 401, 404, 405, 429, 500, 503]) {
    const answer = await fetchAnswer(gateway, { path: `/${status}` });
    assert.deepEqual(
      [answer.status, answer.body, answer.headers['www-authenticate']],
      [status, '{"jsonrpc":"2.0"}', 'Bearer x="y"'],
    );
    assert.equal(gateway.contexts.at(-1)!.reason, undefined);
  }
});

test('informational answers pass', options, async (t) => {
  const { port } = await startUpstream(t, (_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.end('done');
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const message = openRequest(gateway);
  const hints = once(message, 'information');
  const answered = receiveResponse(message);
  message.end();
  const [information] = (await hints) as [{ statusCode: number; headers: Record<string, string> }];
  assert.equal(information.statusCode, 103);
  assert.equal(information.headers.link, '</style.css>; rel=preload');
  assert.equal(await readAll(await answered), 'done');
});

test('trailers pass in both directions', options, async (t) => {
  const { port } = await startUpstream(t, (request, response) => {
    void withBody(request, (body) => {
      response.writeHead(200, { trailer: 'x-sum, x-seen', 'x-announced': request.headers.trailer ?? '' });
      response.write(body);
      response.addTrailers({
        'x-sum': request.trailers['x-check'] ?? 'none',
        'x-seen': Object.keys(request.trailers).join(),
      });
      response.end();
    });
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const message = openRequest(gateway, {
    method: 'POST',
    headers: { trailer: 'x-check', 'transfer-encoding': 'chunked' },
  });
  message.write('a body');
  message.addTrailers({ 'x-check': 'abc', 'x-forwarded-for': '1.2.3.4' });
  message.end();
  const response = await receiveResponse(message);
  assert.equal(await readAll(response), 'a body');
  assert.equal(response.headers['x-announced'], 'x-check');
  assert.deepEqual({ ...response.trailers }, { 'x-sum': 'abc', 'x-seen': 'x-check' });
});

test('a slow client slows the upstream down', options, async (t) => {
  const chunk = Buffer.alloc(65_536, 'x');
  const total = 64 * 1024 * 1024;
  let written = 0;
  let blocked = false;
  const { port } = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'content-length': String(total) });
    const pump = (): void => {
      while (written < total) {
        written += chunk.length;
        if (!response.write(chunk)) {
          blocked = true;
          response.once('drain', pump);
          return;
        }
      }
      response.end();
    };
    pump();
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const message = openRequest(gateway);
  message.end();
  const response = await receiveResponse(message);
  response.pause();
  // Until nothing moves any more: kernel buffers are full on all hops.
  await waitForStandstill(() => written);
  assert.ok(blocked);
  assert.ok(written < total / 2, `${written} bytes were taken from the upstream for a client that reads none`);
  const before = written;
  let received = 0;
  for await (const part of response as AsyncIterable<Buffer>) received += part.length;
  assert.equal(received, total);
  assert.ok(written > before);
});

test('a slow upstream slows the client down', options, async (t) => {
  const total = 64 * 1024 * 1024;
  let release: (() => void) | undefined;
  let received = 0;
  const { port } = await startUpstream(t, (request, response) => {
    request.pause();
    release = () => {
      request.on('data', (chunk: Buffer) => (received += chunk.length));
      request.on('end', () => response.end(String(received)));
      request.resume();
    };
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const message = openRequest(gateway, { method: 'POST', headers: { 'content-length': String(total) } });
  const chunk = Buffer.alloc(65_536, 'x');
  let written = 0;
  const pump = (): void => {
    while (written < total) {
      written += chunk.length;
      if (!message.write(chunk)) {
        message.once('drain', pump);
        return;
      }
    }
    message.end();
  };
  pump();
  await waitFor(() => release !== undefined);
  await waitForStandstill(() => written);
  assert.ok(written < total / 2, `${written} bytes were taken from the client for an upstream that reads none`);
  release!();
  assert.equal(await readAll(await receiveResponse(message)), String(total));
});

test('large bodies of many clients at once, fast and slow, arrive as they were sent', options, async (t) => {
  const bodies = Array.from({ length: 12 }, (_, index) => randomBytes(1_500_000 + index * 77_777));
  const { port } = await startUpstream(t, (request, response) => {
    const body = bodies[Number(request.url!.slice(1))]!;
    const hash = createHash('sha256');
    // Some are read with breaks, so that what comes has to wait.
    const isSlow = request.url!.endsWith('1');
    request.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      if (!isSlow) return;
      request.pause();
      setImmediate(() => request.resume());
    });
    request.on('end', () => {
      const isChunked = Number(request.url!.slice(1)) % 3 === 0;
      response.writeHead(200, {
        'x-received': hash.digest('hex'),
        ...(isChunked ? {} : { 'content-length': String(body.length) }),
      });
      response.end(body);
    });
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
  for (let round = 0; round < 2; round++) {
    const clients = bodies.map(async (body, index) => {
      const length = index % 2 === 0 ? { 'content-length': String(body.length) } : {};
      const message = openRequest(gateway, { method: 'POST', path: `/${index}`, headers: length });
      message.end(body);
      const response = await receiveResponse(message);
      assert.equal(response.headers['x-received'], digest(body));
      const hash = createHash('sha256');
      for await (const part of response as AsyncIterable<Buffer>) {
        hash.update(part);
        if (index % 4 === 0) await new Promise((resolve) => void setImmediate(resolve));
      }
      assert.equal(hash.digest('hex'), digest(body));
    });
    await Promise.all(clients);
  }
});

test('an HTTP/1.0 client gets an answer that it understands', options, async (t) => {
  const { port } = await startUpstream(t, (_request, response) => {
    response.write('a');
    response.end('b');
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const socket = await connectRaw(t, gateway.port);
  socket.write('GET / HTTP/1.0\r\nHost: x\r\n\r\n');
  const text = await readAll(socket);
  assert.match(text, /^HTTP\/1\.[01] 200 /);
  assert.ok(!/transfer-encoding/i.test(text));
  assert.ok(text.endsWith('\r\n\r\nab'));
});

test('Expect: 100-continue is answered here and not passed on', options, async (t) => {
  const { port } = await startUpstream(t, (request, response) => {
    void withBody(request, (body) => response.end(`${request.headers.expect ?? 'none'} ${body}`));
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const message = openRequest(gateway, { method: 'POST', headers: { expect: '100-continue', 'content-length': '2' } });
  message.flushHeaders();
  await once(message, 'continue');
  message.end('hi');
  assert.equal(await readAll(await receiveResponse(message)), 'none hi');
});

test('an unsolicited answer closes its connection and reaches no client', options, async (t) => {
  let connections = 0;
  let spoiled = false;
  const port = await startRawUpstream(t, (socket) => {
    connections += 1;
    socket.on('data', () => {
      const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nmine';
      if (spoiled) socket.write(answer);
      else socket.write(`${answer}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nstray`);
      spoiled = true;
    });
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  assert.equal((await fetchAnswer(gateway)).body, 'mine');
  for (let i = 0; i < 5; i++) assert.equal((await fetchAnswer(gateway)).body, 'mine');
  assert.equal(connections, 2);
});

test('a stray answer that comes later, while the connection is idle, reaches no client either', options, async (t) => {
  let stray: (() => void) | undefined;
  let closed = 0;
  const port = await startRawUpstream(t, (socket) => {
    socket.once('end', () => (closed += 1));
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nmine');
      stray ??= () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nstray');
    });
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  assert.equal((await fetchAnswer(gateway)).body, 'mine');
  stray!();
  await waitFor(() => closed === 1);
  assert.equal((await fetchAnswer(gateway)).body, 'mine');
});

test('an early answer does not wait for the rest of the request', options, async (t) => {
  const port = await startRawUpstream(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig'));
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const socket = await connectRaw(t, gateway.port);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nfirst bytes');
  assert.match(await readUntil(socket, 'big'), /^HTTP\/1\.1 413 /);
});
