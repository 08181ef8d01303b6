// Switching protocols through the gateway.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import {
  backendOn,
  connectRaw,
  fetchAnswer,
  readAll,
  readUntil,
  startForwardingGateway,
  startRawUpstream,
  startUpstream,
  type TestGateway,
} from './forwarding-fixture.ts';
import { waitFor, waitForStandstill } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const ask =
  'GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, X-Hop\r\nUpgrade: websocket\r\nX-Hop: 1\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';

function acceptKey(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}

/** Switches to a protocol in which everything is repeated. */
async function startEcho(
  t: Parameters<typeof startUpstream>[0],
): Promise<{ port: number; requests: IncomingMessage[]; sockets: Duplex[] }> {
  const requests: IncomingMessage[] = [];
  const sockets: Duplex[] = [];
  const { port, server } = await startUpstream(t, (_request, response) => response.end());
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    requests.push(request);
    sockets.push(socket);
    const accept = acceptKey(request.headers['sec-websocket-key'] ?? '');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\nX-Extra: 1\r\n\r\n`,
    );
    if (head.length > 0) socket.write(head);
    socket.pipe(socket);
  });
  return { port, requests, sockets };
}

test('a WebSocket passes, with the bytes that came along with the head', options, async (t) => {
  const upstream = await startEcho(t);
  const gateway = await startForwardingGateway(t, { backend: backendOn([upstream.port]) });
  const socket = await connectRaw(t, gateway.port);
  socket.write(`${ask}early `);
  const head = await readUntil(socket, 'early ');
  assert.match(head, /^HTTP\/1\.1 101 /);
  assert.match(head, /\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/i);
  assert.match(head, /\r\nX-Extra: 1\r\n/i);
  assert.match(head, /\r\nx-request-id: /i);
  for (const text of ['one', 'two']) {
    socket.write(text);
    assert.equal(await readUntil(socket, text), text);
  }
  const [request] = upstream.requests;
  assert.deepEqual(
    [request!.headers.upgrade, request!.headers['x-hop'], request!.headers['sec-websocket-version']],
    ['websocket', undefined, '13'],
  );
  // The place is taken until the tunnel ends.
  const [endpoint] = gateway.upstreams.get('default/upstream')!.endpoints;
  assert.equal(endpoint!.outstanding, 1);
  socket.end();
  assert.equal(await readAll(socket), '');
  const { context } = await gateway.finished(0);
  assert.deepEqual([context.status, context.reason], [101, undefined]);
  await waitFor(() => endpoint!.outstanding === 0);
});

test('one direction can end before the other', options, async (t) => {
  const port = await startRawUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      let received = '';
      socket.on('data', (chunk) => (received += chunk.toString()));
      // Answers only when it knows that everything has come.
      socket.on('end', () => socket.end(`got ${received}`));
    });
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const socket = await connectRaw(t, gateway.port);
  socket.write(ask);
  await readUntil(socket, '\r\n\r\n');
  socket.end('all of it');
  assert.equal(await readAll(socket), 'got all of it');
  assert.equal((await gateway.finished(0)).context.reason, undefined);
});

test('an answer other than 101 is an answer like any other', options, async (t) => {
  const { port } = await startUpstream(t, (_request, response) =>
    response.writeHead(426, { 'x-why': 'version' }).end('no'),
  );
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const socket = await connectRaw(t, gateway.port);
  socket.write(ask);
  const answer = await readUntil(socket, 'no');
  assert.match(answer, /^HTTP\/1\.1 426 /);
  assert.match(answer, /x-why: version/i);
  assert.equal(gateway.contexts[0]!.reason, undefined);
});

test('an upstream that switches to something else is refused', options, async (t) => {
  const port = await startRawUpstream(t, (socket) => {
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
    );
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const socket = await connectRaw(t, gateway.port);
  socket.write(ask);
  assert.match(await readUntil(socket, 'upgrade_failed'), /^HTTP\/1\.1 502 /);
});

test('when one side breaks off so does the other', options, async (t) => {
  const upstream = await startEcho(t);
  const gateway = await startForwardingGateway(t, { backend: backendOn([upstream.port]) });
  const open = async (): Promise<Awaited<ReturnType<typeof connectRaw>>> => {
    const socket = await connectRaw(t, gateway.port);
    socket.write(ask);
    await readUntil(socket, '\r\n\r\n');
    return socket;
  };
  const left = await open();
  const upstreamClosed = once(upstream.sockets[0]!, 'close');
  left.resetAndDestroy();
  await upstreamClosed;
  assert.equal((await gateway.finished(0)).context.reason, 'client_disconnected');

  const dropped = await open();
  const clientClosed = once(dropped, 'close');
  dropped.resume();
  (upstream.sockets[1] as import('node:net').Socket).resetAndDestroy();
  dropped.on('end', () => dropped.end());
  await clientClosed;
  assert.equal((await gateway.finished(1)).context.reason, 'upstream_aborted');
});

test('a slow reader behind an upgrade slows the writer down', options, async (t) => {
  const chunk = Buffer.alloc(65_536, 'x');
  let written = 0;
  const total = 64 * 1024 * 1024;
  const port = await startRawUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      const pump = (): void => {
        while (written < total) {
          written += chunk.length;
          if (!socket.write(chunk)) {
            socket.once('drain', pump);
            return;
          }
        }
        socket.end();
      };
      pump();
    });
  });
  const gateway = await startForwardingGateway(t, { backend: backendOn([port]) });
  const socket = await connectRaw(t, gateway.port);
  socket.write(ask);
  await readUntil(socket, '\r\n\r\n');
  await waitForStandstill(() => written);
  assert.ok(written < total / 2, String(written));
  let received = 0;
  for await (const part of socket as AsyncIterable<Buffer>) received += part.length;
  assert.equal(written, total);
  assert.ok(received > total / 2);
});

test('silence on both sides for longer than the idle time ends it', options, async (t) => {
  const upstream = await startEcho(t);
  // On a busy machine the time may be over before the protocol is switched, which is another case: then with more time.
  for (let idleTimeoutMs = 60; ; idleTimeoutMs *= 2) {
    const gateway = await startForwardingGateway(t, { backend: backendOn([upstream.port], { idleTimeoutMs }) });
    const socket = await connectRaw(t, gateway.port);
    socket.write(ask);
    if (!(await readUntil(socket, '\r\n\r\n')).startsWith('HTTP/1.1 101')) continue;
    socket.resume();
    socket.on('end', () => socket.end());
    await once(socket, 'close');
    assert.equal((await gateway.finished(0)).context.reason, 'upstream_idle_timeout');
    return;
  }
});

test('the connection of an upgrade is not used for anything else', options, async (t) => {
  const upstream = await startEcho(t);
  const gateway = await startForwardingGateway(t, { backend: backendOn([upstream.port]) });
  assert.equal((await fetchAnswer(gateway)).status, 200);
  const socket = await connectRaw(t, gateway.port);
  socket.write(ask);
  await readUntil(socket, '\r\n\r\n');
  for (let i = 0; i < 3; i++) assert.equal((await fetchAnswer(gateway)).status, 200);
  socket.write('still mine');
  assert.equal(await readUntil(socket, 'still mine'), 'still mine');
});

test('a WebSocket of an HTTP/2 client reaches an HTTP/1.1 upstream', options, async (t) => {
  const upstream = await startEcho(t);
  const gateway = await startForwardingGateway(t, { backend: backendOn([upstream.port]) });
  const session = await openHttp2(t, gateway);
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'http',
    ':path': '/chat',
    ':authority': 'x',
    'sec-websocket-version': '13',
  });
  const [headers] = (await once(stream, 'response')) as [Record<string, string | number>];
  assert.equal(headers[':status'], 200);
  assert.equal(headers['sec-websocket-accept'], undefined);
  stream.write('over h2');
  let received = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    received += chunk.toString();
    if (received === 'over h2') stream.end();
  }
  assert.equal(received, 'over h2');
  assert.equal(upstream.requests[0]!.method, 'GET');
  assert.equal(upstream.requests[0]!.url, '/chat');
});

async function openHttp2(t: Parameters<typeof startUpstream>[0], gateway: TestGateway): Promise<ClientHttp2Session> {
  const session = connectHttp2(`http://127.0.0.1:${gateway.port}`);
  session.on('error', () => {});
  t.after(() => session.destroy());
  await once(session, 'remoteSettings');
  return session;
}
