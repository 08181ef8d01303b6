// Ports that come, go and change under load, and a shutdown that fails no request.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { connect, createServer, type AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { createSecureContext } from 'node:tls';
import { silentLog } from '../../src/base/log.ts';
import type { PortConfig } from '../../src/gateway/config/runtime-config.ts';
import type { Exchange } from '../../src/gateway/http/exchange.ts';
import { defaultListenLimits } from '../../src/gateway/listen/limits.ts';
import { createListeners } from '../../src/gateway/listen/listeners.ts';
import type { ListenEvent } from '../../src/gateway/listen/port-context.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { connectRaw, createPortConfig, echoHandler, openPort, RawClient, toPorts } from './listen-fixture.ts';
import { createCertificate } from '../self-signed-certificate.ts';
import { waitFor } from '../kit/wait-for.ts';

/** One request over the agent; rejects on anything but a complete 200. */
function ask(agent: Agent, port: number, body: string): Promise<{ text: string; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', agent, method: 'POST' }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve({ text, connection: response.headers.connection });
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

function askHttp2(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = session.request({ ':path': '/', ':method': 'POST' });
    let status = 0;
    request.on('response', (headers) => {
      status = Number(headers[':status']);
    });
    request.on('error', reject);
    request.on('close', () => {
      if (status === 200 && request.rstCode === 0) resolve();
      else reject(new Error(`status ${status}, reset ${request.rstCode}`));
    });
    request.resume();
    request.end('body');
  });
}

/** Only when its port is closed is it surely draining. */
async function waitUntilClosed(port: number): Promise<void> {
  await waitFor(`port ${port} is closed`, async () => {
    const probe = connect(port, '127.0.0.1');
    const outcome = await Promise.race([once(probe, 'connect').catch(() => 'refused'), once(probe, 'error')]);
    probe.destroy();
    return outcome === 'refused' || outcome[0] instanceof Error;
  });
}

const withVersion = (port: number, version: string): PortConfig =>
  Object.assign(createPortConfig({ port }), { version });

const createSet = (t: TestContext, handler = echoHandler, drainMs = 10_000): ReturnType<typeof createListeners> => {
  const listeners = createListeners({ handler, limits: defaultListenLimits, log: silentLog, drainMs });
  t.after(() => listeners.drain({ timeoutMs: 0 }));
  return listeners;
};

describe('reconcile', () => {
  test('opens what is new, closes what is gone, hands over the current configuration', async (t) => {
    const versions: string[] = [];
    const listeners = createSet(t, (exchange, config) => {
      versions.push((config as PortConfig & { version: string }).version);
      exchange.respond(200, [], 'ok');
    });
    const [first, second] = (await findFreePorts(2)) as [number, number];
    assert.deepEqual(await listeners.reconcile(toPorts(withVersion(first, '1'))), []);
    const client = await connectRaw(t, first);
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.waitForText('ok');
    assert.deepEqual(await listeners.reconcile(toPorts(withVersion(first, '2'), withVersion(second, '1'))), []);
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => versions.length === 2);
    assert.deepEqual(versions, ['1', '2']);
    assert.deepEqual([...listeners.addresses().keys()], [`127.0.0.1|${first}`, `127.0.0.1|${second}`]);
    assert.equal(listeners.addresses().get(`127.0.0.1|${second}`)!.port, second);
    await listeners.reconcile(toPorts(withVersion(second, '2')));
    // The idle connection of the removed port closes, and nobody gets in any more.
    await client.waitForClose();
    const late = connect(first, '127.0.0.1');
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
    assert.equal(error.code, 'ECONNREFUSED');
  });

  test('an empty address is every interface, IPv4 clients look like IPv4 clients', async (t) => {
    let remoteAddress = '';
    const { port } = await openPort(
      t,
      (exchange) => {
        ({ remoteAddress } = exchange);
        exchange.respond(200, [], 'ok');
      },
      { config: { address: '', bindKey: '|0' } },
    );
    const client = await connectRaw(t, port);
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.waitForText('ok');
    assert.equal(remoteAddress, '127.0.0.1');
  });

  test('a port that cannot be bound is a problem of its own and is tried again', async (t) => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    t.after(() => blocker.close());
    const { port: taken } = blocker.address() as AddressInfo;
    const listeners = createSet(t);
    const good = createPortConfig();
    const bad = createPortConfig({ port: taken });
    const elsewhere = createPortConfig({ address: '192.0.2.1', port: 1 });
    const problems = await listeners.reconcile(toPorts(bad, elsewhere, good));
    assert.deepEqual(problems, [
      {
        bindKey: `127.0.0.1|${taken}`,
        code: 'EADDRINUSE',
        message: `Cannot listen on 127.0.0.1 port ${taken}: another process or listener already uses it. End that one, or choose another port.`,
      },
      {
        bindKey: '192.0.2.1|1',
        code: 'EADDRNOTAVAIL',
        message:
          'Cannot listen on 192.0.2.1 port 1: this machine does not have that address. Use one that it has, or none for all of them.',
      },
    ]);
    assert.deepEqual([...listeners.addresses().keys()], [good.bindKey]);
    blocker.close();
    await once(blocker, 'close');
    assert.equal((await listeners.reconcile(toPorts(bad, good))).length, 0);
    assert.equal(listeners.addresses().get(bad.bindKey)!.port, taken);
  });

  test('a change of protocol binds the port anew', async (t) => {
    const [port] = (await findFreePorts(1)) as [number];
    const listeners = createSet(t);
    const cleartext = createPortConfig({ port });
    await listeners.reconcile(toPorts(cleartext));
    const { cert, key } = createCertificate({ names: ['a.test'] });
    const context = createSecureContext({ cert, key });
    const tls = createPortConfig({
      port,
      protocol: 'HTTPS',
      selectCertificate: () => ({ context, asksClients: false, clientAuthorities: undefined }),
    });
    assert.deepEqual(await listeners.reconcile(toPorts(tls)), []);
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: cert, servername: 'a.test' });
    t.after(() => session.destroy());
    await askHttp2(session);
    assert.deepEqual(await listeners.reconcile(toPorts(cleartext)), []);
    const client = await connectRaw(t, port);
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.waitForText('200 OK');
  });

  test('streams of a removed port end by themselves, or after drainMs as an error', async (t) => {
    const exchanges: Exchange[] = [];
    const listeners = createSet(
      t,
      (exchange) => {
        exchanges.push(exchange);
        exchange.sendHead(200, []);
        exchange.write(Buffer.from('begin'));
      },
      400,
    );
    const config = createPortConfig();
    await listeners.reconcile(toPorts(config));
    const { port } = listeners.addresses().get(config.bindKey)!;
    const clients: RawClient[] = [];
    for (const target of ['/ends', '/stays']) {
      const client = await connectRaw(t, port);
      client.send(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await client.waitForText('begin');
      clients.push(client);
    }
    await listeners.reconcile(new Map());
    exchanges[0]!.end();
    assert.match(await clients[0]!.waitForClose(), /0\r\n\r\n$/);
    assert.doesNotMatch(await clients[1]!.waitForClose(), /0\r\n\r\n$/);
    await waitFor(() => listeners.connectionCount() === 0);
  });

  test('reloads under load fail no request', { timeout: 180_000 }, async (t) => {
    const { port, listeners, config } = await openPort(t, echoHandler);
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    t.after(() => agent.destroy());
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    t.after(() => session.destroy());
    const state = { running: true, answered: 0 };
    const load = async (send: () => Promise<unknown>): Promise<void> => {
      while (state.running) {
        await send();
        state.answered += 1;
      }
    };
    const workers = Array.from({ length: 16 }, () => load(() => ask(agent, port, 'x')));
    for (let index = 0; index < 8; index += 1) workers.push(load(() => askHttp2(session)));
    const [free] = (await findFreePorts(1)) as [number];
    const extra = createPortConfig({ port: free });
    let reloads = 0;
    while (reloads < 100 || state.answered < 2_000) {
      const ports = reloads % 2 === 0 ? toPorts({ ...config }, extra) : toPorts({ ...config });
      assert.deepEqual(await listeners.reconcile(ports), []);
      reloads += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    state.running = false;
    // Each worker rejects on the first failed request.
    await Promise.all(workers);
  });
});

describe('drain', () => {
  test('fails no request under load', { timeout: 180_000 }, async (t) => {
    const { port, listeners } = await openPort(t, (exchange, config) => {
      setTimeout(() => echoHandler(exchange, config), Math.random() * 20);
    });
    let draining = false;
    let answered = 0;
    let refused = 0;
    let closing = 0;
    const work = async (): Promise<void> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      t.after(() => agent.destroy());
      for (;;) {
        try {
          const { text, connection } = await ask(agent, port, 'x'.repeat(1_000));
          assert.match(text, /x{1000}/);
          answered += 1;
          if (connection === 'close') closing += 1;
        } catch (error) {
          // The only allowed failure: the port no longer takes connections.
          assert.equal((error as NodeJS.ErrnoException).code, 'ECONNREFUSED');
          assert.equal(draining, true);
          refused += 1;
          return;
        }
      }
    };
    const workers = Array.from({ length: 40 }, () => work());
    await waitFor(() => answered > 200);
    draining = true;
    await listeners.drain({ timeoutMs: 20_000 });
    await Promise.all(workers);
    assert.equal(refused, 40);
    assert.ok(closing > 0);
    assert.equal(listeners.connectionCount(), 0);
  });

  test('HTTP/2: streams in progress finish after GOAWAY', async (t) => {
    const exchanges: Exchange[] = [];
    const { port, listeners } = await openPort(t, (exchange) => {
      exchanges.push(exchange);
    });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    t.after(() => session.destroy());
    const goaways: number[] = [];
    session.on('goaway', (code) => goaways.push(code));
    const first = askHttp2(session);
    const second = askHttp2(session);
    await waitFor(() => exchanges.length === 2);
    const drained = listeners.drain({ timeoutMs: 20_000 });
    await waitFor(() => goaways.length > 0);
    assert.equal(goaways[0], constants.NGHTTP2_NO_ERROR);
    for (const exchange of exchanges) exchange.respond(200, [], 'late but complete');
    await Promise.all([first, second, drained]);
  });

  test('HTTP/2: what a client asked before it saw the GOAWAY is refused as not processed', async (t) => {
    const exchanges: Exchange[] = [];
    const { port, listeners } = await openPort(t, (exchange) => {
      exchanges.push(exchange);
    });
    // Between them is a way on which answers wait for as long as the test wants.
    let isFar = false;
    const held: Buffer[] = [];
    let bringAll = (): void => {};
    const way = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      client.pipe(server);
      server.on('data', (chunk: Buffer) => void (isFar ? held.push(chunk) : client.write(chunk)));
      server.on('end', () => client.end());
      bringAll = () => {
        isFar = false;
        client.write(Buffer.concat(held));
      };
    }).listen(0, '127.0.0.1');
    t.after(() => way.close());
    await once(way, 'listening');
    const session = connectHttp2(`http://127.0.0.1:${(way.address() as AddressInfo).port}`);
    t.after(() => session.destroy());
    await once(session, 'remoteSettings');
    isFar = true;
    const drained = listeners.drain({ timeoutMs: 20_000 });
    await waitFor('the GOAWAY is on its way', () => held.length > 0);
    const asked = assert.rejects(askHttp2(session), {
      code: 'ERR_HTTP2_STREAM_ERROR',
      message: /NGHTTP2_REFUSED_STREAM/,
    });
    bringAll();
    await Promise.all([asked, drained]);
    assert.equal(exchanges.length, 0);
  });

  test('a request on a connection that is already there is served, and told to close', async (t) => {
    const { port, listeners } = await openPort(t, echoHandler);
    const fresh = await connectRaw(t, port);
    const used = await connectRaw(t, port);
    const partial = await connectRaw(t, port);
    used.send('GET /1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await used.waitForText('"/1"');
    partial.send('GET /partial HTTP/1.1\r\n');
    await waitFor(() => listeners.connectionCount() === 3);
    const drained = listeners.drain({ timeoutMs: 20_000 });
    await waitUntilClosed(port);
    for (const client of [fresh, used])
      client.send('GET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\n');
    for (const client of [fresh, used]) {
      const answer = await client.waitForClose();
      assert.match(answer, /"\/2"[^]*"\/3"/);
      assert.match(answer, /connection: close/i);
    }
    partial.send('Host: x\r\n\r\n');
    assert.match(await partial.waitForClose(), /"\/partial"/);
    await drained;
  });

  test('streams that outlive the time are aborted, and nothing is left', async (t) => {
    const closed: boolean[] = [];
    const { port, listeners } = await openPort(t, (exchange) => {
      exchange.onClose((clean) => closed.push(clean));
      if (exchange.upgradeProtocol !== undefined) {
        exchange.acceptUpgrade(101, []).stream.write('tunnel');
        return;
      }
      exchange.sendHead(200, []);
      exchange.write(Buffer.from('begin'));
    });
    const http1 = await connectRaw(t, port);
    http1.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await http1.waitForText('begin');
    const upgraded = await connectRaw(t, port);
    upgraded.send('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await upgraded.waitForText('tunnel');
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    session.on('error', () => {});
    t.after(() => session.destroy());
    const request = session.request({ ':path': '/' });
    request.on('error', () => {});
    await once(request, 'data');
    await listeners.drain({ timeoutMs: 300 });
    assert.doesNotMatch(await http1.waitForClose(), /0\r\n\r\n$/);
    await upgraded.waitForClose();
    await waitFor(() => request.closed);
    assert.notEqual(request.rstCode, constants.NGHTTP2_NO_ERROR);
    await waitFor(() => closed.length === 3);
    assert.deepEqual(closed, [false, false, false]);
    assert.equal(listeners.connectionCount(), 0);
  });

  test('silent connections do not hold it up', async (t) => {
    const { port, listeners } = await openPort(t, echoHandler);
    await connectRaw(t, port);
    const half = await connectRaw(t, port);
    half.send('PRI');
    await waitFor(() => listeners.connectionCount() === 2);
    await listeners.drain({ timeoutMs: 600_000 });
    assert.equal(listeners.connectionCount(), 0);
  });

  test('a connection whose first request comes while it drains ends once', async (t) => {
    const exchanges: Exchange[] = [];
    const { port, listeners, events } = await openPort(t, (exchange) => {
      exchanges.push(exchange);
    });
    const busy = await connectRaw(t, port);
    await waitFor(() => listeners.connectionCount() === 1);
    const silent = await connectRaw(t, port);
    await waitFor(() => listeners.connectionCount() === 2);
    const count = (wanted: ListenEvent['type']): number => events.filter(({ type }) => type === wanted).length;
    const drained = listeners.drain({ timeoutMs: 600_000 });
    await waitUntilClosed(port);
    busy.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => exchanges.length === 1);
    // The time of both is over when the silent one has been closed.
    await silent.waitForClose();
    await waitFor(() => listeners.connectionCount() === 1);
    exchanges[0]!.respond(200, [], 'late');
    assert.match(await busy.waitForClose(), /late/);
    await drained;
    assert.equal(count('connection-closed'), count('connection-opened'));
  });

  test('it can be asked for twice, and nothing opens after it', async (t) => {
    const { listeners, config } = await openPort(t, echoHandler);
    await Promise.all([listeners.drain({ timeoutMs: 100 }), listeners.drain({ timeoutMs: 100 })]);
    assert.deepEqual(await listeners.reconcile(toPorts(config)), []);
    assert.equal(listeners.addresses().size, 0);
  });
});
