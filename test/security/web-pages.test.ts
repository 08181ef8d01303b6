// Web pages that a browser on this machine shows must not reach a gateway on loopback, nor its admin pages.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test, type TestContext } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { connectHttp2Wire, endHeaders, endStream, frameTypes, writeFields, writeFrame } from './http2-wire.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { connectWire, sendHead } from './wire-client.ts';

let gateway: GatewayRun;
let upstream: RecordingUpstream;

before(async () => {
  upstream = await startRecordingUpstream('upstream');
  gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource('all', [
        ruleTo('/mcp', 'all'),
        ruleTo('/shared', 'all', {
          filters: [{ type: 'CORS', cors: { allowOrigins: ['https://app.example.com'] } }],
        }),
      ]),
      routeResource('named', [ruleTo('/mcp', 'all')], { hostnames: ['named.example.com'] }),
      backendResource('all', upstream.port, '/'),
    ],
  });
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => upstream.forget());

const foreignHosts = [
  'evil.test',
  'evil.test:80',
  'localhost.evil.test',
  'localhost.evil.test:3000',
  'evil-localhost',
  '127.0.0.1.evil.test',
  '127.0.0.1.nip.io',
  '0.0.0.0',
  '10.0.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '[::]',
  '[::ffff:10.0.0.1]',
  'named.example.com.evil.test',
  'xnamed.example.com',
];
const foreignOrigins = [
  'http://evil.test',
  'https://evil.test',
  'http://evil.test:3000',
  'http://localhost.evil.test',
  'http://localhost@evil.test',
  'http://127.0.0.1.evil.test',
  'http://0.0.0.0',
  'null',
  'file://',
  'chrome-extension://abcdefghijklmnop',
  'data:text/html,x',
  'http://',
  'localhost',
  'http://localhost, http://evil.test',
  'https://app.example.com.evil.test',
];

/** The answer's `error`, or the upstream's words. */
async function ask(t: TestContext, host: string, path: string, ...lines: string[]): Promise<string> {
  const answer = await sendHead(t, gateway.port, [`POST ${path} HTTP/1.1`, `Host: ${host}`, ...lines].join('\r\n'));
  return answer.error === undefined ? answer.body : `${answer.status} ${answer.error}`;
}

async function askHttp2(t: TestContext, fields: readonly (readonly [string, string])[]): Promise<string> {
  const client = await connectHttp2Wire(t, gateway.port);
  client.wire.send(writeFrame(frameTypes.headers, endHeaders | endStream, 1, writeFields(fields)));
  await client.waitForStreamEnd(1);
  const data = client.readData(1);
  client.wire.socket.destroy();
  return data.startsWith('{') ? (JSON.parse(data) as { error: string }).error : data;
}

describe('DNS rebinding (CVE-2025-64443)', () => {
  test('a foreign Host is refused', async (t) => {
    for (const host of foreignHosts) {
      assert.equal(await ask(t, host, '/mcp'), '403 host_not_allowed', host);
      assert.equal(await ask(t, host, '/nowhere'), '403 host_not_allowed', `${host} learns no routes`);
    }
    assert.equal(upstream.headCount, 0);
  });

  test('a foreign Host in an absolute target is, too', async (t) => {
    const answer = await sendHead(t, gateway.port, 'POST http://evil.test/mcp HTTP/1.1\r\nHost: localhost');
    assert.equal(answer.error, 'host_not_allowed');
    assert.equal(upstream.headCount, 0);
  });

  test('no Host at all (HTTP/1.0) is refused', async (t) => {
    assert.equal((await sendHead(t, gateway.port, 'GET /mcp HTTP/1.0\r\nX: y')).status, 403);
    assert.equal(upstream.headCount, 0);
  });

  test('a foreign Origin is refused', async (t) => {
    for (const origin of foreignOrigins) {
      assert.equal(await ask(t, 'localhost', '/mcp', `Origin: ${origin}`), '403 origin_not_allowed', origin);
      assert.equal(await ask(t, 'localhost', '/nowhere', `Origin: ${origin}`), '403 origin_not_allowed', origin);
    }
    assert.equal(upstream.headCount, 0);
  });

  test('a second Origin does not cover the first', async (t) => {
    for (const origins of [
      ['http://localhost', 'http://evil.test'],
      ['http://evil.test', 'http://localhost'],
      ['http://localhost', 'http://localhost'],
    ])
      assert.equal(
        await ask(t, 'localhost', '/mcp', ...origins.map((origin) => `Origin: ${origin}`)),
        '403 origin_not_allowed',
      );
    assert.equal(upstream.headCount, 0);
  });

  test('every method is checked, preflights included', async (t) => {
    for (const method of ['GET', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'PROPFIND']) {
      const answer = await sendHead(
        t,
        gateway.port,
        `${method} /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.test\r\nAccess-Control-Request-Method: POST`,
      );
      assert.deepEqual([answer.status, answer.error], [403, 'origin_not_allowed'], method);
      assert.ok(answer.headers.every(([name]) => !name.startsWith('access-control-')));
    }
    assert.equal(upstream.headCount, 0);
  });

  test('over HTTP/2', async (t) => {
    const head = (authority: string): [string, string][] => [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', '/mcp'],
      [':authority', authority],
    ];
    for (const host of foreignHosts) assert.equal(await askHttp2(t, head(host)), 'host_not_allowed', host);
    for (const origin of foreignOrigins)
      assert.equal(await askHttp2(t, [...head('localhost'), ['origin', origin]]), 'origin_not_allowed', origin);
    assert.equal(await askHttp2(t, [...head('localhost').slice(0, 3), ['host', 'evil.test']]), 'host_not_allowed');
    assert.equal(await askHttp2(t, [...head('localhost'), ['host', 'evil.test']]), 'missing_host');
    assert.equal(await askHttp2(t, [...head('evil.test'), ['host', 'localhost']]), 'missing_host');
    assert.equal(upstream.headCount, 0);
    assert.equal(await askHttp2(t, head('localhost')), 'upstream POST /');
  });

  test('for websockets, which no preflight guards', async (t) => {
    const handshake =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==';
    for (const [host, origin, error] of [
      ['evil.test', 'http://evil.test', 'host_not_allowed'],
      ['localhost', 'http://evil.test', 'origin_not_allowed'],
      ['localhost', 'null', 'origin_not_allowed'],
    ] as const) {
      const client = await connectWire(t, gateway.port);
      client.send(`GET /mcp HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\n${handshake}\r\n\r\n`);
      const received = await client.waitForClose();
      assert.match(received, /^HTTP\/1\.1 403 /);
      assert.ok(received.includes(error), received);
      const extended: [string, string][] = [
        [':method', 'CONNECT'],
        [':scheme', 'http'],
        [':path', '/mcp'],
        [':authority', host],
        [':protocol', 'websocket'],
        ['origin', origin],
      ];
      assert.equal(await askHttp2(t, extended), error);
    }
    assert.equal(upstream.headCount, 0);
    const client = await connectWire(t, gateway.port);
    client.send(`GET /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:1234\r\n${handshake}\r\n\r\n`);
    await client.waitForText('HTTP/1.1 101 ');
  });

  test('this machine and what the operator named may come', async (t) => {
    for (const host of ['localhost', 'LOCALHOST:80', 'app.localhost', '127.0.0.1', '127.9.9.9', '[::1]', 'localhost.'])
      assert.equal(await ask(t, host, '/mcp', 'Origin: http://localhost:6274'), 'upstream POST /', host);
    assert.equal(await ask(t, 'named.example.com', '/mcp', 'Origin: https://named.example.com'), 'upstream POST /');
    assert.equal(await ask(t, 'localhost', '/shared', 'Origin: https://app.example.com'), 'upstream POST /');
    assert.equal(await ask(t, 'localhost', '/mcp', 'Origin: https://app.example.com'), '403 origin_not_allowed');
    assert.equal(await ask(t, 'localhost', '/shared', 'Origin: https://app.example.com.'), '403 origin_not_allowed');
    assert.equal(await ask(t, 'localhost', '/shared', 'Origin: http://app.example.com'), '403 origin_not_allowed');
  });
});

describe('admin pages reached from a web page', () => {
  const pages = ['/', '/config', '/routes', '/loglevel', '/nowhere'];
  const readLevel = async (): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${gateway.adminPort}/loglevel`);
    return ((await answer.json()) as { level: string }).level;
  };
  const admin = (t: TestContext, head: string) => sendHead(t, gateway.adminPort, head);

  test('a foreign Host is refused', async (t) => {
    for (const host of foreignHosts) {
      for (const page of pages) {
        const answer = await admin(t, `GET ${page} HTTP/1.1\r\nHost: ${host}`);
        assert.deepEqual([answer.status, answer.error], [403, 'host_not_allowed'], `${host} ${page}`);
      }
    }
  });

  test('a foreign Origin is refused, also one of this machine that is not the admin port', async (t) => {
    const origins = [...foreignOrigins, 'http://localhost', `http://localhost:${gateway.port}`, 'https://localhost'];
    for (const origin of origins) {
      for (const [method, page] of [
        ['GET', '/config'],
        ['PUT', '/loglevel?level=trace'],
        ['POST', '/loglevel?level=trace'],
        ['OPTIONS', '/loglevel'],
      ] as const) {
        const answer = await admin(
          t,
          `${method} ${page} HTTP/1.1\r\nHost: localhost:${gateway.adminPort}\r\nOrigin: ${origin}`,
        );
        assert.deepEqual([answer.status, answer.error], [403, 'origin_not_allowed'], `${origin} ${method}`);
        assert.ok(answer.headers.every(([name]) => !name.startsWith('access-control-')));
      }
    }
    assert.equal(await readLevel(), 'info');
  });

  test('a request that a browser marks as cross-site is refused without an Origin', async (t) => {
    for (const site of ['cross-site', 'same-site']) {
      for (const [method, mode, destination] of [
        ['GET', 'no-cors', 'image'],
        ['GET', 'no-cors', 'script'],
        ['GET', 'navigate', 'iframe'],
        ['POST', 'navigate', 'document'],
      ]) {
        const answer = await admin(
          t,
          `${method} /loglevel?level=trace HTTP/1.1\r\nHost: localhost:${gateway.adminPort}\r\nSec-Fetch-Site: ${site}\r\nSec-Fetch-Mode: ${mode}\r\nSec-Fetch-Dest: ${destination}`,
        );
        assert.equal(answer.status, 403, `${site} ${method} ${mode}`);
      }
    }
    assert.equal(await readLevel(), 'info');
  });

  test('nothing changes by GET', async (t) => {
    for (const target of [
      '/loglevel?level=trace',
      '/loglevel?level=trace&_method=PUT',
      '/?level=trace',
      '/config?level=trace',
    ]) {
      for (const method of ['GET', 'HEAD'])
        await admin(
          t,
          `${method} ${target} HTTP/1.1\r\nHost: localhost:${gateway.adminPort}\r\nX-HTTP-Method-Override: PUT`,
        ).catch(() => undefined);
    }
    assert.equal(await readLevel(), 'info');
  });

  test('answers are not for caches, and not for guessing', async (t) => {
    for (const page of pages) {
      const { headers } = await admin(t, `GET ${page} HTTP/1.1\r\nHost: localhost`);
      assert.ok(
        headers.some(([name, value]) => name === 'cache-control' && value === 'no-store'),
        page,
      );
      assert.ok(
        headers.some(([name, value]) => name === 'x-content-type-options' && value === 'nosniff'),
        page,
      );
    }
  });

  test('the client ports do not serve admin pages', async (t) => {
    for (const page of ['/config', '/routes', '/loglevel', '/metrics', '/ready'])
      assert.equal((await sendHead(t, gateway.port, `GET ${page} HTTP/1.1\r\nHost: localhost`)).status, 404);
  });
});
