// What the gateway tells the upstream about a request is what the gateway knows, whatever the client says about itself.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, before, beforeEach, describe, test } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { type RecordedRequest, type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { connectWire, readAnswers, sendHead } from './wire-client.ts';

let gateway: GatewayRun;
let upstream: RecordingUpstream;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

before(async () => {
  upstream = await startRecordingUpstream('upstream', (request, response) => {
    if (request.url.startsWith('/hop')) {
      response.setHeader('connection', 'x-request-id, x-set-by-filter, x-own, content-type');
      response.setHeader('x-own', 'of the upstream');
      response.setHeader('x-request-id', 'of the upstream');
      response.setHeader('x-set-by-filter', 'of the upstream');
    }
    response.end('served');
  });
  const set = { set: [{ name: 'X-Set-By-Filter', value: 'ours' }], remove: ['X-Removed'] };
  gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource('all', [
        ruleTo('/', 'all', {
          filters: [
            { type: 'RequestHeaderModifier', requestHeaderModifier: set },
            { type: 'ResponseHeaderModifier', responseHeaderModifier: { set: set.set } },
          ],
        }),
        {
          matches: [{ path: { type: 'PathPrefix', value: '/old' } }],
          filters: [
            {
              type: 'RequestRedirect',
              requestRedirect: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new' }, statusCode: 302 },
            },
          ],
        },
      ]),
      backendResource('all', upstream.port, '/'),
    ],
  });
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => upstream.forget());

async function forward(t: Parameters<typeof sendHead>[0], ...lines: string[]): Promise<RecordedRequest> {
  const answer = await sendHead(t, gateway.port, ['GET /x HTTP/1.1', 'Host: localhost', ...lines].join('\r\n'));
  assert.equal(answer.status, 200);
  assert.equal(upstream.requests.length, 1);
  return upstream.requests[0]!;
}

/** Every field that tells about the client, as the gateway must have written it. */
function checkOwnFields(request: RecordedRequest): void {
  assert.deepEqual(request.all('x-forwarded-for'), ['127.0.0.1']);
  assert.deepEqual(request.all('x-forwarded-proto'), ['http']);
  assert.deepEqual(request.all('x-forwarded-host'), ['localhost']);
  assert.deepEqual(request.all('x-forwarded-port'), [String(gateway.port)]);
  assert.equal(request.all('x-request-id').length, 1);
  assert.match(request.all('x-request-id')[0]!, uuid);
  assert.deepEqual(request.all('x-set-by-filter'), ['ours']);
  assert.doesNotMatch(request.headers.join('\n'), /forged/);
}

/** In every spelling that somebody reads as another. */
const forgeable = [
  'Forwarded',
  'X-Forwarded-For',
  'X-Forwarded-Proto',
  'X-Forwarded-Host',
  'X-Forwarded-Port',
  'X-Forwarded-Server',
  'X-Forwarded-Prefix',
  'X-Forwarded-Uri',
  'X-Forwarded-User',
  'X-Forwarded-Email',
  'X-Forwarded-Groups',
  'X-Forwarded-Preferred-Username',
  'X-Forwarded-Access-Token',
  'X-Real-IP',
  'X-Request-Id',
];
const spellings = (name: string): string[] => [
  name,
  name.toLowerCase(),
  name.toUpperCase(),
  name.replaceAll('-', '_'),
  name.replace('-', '_'),
];

describe('X-Forwarded-* untrusted, underscore headers (CVE-2025-64484)', () => {
  test('over HTTP/1, every spelling is dropped', async (t) => {
    checkOwnFields(await forward(t, ...forgeable.flatMap(spellings).map((name) => `${name}: forged`)));
  });

  test('over HTTP/2, too', async () => {
    const session = connect(`http://127.0.0.1:${gateway.port}`);
    try {
      const names = new Set(forgeable.flatMap(spellings).map((name) => name.toLowerCase()));
      const request = session.request({
        ':path': '/x',
        ':authority': 'localhost',
        ...Object.fromEntries([...names].map((name) => [name, 'forged'])),
      });
      request.resume();
      await once(request, 'end');
      checkOwnFields(upstream.requests[0]!);
    } finally {
      session.destroy();
    }
  });

  test('a comma-joined list and several lines are dropped as well', async (t) => {
    checkOwnFields(
      await forward(
        t,
        'X-Forwarded-For: forged, 10.0.0.1',
        'X-Forwarded-For: forged',
        'x-forwarded-host: forged,forged',
      ),
    );
  });

  test('a filter sets or removes a header of the client in any spelling', async (t) => {
    const request = await forward(t, 'x-set-by-filter: forged', 'X-SET-BY-FILTER: forged', 'x-removed: forged');
    checkOwnFields(request);
  });

  test('default internal key: no name makes the gateway believe a client', async (t) => {
    // Names by which gateways of other makes let themselves be told things.
    const request = await forward(
      t,
      'X-Envoy-Original-Path: /admin',
      'X-Gateway-Identity: admin',
      'X-Internal-Secret: changeme',
      'X-Auth-Token: changeme',
    );
    checkOwnFields(request);
    assert.equal(request.url, '/x');
  });
});

describe('Connection strips ours (CVE-2025-48865)', () => {
  const ours = [
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Proto',
    'X-Forwarded-Port',
    'X-Request-Id',
    'X-Set-By-Filter',
    'Host',
    'Traceparent',
  ];

  test('named one by one, all together, on several lines, in any case', async (t) => {
    for (const lines of [
      ...ours.map((name) => [`Connection: ${name}`]),
      [`Connection: ${ours.join(', ')}`],
      ours.map((name) => `Connection: ${name.toUpperCase()}`),
      [`Connection: keep-alive,${ours.join(',').toLowerCase()}`, `Proxy-Connection: ${ours.join(',')}`],
    ]) {
      upstream.forget();
      const request = await forward(t, ...lines);
      checkOwnFields(request);
      assert.equal(request.all('host').length, 1);
    }
  });

  test('headers that the client names in Connection are removed, like all hop-by-hop headers', async (t) => {
    const request = await forward(
      t,
      'Connection: x-mine',
      'X-Mine: 1',
      'Keep-Alive: timeout=9',
      'Proxy-Authorization: Basic forged',
      'TE: trailers',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABk',
      'Proxy-Connection: keep-alive',
    );
    for (const name of ['x-mine', 'proxy-authorization', 'te', 'upgrade', 'http2-settings', 'proxy-connection'])
      assert.deepEqual(request.all(name), [], name);
    checkOwnFields(request);
  });

  test('framing cannot be named away', async (t) => {
    for (const [framing, body] of [
      ['Content-Length: 5', '12345'],
      ['Transfer-Encoding: chunked', '5\r\n12345\r\n0\r\n\r\n'],
    ] as const) {
      upstream.forget();
      const client = await connectWire(t, gateway.port);
      client.send(
        `POST /x HTTP/1.1\r\nHost: localhost\r\n${framing}\r\nConnection: close, content-length, transfer-encoding, host\r\n\r\n${body}`,
      );
      assert.equal(readAnswers(await client.waitForClose())[0]?.status, 200);
      assert.deepEqual(
        upstream.requests.map((request) => request.body),
        ['12345'],
      );
    }
  });

  test('nor can an upstream name away what the gateway adds to its answer', async (t) => {
    const answer = await sendHead(t, gateway.port, 'GET /hop HTTP/1.1\r\nHost: localhost');
    const all = (name: string): string[] =>
      answer.headers.filter(([field]) => field === name).map(([, value]) => value);
    assert.deepEqual(all('x-set-by-filter'), ['ours']);
    assert.deepEqual(all('x-own'), []);
    assert.equal(all('x-request-id').length, 1);
    assert.match(all('x-request-id')[0]!, uuid);
    assert.deepEqual(all('connection'), ['close']);
    assert.equal(answer.body, 'served');
  });
});

describe('hop-by-hop trailers', () => {
  test('fields that mean something in front of a body are not let in behind it', async (t) => {
    const client = await connectWire(t, gateway.port);
    const trailers = [
      'X-Good: yes',
      'Content-Length: 9',
      'Transfer-Encoding: chunked',
      'Connection: close',
      'Host: forged',
      'Authorization: forged',
      'Cookie: forged',
      'X-Forwarded-For: forged',
      'X_Forwarded_For: forged',
      'X-Forwarded-User: forged',
      'X-Real-IP: forged',
      'X-Request-Id: forged',
      'Mcp-Session-Id: forged',
      'Mcp_Session_Id: forged',
      'Forwarded: forged',
      'Proxy-Authorization: forged',
    ];
    client.send(
      `POST /x HTTP/1.1\r\nHost: localhost\r\nTrailer: X-Good\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n${trailers.join('\r\n')}\r\n\r\n`,
    );
    const answers = readAnswers(await client.waitForClose());
    // The parser may refuse framing fields there altogether; the others are left out.
    if (answers[0]!.status === 400) assert.deepEqual(upstream.requests, []);
    else assert.deepEqual(upstream.requests[0]?.trailers, ['X-Good', 'yes']);
    assert.doesNotMatch(upstream.bytes, /forged/);
  });

  test('without the framing fields, only the good one arrives', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send(
      'POST /x HTTP/1.1\r\nHost: localhost\r\nTrailer: X-Good\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\nX-Good: yes\r\nX_Forwarded_For: forged\r\nX-Forwarded-User: forged\r\nAuthorization: forged\r\n\r\n',
    );
    assert.equal(readAnswers(await client.waitForClose())[0]!.status, 200);
    assert.deepEqual(upstream.requests[0]?.trailers, ['X-Good', 'yes']);
  });
});

describe('CRLF and ../ in forwarded values (CVE-2026-29791)', () => {
  test('a Host with anything but a host is refused', async (t) => {
    for (const host of [
      'localhost\r\n X: y',
      'localhost%0d%0aX:%20y',
      'localhost/../admin',
      'localhost\\admin',
      'localhost#x',
      'localhost?x',
      'localhost:80:80',
      'localhost:99999999',
      '[::1',
      '..',
      'local\thost',
      "localhost'",
      '<script>',
    ]) {
      const answer = await sendHead(t, gateway.port, `GET /x HTTP/1.1\r\nHost: ${host}`);
      // `..` is made of allowed characters and still no name of anybody.
      assert.ok(answer.status === 400 || answer.status === 403, `${JSON.stringify(host)} ${answer.status}`);
    }
    assert.equal(upstream.headCount, 0);
  });

  test('a session id is a value and never a part of a path', async (t) => {
    const request = await forward(t, 'Mcp-Session-Id: ../../admin?x#y', 'Last-Event-ID: ../../admin');
    assert.equal(request.url, '/x');
    assert.deepEqual(request.all('mcp-session-id'), ['../../admin?x#y']);
  });

  test('an invalid traceparent cannot add a header line anywhere', async (t) => {
    const answer = await sendHead(
      t,
      gateway.port,
      'GET /x HTTP/1.1\r\nHost: localhost\r\nTraceparent: 00-\x01-x\r\nTracestate: a=\x02',
    );
    assert.equal(answer.status, 400);
    assert.equal(upstream.headCount, 0);
  });
});

describe('redirects', () => {
  test('encoded CRLF in the path stays encoded in Location', async (t) => {
    for (const path of [
      '/old/%0d%0aSet-Cookie:%20a=b',
      '/old/%0D%0A%0D%0A<script>',
      '/old?x=%0d%0aSet-Cookie:a',
      '/old/%E5%98%8A%E5%98%8DSet-Cookie:a',
    ]) {
      const answer = await sendHead(t, gateway.port, `GET ${path} HTTP/1.1\r\nHost: localhost`);
      assert.equal(answer.status, 302, path);
      const location = answer.headers.filter(([name]) => name === 'location').map(([, value]) => value);
      assert.equal(location.length, 1);
      assert.match(location[0]!, /^http:\/\/localhost:\d+\/new[!-~]*$/);
      assert.doesNotMatch(location[0]!, /<script>/);
      assert.ok(answer.headers.every(([name]) => name !== 'set-cookie'));
    }
  });

  test('a path that looks like another host stays a path', async (t) => {
    for (const [path, location] of [
      ['/old//evil.test/x', '/new//evil.test/x'],
      ['/old/%2F%2Fevil.test', '/new/%2F%2Fevil.test'],
      ['/old/@evil.test', '/new/@evil.test'],
      ['/old/%5Cevil.test', '/new/%5Cevil.test'],
    ] as const) {
      const answer = await sendHead(t, gateway.port, `GET ${path} HTTP/1.1\r\nHost: localhost`);
      const sent = answer.headers.find(([name]) => name === 'location')?.[1] ?? '';
      assert.equal(sent, `http://localhost:${gateway.port}${location}`);
      assert.equal(new URL(sent).hostname, 'localhost');
    }
  });

  test('forwarded host poisons metadata (CVE-2026-3635): it changes nothing', async (t) => {
    const answer = await sendHead(
      t,
      gateway.port,
      'GET /old HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Host: evil.test\r\nForwarded: host=evil.test;proto=https\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 1\r\nX-Host: evil.test\r\nX-Forwarded-Server: evil.test',
    );
    assert.equal(answer.headers.find(([name]) => name === 'location')?.[1], `http://localhost:${gateway.port}/new`);
  });
});
