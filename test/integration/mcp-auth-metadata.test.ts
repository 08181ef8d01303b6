// The documents that lead a client through a login, over sockets: every form of every URL, what differs from the IdP's own document, and what a
// client's identity looks like on the way to the server.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import { type QuirkyIdp, startQuirkyIdp } from '../idp/quirky-idp.ts';
import {
  type Answer,
  ask,
  openRequest,
  readText,
  receiveResponse,
  startUpstream,
  type Upstream,
} from './gateway-fixture.ts';

type Document = Readonly<Record<string, unknown>>;

const read = (answer: Answer): Document => {
  assert.equal(answer.status, 200, answer.body);
  assert.equal(answer.headers['content-type'], 'application/json');
  return JSON.parse(answer.body) as Document;
};
const get = (gateway: ProtectedGateway, path: string): Promise<Answer> => ask(gateway.port, { path });

let upstream: Upstream;
let plainIdp: QuirkyIdp;
let namingIdp: QuirkyIdp;
let alone: ProtectedGateway;
let shared: ProtectedGateway;

before(async () => {
  upstream = await startUpstream();
  [plainIdp, namingIdp] = await Promise.all([
    startQuirkyIdp({ issuerPath: '/realms/mcp', metadataMembers: { signed_metadata: 'x.y.z' } }),
    startQuirkyIdp({ advertisesIss: true, emitsIss: 'always' }),
  ]);
  const claimsToHeaders = [{ claim: 'sub', header: 'x-auth-subject' }];
  alone = await startProtectedGateway({
    backends: [
      {
        path: '/mcp',
        port: upstream.port,
        authentication: { issuer: namingIdp.issuer, requiredScopes: ['tickets:read'], claimsToHeaders },
      },
    ],
  });
  shared = await startProtectedGateway({
    backends: [
      { path: '/a', port: upstream.port, authentication: { issuer: plainIdp.issuer } },
      { path: '/b/c', port: upstream.port, authentication: { issuer: namingIdp.issuer } },
      { path: '/d', port: upstream.port, authentication: { issuer: namingIdp.issuer, flow: 'Direct' } },
    ],
  });
});

after(async () => {
  await Promise.all([alone?.stop(), shared?.stop()]);
  await Promise.all([upstream?.close(), plainIdp?.close(), namingIdp?.close()]);
});

describe('one resource on a host', () => {
  test('the challenge leads to the resource metadata, and that to the gateway', async () => {
    const challenge = (await get(alone, '/mcp')).headers['www-authenticate'];
    const url = `${alone.url}/.well-known/oauth-protected-resource/mcp`;
    assert.equal(challenge, `Bearer resource_metadata="${url}", scope="tickets:read"`);
    for (const path of ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'])
      assert.deepEqual(read(await get(alone, path)), {
        resource: `${alone.url}/mcp`,
        authorization_servers: [`${alone.url}/mcp`],
        scopes_supported: ['tickets:read'],
        bearer_methods_supported: ['header'],
      });
  });

  test('every form of the server metadata names the identifier that it was derived from', async () => {
    const forms: Readonly<Record<string, string>> = {
      '/.well-known/oauth-authorization-server/mcp': '/mcp',
      '/.well-known/openid-configuration/mcp': '/mcp',
      '/mcp/.well-known/openid-configuration': '/mcp',
      '/.well-known/oauth-authorization-server': '',
      '/.well-known/openid-configuration': '',
    };
    for (const [path, identifier] of Object.entries(forms)) {
      const document = read(await get(alone, path));
      assert.equal(document['issuer'], `${alone.url}${identifier}`, path);
      assert.equal(document['token_endpoint'], `${alone.url}/.oauth${identifier}/token`);
      assert.equal(document['authorization_response_iss_parameter_supported'], true);
      assert.deepEqual(document['https://idp.test/a-member-of-our-own'], { kept: true });
    }
    assert.equal(
      (await get(alone, '/mcp/.well-known/oauth-authorization-server')).status,
      401,
      'a path of the server itself',
    );
  });

  test('an answer to an authorization request names the issuer of the form that led to it', async () => {
    const redirect = 'http://127.0.0.1:1/callback';
    for (const [path, issuer] of [
      ['/.well-known/oauth-authorization-server/mcp', `${alone.url}/mcp`],
      ['/.well-known/oauth-authorization-server', alone.url],
    ] as const) {
      const server = read(await get(alone, path)) as Readonly<Record<string, string>>;
      const registered = await ask(
        alone.port,
        {
          method: 'POST',
          path: new URL(server['registration_endpoint']!).pathname,
          headers: { 'content-type': 'application/json' },
        },
        JSON.stringify({ redirect_uris: [redirect] }),
      );
      assert.equal(registered.status, 201, registered.body);
      const { client_id: clientId } = JSON.parse(registered.body) as { client_id: string };
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirect,
        state: 's',
      });
      const answer = await get(alone, `${new URL(server['authorization_endpoint']!).pathname}?${query.toString()}`);
      // A consent page, because the client is new.
      const [, href = ''] = /<a href="([^"]+)"/.exec(answer.body) ?? [];
      const location = new URL(href.replaceAll('&amp;', '&'));
      assert.equal(location.searchParams.get('error'), 'invalid_request', 'PKCE is missing');
      assert.equal(location.searchParams.get('iss'), issuer);
    }
  });

  test('endpoints that clients guess at the root are there', async () => {
    assert.equal((await ask(alone.port, { method: 'POST', path: '/register' }, '{}')).status, 400);
    assert.equal((await ask(alone.port, { method: 'POST', path: '/token' }, '')).status, 400);
    assert.equal((await get(alone, '/authorize')).status, 400);
  });

  test('a spoofed host changes nothing, and no answer may be kept', async () => {
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example;proto=https',
    };
    for (const path of [
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-authorization-server/mcp',
      '/mcp',
    ]) {
      const answer = await ask(alone.port, { path, headers });
      assert.doesNotMatch(answer.body + JSON.stringify(answer.headers), /evil/);
      assert.equal(answer.headers['cache-control'], 'no-store');
    }
  });
});

describe('several resources on a host', () => {
  test('do not collide: each has its own documents, and the root has none of them', async () => {
    for (const path of ['/a', '/b/c']) {
      assert.equal(
        read(await get(shared, `/.well-known/oauth-protected-resource${path}`))['resource'],
        shared.url + path,
      );
      assert.equal(
        read(await get(shared, `/.well-known/oauth-authorization-server${path}`))['issuer'],
        shared.url + path,
      );
    }
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
      '/.well-known/oauth-protected-resource/b',
      '/.oauth/register',
      '/register',
      '/token',
    ])
      assert.equal((await get(shared, path)).status, 404, path);
  });

  test('Facade: the document of the IdP, but for issuer and registration_endpoint', async () => {
    const { origin } = new URL(plainIdp.issuer);
    const answer = await fetch(`${origin}/.well-known/oauth-authorization-server/realms/mcp`);
    const { signed_metadata: _signed, ...own } = (await answer.json()) as Record<string, unknown>;
    assert.deepEqual(read(await get(shared, '/.well-known/oauth-authorization-server/a')), {
      ...own,
      issuer: `${shared.url}/a`,
      registration_endpoint: `${shared.url}/.oauth/a/register`,
    });
    assert.equal((await get(shared, '/.oauth/a/authorize')).status, 404, 'login and token are the IdP’s own');
    assert.equal((await ask(shared.port, { method: 'POST', path: '/.oauth/a/token' }, '')).status, 404);
  });

  test('Direct: the IdP is named, and the gateway serves nothing in its place', async () => {
    assert.deepEqual(read(await get(shared, '/.well-known/oauth-protected-resource/d'))['authorization_servers'], [
      namingIdp.issuer,
    ]);
    assert.equal((await get(shared, '/.well-known/oauth-authorization-server/d')).status, 404);
    assert.equal((await ask(shared.port, { method: 'POST', path: '/.oauth/d/register' }, '{}')).status, 404);
  });

  test('the flow of each and its reason are in the log, once', () => {
    const chosen = shared.readLog().filter(({ msg }) => msg === 'the login flow is chosen');
    const described = chosen.map((line) => `${String(line['policies'])} ${String(line['flow'])}`).toSorted();
    assert.deepEqual(described, ['default/a Facade', 'default/b-c Broker', 'default/d Direct']);
    assert.ok(chosen.every((line) => typeof line['reason'] === 'string' && line['reason'] !== ''));
  });
});

test('only the gateway tells the server who the caller is, also in trailers', async () => {
  const token = await namingIdp.issueAccessToken({ resource: `${alone.url}/mcp`, scope: 'tickets:read' });
  const message = openRequest(alone.port, {
    method: 'POST',
    path: '/mcp',
    headers: {
      authorization: `Bearer ${token}`,
      trailer: 'X-Auth-Subject, X_Auth_Subject, Authorization, X-Sum',
      'transfer-encoding': 'chunked',
      x_auth_subject: 'root',
    },
  });
  message.addTrailers({
    'X-Auth-Subject': 'root',
    X_Auth_Subject: 'root',
    Authorization: 'Bearer x',
    'X-Sum': createHash('sha256').digest('hex'),
  });
  message.end('hello');
  const response = await receiveResponse(message);
  const echo = JSON.parse(await readText(response)) as { headers: string[]; trailers: string[]; body: string };
  assert.equal(response.statusCode, 200);
  assert.equal(echo.body, 'hello');
  const said = echo.headers.filter((_, index) =>
    /^(?:x.auth.subject|authorization)$/i.test(echo.headers[index - (index % 2)]!),
  );
  assert.deepEqual(said, ['x-auth-subject', 'alice']);
  assert.deepEqual(
    echo.trailers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()),
    ['x-sum'],
  );
});
