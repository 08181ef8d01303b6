// HTTPRoutes from the outside: matches, filters, weights, time-outs, parents and grants, through a real gateway process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { findFreePorts } from '../kit/free-ports.ts';
import {
  ask,
  type Answer,
  type AskOptions,
  gatewayOf,
  openRequest,
  openSession,
  readEcho,
  readError,
  readAccessLog,
  readText,
  receiveHead,
  receiveResponse,
  resource,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
  type Upstream,
  valuesOf,
} from './gateway-fixture.ts';
import { routeResource } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const api = 'gateway.networking.k8s.io/v1';
let gateway: GatewayRun;
let otherPort = 0;
let closedPort = 0;
let a: Upstream;
let b: Upstream;
let mirror: Upstream;

const grant = resource(
  api,
  'ReferenceGrant',
  'routes',
  {
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'default' }],
      to: [{ group: '', kind: 'Service', name: 'shared' }],
    },
  },
  { namespace: 'team' },
);

const toA = [serviceRef('a')];
const filter = (type: string, settings: object): object => ({
  type,
  [type === 'CORS' ? 'cors' : type === 'URLRewrite' ? 'urlRewrite' : type[0]!.toLowerCase() + type.slice(1)]: settings,
});
const header = (name: string, value: string): object => ({ name, value });

function describeFilters(): object[] {
  const redirect = (path: string, settings: object): object =>
    rule(`/redirect/${path}`, [], { filters: [filter('RequestRedirect', settings)] });
  const rewrite = (path: string, settings: object, rest: object = {}): object =>
    rule(`/rewrite/${path}`, toA, { filters: [filter('URLRewrite', settings)], ...rest });
  const mirrored = (path: string, ...settings: object[]): object =>
    rule(`/mirror/${path}`, toA, {
      filters: settings.map((each) => filter('RequestMirror', { backendRef: serviceRef('mirror'), ...each })),
    });
  return [
    routeResource('headers', [
      rule(
        '/headers',
        [
          serviceRef('a', {
            filters: [
              filter('RequestHeaderModifier', { add: [header('x-order', 'backend')], set: [header('x-backend', '1')] }),
              filter('ResponseHeaderModifier', { set: [header('x-from-backend', '1')], remove: ['x-gone-2'] }),
            ],
          }),
        ],
        {
          filters: [
            filter('RequestHeaderModifier', {
              set: [header('X-Set', 'ours'), header('X-New', 'ours')],
              add: [header('x-order', 'rule')],
              remove: ['x-remove', 'user-agent'],
            }),
            filter('ResponseHeaderModifier', {
              set: [header('x-set', 'ours'), header('x-from-backend', 'rule')],
              add: [header('x-add', 'ours')],
              remove: ['x-gone', 'server'],
            }),
          ],
        },
      ),
    ]),
    routeResource('redirects', [
      redirect('scheme', { scheme: 'https' }),
      redirect('host', { hostname: 'other.test', statusCode: 301 }),
      redirect('port', { port: 8443 }),
      redirect('all', { scheme: 'https', hostname: 'other.test', port: 8443, statusCode: 308 }),
      redirect('well-known', { scheme: 'https', port: 443, hostname: 'other.test' }),
      redirect('full', { path: { type: 'ReplaceFullPath', replaceFullPath: '/new' }, statusCode: 303 }),
      redirect('prefix', { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new' }, statusCode: 307 }),
      redirect('root', { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } }),
    ]),
    routeResource('rewrites', [
      rewrite('full', { path: { type: 'ReplaceFullPath', replaceFullPath: '/new' } }),
      rewrite('prefix', { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new/' } }),
      rewrite('top', { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } }),
      rewrite('host', { hostname: 'inner.test' }),
      rule('/rewrite/backend', [serviceRef('a', { filters: [filter('URLRewrite', { hostname: 'backend.test' })] })]),
    ]),
    routeResource('mirrors', [
      mirrored('all', {}),
      mirrored('none', { percent: 0 }),
      mirrored('half', { percent: 50 }),
      mirrored('third', { fraction: { numerator: 1, denominator: 3 } }),
      mirrored('twice', {}, { percent: 100 }),
      mirrored('dead', { backendRef: serviceRef('dead') }),
    ]),
    routeResource('cors', [
      rule('/cors', toA, {
        filters: [
          filter('CORS', {
            allowOrigins: ['https://app.test', 'https://*.apps.test'],
            allowMethods: ['GET', 'DELETE'],
            allowHeaders: ['mcp-session-id', 'authorization'],
            exposeHeaders: ['mcp-session-id'],
            allowCredentials: true,
            maxAge: 600,
          }),
        ],
      }),
      rule('/any-origin', toA, {
        filters: [filter('CORS', { allowOrigins: ['*'], allowMethods: ['*'], allowHeaders: ['*'] })],
      }),
    ]),
  ];
}

function describeRouting(): object[] {
  const match = (value: object, name: string): object => ({
    matches: [value],
    backendRefs: toA,
    filters: [filter('RequestHeaderModifier', { set: [header('x-rule', name)] })],
  });
  const path = (type: string, value: string): object => ({ path: { type, value } });
  return [
    routeResource('matches', [
      match(path('PathPrefix', '/match'), 'prefix'),
      match(path('PathPrefix', '/match/long'), 'long prefix'),
      match(path('Exact', '/match/long/exact'), 'exact'),
      match(path('RegularExpression', '/match/regex/[a-z]+(\\?)?'), 'regex'),
      match({ ...path('PathPrefix', '/match/method'), method: 'DELETE' }, 'method'),
      match(
        {
          ...path('PathPrefix', '/match/header'),
          headers: [
            { name: 'X-Version', value: '2' },
            { name: 'x-beta', type: 'RegularExpression', value: 'y(es)?' },
          ],
        },
        'header',
      ),
      match(
        {
          ...path('PathPrefix', '/match/query'),
          queryParams: [
            { name: 'q', value: 'a b' },
            { name: 'n', type: 'RegularExpression', value: '[0-9]+' },
          ],
        },
        'query',
      ),
    ]),
    routeResource('weights', [
      rule('/weights/never', [serviceRef('a'), serviceRef('b', { weight: 0 })]),
      rule('/weights/one', [serviceRef('a', { weight: 0 }), serviceRef('b', { weight: 1 })]),
      rule('/weights/both', [serviceRef('a'), serviceRef('b')]),
      rule('/weights/broken', [serviceRef('a'), serviceRef('not-there')]),
      rule('/weights/nobody', [serviceRef('a', { weight: 0 })]),
    ]),
    routeResource('timeouts', [
      rule('/timeouts/request', toA, { timeouts: { request: '300ms' } }),
      rule('/timeouts/backend', toA, { timeouts: { backendRequest: '300ms' } }),
      rule('/timeouts/none', toA, { timeouts: { request: '0s' } }),
    ]),
    routeResource('hosts', [rule('/hosts', [serviceRef('b')])], { hostnames: ['exact.test', '*.many.test'] }),
    routeResource('every-host', [rule('/hosts', toA)]),
    routeResource('two-parents', [rule('/two-parents', toA)], { parentRefs: [{ name: 'test' }, { name: 'other' }] }),
    routeResource('by-section', [rule('/by-section', toA)], { parentRefs: [{ name: 'other', sectionName: 'open' }] }),
    routeResource('by-port', [rule('/by-port', toA)], { parentRefs: [{ name: 'other', port: otherPort }] }),
    routeResource('cross', [rule('/cross', [serviceRef('shared', { namespace: 'team' })])]),
    resource(
      api,
      'HTTPRoute',
      'foreign',
      {
        spec: {
          parentRefs: [
            { name: 'other', namespace: 'default', sectionName: 'open' },
            { name: 'other', namespace: 'default', sectionName: 'labelled' },
            { name: 'test', namespace: 'default' },
          ],
          rules: [rule('/foreign', [serviceRef('shared')])],
        },
      },
      { namespace: 'team' },
    ),
  ];
}

function describeResources(port: number, extra: readonly object[]): object[] {
  return [
    gatewayOf('test', [{ name: 'http', port, protocol: 'HTTP' }]),
    gatewayOf('other', [
      {
        name: 'open',
        port: otherPort,
        protocol: 'HTTP',
        hostname: 'open.test',
        allowedRoutes: { namespaces: { from: 'All' } },
      },
      {
        name: 'labelled',
        port: otherPort,
        protocol: 'HTTP',
        hostname: 'labelled.test',
        allowedRoutes: { namespaces: { from: 'Selector', selector: { matchLabels: { trusted: 'yes' } } } },
      },
      {
        name: 'closed',
        port: otherPort,
        protocol: 'HTTP',
        hostname: 'closed.test',
        allowedRoutes: { kinds: [{ kind: 'TCPRoute' }] },
      },
    ]),
    ...describeFilters(),
    ...describeRouting(),
    ...serviceOf('a', [a.port]),
    ...serviceOf('b', [b.port]),
    ...serviceOf('mirror', [mirror.port]),
    ...serviceOf('dead', [closedPort]),
    ...serviceOf('shared', [b.port], { namespace: 'team' }),
    ...extra,
  ];
}

before(async () => {
  [a, b, mirror] = await Promise.all([startUpstream('a'), startUpstream('b'), startUpstream('mirror')]);
  [otherPort, closedPort] = (await findFreePorts(2)) as [number, number];
  gateway = await runGateway({ resources: (port) => describeResources(port, [grant]) });
});

after(async () => {
  await gateway?.stop();
  await Promise.all([a, b, mirror].map((upstream) => upstream?.close()));
});

function get(path: string, options: AskOptions = {}): Promise<Answer> {
  return ask(gateway.port, { path, ...options });
}

describe('header modifiers', { timeout: 180_000 }, () => {
  test('set, add and remove, on the rule and on the backendRef, for requests and answers', async () => {
    a.handle('/headers', (request, response) => {
      response.writeHead(200, [
        'X-Set',
        'theirs',
        'x-set',
        'again',
        'X-Add',
        'theirs',
        'X-Gone',
        '1',
        'X-Gone-2',
        '1',
        'Server',
        's',
        'x-kept',
        '1',
      ]);
      response.end(JSON.stringify(request.rawHeaders));
    });
    const answer = await get('/headers', {
      headers: [
        'Host',
        'localhost',
        'x-set',
        'a',
        'X-Set',
        'b',
        'X-Order',
        'client',
        'X-Remove',
        '1',
        'User-Agent',
        'u',
      ],
    });
    const sent = JSON.parse(answer.body) as string[];
    assert.deepEqual(valuesOf(sent, 'x-set'), ['ours']);
    assert.deepEqual(valuesOf(sent, 'x-new'), ['ours']);
    assert.deepEqual(valuesOf(sent, 'x-backend'), ['1']);
    assert.deepEqual(valuesOf(sent, 'x-order').join(', '), 'client, rule, backend');
    assert.deepEqual([valuesOf(sent, 'x-remove'), valuesOf(sent, 'user-agent')], [[], []]);
    const received = answer.rawHeaders;
    assert.deepEqual(valuesOf(received, 'x-set'), ['ours']);
    assert.deepEqual(valuesOf(received, 'x-add'), ['theirs', 'ours']);
    assert.deepEqual(valuesOf(received, 'x-kept'), ['1']);
    assert.deepEqual(valuesOf(received, 'x-from-backend'), ['rule']);
    for (const gone of ['x-gone', 'x-gone-2', 'server']) assert.deepEqual(valuesOf(received, gone), [], gone);
  });
});

describe('redirects', { timeout: 180_000 }, () => {
  const cases: readonly (readonly [string, number, (port: number) => string])[] = [
    ['scheme', 302, () => 'https://localhost/redirect/scheme/x?q=1'],
    ['host', 301, (port) => `http://other.test:${port}/redirect/host/x?q=1`],
    ['port', 302, () => 'http://localhost:8443/redirect/port/x?q=1'],
    ['all', 308, () => 'https://other.test:8443/redirect/all/x?q=1'],
    ['well-known', 302, () => 'https://other.test/redirect/well-known/x?q=1'],
    ['full', 303, (port) => `http://localhost:${port}/new?q=1`],
    ['prefix', 307, (port) => `http://localhost:${port}/new/x?q=1`],
    ['root', 302, (port) => `http://localhost:${port}/x?q=1`],
  ];
  for (const [name, status, location] of cases) {
    test(name, async () => {
      const hits = a.hits;
      const answer = await get(`/redirect/${name}/x?q=1`, { headers: { host: `localhost:${gateway.port}` } });
      assert.deepEqual([answer.status, answer.headers.location], [status, location(gateway.port)]);
      assert.equal(a.hits, hits);
    });
  }
});

describe('rewrites', { timeout: 180_000 }, () => {
  test('of the path: whole, prefix, down to the root', async () => {
    assert.equal(readEcho(await get('/rewrite/full/x?q=1')).url, '/new?q=1');
    assert.equal(readEcho(await get('/rewrite/prefix/x?q=1')).url, '/new/x?q=1');
    assert.equal(readEcho(await get('/rewrite/prefix/')).url, '/new/');
    assert.equal(readEcho(await get('/rewrite/top/x')).url, '/x');
    assert.equal(readEcho(await get('/rewrite/top')).url, '/');
  });

  test('of the host, on the rule and on the backendRef', async () => {
    const onRule = readEcho(await get('/rewrite/host'));
    assert.deepEqual(valuesOf(onRule.headers, 'host'), ['inner.test']);
    assert.deepEqual(valuesOf(onRule.headers, 'x-forwarded-host'), [`127.0.0.1:${gateway.port}`]);
    assert.deepEqual(valuesOf(readEcho(await get('/rewrite/backend')).headers, 'host'), ['backend.test']);
    assert.deepEqual(valuesOf(readEcho(await get('/match')).headers, 'host'), [`127.0.0.1:${gateway.port}`]);
  });
});

describe('mirrors', { timeout: 180_000 }, () => {
  /** How many of `count` requests the mirror got. A marker at the end, by a rule that mirrors all, shows that no more are on their way. */
  async function countMirrored(path: string, count: number): Promise<number> {
    let copies = 0;
    mirror.handle(path, (request, response) => {
      copies += 1;
      request.resume().on('end', () => response.end('ignored'));
    });
    for (let index = 0; index < count; index += 1) assert.equal(readEcho(await get(path)).upstream, 'a');
    let marked = false;
    mirror.handle('/mirror/all/marker', (_request, response) => {
      marked = true;
      response.end();
    });
    await get('/mirror/all/marker');
    await waitFor(() => marked);
    return copies;
  }

  test('the whole request, with its body; the answer is that of the backend', async () => {
    let body: string | undefined;
    mirror.handle('/mirror/all', (request, response) => {
      void readText(request).then((text) => {
        body = text;
        response.writeHead(500).end('ignored');
      });
    });
    const answer = await get('/mirror/all?q=1', { method: 'POST' });
    assert.equal(readEcho(answer).upstream, 'a');
    await waitFor(() => body !== undefined);
    body = undefined;
    assert.equal(readEcho(await ask(gateway.port, { path: '/mirror/all', method: 'POST' }, 'a body')).body, 'a body');
    await waitFor(() => body === 'a body');
  });

  test('percent and fraction are shares of the requests', async () => {
    assert.equal(await countMirrored('/mirror/none', 20), 0);
    // 200 throws of a coin: fewer than 50 or more than 150 heads come once in 10^12.
    const half = await countMirrored('/mirror/half', 200);
    assert.ok(half > 50 && half < 150, `${half} of 200 at 50 %`);
    const third = await countMirrored('/mirror/third', 200);
    assert.ok(third > 20 && third < 130, `${third} of 200 at 1/3`);
  });

  test('two mirrors of one rule both get a copy; a dead one costs nothing', async () => {
    assert.equal(await countMirrored('/mirror/twice', 5), 10);
    assert.equal(readEcho(await get('/mirror/dead')).upstream, 'a');
  });
});

describe('CORS', { timeout: 180_000 }, () => {
  const preflight = (path: string, origin: string, method = 'DELETE', headers = 'mcp-session-id') =>
    get(path, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': headers },
    });

  test('a preflight of an allowed origin is answered without the backend', async () => {
    const hits = a.hits;
    for (const origin of ['https://app.test', 'https://x.y.apps.test']) {
      const { status, headers } = await preflight('/cors', origin);
      assert.ok(status === 200 || status === 204, String(status));
      assert.equal(headers['access-control-allow-origin'], origin);
      assert.match(headers['access-control-allow-methods'] ?? '', /\bDELETE\b/);
      assert.match(headers['access-control-allow-headers'] ?? '', /mcp-session-id/i);
      assert.equal(headers['access-control-allow-credentials'], 'true');
      assert.equal(headers['access-control-max-age'], '600');
      assert.match(headers.vary ?? '', /origin/i);
    }
    assert.equal(a.hits, hits);
  });

  test('another origin gets no permission', async () => {
    const { headers } = await preflight('/cors', 'https://evil.test');
    assert.equal(headers['access-control-allow-origin'], undefined);
    const actual = await get('/cors', { headers: { origin: 'https://evil.test' } });
    assert.equal(readError(actual), '403 origin_not_allowed');
    assert.equal(actual.headers['access-control-allow-origin'], undefined);
  });

  test("answers are marked for their origin, and the upstream's own marks are replaced", async () => {
    a.handle('/cors', (_request, response) =>
      response.writeHead(200, { 'access-control-allow-origin': '*', vary: 'accept' }).end('{}'),
    );
    const answer = await get('/cors', { headers: { origin: 'https://app.test' } });
    assert.deepEqual(valuesOf(answer.rawHeaders, 'access-control-allow-origin'), ['https://app.test']);
    assert.equal(answer.headers['access-control-expose-headers'], 'mcp-session-id');
    assert.match(answer.headers.vary ?? '', /accept/);
    assert.match(answer.headers.vary ?? '', /origin/i);
  });

  test('any origin, any method, any header', async () => {
    const { headers } = await preflight('/any-origin', 'https://whoever.test', 'PATCH', 'x-one, x-two');
    assert.equal(headers['access-control-allow-origin'], '*');
    assert.match(headers['access-control-allow-methods'] ?? '', /PATCH|\*/);
    assert.match(headers['access-control-allow-headers'] ?? '', /x-one, ?x-two|\*/);
    assert.equal(headers['access-control-allow-credentials'], undefined);
  });

  test('an OPTIONS request that is no preflight goes to the backend', async () => {
    assert.equal(readEcho(await get('/cors/x', { method: 'OPTIONS' })).method, 'OPTIONS');
  });
});

describe('matches', { timeout: 180_000 }, () => {
  const cases: readonly (readonly [string, string, AskOptions?])[] = [
    ['/match', 'prefix'],
    ['/match/', 'prefix'],
    ['/match/other', 'prefix'],
    ['/match/long/x', 'long prefix'],
    ['/match/longer', 'prefix'],
    ['/match/long/exact', 'exact'],
    ['/match/long/exact/', 'long prefix'],
    ['/match/regex/abc', 'regex'],
    ['/match/regex/abc9', 'prefix'],
    ['/match/method', 'method', { method: 'DELETE' }],
    ['/match/method', 'prefix', { method: 'POST' }],
    ['/match/header', 'header', { headers: { 'x-version': '2', 'X-BETA': 'yes' } }],
    ['/match/header', 'prefix', { headers: { 'x-version': '2', 'x-beta': 'yesterday' } }],
    ['/match/header', 'prefix', { headers: { 'x-version': '2' } }],
    ['/match/query?n=12&q=a%20b', 'query'],
    ['/match/query?q=a+b&n=12', 'query'],
    ['/match/query?q=a%20b&n=x1', 'prefix'],
    ['/%6datch/long/x', 'long prefix'],
    ['/x/../match/long/./y', 'long prefix'],
  ];
  for (const [path, expected, options] of cases) {
    test(`${options?.method ?? 'GET'} ${path} ${JSON.stringify(options?.headers ?? {})}`, async () => {
      assert.deepEqual(valuesOf(readEcho(await get(path, options)).headers, 'x-rule'), [expected]);
    });
  }

  test('a request that no rule matches gets 404', async () => {
    assert.equal(readError(await get('/matching')), '404 no_route');
    assert.equal(readError(await get('/')), '404 no_route');
  });
});

describe('weights', { timeout: 180_000 }, () => {
  test('0 gets nothing, the others share', async () => {
    const names = async (path: string, count: number): Promise<Set<string>> => {
      const found = new Set<string>();
      for (let index = 0; index < count; index += 1) found.add(readEcho(await get(path)).upstream);
      return found;
    };
    assert.deepEqual(await names('/weights/never', 30), new Set(['a']));
    assert.deepEqual(await names('/weights/one', 30), new Set(['b']));
    // Only one of two in 60 throws of a coin comes once in 10^18.
    assert.deepEqual((await names('/weights/both', 60)).size, 2);
  });

  test('a backend that does not exist answers 500 for its share, and no weight at all 500 for everything', async () => {
    const answers = new Set<string>();
    for (let index = 0; index < 60; index += 1) {
      const answer = await get('/weights/broken');
      answers.add(answer.status === 200 ? 'a' : readError(answer));
    }
    assert.deepEqual([...answers].toSorted(), ['500 backend_invalid', 'a']);
    assert.match(readError(await get('/weights/nobody')), /^500 /);
  });
});

describe('time-outs', { timeout: 180_000 }, () => {
  test('no answer in time: 504, and the upstream is let go', async () => {
    for (const [path, reason] of [
      ['/timeouts/request', '504 request_timeout'],
      ['/timeouts/backend', '504 upstream_timeout'],
    ] as const) {
      let left = false;
      a.handle(path, (request, response) => {
        request.resume();
        response.on('close', () => (left = true));
      });
      assert.equal(readError(await get(path)), reason);
      await waitFor(() => left);
    }
  });

  test('both cover the answer to its end: one that does not end in time breaks off', async () => {
    for (const path of ['/timeouts/request/slow', '/timeouts/backend/slow']) {
      a.handle(path, (_request, response) => void response.writeHead(200).write('begun'));
      const message = openRequest(gateway.port, { path });
      message.end();
      const response = await receiveResponse(message);
      assert.equal(response.statusCode, 200);
      await assert.rejects(readText(response), /aborted/, path);

      const session = await openSession(gateway.port);
      const stream = session.request({ ':path': path });
      assert.equal((await receiveHead(stream))[':status'], 200);
      stream.resume();
      await once(stream, 'error');
      session.destroy();
    }
    await waitFor(() => readAccessLog(gateway).filter(({ path }) => String(path).endsWith('/slow')).length === 4);
    assert.deepEqual(
      readAccessLog(gateway)
        .filter(({ path }) => String(path).endsWith('/slow'))
        .map(({ reason }) => reason),
      ['request_timeout', 'request_timeout', 'upstream_timeout', 'upstream_timeout'],
    );
  });

  test('an answer in time is not touched, and 0s is no limit', async () => {
    assert.equal(readEcho(await get('/timeouts/request/fast')).upstream, 'a');
    assert.equal(readEcho(await get('/timeouts/backend/fast')).upstream, 'a');
    assert.equal(readEcho(await get('/timeouts/none')).upstream, 'a');
  });
});

describe('hosts, parents and namespaces', { timeout: 180_000 }, () => {
  test('the most specific hostname of a route wins', async () => {
    const named = async (host: string): Promise<string> =>
      readEcho(await get('/hosts', { headers: { host } })).upstream;
    assert.equal(await named('exact.test'), 'b');
    assert.equal(await named('EXACT.test:80'), 'b');
    assert.equal(await named('x.many.test'), 'b');
    assert.equal(await named('x.y.many.test'), 'b');
    assert.equal(await named('localhost'), 'a');
    // On loopback, names that nobody configured are refused: they may be anybody's.
    assert.equal(readError(await get('/hosts', { headers: { host: 'many.test' } })), '403 host_not_allowed');
  });

  test('one route on several Gateways; sectionName and port choose listeners', async () => {
    const other = (path: string, host: string): Promise<Answer> => ask(otherPort, { path, headers: { host } });
    assert.equal((await get('/two-parents')).status, 200);
    assert.equal((await other('/two-parents', 'open.test')).status, 200);
    assert.equal((await other('/two-parents', 'labelled.test')).status, 404);
    assert.equal((await other('/by-section', 'open.test')).status, 200);
    assert.equal(readError(await get('/by-section')), '404 no_route');
    assert.equal((await other('/by-port', 'open.test')).status, 200);
    assert.equal((await other('/by-port', 'closed.test')).status, 404);
    assert.equal(readError(await other('/two-parents', 'nowhere.test')), '404 no_route');
  });

  test('allowedRoutes: namespaces by name and label, changed while it runs', async () => {
    const labelled = (): Promise<Answer> => ask(otherPort, { path: '/foreign', headers: { host: 'labelled.test' } });
    assert.equal((await ask(otherPort, { path: '/foreign', headers: { host: 'open.test' } })).status, 200);
    assert.equal(readError(await labelled()), '404 no_route');
    assert.equal(readError(await get('/foreign')), '404 no_route', 'the default is Same');
    const namespace = resource('v1', 'Namespace', 'team', {}, { labels: { trusted: 'yes' } });
    gateway.write(describeResources(gateway.port, [grant, namespace]));
    await waitFor(async () => (await labelled()).status === 200);
    gateway.write(describeResources(gateway.port, [grant]));
    await waitFor(async () => (await labelled()).status === 404);
  });

  test('a backend of another namespace needs a ReferenceGrant, and taking it back takes effect', async () => {
    assert.equal(readEcho(await get('/cross')).upstream, 'b');
    gateway.write(describeResources(gateway.port, []));
    await waitFor(async () => (await get('/cross')).status === 500);
    assert.equal(readError(await get('/cross')), '500 backend_invalid');
    await waitFor(() => /ReferenceGrant/.test(gateway.readOutput()));
    gateway.write(describeResources(gateway.port, [grant]));
    await waitFor(async () => (await get('/cross')).status === 200);
  });
});
