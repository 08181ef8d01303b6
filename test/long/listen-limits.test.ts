// What a gateway takes from clients before it says no, and that it stays small and usable while they try.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { createSecureContext } from 'node:tls';
import type { Exchange } from '../../src/gateway/http/exchange.ts';
import { connectRaw, echoHandler, openPort, RawClient, readErrorAnswer } from '../integration/listen-fixture.ts';
import { createCertificate } from '../self-signed-certificate.ts';
import { waitFor } from '../kit/wait-for.ts';
import { effort } from '../kit/effort.ts';

async function serves(t: TestContext, port: number): Promise<boolean> {
  const client = await connectRaw(t, port);
  client.send('GET /alive HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  return (await client.waitForClose()).includes('"/alive"');
}

function lines(count: number): string {
  return Array.from({ length: count }, (_, index) => `X-${index}: 1\r\n`).join('');
}

describe('heads', () => {
  test('too large: 431 headers_too_large, wherever the bytes are', async (t) => {
    const { port } = await openPort(t, echoHandler, { limits: { maxHeaderBytes: 8_192 } });
    for (const wire of [
      `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(9_000)}\r\n\r\n`,
      `GET /${'a'.repeat(9_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\n${'a'.repeat(9_000)}: 1\r\n\r\n`,
    ]) {
      const client = await connectRaw(t, port);
      client.send(wire);
      const answer = readErrorAnswer(await client.waitForClose());
      assert.deepEqual([answer.status, answer.error], [431, 'headers_too_large']);
      assert.match(answer.headers, /connection: close/i);
    }
    const fine = await connectRaw(t, port);
    fine.send(`GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(7_000)}\r\n\r\n`);
    await fine.waitForText('200 OK');
  });

  test('too many: 431 too_many_headers, and exactly the limit is fine', async (t) => {
    let seen: Exchange | undefined;
    const { port } = await openPort(
      t,
      (exchange, config) => {
        seen = exchange;
        echoHandler(exchange, config);
      },
      { limits: { maxHeaderCount: 50 } },
    );
    for (const count of [50, 500]) {
      const client = await connectRaw(t, port);
      client.send(`GET / HTTP/1.1\r\nHost: x\r\n${lines(count)}\r\n`);
      const answer = readErrorAnswer(await client.waitForClose());
      assert.deepEqual([answer.status, answer.error], [431, 'too_many_headers']);
    }
    assert.equal(seen, undefined);
    const client = await connectRaw(t, port);
    client.send(`GET / HTTP/1.1\r\nHost: x\r\n${lines(49)}\r\n`);
    await client.waitForText('200 OK');
    assert.equal(seen!.headers.length, 100);
  });

  test('endless trailers do not fill the memory', async (t) => {
    const { port } = await openPort(t, echoHandler, { limits: { maxHeaderBytes: 8_192 } });
    const client = await connectRaw(t, port);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n');
    const send = (): boolean => {
      if (client.closed || client.ended) return true;
      client.send(`X-T: ${'a'.repeat(1_000)}\r\n`);
      return false;
    };
    await waitFor('the trailers are cut off', send, { intervalMs: 0 });
    assert.match(client.received, /^HTTP\/1.1 431 /);
  });
});

describe('time', () => {
  test('an incomplete head: 408 header_timeout', async (t) => {
    const { port } = await openPort(t, echoHandler, { limits: { headerTimeoutMs: 200 } });
    for (const wire of ['GET / HTTP/1.1\r\nHost: x\r\nX-A', 'PRI * HT']) {
      const client = await connectRaw(t, port);
      client.send(wire);
      const answer = readErrorAnswer(await client.waitForClose());
      assert.deepEqual([answer.status, answer.error], [408, 'header_timeout']);
    }
    // A client that never said anything gets no answer either.
    const silent = await connectRaw(t, port);
    assert.equal(await silent.waitForClose(), '');
  });

  test('a slow second head times out once it is its turn, and not the answer before it', async (t) => {
    let exchange: Exchange | undefined;
    const { port, events } = await openPort(
      t,
      (arrived) => {
        exchange = arrived;
      },
      { limits: { headerTimeoutMs: 200 } },
    );
    const client = await connectRaw(t, port);
    client.send('GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /never HTTP/1.1\r\nHo');
    await waitFor(() => exchange !== undefined);
    // Several times the time-out, by the clock of the gateway.
    const until = performance.now() + 600;
    await waitFor(() => performance.now() > until);
    assert.deepEqual(
      events.filter((event) => event.type === 'request-refused'),
      [],
    );
    exchange!.respond(200, [], 'in its own time');
    const answer = await client.waitForClose();
    assert.match(answer, /in its own timeHTTP\/1.1 408 /);
  });

  test('an idle connection closes, one with a stream does not', async (t) => {
    const exchanges: Exchange[] = [];
    const { port } = await openPort(
      t,
      (exchange) => {
        exchanges.push(exchange);
        exchange.sendHead(200, []);
        exchange.write(Buffer.from('begin'));
        if (exchange.target === '/short') exchange.end();
      },
      { limits: { idleTimeoutMs: 200, headerTimeoutMs: 60_000 } },
    );
    const stream = await connectRaw(t, port);
    stream.send('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
    const h2 = connectHttp2(`http://127.0.0.1:${port}`);
    t.after(() => h2.destroy());
    const h2Stream = h2.request({ ':path': '/stream' });
    h2Stream.resume();
    const h2Idle = connectHttp2(`http://127.0.0.1:${port}`);
    t.after(() => h2Idle.destroy());
    await waitFor(() => exchanges.length === 2);
    const idle = await connectRaw(t, port);
    idle.send('GET /short HTTP/1.1\r\nHost: x\r\n\r\n');
    // Both idle ones go, in a time in which the others would have gone several times over.
    await idle.waitForClose();
    await waitFor(() => h2Idle.closed);
    const again = await connectRaw(t, port);
    again.send('GET /short HTTP/1.1\r\nHost: x\r\n\r\n');
    await again.waitForClose();
    assert.equal(stream.closed, false);
    assert.equal(h2Stream.closed, false);
    const ended = once(h2Stream, 'end');
    for (const exchange of exchanges.slice(0, 2)) {
      exchange.write(Buffer.from('finish'));
      exchange.end();
    }
    await stream.waitForText('finish');
    await ended;
  });

  test('an upload may be slower than any time-out', async (t) => {
    const { port } = await openPort(t, echoHandler, { limits: { headerTimeoutMs: 100, idleTimeoutMs: 100 } });
    const client = await connectRaw(t, port);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n');
    for (const letter of 'patience') {
      // Another connection's whole life is the measure of time here.
      const other = await connectRaw(t, port);
      await other.waitForClose();
      client.send(letter);
    }
    await client.waitForText('"patience"');
  });

  test('an HTTP/2 connection without SETTINGS closes', async (t) => {
    const { port, listeners } = await openPort(t, echoHandler, { limits: { headerTimeoutMs: 200 } });
    const client = await connectRaw(t, port);
    client.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    await client.waitForClose();
    await waitFor(() => listeners.connectionCount() === 0);
  });

  const slow = effort(1_000, 200);
  test(
    `${slow.toLocaleString('en')} slow-loris connections do not keep others out, and go`,
    { timeout: 180_000 },
    async (t) => {
      const { port, listeners } = await openPort(t, echoHandler, { limits: { headerTimeoutMs: 2_000 } });
      const sockets: Socket[] = [];
      t.after(() => {
        for (const socket of sockets) socket.destroy();
      });
      let answered = 0;
      let closed = 0;
      for (let index = 0; index < slow; index += 1) {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        socket.on('data', (chunk: Buffer) => {
          if (chunk.toString('latin1').startsWith('HTTP/1.1 408')) answered += 1;
        });
        socket.on('close', () => {
          closed += 1;
        });
        socket.write('GET / HTTP/1.1\r\nHost: x\r\n');
        sockets.push(socket);
      }
      await waitFor(() => listeners.connectionCount() === slow);
      const drip = setInterval(() => {
        for (const socket of sockets) if (socket.writable) socket.write('X-A: 1\r\n');
      }, 100);
      t.after(() => clearInterval(drip));
      assert.equal(await serves(t, port), true);
      await waitFor(() => closed === slow);
      assert.equal(answered, slow);
      await waitFor(() => listeners.connectionCount() === 0);
      assert.equal(await serves(t, port), true);
    },
  );
});

describe('connections', () => {
  test('past the limit: 503 too_many_connections on cleartext, until one closes', async (t) => {
    const { port, listeners } = await openPort(t, echoHandler, { limits: { maxConnections: 3 } });
    const open: RawClient[] = [];
    for (let index = 0; index < 3; index += 1) open.push(await connectRaw(t, port));
    await waitFor(() => listeners.connectionCount() === 3);
    const refused = await connectRaw(t, port);
    refused.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const answer = readErrorAnswer(await refused.waitForClose());
    assert.deepEqual([answer.status, answer.error], [503, 'too_many_connections']);
    open[0]!.stream.destroy();
    await waitFor(() => listeners.connectionCount() === 2);
    assert.equal(await serves(t, port), true);
  });

  test('the limit counts over all ports, and TLS connections past it are closed', async (t) => {
    const { cert, key } = createCertificate({ names: ['a.test'] });
    const context = createSecureContext({ cert, key });
    const { port, listeners } = await openPort(t, echoHandler, {
      limits: { maxConnections: 2 },
      config: {
        protocol: 'HTTPS',
        selectCertificate: () => ({ context, asksClients: false, clientAuthorities: undefined }),
      },
    });
    const first = await connectRaw(t, port);
    await connectRaw(t, port);
    await waitFor(() => listeners.connectionCount() === 2);
    const refused = await connectRaw(t, port);
    assert.equal(await refused.waitForClose(), '');
    first.stream.destroy();
    await waitFor(() => listeners.connectionCount() === 1);
  });

  test('a flood past the limit leaves nothing behind', { timeout: 180_000 }, async (t) => {
    const { port, listeners } = await openPort(t, echoHandler, { limits: { maxConnections: 1 } });
    const holder = await connectRaw(t, port);
    await waitFor(() => listeners.connectionCount() === 1);
    let closed = 0;
    const total = 2_000;
    for (let started = 0; started < total;) {
      const batch = Math.min(200, total - started);
      for (let index = 0; index < batch; index += 1) {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        socket.on('close', () => {
          closed += 1;
        });
        socket.resume();
      }
      started += batch;
      const target = started;
      await waitFor(() => closed === target);
    }
    assert.equal(listeners.connectionCount(), 1);
    holder.send('GET /alive HTTP/1.1\r\nHost: x\r\n\r\n');
    await holder.waitForText('"/alive"');
  });
});

describe('memory', () => {
  test('aborted streams leave nothing behind', { timeout: 180_000 }, async (t) => {
    const references: WeakRef<Exchange>[] = [];
    const { port, listeners } = await openPort(t, (exchange) => {
      references.push(new WeakRef(exchange));
      exchange.sendHead(200, ['content-type', 'text/event-stream']);
      exchange.write(Buffer.alloc(10_000));
    });
    const rounds = 300;
    for (let index = 0; index < rounds; index += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(socket, 'data');
      socket.resetAndDestroy();
    }
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    t.after(() => session.destroy());
    for (let index = 0; index < rounds; index += 1) {
      const request = session.request({ ':path': '/' });
      request.on('error', () => {});
      await once(request, 'data');
      request.close(8);
      // Slower than a flood of resets.
      if (index % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await waitFor(() => references.length === rounds * 2);
    session.destroy();
    await waitFor(() => listeners.connectionCount() === 0);
    const collect = await loadGarbageCollector();
    // Weak references are cleared between turns of the event loop.
    await waitFor(() => {
      collect();
      return references.filter((reference) => reference.deref() !== undefined).length < 20;
    });
  });
});

async function loadGarbageCollector(): Promise<() => void> {
  const { setFlagsFromString } = await import('node:v8');
  const { runInNewContext } = await import('node:vm');
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
