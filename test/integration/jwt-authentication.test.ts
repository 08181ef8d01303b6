// JWT authentication through a real gateway: modes, places of the token, what the backend gets to see, levels, and a login of the backend behind it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type Answer,
  ask,
  askHttp2,
  gatewayOf,
  openRequest,
  openSession,
  readEcho,
  readError,
  readText,
  receiveResponse,
  resource,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
  type Upstream,
  valuesOf,
} from './gateway-fixture.ts';
import { bearerOf, describeDenial, jwtPolicyOf } from './jwt-authentication-fixture.ts';
import { backendResource, routeResource } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';

const corp = createIssuer('https://corp.example');
const staff = createIssuer('https://staff.example');
const onHttpRoute = (sectionName?: string) =>
  ({ kind: 'HTTPRoute', name: 'all', ...(sectionName === undefined ? {} : { sectionName }) }) as const;
const claimsToHeaders = [
  { claim: 'sub', header: 'X-Auth-Subject' },
  { claim: 'team', header: 'x-auth-team' },
];
let gateway: GatewayRun;
let main: Upstream;
let mirror: Upstream;

/** Rules of one HTTPRoute, each with a policy of its own name. */
const policies: Readonly<Record<string, object>> = {
  strict: { claimsToHeaders },
  optional: { mode: 'Optional', claimsToHeaders },
  permissive: { mode: 'Permissive', claimsToHeaders },
  forwarded: { mode: 'Permissive', forwardToken: true },
  cookie: { location: { cookie: { name: 'session' } } },
  'cookie-forwarded': { location: { cookie: { name: 'session' } }, forwardToken: true },
  query: { location: { queryParameter: { name: 'jwt' } }, mode: 'Optional' },
  'query-forwarded': { location: { queryParameter: { name: 'jwt' } }, forwardToken: true },
  custom: { location: { header: { name: 'X-Token', prefix: 'token:' } } },
  mirrored: { location: { queryParameter: { name: 'jwt' } }, claimsToHeaders },
  redirected: { location: { queryParameter: { name: 'jwt' } } },
  cors: {},
  'mcp-both': { claimsToHeaders },
  'mcp-corp': { providers: [providerOf('corp', corp)] },
  'mcp-cookie': { location: { cookie: { name: 'session' } } },
};

const mcpRef = (name: string): object => ({ group: 'gateway.proxy', kind: 'ProxyBackend', name });

function listResources(port: number): object[] {
  const named = (name: string, backend: object = serviceRef('main'), rest: object = {}): object =>
    rule(`/${name}`, 'filters' in rest && name === 'redirected' ? [] : [backend], { name, ...rest });
  const mirrorTo = { type: 'RequestMirror', requestMirror: { backendRef: serviceRef('mirror') } };
  const redirect = {
    type: 'RequestRedirect',
    requestRedirect: { hostname: 'elsewhere.example', port: 443, scheme: 'https' },
  };
  const cors = { type: 'CORS', cors: { allowOrigins: ['https://app.example'], allowMethods: ['GET'] } };
  const modifier = {
    type: 'RequestHeaderModifier',
    requestHeaderModifier: { set: [{ name: 'X-Tenant', value: 'blue' }], remove: ['X-Internal-User'] },
  };
  const mcpAuthentication = {
    issuer: staff.issuer,
    audiences: ['api'],
    flow: 'Direct',
    sessionBinding: false,
    jwks: { inline: staff.jwks },
    claimsToHeaders: [{ claim: 'email', header: 'x_auth_team' }],
    requiredScopes: ['tickets'],
    forwardToken: true,
  };
  return [
    gatewayOf('test', [{ name: 'http', protocol: 'HTTP', port }]),
    routeResource('all', [
      ...[
        'strict',
        'optional',
        'permissive',
        'forwarded',
        'cookie',
        'cookie-forwarded',
        'query',
        'query-forwarded',
        'custom',
      ].map((name) => named(name)),
      named('mirrored', serviceRef('main'), { filters: [mirrorTo] }),
      named('redirected', {}, { filters: [redirect] }),
      named('cors', serviceRef('main'), { filters: [cors] }),
      named('mcp-both', mcpRef('protected')),
      named('mcp-corp', mcpRef('protected')),
      named('mcp-cookie', mcpRef('protected')),
    ]),
    routeResource('open', [
      rule('/modified', [serviceRef('main')], { filters: [modifier] }),
      rule('/open', [serviceRef('main')]),
    ]),
    ...serviceOf('main', [main.port]),
    ...serviceOf('mirror', [mirror.port]),
    backendResource('protected', main.port, '/mcp'),
    resource('gateway.proxy/v1alpha1', 'ProxyPolicy', 'login', {
      spec: { targetRefs: [mcpRef('protected')], backend: { mcp: { authentication: mcpAuthentication } } },
    }),
    ...Object.entries(policies).map(([name, policy]) =>
      jwtPolicyOf(name, onHttpRoute(name), {
        providers: [providerOf('corp', corp), providerOf('staff', staff)],
        ...policy,
      }),
    ),
  ];
}

before(async () => {
  [main, mirror] = await Promise.all([startUpstream('main'), startUpstream('mirror')]);
  gateway = await runGateway({ resources: listResources, flags: ['--log-format', 'json'] });
});
after(async () => {
  await gateway?.stop();
  await Promise.all([main?.close(), mirror?.close()]);
});

const get = (path: string, headers: Record<string, string | string[]> = {}): Promise<Answer> =>
  ask(gateway.port, { path, headers });

describe('modes', () => {
  const expected = {
    none: { strict: '401 missing_token', optional: [], permissive: [] },
    valid: { strict: ['alice'], optional: ['alice'], permissive: ['alice'] },
    expired: { strict: '401 token_expired', optional: '401 token_expired', permissive: [] },
    garbage: { strict: '401 token_malformed', optional: '401 token_malformed', permissive: [] },
    'another scheme': { strict: '401 missing_token', optional: [], permissive: [] },
  } as const;
  for (const [name, outcomes] of Object.entries(expected))
    for (const [mode, outcome] of Object.entries(outcomes))
      test(`${mode}, ${name}: ${typeof outcome === 'string' ? outcome : `served as ${outcome[0] ?? 'nobody'}`}`, async () => {
        const values = {
          none: [],
          valid: [['authorization', `Bearer ${await corp.sign()}`]],
          expired: [['authorization', `Bearer ${await corp.sign({ exp: 1 })}`]],
          garbage: [['authorization', 'Bearer x.y.z']],
          'another scheme': [['authorization', 'Basic YTpi']],
        }[name]!;
        const hits = main.hits;
        const answer = await get(`/${mode}`, { ...Object.fromEntries(values), 'x-auth-subject': 'mallory' });
        if (typeof outcome === 'string') {
          assert.equal(readError(answer), outcome);
          assert.equal(main.hits, hits);
          return;
        }
        const { headers } = readEcho(answer);
        assert.deepEqual(valuesOf(headers, 'x-auth-subject'), outcome);
        assert.deepEqual(valuesOf(headers, 'authorization'), []);
      });

  test('every method is asked for a token, upgrades and HTTP/2 too', async () => {
    const hits = main.hits;
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])
      assert.equal((await ask(gateway.port, { method, path: '/strict' })).status, 401, method);
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    assert.equal((await ask(gateway.port, { path: '/strict', headers })).status, 401);
    const session = await openSession(gateway.port);
    assert.equal((await askHttp2(session, { ':path': '/strict' })).status, 401);
    session.destroy();
    for (const path of ['/%73trict', '/x/../strict', '/strict/', '/strict/deeper', '/strict?x=/open'])
      assert.equal((await get(path)).status, 401, path);
    assert.equal(main.hits, hits);
  }); // prettier-ignore
});

describe('claims as headers', () => {
  test('come from the token alone, whatever the spelling, Connection or a trailer says', async () => {
    const token = await corp.sign({ team: 'blue' });
    const message = openRequest(gateway.port, {
      method: 'POST',
      path: '/strict',
      headers: [
        ['host', '127.0.0.1'],
        ['authorization', `Bearer ${token}`],
        ['x-auth-subject', 'mallory'],
        ['X-AUTH-SUBJECT', 'mallory'],
        ['X_Auth_Subject', 'mallory'],
        ['x-auth_subject', 'mallory'],
        ['X_AUTH_TEAM', 'red'],
        ['connection', 'x-auth-subject, x-auth-team, authorization'],
        ['transfer-encoding', 'chunked'],
        ['trailer', 'x-auth-subject, X_Auth_Team, x-sum'],
      ].flat(),
    });
    message.addTrailers({ 'x-auth-subject': 'mallory', X_Auth_Team: 'red', 'x-sum': '1' });
    message.end('body');
    const response = await receiveResponse(message);
    const body = await readText(response);
    assert.equal(response.statusCode, 200, body);
    const echo = JSON.parse(body) as { headers: string[]; trailers: string[]; body: string };
    const names = echo.headers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    assert.deepEqual(names.filter((name) => /auth/.test(name)), ['x-auth-subject', 'x-auth-team']);
    assert.deepEqual(valuesOf(echo.headers, 'x-auth-subject'), ['alice']);
    assert.deepEqual(valuesOf(echo.headers, 'x-auth-team'), ['blue']);
    assert.deepEqual(echo.trailers, ['x-sum', '1']);
    assert.equal(echo.body, 'body');
    assert.ok(!body.includes(token));
  }); // prettier-ignore

  test('are gone where there is no token, or the token does not have them', async () => {
    const forged = { 'x-auth-subject': 'mallory', X_Auth_Subject: 'mallory', 'x-auth-team': 'red' };
    for (const [path, headers] of [
      ['/permissive', {}],
      ['/permissive', { authorization: 'Bearer x' }],
      ['/optional', {}],
      ['/strict', bearerOf(await corp.sign({ sub: undefined }))],
    ] as const) {
      const echo = readEcho(await get(path, { ...forged, ...headers }));
      assert.ok(!JSON.stringify(echo).match(/mallory|red/), path);
    }
    // Nobody's business on a route without a policy.
    assert.deepEqual(valuesOf(readEcho(await get('/open', forged)).headers, 'x-auth-subject'), ['mallory']);
  });

  test('over HTTP/2 as well', async () => {
    const session = await openSession(gateway.port);
    const fields = { ':path': '/strict', ...bearerOf(await corp.sign()), 'x-auth-subject': 'mallory', 'x_auth_subject': 'mallory' };
    const { headers } = JSON.parse((await askHttp2(session, fields)).body) as { headers: string[] };
    session.destroy();
    assert.deepEqual(valuesOf(headers, 'x-auth-subject'), ['alice']);
    assert.deepEqual(valuesOf(headers, 'x_auth_subject'), []);
  }); // prettier-ignore
});

describe('filters that say who is asking', () => {
  test('cannot be lied to by another spelling (CVE-2025-64484)', async () => {
    const headers = { X_Tenant: 'red', 'x-tenant': 'red', 'X-Internal_User': 'root', 'x-internal-user': 'root' };
    const echo = readEcho(await get('/modified', headers));
    const fields = echo.headers.filter((name, index) => index % 2 === 0 && /tenant|internal/i.test(name));
    assert.deepEqual(fields, ['X-Tenant']);
    assert.deepEqual(valuesOf(echo.headers, 'x-tenant'), ['blue']);
  });
});

describe('the token itself', () => {
  test('reaches the backend only when it is forwarded and was verified', async () => {
    const token = await corp.sign();
    assert.deepEqual(valuesOf(readEcho(await get('/strict', bearerOf(token))).headers, 'authorization'), []);
    const headers = { authorization: `bearer  ${token}` };
    assert.deepEqual(valuesOf(readEcho(await get('/forwarded', headers)).headers, 'authorization'), [
      headers.authorization,
    ]);
    for (const value of ['Bearer x', `Bearer ${token}x`, 'Basic YTpi', 'Bearer'])
      assert.deepEqual(
        valuesOf(readEcho(await get('/forwarded', { authorization: value })).headers, 'authorization'),
        [],
        value,
      );
  });

  test('in a cookie: it is cut out, and the others stay as they are', async () => {
    const token = await corp.sign();
    const echo = readEcho(await get('/cookie', { cookie: `a=1; session=${token}; b="2;3"; Session=x` }));
    assert.deepEqual(valuesOf(echo.headers, 'cookie'), ['a=1; b="2;3"; Session=x']);
    const alone = readEcho(await get('/cookie', { cookie: `session="${token}"` }));
    assert.deepEqual(valuesOf(alone.headers, 'cookie'), []);
    const kept = readEcho(await get('/cookie-forwarded', { cookie: `a=1; session=${token}` }));
    assert.deepEqual(valuesOf(kept.headers, 'cookie'), [`a=1; session=${token}`]);
    const session = await openSession(gateway.port);
    const fields = { ':path': '/cookie', cookie: ['a=1', `session=${token}`, 'b=2'] };
    const answer = await askHttp2(session, fields);
    session.destroy();
    assert.equal(answer.status, 200, answer.body);
    assert.ok(!answer.body.includes(token));
    assert.match(answer.body, /a=1.*b=2/);
  });

  test('in the query: it is cut out in every spelling, and nothing is written anew', async () => {
    const token = await corp.sign();
    const urlOf = async (path: string): Promise<string> => readEcho(await get(path)).url;
    assert.equal(await urlOf(`/query?a=%7E+b&jwt=${token}&c&&d=%2f`), '/query?a=%7E+b&c&&d=%2f');
    assert.equal(await urlOf(`/query?%6awt=${token}`), '/query');
    assert.equal(await urlOf('/query?a=1'), '/query?a=1');
    assert.equal(await urlOf(`/query-forwarded?a=1&jwt=${token}`), `/query-forwarded?a=1&jwt=${token}`);
    assert.equal(readError(await get(`/query?jwt=${token}x`)), '401 token_malformed');
  });

  test('in a header with a prefix of its own', async () => {
    const token = await corp.sign();
    const echo = readEcho(await get('/custom', { 'X-Token': `token:${token}`, ...bearerOf('for-the-backend') }));
    assert.deepEqual(valuesOf(echo.headers, 'x-token'), []);
    assert.deepEqual(valuesOf(echo.headers, 'authorization'), ['Bearer for-the-backend']);
    assert.equal(readError(await get('/custom', { 'x-token': `TOKEN:${token}` })), '401 missing_token');
    assert.equal(readError(await get('/custom', { X_Token: `token:${token}` })), '401 missing_token');
  });

  test('does not get into a copy or a redirect either', async () => {
    const token = await corp.sign();
    const seen: { url: string; headers: string[] }[] = [];
    mirror.handle('/mirrored', (request, response) => {
      seen.push({ url: request.url!, headers: request.rawHeaders });
      response.end();
    });
    readEcho(await get(`/mirrored?jwt=${token}&a=1`, { 'x-auth-subject': 'mallory', X_Auth_Subject: 'mallory' }));
    await waitFor(() => seen.length === 1);
    assert.equal(seen[0]!.url, '/mirrored?a=1');
    assert.deepEqual(valuesOf(seen[0]!.headers, 'x-auth-subject'), ['alice']);
    assert.ok(!JSON.stringify(seen).match(/mallory/));
    const redirected = await get(`/redirected?jwt=${token}&a=1`);
    assert.equal(redirected.status, 302);
    assert.equal(redirected.headers.location, 'https://elsewhere.example/redirected?a=1');
    assert.equal(readError(await get('/redirected')), '401 missing_token');
  });
});

describe('web pages', () => {
  const origin = { origin: 'http://localhost:8000' };
  const preflight = { 'access-control-request-method': 'PUT', 'access-control-request-headers': 'authorization' };

  test('get an answer to preflights, and can read why they were refused', async () => {
    const hits = main.hits;
    const answer = await ask(gateway.port, {
      method: 'OPTIONS',
      path: '/strict',
      headers: { ...origin, ...preflight },
    });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers['access-control-allow-origin'], '*');
    assert.equal(answer.headers['access-control-allow-headers'], 'authorization');
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
    assert.equal(main.hits, hits);
    const denied = await get('/strict', origin);
    assert.equal(denied.headers['access-control-allow-origin'], '*');
    assert.equal(denied.headers['access-control-expose-headers'], 'WWW-Authenticate, Mcp-Session-Id');
  });

  test('of a route with CORS settings get what those say', async () => {
    const headers = { origin: 'https://app.example' };
    const answer = await ask(gateway.port, { method: 'OPTIONS', path: '/cors', headers: { ...headers, ...preflight } });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers['access-control-allow-methods'], 'GET');
    const denied = await get('/cors', headers);
    assert.equal(readError(denied), '401 missing_token');
    assert.equal(denied.headers['access-control-allow-origin'], 'https://app.example');
    assert.equal(denied.headers['access-control-expose-headers'], 'WWW-Authenticate, Mcp-Session-Id');
  });
});

describe('a backend with a login of its own', () => {
  const both = { aud: 'api', scope: 'tickets' };
  const metadata = (path: string): string =>
    `resource_metadata="http://127.0.0.1:${gateway.port}/.well-known/oauth-protected-resource${path}"`;

  test('its challenge is in the first 401, so that a client can begin', async () => {
    assert.deepEqual(describeDenial(await get('/mcp-both')), {
      error: '401 missing_token',
      challenge: `Bearer ${metadata('/mcp-both')}, scope="tickets"`,
      description: 'This request needs a bearer token. The WWW-Authenticate header has the details.',
    });
    const { challenge } = describeDenial(await get('/mcp-both', bearerOf(await staff.sign({ exp: 1 }))));
    assert.equal(
      challenge,
      `Bearer error="invalid_token", ${metadata('/mcp-both')}, scope="tickets", error_description="The token has expired."`,
    );
    assert.equal((await get('/.well-known/oauth-protected-resource/mcp-both')).status, 200);
  });

  test('both must accept the token', async () => {
    // Good for the route, of another issuer for the backend.
    const refused = await get('/mcp-both', bearerOf(await corp.sign(both)));
    assert.equal(readError(refused), '401 token_wrong_issuer');
    assert.match(String(refused.headers['www-authenticate']), /resource_metadata=/);
    // Good for both, but for the scope that the backend wants.
    assert.equal(
      readError(await get('/mcp-both', bearerOf(await staff.sign({ scope: 'x' })))),
      '403 insufficient_scope',
    );
    readEcho(await get('/mcp-both', bearerOf(await staff.sign(both))));
    // Good for the backend; the route does not take its issuer.
    const hits = main.hits;
    assert.equal(readError(await get('/mcp-corp', bearerOf(await staff.sign(both)))), '401 token_wrong_issuer');
    assert.equal(main.hits, hits);
  });

  test('claims of both are added, and the backend’s win; the token is passed on only when both want it to be', async () => {
    const token = await staff.sign({ ...both, team: 'blue', email: 'alice@example.com' });
    const headers = { ...bearerOf(token), 'x-auth-team': 'red', X_Auth_Subject: 'mallory' };
    const echo = readEcho(await get('/mcp-both', headers));
    assert.deepEqual(valuesOf(echo.headers, 'x-auth-subject'), ['alice']);
    assert.deepEqual(valuesOf(echo.headers, 'x-auth-team'), []);
    assert.deepEqual(valuesOf(echo.headers, 'x_auth_team'), ['alice@example.com']);
    // The backend's policy forwards it, the route's does not.
    assert.deepEqual(valuesOf(echo.headers, 'authorization'), []);
  });

  test('two tokens in two places, each for one of them', async () => {
    const [routeToken, backendToken] = await Promise.all([corp.sign(), staff.sign(both)]);
    const cookie = `session=${routeToken}`;
    const echo = readEcho(await get('/mcp-cookie', { cookie, ...bearerOf(backendToken) }));
    assert.deepEqual(valuesOf(echo.headers, 'authorization'), [`Bearer ${backendToken}`]);
    assert.deepEqual(valuesOf(echo.headers, 'cookie'), []);
    // Without the cookie no login would help; with it the backend's own challenge comes.
    assert.equal(describeDenial(await get('/mcp-cookie', bearerOf(backendToken))).challenge, 'Bearer');
    const login = describeDenial(await get('/mcp-cookie', { cookie }));
    assert.equal(login.challenge, `Bearer ${metadata('/mcp-cookie')}, scope="tickets"`);
  });
});

describe('levels', () => {
  const issuers = ['gateway', 'listener', 'route', 'rule'].map((name) => createIssuer(`https://${name}.example`));
  const [ofGateway, ofListener, ofRoute, ofRule] = issuers as [typeof corp, typeof corp, typeof corp, typeof corp];
  let layered: GatewayRun;

  before(async () => {
    const policy = (name: string, target: Parameters<typeof jwtPolicyOf>[1], issuer: typeof corp): object =>
      jwtPolicyOf(name, target, { providers: [providerOf(name, issuer)] });
    layered = await runGateway({
      resources: (port) => [
        gatewayOf('test', [
          { name: 'one', protocol: 'HTTP', port, hostname: 'one.test' },
          { name: 'two', protocol: 'HTTP', port, hostname: 'two.test' },
        ]),
        routeResource('plain', [rule('/plain', [serviceRef('main')])]),
        routeResource('own', [
          rule('/own', [serviceRef('main')]),
          rule('/special', [serviceRef('main')], { name: 'special' }),
        ]),
        ...serviceOf('main', [main.port]),
        policy('gateway', { kind: 'Gateway', name: 'test' }, ofGateway),
        policy('listener', { kind: 'Gateway', name: 'test', sectionName: 'two' }, ofListener),
        policy('route', { kind: 'HTTPRoute', name: 'own' }, ofRoute),
        policy('rule', { kind: 'HTTPRoute', name: 'own', sectionName: 'special' }, ofRule),
      ],
    });
  });
  after(() => layered?.stop());

  for (const [host, path, accepted] of [
    ['one.test', '/plain', ofGateway],
    ['two.test', '/plain', ofListener],
    ['one.test', '/own', ofRoute],
    ['two.test', '/own', ofRoute],
    ['one.test', '/special', ofRule],
    ['two.test', '/special', ofRule],
  ] as const)
    test(`${host}${path} takes tokens of ${accepted.issuer} and of nobody else`, async () => {
      for (const issuer of issuers) {
        const answer = await ask(layered.port, { path, headers: { host, ...bearerOf(await issuer.sign()) } });
        if (issuer === accepted) readEcho(answer);
        else assert.equal(readError(answer), '401 token_wrong_issuer', issuer.issuer);
      }
      assert.equal(readError(await ask(layered.port, { path, headers: { host } })), '401 missing_token');
    });
});

describe('a policy that is overridden', () => {
  const forged = { 'x-auth-subject': 'mallory', X_Auth_Subject: 'mallory', 'x-auth-role': 'root', 'x-other': 'kept' };
  let layered: GatewayRun;
  before(async () => {
    const claims = (...headers: string[]): object => ({
      claimsToHeaders: headers.map((header) => ({ claim: 'sub', header })),
    });
    const policy = (name: string, target: Parameters<typeof jwtPolicyOf>[1], rest: object): object =>
      jwtPolicyOf(name, target, { providers: [providerOf('corp', corp)], ...rest });
    layered = await runGateway({
      resources: (port) => [
        gatewayOf('test', [{ name: 'http', protocol: 'HTTP', port }]),
        routeResource('below', [
          rule('/below', [serviceRef('main')]),
          rule('/public', [serviceRef('main')], { name: 'public' }),
        ]),
        ...serviceOf('main', [main.port]),
        policy('gateway', { kind: 'Gateway', name: 'test' }, claims('X-Auth-Subject')),
        policy('listener', { kind: 'Gateway', name: 'test', sectionName: 'http' }, claims('x_auth_role')),
        policy('route', { kind: 'HTTPRoute', name: 'below' }, {}),
        policy(
          'rule',
          { kind: 'HTTPRoute', name: 'below', sectionName: 'public' },
          { mode: 'Permissive', ...claims('x-caller') },
        ),
      ],
    });
  });
  after(() => layered?.stop());

  test('still keeps clients from sending its headers, in any spelling', async () => {
    const headers = { ...bearerOf(await corp.sign()), ...forged };
    for (const [path, sent] of [
      ['/below', headers],
      ['/public', headers],
      ['/public', forged],
    ] as const) {
      const echo = readEcho(await ask(layered.port, { path, headers: sent }));
      assert.ok(!JSON.stringify(echo).match(/mallory|root/), path);
      assert.deepEqual(valuesOf(echo.headers, 'x-other'), ['kept']);
      assert.deepEqual(valuesOf(echo.headers, 'x-caller'), path === '/public' && sent === headers ? ['alice'] : []);
    }
  });

  test('not behind the body either', async () => {
    const message = openRequest(layered.port, {
      method: 'POST',
      path: '/public',
      headers: [
        ['host', '127.0.0.1'],
        ['transfer-encoding', 'chunked'],
        ['trailer', 'x-auth-subject, X_Auth_Role, x-sum'],
      ].flat(),
    });
    message.addTrailers({ 'x-auth-subject': 'mallory', X_Auth_Role: 'root', 'x-sum': '1' });
    message.end('body');
    const echo = JSON.parse(await readText(await receiveResponse(message))) as { trailers: string[] };
    assert.deepEqual(echo.trailers, ['x-sum', '1']);
  });
});

describe('a rule that a policy names', () => {
  test('is renamed: the whole route is closed until the policy is told, never open', async () => {
    const list = (port: number, name: string, sectionName: string): object[] => [
      gatewayOf('test', [{ name: 'http', protocol: 'HTTP', port }]),
      routeResource('api', [
        rule('/admin', [serviceRef('main')], { name }),
        rule('/rest', [serviceRef('main')], { name: 'rest' }),
      ]),
      ...serviceOf('main', [main.port]),
      jwtPolicyOf('admins', { kind: 'HTTPRoute', name: 'api', sectionName }, { providers: [providerOf('corp', corp)] }),
    ];
    const run = await runGateway({
      resources: (port) => list(port, 'admin', 'admin'),
      flags: ['--log-format', 'json'],
    });
    try {
      const send = async (path: string): Promise<string> => {
        const answer = await ask(run.port, { path });
        return answer.status === 200 ? '200' : readError(answer);
      };
      assert.deepEqual([await send('/admin'), await send('/rest')], ['401 missing_token', '200']);
      run.write(list(run.port, 'admins', 'admin'));
      const seen = new Set<string>();
      await waitFor(async () => {
        seen.add(await send('/admin'));
        return seen.has('500 policy_invalid');
      });
      assert.ok(!seen.has('200'), [...seen].join());
      assert.equal(await send('/rest'), '500 policy_invalid');
      // What another process writes arrives when it arrives.
      const told =
        /policy default\/admins \(policy_invalid\): HTTPRoute default\/api has no rule named \\"admin\\"; it has admins, rest\. Did you mean admins\? Until this is fixed, all of its requests are refused\./;
      await waitFor(() => told.test(run.readOutput()));
      run.write(list(run.port, 'admins', 'admins'));
      await waitFor(async () => (await send('/rest')) === '200');
      assert.equal(await send('/admin'), '401 missing_token');
    } finally {
      await run.stop();
    }
  });
});
