// Router, policy and upstream must read a request in the same way, or a policy protects a door beside the one that opens.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test, type TestContext } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { closeBackend, closeRoute } from './closed-policy.ts';
import {
  connectHttp2Wire,
  endHeaders,
  endStream,
  frameTypes,
  pseudoFields,
  writeFields,
  writeFrame,
} from './http2-wire.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { connectWire, sendHead } from './wire-client.ts';

let gateway: GatewayRun;
let secret: RecordingUpstream;
let open: RecordingUpstream;
let mapped: RecordingUpstream;

const toBackend = (name: string): object => ({
  backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name }],
});

before(async () => {
  secret = await startRecordingUpstream('secret');
  open = await startRecordingUpstream('open');
  mapped = await startRecordingUpstream('mapped');
  gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource('protected', [ruleTo('/mcp', 'secret')]),
      closeRoute('guard', 'protected'),
      routeResource('open', [ruleTo('/', 'open'), ruleTo('/.well-known', 'open'), ruleTo('/public', 'mapped')]),
      routeResource('guarded-backend', [
        ruleTo('/to-guarded', 'guarded'),
        ruleTo('/mirrored', 'open', {
          filters: [
            {
              type: 'RequestMirror',
              requestMirror: { backendRef: { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'guarded' } },
            },
          ],
        }),
      ]),
      backendResource('guarded', secret.port, '/'),
      closeBackend('guard-backend', 'guarded'),
      routeResource('values', [
        { matches: [{ path: { type: 'Exact', value: '/v1.0' } }], ...toBackend('mapped') },
        {
          matches: [{ path: { type: 'PathPrefix', value: '/values' }, headers: [{ name: 'x-tool', value: 'a.b' }] }],
          ...toBackend('mapped'),
        },
        {
          matches: [{ path: { type: 'PathPrefix', value: '/values' }, queryParams: [{ name: 'tool', value: 'a.b' }] }],
          ...toBackend('mapped'),
        },
      ]),
      routeResource('named', [ruleTo('/', 'mapped')], { hostnames: ['tools.example.com', '*.wild.example.com'] }),
      backendResource('secret', secret.port, '/mcp'),
      backendResource('open', open.port, '/'),
      backendResource('mapped', mapped.port, '/base/public'),
    ],
  });
});
after(async () => {
  await gateway?.stop();
  await Promise.all([secret?.close(), open?.close(), mapped?.close()]);
});
beforeEach(() => {
  secret.forget();
  open.forget();
  mapped.forget();
});

/** What a target must come to: closed by the policy, refused, or the path that the open upstream sees. */
const closed = Symbol('closed');
const refused = Symbol('refused');
const spellings: readonly (readonly [target: string, outcome: typeof closed | typeof refused | string])[] = [
  ['/mcp', closed],
  ['/mcp/', closed],
  ['/mcp/x', closed],
  ['/mcp//', closed],
  ['/mcp//x', closed],
  ['/mcp?x', closed],
  ['/mcp?', closed],
  ['/%6dcp', closed],
  ['/%6Dcp', closed],
  ['/%6D%63%70', closed],
  ['/x/../mcp', closed],
  ['/x/%2e%2e/mcp', closed],
  ['/x/.%2E/mcp', closed],
  ['/x/%2E./%6dcp', closed],
  ['/./mcp', closed],
  ['/%2e/mcp', closed],
  ['/mcp/.', closed],
  ['/mcp/./x/..', closed],
  ['/open/../../../mcp', closed],
  ['/mcp/../mcp', closed],
  ['/m%63p/%2e%2e/m%63p', closed],
  ['/mcp;/../mcp', closed],
  ['/mcp/..', '/'],
  ['//mcp', refused],
  ['///mcp', refused],
  ['/x//../mcp', '/x/mcp'],
  ['/mcp;x', refused],
  ['/mcp;', refused],
  ['/;/mcp', refused],
  ['/MCP', '/MCP'],
  ['/Mcp', '/Mcp'],
  ['/mcp.', '/mcp.'],
  ['/mcp%2e', '/mcp.'],
  ['/mcp%20', '/mcp%20'],
  ['/mcp%09', '/mcp%09'],
  ['/mcp%0d%0a', '/mcp%0D%0A'],
  ['/mcp%2F', refused],
  ['/mcp%2fx', refused],
  ['/%2Fmcp', refused],
  ['/mcp%5C', refused],
  ['/mcp%3Fx', '/mcp%3Fx'],
  ['/mcp%23x', '/mcp%23x'],
  ['/mcp%3b', '/mcp%3B'],
  ['/%25%36dcp', '/%256dcp'],
  ['/%256dcp', '/%256dcp'],
  ['/open?/../mcp', '/open?/../mcp'],
  ['/open?x=/mcp', '/open?x=/mcp'],
  ['/mcp#', refused],
  ['/mcp#x', refused],
  ['/#/../mcp', refused],
  ['/open?x#/mcp', refused],
  ['/x%2F..%2Fmcp', refused],
  ['/x/..%2Fmcp', refused],
  ['/x/..%2f..%2fmcp', refused],
  ['/x/..;/mcp', refused],
  ['/x/..;a=b/mcp', refused],
  ['/x/.;/mcp', refused],
  ['/x/%2e%2e;/mcp', refused],
  ['/x/..%5Cmcp', refused],
  ['/x%5C..%5Cmcp', refused],
  ['/x\\..\\mcp', refused],
  ['\\mcp', refused],
  ['/mcp%00', refused],
  ['/mcp%', refused],
  ['/mcp%6', refused],
  ['/mcp%zz', refused],
  ['/%u006dcp', refused],
  ['/mcp\x7f', refused],
  ['/mcp\xe9', refused],
];

async function checkOutcome(
  target: string,
  outcome: (typeof spellings)[number][1],
  status: number,
  error: string | undefined,
): Promise<void> {
  assert.equal(secret.headCount, 0, 'the protected upstream was reached');
  if (outcome === closed) assert.deepEqual([status, error], [500, 'policy_invalid'], target);
  else if (outcome === refused) assert.equal(status, 400, target);
  else assert.equal(status, 200, target);
  assert.deepEqual(
    open.requests.map((request) => request.url),
    typeof outcome === 'string' ? [outcome] : [],
    'the upstream sees the very path that the router matched',
  );
}

async function requestOverHttp2(t: TestContext, path: string): Promise<{ status: number; error: string | undefined }> {
  const client = await connectHttp2Wire(t, gateway.port);
  const fields = writeFields(pseudoFields('GET', path));
  client.wire.send(writeFrame(frameTypes.headers, endHeaders | endStream, 1, fields));
  await client.waitForStreamEnd(1);
  const data = client.readData(1);
  client.wire.socket.destroy();
  // Statuses are compressed; the bodies tell as well. A stream that the parser resets counts as refused.
  if (data === '') return { status: 400, error: undefined };
  if (data.startsWith('open ')) return { status: 200, error: undefined };
  const { error } = JSON.parse(data) as { error: string };
  return { status: error === 'policy_invalid' ? 500 : error.startsWith('bad_') ? 400 : 0, error };
}

describe('router and policy disagree on the path (CVE-2026-22037, CVE-2019-9901)', () => {
  for (const [target, outcome] of spellings) {
    test(JSON.stringify(target), async (t) => {
      const http1 = await sendHead(t, gateway.port, `GET ${target} HTTP/1.1\r\nHost: localhost`);
      await checkOutcome(target, outcome, http1.status, http1.error);
      open.forget();
      const http2 = await requestOverHttp2(t, target);
      await checkOutcome(`${target} over HTTP/2`, outcome, http2.status, http2.error);
    });
  }

  test('a target with a host of its own', async (t) => {
    for (const [target, outcome] of [
      ['http://localhost/mcp', closed],
      ['HTTP://LOCALHOST/%6dcp', closed],
      ['http://localhost/x/../mcp?y', closed],
      ['http://localhost', '/'],
      ['http://localhost?/mcp', '/?/mcp'],
      ['http://localhost//mcp', refused],
      ['http://localhost#/mcp', refused],
      ['http://a@localhost/mcp', refused],
      ['ftp://localhost/mcp', refused],
      ['//localhost/mcp', '//localhost/mcp'],
      ['mcp', refused],
      ['?/mcp', refused],
    ] as const) {
      open.forget();
      const answer = await sendHead(t, gateway.port, `GET ${target} HTTP/1.1\r\nHost: localhost`);
      await checkOutcome(target, outcome, answer.status, answer.error);
    }
  });

  test('a path below a target stays below it', async (t) => {
    for (const path of [
      '/public',
      '/public/x',
      '/public//x',
      '/public/%2e/x',
      '/public/x/../y',
      '/public/%252e%252e/admin',
      '/public/...',
      '/public/.x',
      '/public/..%2fadmin',
      '/public/..;/admin',
      '/public/..%5cadmin',
      '/public/x/..%2f..%2fadmin',
      '/public/%2e%2e%2fadmin',
      '/public/../admin',
      '/public/..',
      '/public/%2e%2e/%2e%2e/etc',
      '/public;/../admin',
    ])
      await sendHead(t, gateway.port, `GET ${path} HTTP/1.1\r\nHost: localhost`);
    assert.ok(mapped.requests.length >= 8);
    for (const { url } of mapped.requests) {
      assert.match(url, /^\/base\/public(?:\/|$)/);
      // Read as generously as any server does.
      const generous = url.replaceAll(/%2f|%5c|\\/gi, '/').replaceAll(/;[^/]*/g, '');
      assert.doesNotMatch(generous, /\/\.{1,2}(?:\/|$)/, url);
    }
  });

  test('URLs in header fields are not the URL of the request (CVE-2026-40575)', async (t) => {
    for (const name of [
      'X-Forwarded-Uri',
      'X-Original-URL',
      'X-Rewrite-URL',
      'X-Forwarded-Path',
      'X-Forwarded-Prefix',
    ]) {
      const protectedPath = await sendHead(
        t,
        gateway.port,
        `GET /mcp HTTP/1.1\r\nHost: localhost\r\n${name}: /.well-known/oauth-protected-resource`,
      );
      assert.equal(protectedPath.error, 'policy_invalid', name);
    }
    const override = 'X-HTTP-Method-Override: OPTIONS\r\nX-Method-Override: OPTIONS';
    assert.equal(
      (await sendHead(t, gateway.port, `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${override}`)).error,
      'policy_invalid',
    );
    assert.equal(secret.headCount, 0);
  });
});

test('exemption matches the query (CVE-2025-54576)', async (t) => {
  for (const target of [
    '/mcp?x=/.well-known/oauth-protected-resource',
    '/mcp?/.well-known/oauth-protected-resource',
    '/mcp?x=/../.well-known/',
    '/mcp/.well-known/oauth-protected-resource',
    '/.well-known/../mcp',
    '/.well-known/%2e%2e/mcp?/.well-known/',
  ]) {
    const answer = await sendHead(t, gateway.port, `GET ${target} HTTP/1.1\r\nHost: localhost`);
    assert.equal(answer.error, 'policy_invalid', target);
  }
  assert.equal(secret.headCount + open.headCount, 0);
});

test('non-MCP traffic skipped auth: every method and content type is protected', async (t) => {
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND', 'QUERY']) {
    for (const lines of [
      [],
      ['Content-Type: text/plain'],
      ['Content-Type: application/json', 'Accept: text/event-stream'],
      ['Origin: http://localhost', 'Access-Control-Request-Method: POST'],
      ['Connection: upgrade', 'Upgrade: websocket'],
    ]) {
      const client = await connectWire(t, gateway.port);
      client.send([`${method} /mcp HTTP/1.1`, 'Host: localhost', ...lines, 'Connection: close', '', ''].join('\r\n'));
      assert.match(await client.waitForClose(), /^HTTP\/1\.1 500 /, `${method} ${lines.join()}`);
    }
  }
  assert.equal(secret.headCount, 0);
});

test('a closed backend is closed on every way to it, mirrors included', async (t) => {
  assert.equal(
    (await sendHead(t, gateway.port, 'GET /to-guarded HTTP/1.1\r\nHost: localhost')).error,
    'policy_invalid',
  );
  assert.equal((await sendHead(t, gateway.port, 'GET /mirrored HTTP/1.1\r\nHost: localhost')).status, 200);
  assert.equal(open.headCount, 1);
  assert.equal(secret.headCount, 0);
});

describe('`.` as a regex (CVE-2026-39350): a.b does not match aXb', () => {
  const ask = async (t: TestContext, target: string, lines = '', host = 'localhost'): Promise<string> => {
    const answer = await sendHead(t, gateway.port, `GET ${target} HTTP/1.1\r\nHost: ${host}${lines}`);
    return answer.error ?? answer.body.split(' ')[0]!;
  };

  test('in a path', async (t) => {
    assert.equal(await ask(t, '/v1.0'), 'mapped');
    assert.equal(await ask(t, '/v1X0'), 'open');
    assert.equal(await ask(t, '/v1/0'), 'open');
  });

  test('in a header value', async (t) => {
    assert.equal(await ask(t, '/values', '\r\nX-Tool: a.b'), 'mapped');
    for (const value of ['aXb', 'a.bc', 'xa.b', 'A.B', 'a.b ,a.b', 'a.b,', '"a.b"', 'a%2Eb'])
      assert.equal(await ask(t, '/values', `\r\nX-Tool: ${value}`), 'open', value);
  });

  test('in a query parameter', async (t) => {
    assert.equal(await ask(t, '/values?tool=a.b'), 'mapped');
    assert.equal(await ask(t, '/values?tool=aXb'), 'open');
    assert.equal(await ask(t, '/values?Tool=a.b'), 'open');
    assert.equal(await ask(t, '/values?x=tool=a.b'), 'open');
  });

  test('in a hostname', async (t) => {
    assert.equal(await ask(t, '/', '', 'tools.example.com'), 'mapped');
    assert.equal(await ask(t, '/', '', 'TOOLS.example.com.:80'), 'mapped');
    assert.equal(await ask(t, '/', '', 'x.wild.example.com'), 'mapped');
    for (const host of [
      'toolsXexample.com',
      'tools.exampleXcom',
      'xtools.example.com',
      'tools.example.com.evil.test',
      'xwild.example.com',
      'wild.example.com',
      'x.wildXexample.com',
    ])
      assert.equal(await ask(t, '/', '', host), 'host_not_allowed', host);
  });
});

describe('duplicate headers and parameters', () => {
  const ask = (t: TestContext, target: string, ...lines: string[]): Promise<string> =>
    sendHead(t, gateway.port, [`GET ${target} HTTP/1.1`, 'Host: localhost', ...lines].join('\r\n')).then(
      (answer) => answer.error ?? answer.body.split(' ')[0]!,
    );

  test('several values do not match where one is asked for', async (t) => {
    assert.equal(await ask(t, '/values', 'X-Tool: a.b', 'X-Tool: c'), 'open');
    assert.equal(await ask(t, '/values', 'X-Tool: c', 'X-Tool: a.b'), 'open');
    assert.equal(await ask(t, '/values', 'X-Tool: a.b', 'x-tool: a.b'), 'open');
    assert.equal(await ask(t, '/values', 'X-Tool: c, a.b'), 'open');
    assert.equal(await ask(t, '/values?tool=c&tool=a.b'), 'open');
  });

  test('an underscore is not a hyphen', async (t) => {
    assert.equal(await ask(t, '/values', 'X_Tool: a.b'), 'open');
  });

  test('several Host fields are refused', async (t) => {
    for (const second of ['Host: localhost', 'Host: tools.example.com', 'HOST: evil.test', 'host:'])
      assert.equal(await ask(t, '/', second), 'missing_host', second);
    assert.equal(open.headCount + mapped.headCount, 0);
  });

  test('a comma in Host is refused', async (t) => {
    for (const host of ['localhost, evil.test', 'localhost,localhost', 'localhost evil.test', 'localhost;evil.test']) {
      const answer = await sendHead(t, gateway.port, `GET / HTTP/1.1\r\nHost: ${host}`);
      assert.equal(answer.error, 'missing_host', host);
    }
    assert.equal(open.headCount + mapped.headCount, 0);
  });

  test('several session ids are refused', async (t) => {
    assert.equal(await ask(t, '/open', 'Mcp-Session-Id: a', 'Mcp-Session-Id: b'), 'bad_request');
    assert.equal(open.headCount, 0);
  });
});
