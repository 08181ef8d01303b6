// HTTP/1 exchanges (RFC 9112) over real sockets, byte by byte.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Exchange } from '../../src/gateway/http/exchange.ts';
import { pump } from './backpressure.ts';
import {
  collectBody,
  connectRaw,
  echoHandler,
  openPort,
  readErrorAnswer,
  repeatUntil,
  waitForExchangeClose,
  type ClosedExchange,
} from './listen-fixture.ts';
import { waitFor, waitForStandstill } from '../kit/wait-for.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('requests', () => {
  test('headers keep order, spelling and duplicates', async (t) => {
    let seen: Exchange | undefined;
    const { port } = await openPort(t, (exchange) => {
      seen = exchange;
      exchange.respond(
        200,
        ['X-One', 'a', 'x-one', 'b', 'Set-Cookie', 'c=1', 'Set-Cookie', 'd=2', 'X-Latin', '\u00e9'],
        'ok',
      );
    });
    const client = await connectRaw(t, port);
    client.send('GET /a?b HTTP/1.1\r\nHost: x.test:80\r\nX-B: 1\r\nx-a: 2\r\nX-B: 3\r\nConnection: close\r\n\r\n');
    const answer = await client.waitForClose();
    assert.deepEqual(seen!.headers, ['Host', 'x.test:80', 'X-B', '1', 'x-a', '2', 'X-B', '3', 'Connection', 'close']);
    assert.equal(seen!.target, '/a?b');
    assert.equal(seen!.authority, 'x.test:80');
    assert.equal(seen!.scheme, 'http');
    assert.equal(seen!.hasBody, false);
    assert.equal(seen!.remoteAddress, '127.0.0.1');
    assert.equal(seen!.localPort, port);
    assert.ok(seen!.remotePort > 0);
    assert.match(answer, /X-One: a\r\nx-one: b\r\nSet-Cookie: c=1\r\nSet-Cookie: d=2\r\nX-Latin: \u00e9\r\n/);
    assert.match(answer, /content-length: 2\r\n/i);
    assert.match(answer, /\r\n\r\nok$/);
  });

  test('an absolute-form target is split, and its authority wins over Host', async (t) => {
    const { port } = await openPort(t, echoHandler);
    const client = await connectRaw(t, port);
    client.send('GET http://other.test:81/p?q HTTP/1.1\r\nHost: x.test\r\n\r\n');
    assert.match(await client.waitForText('}'), /"target":"\/p\?q","authority":"other.test:81"/);
    client.send('GET http://other.test?q HTTP/1.1\r\nHost: x.test\r\n\r\n');
    assert.match(await client.waitForText('"/?q"'), /"authority":"other.test"/);
    client.send('OPTIONS * HTTP/1.1\r\nHost: x.test\r\n\r\n');
    await client.waitForText('"target":"*"');
  });

  test('CONNECT has an authority and no path, and is answered', async (t) => {
    const { port } = await openPort(t, echoHandler);
    const client = await connectRaw(t, port);
    client.send('CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n');
    const answer = await client.waitForClose();
    assert.match(answer, /^HTTP\/1.1 200 /);
    assert.match(answer, /connection: close\r\n/i);
    assert.match(answer, /"method":"CONNECT","target":"","authority":"other.test:443"/);
  });

  test('HTTP/1.0 gets no chunks, and keeps its connection only on request', async (t) => {
    const { port } = await openPort(t, (exchange) => {
      if (exchange.target === '/whole') {
        exchange.respond(200, [], 'whole');
        return;
      }
      exchange.sendInformational(103, ['link', '</a>']);
      exchange.sendHead(200, ['trailer', 'x-t']);
      exchange.write(bytes('streamed'));
      exchange.end(['x-t', '1']);
    });
    const first = await connectRaw(t, port);
    first.send('GET / HTTP/1.0\r\nTE: chunked\r\n\r\n');
    const answer = await first.waitForClose();
    assert.match(answer, /^HTTP\/1.1 200 OK\r\n/);
    assert.match(answer, /connection: close\r\n/i);
    assert.doesNotMatch(answer, /transfer-encoding|x-t/i);
    assert.match(answer, /\r\n\r\nstreamed$/);
    const second = await connectRaw(t, port);
    second.send('GET /whole HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    await second.waitForText('whole');
    second.send('GET /whole HTTP/1.0\r\n\r\n');
    assert.equal((await second.waitForClose()).match(/200 OK/g)!.length, 2);
  });

  test('bodies arrive with their trailers, chunked or not', async (t) => {
    const bodies: unknown[] = [];
    const { port } = await openPort(t, (exchange) => {
      void (async () => {
        bodies.push(await collectBody(exchange));
        exchange.respond(204, [], '');
      })();
    });
    const client = await connectRaw(t, port);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    client.send('2;ext=1\r\nde\r\n0\r\nX-Sum: 5\r\nX-Sum: 6\r\n\r\n');
    await client.waitForText('204 No Content');
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nwxyz');
    await waitFor(() => bodies.length === 2);
    assert.deepEqual(bodies, [
      { text: 'abcde', trailers: ['X-Sum', '5', 'X-Sum', '6'] },
      { text: 'wxyz', trailers: [] },
    ]);
  });

  test('a slow sink stops the client', async (t) => {
    let resume: (() => void) | undefined;
    let received = 0;
    let ended = false;
    const { port } = await openPort(t, (exchange) => {
      const flow = exchange.readBody({
        write(chunk) {
          received += chunk.length;
          resume = () => flow.resume();
          return false;
        },
        end() {
          ended = true;
          exchange.respond(200, [], 'done');
        },
        fail: () => {},
      });
    });
    const total = 64 * 1024 * 1024;
    const client = await connectRaw(t, port);
    client.send(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${total}\r\n\r\n`);
    client.stream.write(Buffer.alloc(total));
    await waitFor(() => resume !== undefined);
    // The kernel's buffers are all that fills up: most of the body stays with the client.
    const before = received;
    await waitFor(() => client.stream.writableLength > 0);
    assert.equal(received, before);
    assert.ok(client.stream.writableLength > total / 4);
    await repeatUntil(
      () => ended,
      () => {
        const next = resume;
        resume = undefined;
        next?.();
      },
    );
    await client.waitForText('done');
    assert.equal(received, total);
  });

  test('a sink that goes on again and again and then stops has stopped the client', async (t) => {
    let received = 0;
    let pauses = 0;
    const { port } = await openPort(t, (exchange) => {
      const flow = exchange.readBody({
        write(chunk) {
          received += chunk.length;
          pauses += 1;
          if (pauses >= 50) return false;
          // At different times, and once too often.
          process.nextTick(() => flow.resume());
          setImmediate(() => flow.resume());
          return false;
        },
        end: () => {},
        fail: () => {},
      });
    });
    const total = 256 * 1024 * 1024;
    const client = await connectRaw(t, port);
    client.send(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${total}\r\n\r\n`);
    const state = pump(client.stream, total);
    await waitFor(() => pauses >= 50);
    await waitForStandstill(() => state.written);
    assert.ok(pauses < 60, `${pauses} pieces for a sink that wants no more`);
    // What the kernel holds, and not what the gateway would hold.
    assert.ok(state.written - received < 32 * 1024 * 1024, `${state.written - received} bytes in flight`);
    client.stream.destroy();
  });

  test('100 (Continue) is sent when the body is read, not before', async (t) => {
    let exchange: Exchange | undefined;
    const { port } = await openPort(t, (arrived) => {
      exchange = arrived;
    });
    const client = await connectRaw(t, port);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n');
    await waitFor(() => exchange !== undefined);
    assert.equal(client.received, '');
    const body = collectBody(exchange!);
    await client.waitForText('HTTP/1.1 100 Continue\r\n\r\n');
    client.send('abc');
    assert.equal((await body).text, 'abc');
    exchange!.respond(200, [], 'fine');
    await client.waitForText('fine');
  });

  test('a final answer in place of 100 (Continue) closes the connection', async (t) => {
    const { port } = await openPort(t, (exchange) => exchange.respond(401, [], 'no'));
    const client = await connectRaw(t, port);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n');
    const answer = await client.waitForClose();
    assert.match(answer, /^HTTP\/1.1 401 /);
    assert.match(answer, /connection: close\r\n/i);
  });

  test('a small unread body is swallowed and the connection goes on', async (t) => {
    const { port } = await openPort(t, (exchange) => exchange.respond(200, [], exchange.target));
    const client = await connectRaw(t, port);
    client.send('POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n');
    await client.waitForText('/first');
    client.send('x'.repeat(100_000));
    client.send('GET /second HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.waitForText('/second');
  });

  test('an answer that closes the connection arrives although the body was not read', async (t) => {
    const { port } = await openPort(t, (exchange) => exchange.respond(401, [], 'who are you?'));
    for (const length of [10, 100_000, 900_000]) {
      const client = await connectRaw(t, port);
      client.send(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`);
      for (let left = length; left > 0; left -= 10_000) {
        client.send('x'.repeat(Math.min(left, 10_000)));
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.match(await client.waitForClose(), /^HTTP\/1.1 401 [^]*who are you\?$/);
      assert.equal(client.error, undefined);
    }
  });

  test('a handler that throws costs its own request only', async (t) => {
    const { port } = await openPort(t, (exchange) => {
      if (exchange.target === '/late') exchange.sendHead(200, []);
      throw new Error('a bug');
    });
    const client = await connectRaw(t, port);
    client.send('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.equal(readErrorAnswer(await client.waitForClose()).error, 'internal_error');
    const late = await connectRaw(t, port);
    late.send('GET /late HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.doesNotMatch(await late.waitForClose(), /\n0\r\n\r\n$/);
  });

  test('an endless unread body is cut off', async (t) => {
    const { port } = await openPort(t, (exchange) => exchange.respond(200, [], exchange.target));
    const client = await connectRaw(t, port);
    client.send('POST /first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    await client.waitForText('/first');
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    let sent = 0;
    await repeatUntil(
      () => client.closed,
      () => {
        client.send(chunk);
        sent += chunk.length;
      },
    );
    assert.ok(sent > 1_048_576);
  });

  test('pipelined requests are handled one after the other and answered in order', async (t) => {
    const running = { now: 0, most: 0, order: [] as string[] };
    const { port } = await openPort(t, (exchange) => {
      running.now += 1;
      running.most = Math.max(running.most, running.now);
      running.order.push(exchange.target);
      exchange.onClose(() => {
        running.now -= 1;
      });
      void (async () => {
        const { text } = await collectBody(exchange);
        setImmediate(() => exchange.respond(200, [], `${exchange.target}${text};`));
      })();
    });
    const client = await connectRaw(t, port);
    const count = 200;
    let wire = '';
    for (let index = 0; index < count; index += 1) {
      wire += `POST /${index} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi`;
    }
    client.send(wire);
    await client.waitForText(`/${count - 1}hi;`);
    assert.equal(running.most, 1);
    const expected = Array.from({ length: count }, (_, index) => `/${index}`);
    assert.deepEqual(running.order, expected);
    assert.deepEqual(client.received.match(/\/\d+(?=hi;)/g), expected);
  });
});

describe('answers', () => {
  test('trailers, informational answers and streaming', async (t) => {
    let exchange: Exchange | undefined;
    const { port } = await openPort(t, (arrived) => {
      exchange = arrived;
    });
    const client = await connectRaw(t, port);
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => exchange !== undefined);
    exchange!.sendInformational(103, ['Link', '</a>', 'Link', '</b>']);
    await client.waitForText('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n');
    exchange!.sendHead(200, ['Trailer', 'X-Sum']);
    assert.equal(exchange!.headSent, true);
    // The head does not wait for the first byte of the body.
    await client.waitForText('HTTP/1.1 200 OK');
    exchange!.write(bytes('one'));
    await client.waitForText('3\r\none\r\n');
    exchange!.write(bytes('two'));
    await client.waitForText('3\r\ntwo\r\n');
    exchange!.end(['X-Sum', '1', 'X-Sum', '2']);
    await client.waitForText('0\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n');
    assert.match(client.received, /trailer: X-Sum\r\n/i);
  });

  test('head and small body leave in one write', async (t) => {
    const { port } = await openPort(t, (exchange) => {
      exchange.sendHead(200, ['content-length', '5']);
      exchange.write(bytes('hello'));
      exchange.end();
    });
    const client = await connectRaw(t, port);
    const chunks: string[] = [];
    client.stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.waitForText('hello');
    assert.equal(chunks.length, 1);
  });

  test('HEAD, 204 and 304 have no body whatever the handler writes', async (t) => {
    const closed: Promise<ClosedExchange>[] = [];
    const { port } = await openPort(t, (exchange) => {
      closed.push(waitForExchangeClose(exchange));
      const status = exchange.method === 'HEAD' ? 200 : Number(exchange.target.slice(1));
      exchange.sendHead(status, ['Content-Length', '7', 'Trailer', 'x-t']);
      exchange.write(bytes('content'));
      exchange.end(['x-t', '1']);
    });
    const client = await connectRaw(t, port);
    client.send(
      'HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET /304 HTTP/1.1\r\nHost: x\r\n\r\nGET /204 HTTP/1.1\r\nHost: x\r\n\r\n',
    );
    client.send('GET /200 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const answers = (await client.waitForClose()).split(/(?=HTTP\/1\.1 )/);
    assert.deepEqual(
      answers.map((answer) => answer.slice(9, 12)),
      ['200', '304', '204', '200'],
    );
    assert.match(answers[0]!, /content-length: 7\r\n[^]*\r\n\r\n$/i);
    assert.match(answers[1]!, /content-length: 7\r\n[^]*\r\n\r\n$/i);
    assert.doesNotMatch(answers[2]!, /content-length|transfer-encoding/i);
    assert.match(answers[3]!, /\r\n\r\ncontent$/);
    assert.deepEqual(
      (await Promise.all(closed)).map(({ clean, bytesSent }) => [clean, bytesSent]),
      [
        [true, 0],
        [true, 0],
        [true, 0],
        [true, 7],
      ],
    );
  });

  test('a client that does not read stops the writer until it reads again', async (t) => {
    let exchange: Exchange | undefined;
    const { port } = await openPort(t, (arrived) => {
      exchange = arrived;
    });
    const client = await connectRaw(t, port);
    client.stream.pause();
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => exchange !== undefined);
    exchange!.sendHead(200, []);
    const chunk = Buffer.alloc(65_536, 'x');
    let written = 0;
    let drained = 0;
    exchange!.onDrain(() => {
      drained += 1;
    });
    // The kernel takes a few megabytes before it pushes back.
    for (let full = false; !full;) {
      written += chunk.length;
      full = !exchange!.write(chunk);
      if (full) {
        await new Promise((resolve) => setImmediate(resolve));
        full = drained === 0;
        drained = 0;
      }
      assert.ok(written < 512 * 1024 * 1024);
    }
    client.stream.resume();
    await waitFor(() => drained > 0);
    const closed = waitForExchangeClose(exchange!);
    exchange!.end();
    assert.deepEqual(await closed, { clean: true, bytesSent: written, bytesReceived: 0 });
  });

  test('abort is an error that the client sees, with every framing', async (t) => {
    const closed: Promise<ClosedExchange>[] = [];
    const { port } = await openPort(t, (exchange) => {
      closed.push(waitForExchangeClose(exchange));
      if (exchange.target === '/early') {
        exchange.abort();
        return;
      }
      exchange.sendHead(200, exchange.target === '/length' ? ['content-length', '100'] : []);
      exchange.write(bytes('part'));
      setTimeout(() => exchange.abort(), 20);
    });
    for (const [target, version] of [
      ['/early', '1.1'],
      ['/length', '1.1'],
      ['/chunked', '1.1'],
    ]) {
      const client = await connectRaw(t, port);
      client.send(`GET ${target} HTTP/${version}\r\nHost: x\r\n\r\n`);
      const answer = await client.waitForClose();
      assert.doesNotMatch(answer, /0\r\n\r\n$/);
      if (target !== '/early') assert.match(answer, /part/);
    }
    // Without framing, only a reset tells the end of the answer from its failure.
    const old = await connectRaw(t, port);
    old.send('GET /close HTTP/1.0\r\n\r\n');
    await old.waitForClose();
    assert.equal(old.error?.code, 'ECONNRESET');
    for (const { clean } of await Promise.all(closed)) assert.equal(clean, false);
  });

  test('an answer that does not keep to its Content-Length becomes an abort', async (t) => {
    const { port } = await openPort(t, (exchange) => {
      exchange.sendHead(200, ['content-length', '5']);
      exchange.write(bytes(exchange.target === '/long' ? 'way too long' : 'bit'));
      exchange.end();
    });
    for (const target of ['/long', '/short']) {
      const client = await connectRaw(t, port);
      client.send(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
      assert.doesNotMatch(await client.waitForClose(), /too long/);
    }
  });

  test('a head that cannot be sent becomes an internal error', async (t) => {
    const { port } = await openPort(t, (exchange) => {
      exchange.sendHead(200, ['x-bad', 'a\r\nset-cookie: b']);
      exchange.write(bytes('body'));
      exchange.end();
    });
    const client = await connectRaw(t, port);
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const answer = readErrorAnswer(await client.waitForClose());
    assert.equal(answer.status, 500);
    assert.equal(answer.error, 'internal_error');
  });

  test('a client that leaves a silent stream is noticed at once, by FIN and by RST', async (t) => {
    for (const leave of ['end', 'resetAndDestroy'] as const) {
      let closed: Promise<ClosedExchange> | undefined;
      const { port } = await openPort(t, (exchange) => {
        closed = waitForExchangeClose(exchange);
        exchange.sendHead(200, ['content-type', 'text/event-stream']);
        exchange.write(bytes('data: 1\n\n'));
      });
      const client = await connectRaw(t, port);
      client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      await client.waitForText('data: 1');
      (client.stream as import('node:net').Socket)[leave]();
      assert.deepEqual(await closed, { clean: false, bytesSent: 9, bytesReceived: 0 });
    }
  });

  test('a client that has ended its direction gets an answer that is still to come, and nothing after it', async (t) => {
    const exchanges: Exchange[] = [];
    const closes: boolean[] = [];
    const { port } = await openPort(t, (exchange) => {
      exchanges.push(exchange);
      exchange.onClose((clean) => closes.push(clean));
    });
    const waits = await connectRaw(t, port);
    const finished = once(waits.stream, 'finish');
    waits.stream.end('GET /a HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => exchanges.length === 1);
    // Its end has been sent, and the other side of the socket is in this process: after a few turns it has been read.
    await finished;
    for (let turns = 0; turns < 5; turns += 1) await nextTurn();
    exchanges[0]!.respond(200, [], 'late');
    assert.match(await waits.waitForClose(), /connection: close\r\n\r\nlate$/);
    assert.deepEqual(closes, [true]);
    // Nobody can tell whether it is still there: it does not stay open for ever.
    const gone = await connectRaw(t, port);
    gone.stream.end('GET /b HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => exchanges.length === 2);
    await waitFor(() => closes.length === 2);
    assert.deepEqual(closes, [true, false]);
  });

  test('a client that leaves in the middle of its body fails the sink', async (t) => {
    let outcome: Promise<unknown> | undefined;
    let closed: Promise<ClosedExchange> | undefined;
    const { port } = await openPort(t, (exchange) => {
      closed = waitForExchangeClose(exchange);
      outcome = collectBody(exchange).catch((error: unknown) => error);
    });
    const client = await connectRaw(t, port);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
    await waitFor(() => outcome !== undefined);
    (client.stream as import('node:net').Socket).resetAndDestroy();
    assert.equal(((await outcome) as { code: string }).code, 'incomplete_body');
    assert.deepEqual(await closed, { clean: false, bytesSent: 0, bytesReceived: 3 });
  });

  test('using an exchange after its client left does nothing', async (t) => {
    let exchange: Exchange | undefined;
    const { port } = await openPort(t, (arrived) => {
      exchange = arrived;
    });
    const client = await connectRaw(t, port);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n');
    await waitFor(() => exchange !== undefined);
    const closed = waitForExchangeClose(exchange!);
    client.stream.destroy();
    await closed;
    let calls = 0;
    exchange!.onClose(() => {
      calls += 1;
    });
    assert.equal(calls, 1);
    const failed = collectBody(exchange!);
    exchange!.sendInformational(103, []);
    exchange!.sendHead(200, []);
    assert.equal(exchange!.write(bytes('x')), true);
    exchange!.end();
    exchange!.abort();
    await assert.rejects(failed, { code: 'incomplete_body' });
  });

  test('keep-alive connections serve many requests', async (t) => {
    const ports = new Set<number>();
    const { port } = await openPort(t, (exchange) => {
      ports.add(exchange.remotePort);
      echoHandler(exchange, undefined as never);
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    for (let index = 0; index < 20; index += 1) {
      const text = await new Promise<string>((resolve, reject) => {
        const request = httpRequest({ port, host: '127.0.0.1', agent, method: 'POST' }, (response) => {
          let received = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            received += chunk;
          });
          response.on('end', () => resolve(received));
        });
        request.on('error', reject);
        request.end(`body ${index}`);
      });
      assert.match(text, new RegExp(`"body ${index}"`));
    }
    assert.equal(ports.size, 1);
  });
});

describe('upgrades', () => {
  const handshake = 'GET /chat HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n';

  test('an accepted upgrade hands over the connection with the bytes that came early', async (t) => {
    let closed: Promise<ClosedExchange> | undefined;
    let protocol: string | undefined;
    const { port } = await openPort(t, (exchange) => {
      protocol = exchange.upgradeProtocol;
      closed = waitForExchangeClose(exchange);
      setImmediate(() => {
        const { head, stream } = exchange.acceptUpgrade(101, ['Sec-WebSocket-Accept', 'abc']);
        stream.write(head);
        stream.pipe(stream);
      });
    });
    const client = await connectRaw(t, port);
    client.send(`${handshake}early`);
    await client.waitForText('early');
    assert.match(client.received, /^HTTP\/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n/);
    assert.match(client.received, /Sec-WebSocket-Accept: abc\r\nUpgrade: websocket\r\n\r\nearly$/);
    client.send('later');
    await client.waitForText('later');
    client.stream.end();
    assert.equal(protocol, 'websocket');
    assert.deepEqual(await closed, { clean: true, bytesSent: 10, bytesReceived: 10 });
  });

  test('an upgrade can be answered like any other request, and the connection closes', async (t) => {
    const { port } = await openPort(t, (exchange) => {
      if (exchange.target === '/chat') {
        exchange.respond(403, ['content-type', 'text/plain'], 'not here');
        return;
      }
      exchange.sendHead(200, []);
      exchange.write(bytes('one'));
      setImmediate(() => {
        exchange.write(bytes('two'));
        exchange.end(['x-t', '1']);
      });
    });
    const first = await connectRaw(t, port);
    first.send(handshake);
    const answer = await first.waitForClose();
    assert.match(answer, /^HTTP\/1.1 403 Forbidden\r\n/);
    assert.match(answer, /connection: close\r\n/i);
    assert.match(answer, /\r\n\r\nnot here$/);
    const second = await connectRaw(t, port);
    second.send(handshake.replace('/chat', '/stream'));
    assert.match(await second.waitForClose(), /3\r\none\r\n3\r\ntwo\r\n0\r\nx-t: 1\r\n\r\n$/);
  });

  test('a large answer to an upgrade drains', async (t) => {
    const size = 16 * 1024 * 1024;
    const { port } = await openPort(t, (exchange) => {
      exchange.sendHead(200, ['content-length', String(size)]);
      let left = size;
      const writeMore = (): void => {
        while (left > 0) {
          left -= 65_536;
          if (!exchange.write(Buffer.alloc(65_536, 'x'))) return;
        }
        exchange.end();
      };
      exchange.onDrain(writeMore);
      writeMore();
    });
    const client = await connectRaw(t, port);
    client.send(handshake);
    assert.ok((await client.waitForClose()).length > size);
  });

  test('a client that leaves before its upgrade is answered is noticed', async (t) => {
    let closed: Promise<ClosedExchange> | undefined;
    const { port } = await openPort(t, (exchange) => {
      closed = waitForExchangeClose(exchange);
    });
    const client = await connectRaw(t, port);
    client.send(handshake);
    await waitFor(() => closed !== undefined);
    client.stream.destroy();
    assert.equal((await closed!).clean, false);
  });

  test('an upgrade to h2c, with a body, or behind other requests is served as plain HTTP/1.1', async (t) => {
    const { port } = await openPort(t, (exchange) => {
      setImmediate(() => exchange.respond(200, [], `${exchange.target}:${exchange.upgradeProtocol};`));
    });
    const client = await connectRaw(t, port);
    client.send(
      'GET /1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n',
    );
    await client.waitForText('/1:undefined;');
    client.send(
      'POST /2 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nhi',
    );
    await client.waitForText('/2:undefined;');
    client.send(`GET /3 HTTP/1.1\r\nHost: x\r\n\r\n${handshake}`);
    await client.waitForText('/3:undefined;');
    await client.waitForText('/chat:undefined;');
  });
});
