// The broker behind a real gateway: clients that are documents, keys that rotate, https with its cookies, and what the endpoints refuse.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { guardAddressExceptLoopback } from '../kit/loopback-address-policy.ts';
import { createSealKey } from '../../src/base/sealed.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { CookieJar } from '../idp/cookie-jar.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import { createCertificate } from '../self-signed-certificate.ts';
import { createLookup, serveHttps, testAuthority } from './fetch-fixture.ts';
import { type Answer, ask, startUpstream, tlsSecretOf, type Upstream } from './gateway-fixture.ts';
import {
  addSharedClient,
  type BrokerGateway,
  type BrokerGatewayOptions,
  createPkce,
  sharedRegistration,
  sharedSecrets,
  startBrokerGateway,
  startBrokerIdp,
} from './mcp-auth-broker-fixture.ts';

const redirectUri = 'http://127.0.0.1:33418/callback';

let idp: QuirkyIdp;
let upstream: Upstream;

before(async () => {
  [idp, upstream] = await Promise.all([startBrokerIdp(), startUpstream('mcp')]);
});
after(() => Promise.all([idp.close(), upstream.close()]));

function describeGateway(authentication: object = {}): Pick<BrokerGatewayOptions, 'backends' | 'secrets'> {
  return {
    backends: [{ path: '/mcp', port: upstream.port, authentication: { issuer: idp.issuer, ...authentication } }],
    secrets: sharedSecrets,
  };
}

/** What the IdP was asked to register. */
const registrations = (): Record<string, unknown>[] =>
  idp.server.callsTo(idp.paths.register).map(({ body }) => JSON.parse(body) as Record<string, unknown>);

/** The IdP was last asked for a token for what the gateway protects. */
function checkResource(gateway: BrokerGateway): void {
  const asked = idp.server.callsTo(idp.paths.token).at(-1)!;
  assert.equal(asked.form.get('resource'), `${gateway.url}/mcp`);
}

async function post(
  url: string,
  form: Record<string, string>,
): Promise<{ status: number; body: Record<string, string> }> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
  assert.equal(response.headers.get('set-cookie'), null, 'no cookie of the IdP reaches a client');
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

async function register(gateway: BrokerGateway, redirectUris = [redirectUri]): Promise<string> {
  const response = await fetch(`${gateway.url}/.oauth/mcp/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'A client', redirect_uris: redirectUris }),
  });
  assert.equal(response.status, 201);
  return ((await response.json()) as { client_id: string }).client_id;
}

function formatAuthorizeUrl(gateway: BrokerGateway, clientId: string, challenge: string): string {
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'mine',
    resource: `${gateway.url}/mcp`,
  });
  return `${gateway.url}/.oauth/mcp/authorize?${query.toString()}`;
}

async function logIn(
  gateway: BrokerGateway,
  clientId: string,
  browser = new BrowserAgent(),
): Promise<Record<string, string>> {
  const { verifier, challenge } = createPkce();
  const back = await browser.authorize(formatAuthorizeUrl(gateway, clientId, challenge), redirectUri);
  assert.equal(back.searchParams.get('state'), 'mine');
  assert.equal(back.searchParams.get('iss'), `${gateway.url}/mcp`);
  const { status, body } = await post(`${gateway.url}/.oauth/mcp/token`, {
    grant_type: 'authorization_code',
    client_id: clientId,
    code: back.searchParams.get('code')!,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    resource: `${gateway.url}/mcp`,
  });
  assert.equal(status, 200, JSON.stringify(body));
  checkResource(gateway);
  return body;
}

async function callServer(gateway: BrokerGateway, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body: '{}' })).status;
}

async function refresh(gateway: BrokerGateway, clientId: string, token: string): Promise<Record<string, string>> {
  const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: token };
  const { status, body } = await post(`${gateway.url}/.oauth/mcp/token`, form);
  assert.equal(status, 200, JSON.stringify(body));
  checkResource(gateway);
  return body;
}

describe('a client that describes itself at an https URL', () => {
  test('logs in, calls the server, and refreshes at a gateway that has just started', async (t) => {
    let fetched = 0;
    const name = 'client.example.com';
    const documents = await serveHttps(
      t,
      (_request, response) => {
        fetched += 1;
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ client_id: clientId, client_name: 'By URL', redirect_uris: [redirectUri] }));
      },
      { names: [name] },
    );
    const clientId = `https://${name}:${documents.port}/oauth/client.json`;
    const keys = [createSealKey()] as const;
    const fetcher = {
      ca: testAuthority.cert,
      addressPolicy: guardAddressExceptLoopback,
      lookup: createLookup(['127.0.0.1']),
    };
    const options = { ...describeGateway(), keys, fetcher };
    const first = await startBrokerGateway(options);
    const metadata = await (await fetch(`${first.url}/.well-known/oauth-authorization-server/mcp`)).json();
    assert.equal((metadata as Record<string, unknown>)['client_id_metadata_document_supported'], true);

    const earlier = registrations().length;
    const tokens = await logIn(first, clientId);
    assert.equal(await callServer(first, tokens['access_token']!), 200);
    await logIn(first, clientId);
    assert.equal(fetched, 1);
    assert.equal(registrations().length, earlier + 1);
    const { redirect_uris, client_name } = registrations().at(-1)!;
    assert.deepEqual([redirect_uris, client_name], [[`${first.url}/.oauth/mcp/callback`], 'By URL']);
    await first.close();

    const second = await startBrokerGateway({ ...options, port: first.port });
    t.after(() => second.close());
    const renewed = await refresh(second, clientId, tokens['refresh_token']!);
    assert.equal(await callServer(second, renewed['access_token']!), 200);
    assert.equal(fetched, 1, 'nothing but what was sealed is needed');
  });

  test('SSRF through OAuth URLs (CVE-2026-45609): no address that a client names inside is ever called', async (t) => {
    const inside = await serveHttps(t, (_request, response) => response.end('{}'));
    const gateway = await startBrokerGateway({
      ...describeGateway(),
      keys: [createSealKey()],
      // The name is harmless, what it resolves to is not.
      fetcher: { ca: testAuthority.cert, lookup: createLookup(['127.0.0.1']) },
    });
    t.after(() => gateway.close());
    for (const clientId of [
      `https://127.0.0.1:${inside.port}/c.json`,
      `https://[::1]:${inside.port}/c.json`,
      `https://[::ffff:7f00:1]:${inside.port}/c.json`,
      `https://localhost:${inside.port}/c.json`,
      `https://rebinding.example.com:${inside.port}/c.json`,
      'https://169.254.169.254/latest/meta-data',
      'https://10.0.0.1/c.json',
      'https://[fd00::1]/c.json',
    ]) {
      const response = await fetch(formatAuthorizeUrl(gateway, clientId, createPkce().challenge), {
        redirect: 'manual',
      });
      assert.equal(response.status, 400, clientId);
      assert.match(response.headers.get('content-type')!, /^text\/html/);
      const page = await response.text();
      assert.match(page, /blocked/);
      assert.ok(!page.includes('127.0.0.1') || clientId.includes('127.0.0.1'), 'what a name resolves to is not told');
    }
    assert.equal(inside.connections(), 0);
  });

  test('is not led elsewhere by a redirect', async (t) => {
    const inside = await serveHttps(t, (_request, response) => response.end('{}'));
    const outside = await serveHttps(
      t,
      (_request, response) => {
        response.writeHead(302, { location: `https://localhost:${inside.port}/c.json` });
        response.end();
      },
      { names: ['client.example.com'] },
    );
    const gateway = await startBrokerGateway({
      ...describeGateway(),
      keys: [createSealKey()],
      fetcher: {
        ca: testAuthority.cert,
        addressPolicy: guardAddressExceptLoopback,
        lookup: createLookup(['127.0.0.1']),
      },
    });
    t.after(() => gateway.close());
    const clientId = `https://client.example.com:${outside.port}/c.json`;
    const response = await fetch(formatAuthorizeUrl(gateway, clientId, createPkce().challenge), { redirect: 'manual' });
    assert.equal(response.status, 400);
    assert.deepEqual([outside.connections(), inside.connections()], [1, 0]);
  });
});

test('keys rotate between any two steps, and nobody has to log in again', async (t) => {
  const [a, b, c, d] = [createSealKey(), createSealKey(), createSealKey(), createSealKey()];
  const described = describeGateway({ registration: { trustedRedirectUris: [redirectUri] } });
  let gateway = await startBrokerGateway({ ...described, keys: [a] });
  const restart = async (...keys: readonly [Uint8Array, Uint8Array]): Promise<void> => {
    await gateway.close();
    gateway = await startBrokerGateway({ ...described, keys, port: gateway.port });
  };
  t.after(() => gateway.close());
  const clientId = await register(gateway);
  const { verifier, challenge } = createPkce();
  const browser = new BrowserAgent();

  // Authorize with a, callback with b, token with b: a only opens.
  const first = await fetch(formatAuthorizeUrl(gateway, clientId, challenge), { redirect: 'manual' });
  browser.jar.store(new URL(gateway.url), first.headers.getSetCookie());
  await restart(b, a);
  const back = await browser.visit(first.headers.get('location')!, redirectUri);
  assert.ok(back.at === 'client');
  const form = {
    grant_type: 'authorization_code',
    client_id: clientId,
    code: back.url.searchParams.get('code')!,
    code_verifier: verifier,
  };
  const { body: tokens } = await post(`${gateway.url}/.oauth/mcp/token`, form);
  assert.equal(await callServer(gateway, tokens['access_token']!), 200);

  // Each refresh seals with the newest key, so that in the end nothing but the client id is as old as the registration.
  let token = tokens['refresh_token']!;
  for (const keys of [
    [c, b],
    [d, c],
    [a, d],
  ] as const) {
    const renewed = await refresh(gateway, clientId, token);
    assert.equal(await callServer(gateway, renewed['access_token']!), 200);
    token = renewed['refresh_token']!;
    await restart(...keys);
  }

  // A new login needs a client id that opens: this one does again, its key is back.
  assert.equal(await callServer(gateway, (await logIn(gateway, clientId))['access_token']!), 200);
  await restart(c, b);
  const gone = await post(`${gateway.url}/.oauth/mcp/token`, {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: token,
  });
  assert.equal(gone.status, 401, 'with keys that are gone');
  assert.equal(gone.body['error'], 'invalid_client', 'the client is told to register again');
});

test('two logins of one browser at the same time do not disturb each other', async (t) => {
  const gateway = await startBrokerGateway({ ...describeGateway(), keys: [createSealKey()] });
  t.after(() => gateway.close());
  const clientId = await register(gateway);
  const browser = new BrowserAgent();
  const results = await Promise.all([1, 2, 3, 4].map(() => logIn(gateway, clientId, browser)));
  assert.equal(new Set(results.map((tokens) => tokens['access_token'])).size, 4);
  assert.deepEqual(browser.jar.names('127.0.0.1'), [], 'and nothing is left behind');
});

describe('with Shared registration on https', () => {
  const { cert, key } = createCertificate({ names: ['127.0.0.1'] });
  let gateway: BrokerGateway;
  before(async () => {
    gateway = await startBrokerGateway({
      ...describeGateway({ registration: sharedRegistration }),
      keys: [createSealKey()],
      listener: { protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'cert' }] } },
      resources: [tlsSecretOf('cert', cert, key)],
    });
    addSharedClient(idp, gateway);
  });
  after(() => gateway.close());

  const send = (path: string, jar: CookieJar, form?: Record<string, string>): Promise<Answer> => {
    const body = form === undefined ? undefined : new URLSearchParams(form).toString();
    const cookie = jar.format(new URL(gateway.url));
    const headers = {
      host: `127.0.0.1:${gateway.port}`,
      ...(cookie !== '' && { cookie }),
      ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    };
    return ask(gateway.port, { tls: {}, path, method: body === undefined ? 'GET' : 'POST', headers }, body).then(
      (answer) => {
        jar.store(new URL(gateway.url), answer.headers['set-cookie']);
        return answer;
      },
    );
  };

  test('the whole login, with cookies that no other host can set, and a secret that stays here', async () => {
    const jar = new CookieJar();
    const registration = await ask(
      gateway.port,
      { tls: {}, path: '/.oauth/mcp/register', method: 'POST', headers: { 'content-type': 'application/json' } },
      JSON.stringify({ redirect_uris: [redirectUri], client_name: 'A client' }),
    );
    const { client_id: clientId, ...rest } = JSON.parse(registration.body) as Record<string, string>;
    assert.ok(!JSON.stringify(rest).includes('shared'), 'neither the shared client nor its secret is given out');
    const { verifier, challenge } = createPkce();
    const url = new URL(formatAuthorizeUrl(gateway, clientId!, challenge));
    const page = await send(url.pathname + url.search, jar);
    assert.equal(page.status, 200);
    const [cookie] = page.headers['set-cookie']!;
    assert.match(cookie!, /^__Host-mcp-gateway-login-.*; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/);
    const transaction = /name="transaction" value="([^"]+)"/.exec(page.body)![1]!;
    const approved = await send('/.oauth/mcp/consent', jar, { transaction, decision: 'approve' });
    assert.equal(approved.status, 303, approved.body);
    const location = new URL(approved.headers.location!);
    assert.equal(location.origin, idp.issuer);
    assert.equal(location.searchParams.get('client_id'), 'shared-client');
    const atIdp = await fetch(location, { redirect: 'manual' });
    const callback = new URL(atIdp.headers.get('location')!);
    const back = await send(callback.pathname + callback.search, jar);
    const code = new URL(back.headers.location!).searchParams.get('code')!;
    const form = { grant_type: 'authorization_code', client_id: clientId!, code, code_verifier: verifier };
    const answer = await send('/.oauth/mcp/token', new CookieJar(), form);
    assert.equal(answer.status, 200, answer.body);
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(answer.headers['access-control-allow-origin'], '*');
    assert.ok(!answer.body.includes('shared-secret'));
    assert.deepEqual(jar.names('127.0.0.1'), []);
  });

  test('pages for people are not open to scripts of other origins; the token endpoint is', async () => {
    const preflight = (path: string, method: string): Promise<Answer> =>
      ask(gateway.port, {
        tls: {},
        path,
        method: 'OPTIONS',
        headers: { origin: 'https://app.example.com', 'access-control-request-method': method },
      });
    for (const [name, method] of [
      ['authorize', 'GET'],
      ['callback', 'GET'],
      ['consent', 'POST'],
    ] as const) {
      const answer = await preflight(`/.oauth/mcp/${name}`, method);
      assert.equal(answer.headers['access-control-allow-origin'], undefined, name);
      const wrong = await ask(gateway.port, {
        tls: {},
        path: `/.oauth/mcp/${name}`,
        method: method === 'GET' ? 'POST' : 'GET',
      });
      assert.equal(wrong.status, 405, name);
      assert.match(String(wrong.headers.allow), new RegExp(method));
    }
    assert.equal((await preflight('/.oauth/mcp/token', 'POST')).headers['access-control-allow-origin'], '*');
  });
});
