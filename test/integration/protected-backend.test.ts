// What protects a ProxyBackend on the request path: every way to it, what of the client gets through, what mirrors get, and what fails closed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
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
  resource,
  startUpstream,
  type Upstream,
  valuesOf,
} from './gateway-fixture.ts';
import { backendResource, routeResource } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';
import { type KeyServer, startKeyServer } from './jwt-authentication-fixture.ts';

const idp = createIssuer('https://idp.test', { audience: 'mcp' });
const mcp = (name: string, rest: object = {}): object => ({
  group: 'gateway.proxy',
  kind: 'ProxyBackend',
  name,
  ...rest,
});

function policyOf(name: string, backend: string, authentication: object): object {
  return resource('gateway.proxy/v1alpha1', 'ProxyPolicy', name, {
    spec: { targetRefs: [mcp(backend)], backend: { mcp: { authentication } } },
  });
}

let gateway: GatewayRun;
let main: Upstream;
let mirror: Upstream;
let keyServer: KeyServer;
let listenerPort = 0;

const sign = (claims: object = {}): Promise<string> => idp.sign({ scope: 'mcp', ...claims });

/** One way to match a path. */
const path = (value: string, type = 'PathPrefix'): object => ({ path: { type, value } });

function listResources(port: number, note: string): object[] {
  const common = { issuer: idp.issuer, audiences: [idp.audience], flow: 'Direct', sessionBinding: false };
  const inline = idp.jwks;
  const fetched = { url: keyServer.url };
  const mirrorTo = (name: string): object => ({ type: 'RequestMirror', requestMirror: { backendRef: mcp(name) } });
  const claimsToHeaders = [
    { claim: 'sub', header: 'X-Auth-Subject' },
    { claim: 'email', header: 'x-auth-email' },
  ];
  return [
    gatewayOf('test', [{ name: 'http', protocol: 'HTTP', port }]),
    routeResource('all', [
      { matches: [path('/mcp')], backendRefs: [mcp('plain')] },
      { matches: [path('/fetched')], backendRefs: [mcp('fetched')] },
      { matches: [{ ...path('/post'), method: 'POST' }], backendRefs: [mcp('posted')] },
      { matches: [path('/forwarded')], backendRefs: [mcp('forwarded')], filters: [mirrorTo('open-mirror')] },
      { matches: [path('/twice')], backendRefs: [mcp('forwarded')], filters: [mirrorTo('forwarded-mirror')] },
      { matches: [path('/open')], backendRefs: [mcp('open')], filters: [mirrorTo('plain-mirror')] },
      { matches: [path('/mixed')], backendRefs: [mcp('weighted-a', { weight: 1 }), mcp('weighted-b', { weight: 1 })] },
      { matches: [path('/broken')], backendRefs: [mcp('broken')] },
      { matches: [path('/v[0-9]+', 'RegularExpression')], backendRefs: [mcp('nameless')] },
    ]),
    ...['plain', 'fetched', 'posted', 'forwarded', 'open', 'weighted-a', 'weighted-b', 'broken', 'nameless'].map(
      (name) => backendResource(name, main.port),
    ),
    ...['open-mirror', 'plain-mirror', 'forwarded-mirror'].map((name) => backendResource(name, mirror.port)),
    policyOf('plain', 'plain', { ...common, jwks: { inline }, claimsToHeaders, requiredScopes: ['mcp'] }),
    policyOf('fetched', 'fetched', { ...common, jwks: fetched, resourceMetadata: { resourceName: note } }),
    policyOf('posted', 'posted', { ...common, jwks: { inline } }),
    policyOf('plain-mirror', 'plain-mirror', { ...common, jwks: { inline } }),
    policyOf('weighted-a', 'weighted-a', { ...common, jwks: { inline } }),
    policyOf('weighted-b', 'weighted-b', { ...common, jwks: { inline }, audiences: ['other'] }),
    policyOf('broken', 'broken', { ...common, registration: { initialAccessTokenRef: { name: 'nothing', key: 'a' } } }),
    policyOf('nameless', 'nameless', { ...common, jwks: { inline } }),
    resource('gateway.proxy/v1alpha1', 'ProxyPolicy', 'forwarded', {
      spec: {
        targetRefs: [mcp('forwarded'), mcp('forwarded-mirror')],
        backend: { mcp: { authentication: { ...common, jwks: { inline }, forwardToken: true } } },
      },
    }),
  ];
}

before(async () => {
  [main, mirror] = await Promise.all([startUpstream('main'), startUpstream('mirror')]);
  keyServer = await startKeyServer(idp.jwks);
  gateway = await runGateway({
    resources: (port) => listResources((listenerPort = port), 'first'),
    flags: ['--log-format', 'json'],
  });
});

after(async () => {
  await gateway?.stop();
  await Promise.all([main?.close(), mirror?.close(), keyServer?.close()]);
});

function challengeOf(answer: Answer): string {
  return answer.headers['www-authenticate'] ?? '';
}

describe('without a token', () => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])
    test(`${method} does not reach the backend`, async () => {
      const hits = main.hits;
      const headers = { 'content-type': 'text/plain', ...(method === 'POST' ? { 'content-length': '2' } : {}) };
      const answer = await ask(gateway.port, { method, path: '/mcp', headers }, method === 'POST' ? 'hi' : undefined);
      assert.equal(answer.status, 401);
      assert.match(
        challengeOf(answer),
        /^Bearer resource_metadata="http:\/\/127\.0\.0\.1:\d+\/\.well-known\/oauth-protected-resource\/mcp", scope="mcp"$/,
      );
      assert.equal(main.hits, hits);
    });

  test('a request that wants to switch protocols does not either', async () => {
    const hits = main.hits;
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const message = openRequest(gateway.port, { path: '/mcp', headers });
    message.end();
    const [response] = (await once(message, 'response')) as [{ statusCode?: number; resume(): void }];
    assert.equal(response.statusCode, 401);
    response.resume();
    assert.equal(main.hits, hits);
  });

  test('nor does one over HTTP/2', async () => {
    const session = await openSession(gateway.port);
    const answer = await askHttp2(session, { ':method': 'GET', ':path': '/mcp/sub?x=/.well-known/oauth' });
    assert.equal(answer.status, 401);
    session.destroy();
  });

  for (const spelling of ['/%6dcp', '/x/../mcp', '/mcp/', '/mcp/..%2fmcp', '/mcp;a=b', '//mcp', '/MCP'])
    test(`${spelling} is not a way around`, async () => {
      const hits = main.hits;
      const answer = await ask(gateway.port, { path: spelling });
      assert.ok([400, 401, 404].includes(answer.status), `${answer.status}`);
      assert.equal(main.hits, hits);
    });

  test('a preflight is answered, also where the rule takes POST only', async () => {
    for (const at of ['/mcp', '/post']) {
      const hits = main.hits;
      const headers = {
        origin: `http://127.0.0.1:${gateway.port}`,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, mcp-session-id',
      };
      const answer = await ask(gateway.port, { method: 'OPTIONS', path: at, headers });
      assert.equal(answer.status, 204, answer.body);
      assert.match(String(answer.headers['access-control-allow-headers']), /authorization/);
      assert.equal(main.hits, hits);
    }
  });
});

describe('with a token', () => {
  test('the backend learns who asks from the gateway alone, and never sees the token', async () => {
    const token = await sign({ email: 'alice@example.com' });
    const answer = await ask(gateway.port, {
      path: '/mcp',
      headers: [
        ['host', `127.0.0.1:${gateway.port}`],
        ['authorization', `Bearer ${token}`],
        ['x-auth-subject', 'mallory'],
        ['X_Auth_Subject', 'mallory'],
        ['X-AUTH-EMAIL', 'mallory@example.com'],
        ['connection', 'x-auth-subject, x-auth-email'],
      ].flat(),
    });
    const { headers } = readEcho(answer);
    assert.deepEqual(valuesOf(headers, 'x-auth-subject'), ['alice']);
    assert.deepEqual(valuesOf(headers, 'x-auth-email'), ['alice@example.com']);
    assert.deepEqual(valuesOf(headers, 'x_auth_subject'), []);
    assert.deepEqual(valuesOf(headers, 'authorization'), []);
    assert.ok(!JSON.stringify(headers).includes(token));
  });

  test('a claim that it lacks is a header that the backend does not get, whatever the client sent', async () => {
    const answer = await ask(gateway.port, {
      path: '/mcp',
      headers: { authorization: `Bearer ${await sign()}`, 'x-auth-email': 'mallory@example.com' },
    });
    assert.deepEqual(valuesOf(readEcho(answer).headers, 'x-auth-email'), []);
  });

  test('of somebody else it is refused with the reason', async () => {
    const forged = await createIssuer(idp.issuer, { audience: idp.audience, kid: idp.kid }).sign();
    const answer = await ask(gateway.port, { path: '/mcp', headers: { authorization: `Bearer ${forged}` } });
    assert.equal(answer.status, 401);
    assert.match(challengeOf(answer), /error="invalid_token"/);
  });
});

describe('mirrors', () => {
  test('get no token of a protected request unless their own policy lets them have it', async () => {
    const token = await sign();
    const seen: string[][] = [];
    mirror.handle('/mcp', (request, response) => {
      seen.push(request.rawHeaders);
      request.resume();
      response.end();
    });
    const headers = { authorization: `Bearer ${token}` };
    const echo = readEcho(await ask(gateway.port, { path: '/forwarded', headers }));
    assert.deepEqual(valuesOf(echo.headers, 'authorization'), [`Bearer ${token}`]);
    await waitFor(() => seen.length === 1);
    assert.deepEqual(valuesOf(seen[0]!, 'authorization'), []);

    // The mirror is protected by the very same policy, which forwards the token.
    readEcho(await ask(gateway.port, { path: '/twice', headers }));
    await waitFor(() => seen.length === 2);
    assert.deepEqual(valuesOf(seen[1]!, 'authorization'), [`Bearer ${token}`]);
  });

  test('that are protected get nothing of requests that their policy did not judge', async () => {
    const hits = mirror.hits;
    readEcho(await ask(gateway.port, { path: '/open' }));
    readEcho(await ask(gateway.port, { path: '/open', headers: { authorization: `Bearer ${await sign()}` } }));
    // A copy would start before the answer of the request itself; one that is let through comes after it in any case.
    readEcho(await ask(gateway.port, { path: '/twice', headers: { authorization: `Bearer ${await sign()}` } }));
    await waitFor(() => mirror.hits > hits);
    assert.equal(mirror.hits, hits + 1);
  });
});

describe('what cannot be enforced is closed', () => {
  test('a policy whose Secret does not exist', async () => {
    const hits = main.hits;
    for (const headers of [{}, { authorization: `Bearer ${await sign()}` }])
      assert.equal(readError(await ask(gateway.port, { path: '/broken', headers })), '500 policy_invalid');
    assert.equal(main.hits, hits);
    assert.match(gateway.readOutput(), /Secret default\/nothing does not exist/);
  });

  test('a route by regular expression to a backend without a configured resource', async () => {
    const headers = { authorization: `Bearer ${await sign()}` };
    assert.equal(readError(await ask(gateway.port, { path: '/v1', headers })), '500 policy_invalid');
    assert.match(gateway.readOutput(), /HTTPRoute default\/all matches by a regular expression/);
  });

  test('the second of two policies on one path, for its share of requests', async () => {
    const headers = { authorization: `Bearer ${await sign()}` };
    const seen = new Set<string>();
    for (let count = 0; count < 200 && seen.size < 2; count += 1) {
      const answer = await ask(gateway.port, { path: '/mixed', headers });
      seen.add(answer.status === 200 ? '200' : readError(answer));
    }
    assert.deepEqual([...seen].toSorted(), ['200', '500 policy_invalid']);
    assert.match(gateway.readOutput(), /protected by ProxyPolicy default\/weighted-a and by default\/weighted-b/);
  });
});

describe('the gateway’s own endpoints', () => {
  test('exist on the host of the route, for each resource, and nowhere else', async () => {
    const metadata = await ask(gateway.port, { path: '/.well-known/oauth-protected-resource/mcp' });
    assert.equal(metadata.status, 200, metadata.body);
    const { resource: url } = JSON.parse(metadata.body) as { resource: string };
    assert.equal(url, `http://127.0.0.1:${gateway.port}/mcp`);
    assert.equal((await ask(gateway.port, { path: '/.well-known/oauth-protected-resource/open' })).status, 404);
    // Several resources: nobody could say whose the root form is.
    assert.equal((await ask(gateway.port, { path: '/.well-known/oauth-protected-resource' })).status, 404);
  });

  test('refuse other methods, work with HEAD, and answer preflights of any origin', async () => {
    const at = '/.well-known/oauth-protected-resource/mcp';
    const refused = await ask(gateway.port, { method: 'POST', path: at });
    assert.equal(refused.status, 405);
    assert.match(String(refused.headers.allow), /GET/);
    const head = await ask(gateway.port, { method: 'HEAD', path: at });
    assert.deepEqual([head.status, head.body], [200, '']);
    const headers = { origin: 'https://inspector.example', 'access-control-request-method': 'GET' };
    const preflight = await ask(gateway.port, { method: 'OPTIONS', path: at, headers });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers['access-control-allow-origin'], '*');
  });

  test('are not for a foreign Host on a loopback listener', async () => {
    const at = '/.well-known/oauth-protected-resource/mcp';
    const answer = await ask(gateway.port, { path: at, headers: { host: 'evil.example' } });
    assert.equal(readError(answer), '403 host_not_allowed');
  });
});

test('a change that does not concern the identity provider keeps its keys', async () => {
  const headers = { authorization: `Bearer ${await sign()}` };
  readEcho(await ask(gateway.port, { path: '/fetched', headers }));
  const fetches = keyServer.fetches;
  gateway.write(listResources(listenerPort, 'second'));
  const at = { path: '/.well-known/oauth-protected-resource/fetched' };
  await waitFor(async () => (await ask(gateway.port, at)).body.includes('"second"'));
  readEcho(await ask(gateway.port, { path: '/fetched', headers }));
  assert.equal(keyServer.fetches, fetches);
});
