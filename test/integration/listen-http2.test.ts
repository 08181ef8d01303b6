// HTTP/2 exchanges (RFC 9113) with node's own client, cleartext with prior knowledge.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { describe, test, type TestContext } from 'node:test';
import type { Exchange } from '../../src/gateway/http/exchange.ts';
import {
  type ClosedExchange,
  collectBody,
  connectRaw,
  echoHandler,
  openPort,
  repeatUntil,
  waitForExchangeClose,
} from './listen-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

async function openSession(t: TestContext, port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  t.after(() => session.destroy());
  await once(session, 'remoteSettings');
  return session;
}

interface H2Answer {
  readonly status: number;
  readonly raw: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
  readonly informational: readonly number[];
}

type H2Request = ReturnType<ClientHttp2Session['request']>;

function readAnswer(request: H2Request): Promise<H2Answer> {
  return new Promise((resolve, reject) => {
    let status = 0;
    let raw: string[] = [];
    let trailers: string[] = [];
    const informational: number[] = [];
    const chunks: Buffer[] = [];
    request.on('headers', (headers) => informational.push(Number(headers[':status'])));
    request.on('response', (headers, _flags, rawHeaders) => {
      status = Number(headers[':status']);
      raw = rawHeaders;
    });
    request.on('trailers', (_headers: unknown, _flags: unknown, rawTrailers?: string[]) => {
      trailers = rawTrailers ?? [];
    });
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', reject);
    request.on('close', () => {
      if (request.rstCode !== 0) reject(new Error(`reset with ${request.rstCode}`));
      else resolve({ status, raw, body: Buffer.concat(chunks).toString(), trailers, informational });
    });
  });
}

describe('HTTP/2', () => {
  test('prior knowledge shares the port with HTTP/1.1, however its preface is cut', async (t) => {
    const { port } = await openPort(t, echoHandler);
    const session = await openSession(t, port);
    const answer = await readAnswer(session.request({ ':path': '/two?x' }));
    assert.match(answer.body, /"target":"\/two\?x","authority":"127.0.0.1:\d+","version":"2"/);
    const client = await connectRaw(t, port);
    client.send('P');
    client.send('OST /one HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1');
    await client.waitForText('"target":"/one"');
    // Byte by byte, each in a packet of its own, with a SETTINGS frame behind it.
    const slow = await connectRaw(t, port);
    for (const byte of 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0') {
      slow.send(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // The gateway answers with its own SETTINGS: a frame of type 4 on stream 0.
    await waitFor(() => slow.received.length >= 9);
    assert.equal(slow.received.charCodeAt(3), 4);
  });

  test('headers keep order and duplicates in both directions', async (t) => {
    let seen: Exchange | undefined;
    const { port } = await openPort(t, (exchange) => {
      seen = exchange;
      exchange.respond(
        200,
        ['X-One', 'a', 'set-cookie', 'c=1', 'x-one', 'b', 'set-cookie', 'd=2', 'x-l', '\u00e9'],
        'ok',
      );
    });
    const session = await openSession(t, port);
    const answer = await readAnswer(
      session.request([':path', '/', ':method', 'GET', 'x-b', '1', 'x-a', '2', 'x-b', '3'] as never),
    );
    assert.deepEqual(seen!.headers, ['x-b', '1', 'x-a', '2', 'x-b', '3']);
    assert.equal(seen!.hasBody, false);
    assert.equal(seen!.scheme, 'http');
    assert.equal(answer.body, 'ok');
    const fields = answer.raw.slice(2, 12);
    assert.deepEqual(fields, ['x-one', 'a', 'set-cookie', 'c=1', 'x-one', 'b', 'set-cookie', 'd=2', 'x-l', '\u00e9']);
    assert.ok(answer.raw.includes('content-length'));
  });

  test('trailers both ways, informational answers, 100 (Continue) when the body is read', async (t) => {
    let exchange: Exchange | undefined;
    const { port } = await openPort(t, (arrived) => {
      exchange = arrived;
    });
    const session = await openSession(t, port);
    const request = session.request(
      { ':path': '/', ':method': 'POST', expect: '100-continue' },
      { waitForTrailers: true },
    );
    const answer = readAnswer(request);
    request.on('wantTrailers', () => request.sendTrailers({ 'x-sum': '3' }));
    await waitFor(() => exchange !== undefined);
    let continued = false;
    request.on('continue', () => {
      continued = true;
    });
    request.on('headers', (headers) => {
      continued ||= headers[':status'] === 100;
    });
    const body = collectBody(exchange!);
    await waitFor(() => continued);
    request.end('abc');
    assert.deepEqual(await body, { text: 'abc', trailers: ['x-sum', '3'] });
    exchange!.sendInformational(103, ['link', '</a>', 'link', '</b>']);
    exchange!.sendHead(200, ['connection', 'close', 'keep-alive', 'x', 'transfer-encoding', 'chunked']);
    exchange!.write(bytes('streamed'));
    exchange!.end(['X-T', '1', 'x-t', '2']);
    const { status, body: text, trailers, raw, informational } = await answer;
    assert.equal(status, 200);
    assert.equal(text, 'streamed');
    assert.deepEqual(trailers, ['x-t', '1', 'x-t', '2']);
    assert.deepEqual(informational, [100, 103]);
    assert.ok(!raw.includes('connection') && !raw.includes('keep-alive') && !raw.includes('transfer-encoding'));
  });

  test('HEAD, 204 and 304 have no body', async (t) => {
    const closed: Promise<ClosedExchange>[] = [];
    const { port } = await openPort(t, (exchange) => {
      closed.push(waitForExchangeClose(exchange));
      const status = exchange.method === 'HEAD' ? 200 : Number(exchange.target.slice(1));
      exchange.sendHead(status, ['content-length', '7']);
      exchange.write(bytes('content'));
      exchange.end(['x-t', '1']);
    });
    const session = await openSession(t, port);
    const head = await readAnswer(session.request({ ':path': '/', ':method': 'HEAD' }));
    assert.equal(head.status, 200);
    assert.equal(head.body, '');
    assert.ok(head.raw.includes('content-length'));
    for (const status of [204, 304]) {
      const answer = await readAnswer(session.request({ ':path': `/${status}` }));
      assert.equal(answer.status, status);
      assert.equal(answer.body, '');
      assert.equal(answer.raw.includes('content-length'), status === 304);
    }
    const results = await Promise.all(closed);
    for (const { clean, bytesSent } of results) assert.deepEqual([clean, bytesSent], [true, 0]);
  });

  test('abort resets the stream and leaves the others alone', async (t) => {
    const closed: Promise<ClosedExchange>[] = [];
    const { port } = await openPort(t, (exchange) => {
      if (exchange.target === '/fine') {
        exchange.respond(200, [], 'fine');
        return;
      }
      closed.push(waitForExchangeClose(exchange));
      exchange.sendHead(200, []);
      exchange.write(bytes('part'));
      setTimeout(() => exchange.abort(), 20);
    });
    const session = await openSession(t, port);
    const request = session.request({ ':path': '/' });
    request.on('error', () => {});
    request.resume();
    await waitFor(() => request.closed);
    assert.equal(request.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
    assert.equal((await closed[0])!.clean, false);
    assert.equal((await readAnswer(session.request({ ':path': '/fine' }))).body, 'fine');
  });

  test('a client that cancels or vanishes is noticed while nothing is written', async (t) => {
    for (const leave of ['cancel', 'destroy'] as const) {
      let closed: Promise<ClosedExchange> | undefined;
      const { port } = await openPort(t, (exchange) => {
        closed = waitForExchangeClose(exchange);
        exchange.sendHead(200, ['content-type', 'text/event-stream']);
        exchange.write(bytes('data: 1\n\n'));
      });
      const session = await openSession(t, port);
      const request = session.request({ ':path': '/' });
      request.on('error', () => {});
      await once(request, 'data');
      if (leave === 'cancel') request.close(constants.NGHTTP2_CANCEL);
      else session.socket.destroy();
      assert.deepEqual(await closed, { clean: false, bytesSent: 9, bytesReceived: 0 });
    }
  });

  test('backpressure: a slow sink and a slow client', async (t) => {
    const total = 4 * 1024 * 1024;
    let paused = 0;
    let resume: (() => void) | undefined;
    let received = 0;
    let drains = 0;
    const { port } = await openPort(t, (exchange) => {
      const flow = exchange.readBody({
        write(chunk) {
          received += chunk.length;
          paused += 1;
          resume = () => flow.resume();
          return false;
        },
        end() {
          exchange.sendHead(200, []);
          let left = total;
          const pump = (): void => {
            while (left > 0) {
              left -= 65_536;
              if (!exchange.write(Buffer.alloc(65_536))) return;
            }
            exchange.end();
          };
          exchange.onDrain(() => {
            drains += 1;
            pump();
          });
          pump();
        },
        fail: () => {},
      });
    });
    const session = await openSession(t, port);
    const request = session.request({ ':path': '/', ':method': 'POST' });
    const answered = once(request, 'response');
    request.end(Buffer.alloc(total));
    await waitFor(() => paused === 1);
    assert.ok(received <= 65_536);
    await repeatUntil(
      () => received === total,
      () => resume?.(),
    );
    resume?.();
    await answered;
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    await once(request, 'end');
    assert.equal(length, total);
    assert.ok(drains > 0);
  });

  test('an unread request body does not keep the stream open', async (t) => {
    let closed: Promise<ClosedExchange> | undefined;
    const { port } = await openPort(t, (exchange) => {
      closed = waitForExchangeClose(exchange);
      exchange.respond(401, [], 'no');
    });
    const session = await openSession(t, port);
    const request = session.request({ ':path': '/', ':method': 'POST' });
    request.write('never complete');
    const answer = await readAnswer(request);
    assert.equal(answer.status, 401);
    assert.equal(answer.body, 'no');
    assert.equal((await closed)!.clean, true);
  });

  test('a paused sink does not leak the stream when the answer comes first', async (t) => {
    let exchange: Exchange | undefined;
    const { port } = await openPort(t, (arrived) => {
      exchange = arrived;
      arrived.readBody({ write: () => false, end: () => {}, fail: () => {} });
    });
    const session = await openSession(t, port);
    const request = session.request({ ':path': '/', ':method': 'POST' });
    request.end(Buffer.alloc(1_000_000));
    await waitFor(() => exchange !== undefined);
    exchange!.sendHead(200, []);
    exchange!.end(['x-t', '1']);
    const answer = await readAnswer(request);
    assert.deepEqual(answer.trailers, ['x-t', '1']);
  });

  test('a head that cannot be sent becomes an internal error', async (t) => {
    const { port } = await openPort(t, (exchange) => {
      exchange.sendHead(200, ['x-bad', 'a\0x-injected\0b']);
      exchange.write(bytes('body'));
      exchange.end();
    });
    const session = await openSession(t, port);
    const answer = await readAnswer(session.request({ ':path': '/' }));
    assert.equal(answer.status, 500);
    assert.match(answer.body, /"internal_error"/);
  });

  test('too many and too large headers are answered 431', async (t) => {
    const { port } = await openPort(t, echoHandler, { limits: { maxHeaderCount: 20, maxHeaderBytes: 4_096 } });
    const session = await openSession(t, port);
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`x-${index}`, '1']));
    const tooMany = await readAnswer(session.request({ ':path': '/', ...many }));
    assert.equal(tooMany.status, 431);
    assert.match(tooMany.body, /"too_many_headers"/);
    assert.equal(session.remoteSettings.maxHeaderListSize, 4_096);
    const large = session.request({ ':path': '/', 'x-large': 'x'.repeat(5_000) });
    // Where node itself enforces the announced size, the stream is reset instead.
    const outcome = await readAnswer(large).then(
      ({ status }) => status,
      () => 'reset',
    );
    assert.ok(outcome === 431 || outcome === 'reset');
    assert.equal((await readAnswer(session.request({ ':path': '/after' }))).status, 200);
  });

  test(':authority and Host must agree', async (t) => {
    const { port } = await openPort(t, echoHandler);
    const session = await openSession(t, port);
    const differing = await readAnswer(session.request({ ':path': '/', ':authority': 'a.test', host: 'b.test' }));
    assert.equal(differing.status, 400);
    assert.match(differing.body, /"missing_host"/);
    const same = await readAnswer(session.request({ ':path': '/', ':authority': 'a.test', host: 'A.test' }));
    assert.equal(same.status, 200);
  });

  test('streams at once are limited', async (t) => {
    const exchanges: Exchange[] = [];
    const { port } = await openPort(t, (exchange) => exchanges.push(exchange), { limits: { maxConcurrentStreams: 5 } });
    const session = await openSession(t, port);
    assert.equal(session.remoteSettings.maxConcurrentStreams, 5);
    const answers = Array.from({ length: 8 }, () => readAnswer(session.request({ ':path': '/' })));
    await waitFor(() => exchanges.length === 5);
    for (let done = 0; done < 8; done += 1) {
      await waitFor(() => exchanges.length > done);
      assert.ok(exchanges.length - done <= 5);
      exchanges[done]!.respond(200, [], 'ok');
      await Promise.race(answers);
    }
    for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
  });

  test('a flood of resets ends the connection', async (t) => {
    let served = 0;
    const { port } = await openPort(t, () => {
      served += 1;
    });
    const session = await openSession(t, port);
    let closed = false;
    session.on('close', () => {
      closed = true;
    });
    await repeatUntil(
      () => closed,
      () => {
        for (let index = 0; index < 50 && !session.destroyed && !session.closed; index += 1) {
          const request = session.request({ ':path': '/' });
          request.on('error', () => {});
          request.close(constants.NGHTTP2_CANCEL);
        }
      },
    );
    assert.ok(served < 5_000);
  });

  test(
    'floods of PING and SETTINGS from a client that does not read end the connection',
    { timeout: 180_000 },
    async (t) => {
      const { port, listeners } = await openPort(t, echoHandler);
      for (const frame of ['\0\0\x08\x06\0\0\0\0\0pingpong', '\0\0\0\x04\0\0\0\0\0']) {
        const client = await connectRaw(t, port);
        client.stream.pause();
        client.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
        await waitFor(() => listeners.connectionCount() === 1);
        const batch = frame.repeat(2_000);
        await repeatUntil(
          () => listeners.connectionCount() === 0,
          () => {
            if (client.stream.writableLength < 1_000_000) client.send(batch);
          },
        );
        client.stream.destroy();
      }
    },
  );

  test('header blocks without end are cut off', async (t) => {
    const { port, listeners } = await openPort(t, echoHandler);
    const client = await connectRaw(t, port);
    client.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
    await waitFor(() => listeners.connectionCount() === 1);
    // HEADERS on stream 1 without END_HEADERS, then CONTINUATION after CONTINUATION (CVE-2024-27316).
    client.send('\0\0\x01\x01\0\0\0\0\x01\x82');
    await repeatUntil(
      () => listeners.connectionCount() === 0,
      () => client.send('\0\0\x05\x09\0\0\0\0\x01\x40\x01a\x01b'),
    );
  });

  test('a plain CONNECT has no path', async (t) => {
    const { port } = await openPort(t, echoHandler);
    const session = await openSession(t, port);
    const request = session.request({ ':method': 'CONNECT', ':authority': 'other.test:443' });
    request.end();
    assert.match((await readAnswer(request)).body, /"method":"CONNECT","target":"","authority":"other.test:443"/);
  });
});

describe('websockets over HTTP/2 (RFC 8441)', () => {
  const connectHeaders = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/chat', ':scheme': 'http' };

  test('an extended CONNECT becomes a tunnel', async (t) => {
    let closed: Promise<ClosedExchange> | undefined;
    let seen: Exchange | undefined;
    const { port } = await openPort(t, (exchange) => {
      seen = exchange;
      closed = waitForExchangeClose(exchange);
      const { stream } = exchange.acceptUpgrade(101, ['Sec-WebSocket-Accept', 'x', 'Sec-WebSocket-Protocol', 'mcp']);
      stream.pipe(stream);
    });
    const session = await openSession(t, port);
    assert.equal(session.remoteSettings.enableConnectProtocol, true);
    const request = session.request(connectHeaders);
    request.setEncoding('utf8');
    let received = '';
    request.on('data', (chunk: string) => {
      received += chunk;
    });
    const [headers] = (await once(request, 'response')) as [Record<string, unknown>];
    assert.equal(headers[':status'], 200);
    assert.equal(headers['sec-websocket-accept'], undefined);
    assert.equal(headers['sec-websocket-protocol'], 'mcp');
    request.write('hello');
    await waitFor(() => received === 'hello');
    request.end(' bye');
    await once(request, 'close');
    assert.equal(received, 'hello bye');
    assert.equal(seen!.upgradeProtocol, 'websocket');
    assert.equal(seen!.target, '/chat');
    assert.deepEqual(await closed, { clean: true, bytesSent: 9, bytesReceived: 9 });
  });

  test('it can be refused like any request', async (t) => {
    const { port } = await openPort(t, (exchange) => exchange.respond(403, [], 'no'));
    const session = await openSession(t, port);
    const answer = await readAnswer(session.request(connectHeaders));
    assert.equal(answer.status, 403);
    assert.equal(answer.body, 'no');
  });

  test('a client that resets the tunnel is noticed', async (t) => {
    let closed: Promise<ClosedExchange> | undefined;
    let destroyed = false;
    const { port } = await openPort(t, (exchange) => {
      closed = waitForExchangeClose(exchange);
      const { stream } = exchange.acceptUpgrade(101, []);
      stream.resume();
      stream.on('close', () => {
        destroyed = true;
      });
    });
    const session = await openSession(t, port);
    const request = session.request(connectHeaders);
    request.on('error', () => {});
    await once(request, 'response');
    request.close(constants.NGHTTP2_CANCEL);
    assert.equal((await closed!).clean, false);
    await waitFor(() => destroyed);
  });
});
