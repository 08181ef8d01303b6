// Upstreams that answer what nobody asked, or with bytes that are not HTTP: one client's answer never reaches another, and nothing
// an upstream says becomes the gateway's own words.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { readResidentBytes } from './process-memory.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../kit/recording-upstream.ts';
import { connectWire, readAnswers, sendHead } from './wire-client.ts';

let gateway: GatewayProcessRun;
let upstream: ScriptedUpstream;
let rpc: ReturnType<typeof createServer>;
let legacy: ReturnType<typeof createServer>;
let announce: (response: ServerResponse) => void = (response) => void response.end();
const legacyPosts: string[] = [];
const sessions: { url: string; session: string | undefined; method: string }[] = [];

/** What the scripted upstream says to a path; anything else gets a plain answer that names the path. */
const script = new Map<string, string | ((socket: Socket) => void)>();
const plainAnswer = (text: string): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;

const portOf = (server: ReturnType<typeof createServer>): number => (server.address() as AddressInfo).port;

before(async () => {
  upstream = await startScriptedUpstream((head, socket) => {
    const path = head.split(' ', 2)[1] ?? '';
    const scripted = script.get(path);
    if (scripted === undefined) socket.write(plainAnswer(path));
    else if (typeof scripted === 'string') socket.write(Buffer.from(scripted, 'latin1'));
    else scripted(socket);
  });
  // Answers in an order of its own, with what it was asked.
  const waiting: (() => void)[] = [];
  rpc = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      sessions.push({
        url: request.url ?? '',
        session: request.headers['mcp-session-id'] as string | undefined,
        method: request.method ?? '',
      });
      if (body === '') {
        response.setHeader('mcp-session-id', 'session').end('{}');
        return;
      }
      const { id, params } = JSON.parse(body) as { id: number; params: unknown };
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result: params });
      waiting.push(() => {
        if (request.url?.endsWith('stream') === true) {
          response.setHeader('content-type', 'text/event-stream');
          response.write('event: message\n');
          setImmediate(() => response.end(`data: ${answer}\n\n`));
        } else {
          response.setHeader('content-type', 'application/json').end(answer);
        }
      });
      setTimeout(() => waiting.splice(Math.floor(Math.random() * waiting.length), 1)[0]?.(), Math.random() * 20);
    });
  });
  legacy = createServer((request, response) => {
    if (request.method === 'POST') {
      legacyPosts.push(request.url ?? '');
      request.resume();
      response.writeHead(202).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    announce(response);
  });
  for (const server of [rpc, legacy]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const legacyBackend = (name: string): object => ({
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { name },
    spec: {
      mcp: {
        targets: [{ name, static: { host: '127.0.0.1', port: portOf(legacy), path: '/sse', protocol: 'SSE' } }],
      },
    },
  });
  gateway = await runGatewayProcess({
    resources: (port) => [
      gatewayResource(port),
      routeResource('all', [
        ruleTo('/raw', 'raw'),
        ruleTo('/rpc', 'rpc'),
        ruleTo('/other-rpc', 'other-rpc'),
        ruleTo('/legacy', 'legacy'),
        ruleTo('/other-legacy', 'other-legacy'),
      ]),
      backendResource('raw', upstream.port, '/'),
      backendResource('rpc', portOf(rpc), '/'),
      backendResource('other-rpc', portOf(rpc), '/other'),
      legacyBackend('legacy'),
      legacyBackend('other-legacy'),
    ],
  });
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
  for (const server of [rpc, legacy]) {
    server?.closeAllConnections();
    server?.close();
  }
});

const ask = (t: Parameters<typeof sendHead>[0], path: string, method = 'GET') =>
  sendHead(t, gateway.port, `${method} /raw${path} HTTP/1.1\r\nHost: localhost`);

describe('answers cross on reused upstream connections (RFC 9112 9.2)', () => {
  const forged = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged';
  const unasked: Record<string, readonly [method: string, bytes: string]> = {
    'a second answer at once': ['GET', `${plainAnswer('first')}${forged}`],
    'a third answer as well': ['GET', `${plainAnswer('first')}${forged}${forged}`],
    'more bytes than announced': ['GET', `${plainAnswer('first')}forged`],
    'bytes behind the last chunk': [
      'GET',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n${forged}`,
    ],
    'a body behind a HEAD': ['HEAD', `HTTP/1.1 200 OK\r\nContent-Length: ${forged.length}\r\n\r\n${forged}`],
    'a body behind a 204': ['GET', `HTTP/1.1 204 No Content\r\n\r\n${forged}`],
    'a body behind a 304': ['GET', `HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\n${forged}`],
    'an informational answer behind the answer': ['GET', `${plainAnswer('first')}HTTP/1.1 103 Early\r\n\r\n${forged}`],
  };
  for (const [name, [method, bytes]] of Object.entries(unasked)) {
    test(`${name} closes the connection and reaches no client`, async (t) => {
      script.set('/unasked', bytes);
      const client = await connectWire(t, gateway.port);
      client.send(`${method} /raw/unasked HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await client.waitForText('\r\n\r\n');
      // Everybody who comes next, on the same client connection and on others.
      client.send('GET /raw/next HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      const others = await Promise.all(Array.from({ length: 10 }, (_, index) => ask(t, `/after-${index}`)));
      const received = await client.waitForClose();
      assert.deepEqual(
        others.map(({ body }) => body),
        others.map((_, index) => `/after-${index}`),
      );
      assert.match(received, /\/next$/);
      assert.doesNotMatch(received.replace(/"error[^}]*\}/, ''), /forged/);
    });
  }

  test('an answer that comes when the connection is idle closes it', async (t) => {
    let idle: Socket | undefined;
    script.set('/idle', (socket) => {
      idle = socket;
      socket.write(plainAnswer('first'));
    });
    assert.equal((await ask(t, '/idle')).body, 'first');
    idle!.write(forged);
    await waitFor(() => !upstream.open.has(idle!));
    assert.equal((await ask(t, '/later')).body, '/later');
  });

  test('an upstream that does not wait for the body gets no second request out of it', async (t) => {
    const connections: string[] = [];
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';
    // The head has no Content-Length that the script would wait for: it is chunked, and answered before its first chunk.
    script.set('/early', (socket) => {
      socket.removeAllListeners('data');
      const index = connections.push('') - 1;
      socket.on('data', (chunk: Buffer) => (connections[index] += chunk.toString('latin1')));
      socket.write(plainAnswer('early'));
    });
    const client = await connectWire(t, gateway.port);
    client.send('POST /raw/early HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
    await client.waitForText('early');
    client.send(`${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`);
    assert.equal((await ask(t, '/someone-else')).body, '/someone-else');
    assert.ok(upstream.heads.every((head) => !head.startsWith('GET /smuggled')));
    for (const bytes of connections) assert.doesNotMatch(bytes, /someone-else/, 'its connection is not used again');
  });
});

describe('same JSON-RPC id from two clients (CVE-2026-25536)', () => {
  for (const path of ['/rpc', '/rpc/stream']) {
    test(`200 at once, ${path}`, async () => {
      const answers = await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: { client: index } });
          const answer = await fetch(`http://127.0.0.1:${gateway.port}${path}`, { method: 'POST', body });
          const text = await answer.text();
          return JSON.parse(text.replace(/^event: message\ndata: /, '')) as { id: number; result: { client: number } };
        }),
      );
      assert.deepEqual(
        answers.map(({ id, result }) => [id, result.client]),
        answers.map((_, index) => [1, index]),
      );
    });
  }
});

describe('upstream response splitting', () => {
  const injected = 'X-Injected: 1';
  const odd: Record<string, string> = {
    'a bare CR in a value': `HTTP/1.1 200 OK\r\nX: y\r${injected}\r\nContent-Length: 2\r\n\r\nok`,
    'a bare LF in a value': `HTTP/1.1 200 OK\r\nX: y\n${injected}\r\nContent-Length: 2\r\n\r\nok`,
    'a folded line': `HTTP/1.1 200 OK\r\nX: y\r\n ${injected}\r\nContent-Length: 2\r\n\r\nok`,
    'a NUL in a value': `HTTP/1.1 200 OK\r\nX: y\0z\r\nContent-Length: 2\r\n\r\nok`,
    'a control in a value': `HTTP/1.1 200 OK\r\nX: y\x01z\r\nContent-Length: 2\r\n\r\nok`,
    'a space before the colon': `HTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 2\r\n\r\nok`,
    'a name that is none': `HTTP/1.1 200 OK\r\nX Y: z\r\nContent-Length: 2\r\n\r\nok`,
    'a field without a colon': `HTTP/1.1 200 OK\r\nX-Y\r\nContent-Length: 2\r\n\r\nok`,
    'an empty name': `HTTP/1.1 200 OK\r\n: y\r\nContent-Length: 2\r\n\r\nok`,
    'a CR in the reason phrase': `HTTP/1.1 200 OK\r${injected}\r\nContent-Length: 2\r\n\r\nok`,
    'a reason phrase with bytes of all kinds': `HTTP/1.1 200 \x01\xff<b>\r\nContent-Length: 2\r\n\r\nok`,
    'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 30\r\n\r\nok',
    'two equal lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok',
    'a list of lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok',
    'a negative length': 'HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok',
    'a length with a plus': 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok',
    'a length and chunks':
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'a coding that nobody knows': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\nConnection: close\r\n\r\nok',
    'a chunk size that is none': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n',
    'a status of two digits': 'HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok',
    'a status of four digits': 'HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok',
    'a status of 0': 'HTTP/1.1 000 OK\r\nContent-Length: 2\r\n\r\nok',
    'a status past 599': 'HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok',
    'a protocol that is none': 'ICY 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'another version': 'HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'a switch of protocols that nobody asked for':
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nok',
    'an answer without a head': 'ok',
    'trailers that are header fields': `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nok\r\n0\r\nX: y\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\nSet-Cookie: ${injected}\r\n\r\n`,
  };
  for (const [name, bytes] of Object.entries(odd)) {
    test(name, async (t) => {
      script.set('/odd', (socket) => socket.end(Buffer.from(bytes, 'latin1')));
      const client = await connectWire(t, gateway.port);
      client.send('GET /raw/odd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      const received = await client.waitForClose();
      assert.equal(received.match(/HTTP\/1\.1 \d{3}/g)?.length, 1, 'exactly one answer');
      const head = received.slice(0, received.indexOf('\r\n\r\n'));
      assert.doesNotMatch(head, /^X-Injected/im, 'no field of its own');
      // oxlint-disable-next-line no-control-regex
      assert.doesNotMatch(head.replaceAll('\r\n', ''), /[\0-\x08\x0a-\x1f\x7f]/, 'no control characters');
      assert.doesNotMatch(received, /^Set-Cookie/im);
      assert.match(head, /^HTTP\/1\.1 (?:200|502|999) /);
      if (head.startsWith('HTTP/1.1 502')) {
        assert.match(
          readAnswers(received)[0]!.error ?? '',
          /^(?:upstream_protocol_error|upstream_reset|upgrade_failed)$/,
        );
      }
      assert.equal((await ask(t, '/fine')).body, '/fine');
    });
  }
});

describe('oversized response heads', () => {
  test('a head past the limit is a 502, however it gets there', async (t) => {
    for (const lines of [`X: ${'a'.repeat(100_000)}\r\n`, 'X: y\r\n'.repeat(40_000), `${'a'.repeat(100_000)}: y\r\n`]) {
      script.set('/big', `HTTP/1.1 200 OK\r\n${lines}Content-Length: 2\r\n\r\nok`);
      const answer = await ask(t, '/big');
      assert.deepEqual([answer.status, answer.error], [502, 'upstream_protocol_error']);
    }
  });

  test('a head without an end is cut off', async (t) => {
    let stopped = false;
    script.set('/endless', (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const go = (): void => {
        if (socket.destroyed) stopped = true;
        else
          socket.write('X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n'.repeat(100), () => setImmediate(go));
      };
      go();
    });
    assert.equal((await ask(t, '/endless')).status, 502);
    await waitFor(() => stopped);
  });
});

test('endless informational answers do not fill the memory when the client does not read', async (t) => {
  const early = `HTTP/1.1 103 Early Hints\r\nLink: ${'a'.repeat(1_000)}\r\n\r\n`.repeat(100);
  let sent = 0;
  script.set('/hints', (socket) => {
    const go = (): void => {
      if (socket.destroyed) return;
      sent += early.length;
      if (sent < 100_000_000) socket.write(early, () => setImmediate(go));
      else socket.write(plainAnswer('at last'));
    };
    go();
  });
  const bytesBefore = readResidentBytes(gateway.child.pid);
  const client = await connectWire(t, gateway.port);
  client.socket.pause();
  client.send('GET /raw/hints HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  await waitFor(() => sent >= 100_000_000);
  const grown = readResidentBytes(gateway.child.pid) - bytesBefore;
  client.socket.resume();
  const received = await client.waitForClose();
  assert.match(received, /at last$/);
  assert.ok(received.length < 1_000_000, `${received.length} bytes`);
  assert.ok(grown < 128 * 1024 * 1024, `grew by ${grown} bytes`);
});

describe('legacy SSE endpoint event (SSRF)', () => {
  async function openStream(t: Parameters<typeof sendHead>[0], data: string): Promise<string> {
    announce = (response) => void response.write(`event: endpoint\ndata: ${data}\n\n`);
    const client = await connectWire(t, gateway.port);
    client.send('GET /legacy HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n');
    await waitFor(() => client.closed || client.received.includes('mcp-endpoint='));
    return client.received;
  }

  test('an endpoint on another host, port or scheme ends the stream and is not shown', async (t) => {
    const own = portOf(legacy);
    for (const url of [
      'http://evil.test/messages',
      '//evil.test/messages',
      '\\\\evil.test\\messages',
      'https://169.254.169.254/latest/meta-data',
      'http://[::ffff:169.254.169.254]/',
      `http://127.0.0.1:${own + 1}/messages`,
      `http://127.0.0.1.evil.test:${own}/messages`,
      `http://user:password@127.0.0.1:${own}/messages`,
      `http://127.0.0.1:${own}@evil.test/messages`,
      `ws://127.0.0.1:${own}/messages`,
      'file:///etc/passwd',
      'javascript:alert(1)',
      'ftp://127.0.0.1/x',
      'http://',
    ]) {
      const received = await openStream(t, url);
      assert.doesNotMatch(received, /data:/, url);
      assert.doesNotMatch(received, /\n0\r\n\r\n$/, 'broken off, not ended');
    }
  });

  test('its own endpoint is reached through the gateway and by its signature only', async (t) => {
    const received = await openStream(t, '/messages?sessionId=1');
    const path = /data: (\S+)/.exec(received)?.[1] ?? '';
    assert.match(path, /^\/legacy\?mcp-endpoint=/);
    const post = (target: string) => sendHead(t, gateway.port, `POST ${target} HTTP/1.1\r\nHost: localhost`);
    assert.equal((await post(path)).status, 202);
    assert.deepEqual(legacyPosts.splice(0), ['/messages?sessionId=1']);

    const [tag = '', , mac = ''] = path.slice(path.indexOf('=') + 1).split('.');
    const encode = (target: string): string => Buffer.from(target).toString('base64url');
    const signWith = (key: string | Uint8Array, backend: string, target: string): string =>
      createHmac('sha256', key)
        .update(`legacy-sse\0${backend}\0${tag}\0${target}`)
        .digest()
        .subarray(0, 16)
        .toString('base64url');
    const backend = 'ProxyBackend/default/legacy';
    const forgeries = [
      `${tag}.${encode('/admin')}.${mac}`,
      `${tag}.${encode('/admin')}.`,
      `${tag}.${encode('/admin')}`,
      `${tag}.${encode('http://evil.test/')}.${mac}`,
      `AAAAAA.${encode('/messages?sessionId=1')}.${mac}`,
      `${tag}.${encode('/messages?sessionId=2')}.${mac}`,
      path.slice(path.indexOf('=') + 1, -1),
      `${path.slice(path.indexOf('=') + 1)}.x`,
      `${path.slice(path.indexOf('=') + 1)}&mcp-endpoint=x`,
      // default internal key: there is none that could be guessed.
      ...['', 'secret', 'changeme', 'legacy-sse', 'mcp-gatehouse', new Uint8Array(32)].map(
        (key) => `${tag}.${encode('/admin')}.${signWith(key, backend, '/admin')}`,
      ),
    ];
    for (const token of forgeries) {
      const answer = await post(`/legacy?mcp-endpoint=${token}`);
      assert.deepEqual([answer.status, answer.error], [404, 'session_gone'], token);
    }
    const elsewhere = await post(path.replace('/legacy', '/other-legacy'));
    assert.equal(elsewhere.error, 'session_gone', 'signed for another backend');
    assert.deepEqual(legacyPosts, []);
  });

  test('an event that never ends does not fill the memory', async (t) => {
    announce = (response) => {
      response.write('event: endpoint\ndata: ');
      const go = (): void => {
        if (!response.destroyed) response.write('a'.repeat(10_000), () => setImmediate(go));
      };
      go();
    };
    const client = await connectWire(t, gateway.port);
    client.send('GET /legacy HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.doesNotMatch(await client.waitForClose(), /aaaa/);
  });
});

describe('session id tampering', () => {
  test('a session id leads to the endpoint that gave it, and nowhere else', async (t) => {
    const use = (path: string, session: string) =>
      sendHead(t, gateway.port, `DELETE ${path} HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: ${session}`);
    const opened = await sendHead(t, gateway.port, 'GET /rpc HTTP/1.1\r\nHost: localhost');
    const session = opened.headers.find(([name]) => name === 'mcp-session-id')?.[1] ?? '';
    assert.match(session, /^session~[\w-]{6}$/);
    sessions.length = 0;
    assert.equal((await use('/rpc', session)).status, 200);
    assert.deepEqual(sessions.splice(0), [{ url: '/', session: 'session', method: 'DELETE' }]);

    // A tag that no endpoint of this backend has: gone, and asked of nobody.
    const tag = session.slice(-6);
    const otherTag = tag.startsWith('A') ? `B${tag.slice(1)}` : `A${tag.slice(1)}`;
    for (const forged of [`session~${otherTag}`, 'session~AAAAAA', '~AAAAAA', `${session}~AAAAAA`])
      assert.deepEqual([(await use('/rpc', forged)).error], ['session_gone'], forged);
    assert.equal((await use('/other-rpc', session)).error, 'session_gone', 'a tag of another backend');
    assert.deepEqual(sessions, []);

    // Whatever else it is, it is the upstream's to judge, and only a value of a header field.
    for (const odd of ['session', 'other', '../../admin', 'a~b', `x~${tag.slice(1)}`, '%7E', 'a'.repeat(5_000)]) {
      sessions.length = 0;
      assert.equal((await use('/rpc', odd)).status, 200);
      assert.deepEqual(sessions, [{ url: '/', session: odd, method: 'DELETE' }]);
    }
    const empty = await sendHead(t, gateway.port, 'DELETE /rpc HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id:');
    assert.ok(empty.status < 500);
  });
});

test('after all of this the gateway is the same process and serves', async (t) => {
  assert.equal(gateway.exitCode(), undefined);
  assert.equal((await ask(t, '/end')).body, '/end');
  assert.doesNotMatch(gateway.readOutput(), /inside the gateway/);
  await once(rpc.close(), 'close');
});
