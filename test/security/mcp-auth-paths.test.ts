// Known ways around a policy: other spellings of the path, other headers, other methods, other configuration. One test per lesson.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { startQuirky } from '../idp/auth-setups.ts';
import { ask, listTools, postMcp } from '../idp/flow-client.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import {
  formatResources,
  policyResource,
  type ProtectedGateway,
  startProtectedGateway,
} from '../idp/protected-gateway.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import { createReadMarker } from '../kit/read-marker.ts';
import { waitFor } from '../kit/wait-for.ts';
import { openSession } from '../integration/gateway-fixture.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';
import { sendHead } from './wire-client.ts';

let idp: QuirkyIdp;
let authentication: Readonly<Record<string, unknown>>;
let upstream: RecordingUpstream;
let open: RecordingUpstream;
let gateway: ProtectedGateway;
let url: string;

before(async () => {
  const started = await startQuirky(
    {},
    {
      claimsToHeaders: [
        { claim: 'sub', header: 'x-auth-subject' },
        { claim: 'groups', header: 'x-auth-groups' },
      ],
    },
  );
  idp = started.quirky;
  authentication = started.authentication;
  upstream = await startMcpUpstream();
  open = await startMcpUpstream();
  gateway = await startProtectedGateway({
    backends: [
      { path: '/mcp', port: upstream.port, authentication },
      { path: '/', port: open.port, targetPath: '/', authentication: undefined },
    ],
  });
  url = gateway.urlOf('/mcp');
});
after(async () => {
  await gateway?.stop();
  await idp?.close();
  await upstream?.close();
  await open?.close();
});
beforeEach(() => {
  upstream.forget();
  open.forget();
});

const issue = (user = 'alice'): Promise<string> => idp.issueAccessToken({ user, resource: url });

test('X-Forwarded-Uri trusted (CVE-2026-40575): a spoofed well-known path on the MCP path is 401', async () => {
  const wellKnown = '/.well-known/oauth-protected-resource/mcp';
  for (const name of [
    'x-forwarded-uri',
    'x-original-url',
    'x-rewrite-url',
    'x-original-uri',
    'x-forwarded-path',
    'x-http-method-override',
  ]) {
    for (const value of [wellKnown, `${gateway.url}${wellKnown}`, 'OPTIONS']) {
      const answer = await postMcp(url, listTools, { [name]: value });
      assert.equal(answer.status, 401, name);
    }
  }
  assert.equal(upstream.headCount, 0);
});

test('exemption matches the query (CVE-2025-54576): /mcp?x=/.well-known/... is 401', async () => {
  for (const query of [
    'x=/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-protected-resource/mcp',
    '/.oauth/mcp/register',
    'x=/.oauth/mcp/token',
  ]) {
    assert.equal((await postMcp(`${url}?${query}`, listTools)).status, 401, query);
  }
  for (const path of [
    '/mcp/.well-known/oauth-protected-resource',
    '/mcp/.oauth/mcp/register',
    '/mcp/token',
    '/mcp/register',
  ]) {
    assert.equal((await postMcp(gateway.url + path, listTools)).status, 401, path);
  }
  assert.equal(upstream.headCount, 0);
});

test('underscore headers (CVE-2025-64484): identity headers in any spelling from the client are dropped', async (t) => {
  const token = await issue();
  const spellings = [
    'x-auth-subject',
    'X-AUTH-SUBJECT',
    'x_auth_subject',
    'X_Auth-Subject',
    'x-auth_subject',
    'x.auth.subject',
  ];
  const lines = spellings.map((name) => `${name}: root`).join('\r\n');
  await sendHead(
    t,
    gateway.port,
    `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nAuthorization: Bearer ${token}\r\n${lines}`,
  );
  assert.equal(upstream.requests.length, 1);
  const [request] = upstream.requests;
  assert.deepEqual(request!.all('x-auth-subject'), ['alice']);
  const values = request!.headers.filter((_, index) => index % 2 === 1);
  const names = request!.headers.filter((_, index) => index % 2 === 0);
  const alike = names.filter((name) => name.replaceAll(/[_.]/g, '-') === 'x-auth-subject');
  assert.deepEqual(
    alike.filter((name) => !name.includes('.')),
    ['x-auth-subject'],
  );
  assert.ok(!names.some((name, index) => name.includes('_') && values[index] === 'root'));
});

test('a claim that the token does not have leaves no header of the client in its place', async () => {
  const token = await idp.sign({ iss: idp.issuer, sub: 'alice', aud: url, exp: Math.floor(Date.now() / 1_000) + 60 });
  const answer = await postMcp(url, listTools, { authorization: `Bearer ${token}`, 'x-auth-groups': 'admins' });
  assert.equal(answer.status, 200, answer.body);
  assert.deepEqual(upstream.requests[0]!.all('x-auth-groups'), []);
});

test('CRLF in forwarded values (CVE-2026-29791): refused or encoded', async () => {
  for (const sub of ['a\r\nx-admin: 1', 'a\nb', 'a\0b', 'a\rb', 'ü', '\u2028']) {
    upstream.forget();
    const token = await idp.sign({ iss: idp.issuer, sub, aud: url, exp: Math.floor(Date.now() / 1_000) + 60 });
    const answer = await postMcp(url, listTools, { authorization: `Bearer ${token}` });
    if (answer.status === 200) {
      const [request] = upstream.requests;
      assert.deepEqual(request!.all('x-admin'), []);
      assert.doesNotMatch(request!.all('x-auth-subject').join(''), /[\r\n\0]/);
    } else assert.ok(answer.status >= 400 && answer.status < 600, `${answer.status}`);
  }
});

test('Connection strips ours (CVE-2025-48865): `Connection: X-Auth-Subject` keeps ours', async (t) => {
  const token = await issue();
  for (const connection of ['X-Auth-Subject', 'close, x-auth-subject', 'x-auth-subject, x-auth-groups']) {
    upstream.forget();
    await sendHead(
      t,
      gateway.port,
      `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nAuthorization: Bearer ${token}\r\nX-Auth-Subject: root\r\nConnection: ${connection}`,
    );
    assert.deepEqual(upstream.requests[0]!.all('x-auth-subject'), ['alice']);
  }
});

test('Connection cannot take the token away from the gateway: `Connection: Authorization` is still checked', async (t) => {
  const answer = await sendHead(
    t,
    gateway.port,
    `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nAuthorization: Bearer x\r\nConnection: Authorization`,
  );
  assert.equal(answer.status, 401);
  assert.equal(upstream.headCount, 0);
});

test('forwarded host poisons metadata (CVE-2026-3635): an untrusted X-Forwarded-Host changes nothing, and answers are not cacheable across hosts', async () => {
  const poison = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-port': '444',
    'x-forwarded-prefix': '/evil',
    forwarded: 'host=evil.example;proto=https',
    'x-original-host': 'evil.example',
  };
  for (const path of [
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-authorization-server/mcp',
    '/.well-known/openid-configuration/mcp',
  ]) {
    const plain = await ask(gateway.url + path);
    const poisoned = await ask(gateway.url + path, { headers: poison });
    assert.equal(poisoned.status, 200, poisoned.body);
    assert.equal(poisoned.body, plain.body);
    const cache = `${String(poisoned.headers['cache-control'])} ${String(poisoned.headers['vary'])}`;
    assert.match(cache, /no-store|host/i);
  }
  const challenge = await postMcp(url, listTools, poison);
  assert.doesNotMatch(JSON.stringify(challenge.headers) + challenge.body, /evil/);
});

describe('router and policy disagree on the path (CVE-2026-22037, CVE-2019-9901): routed one way only, never unprotected', () => {
  const spellings = [
    '/%6dcp',
    '/%6Dcp',
    '/m%63p',
    '//mcp',
    '/./mcp',
    '/x/../mcp',
    '/mcp/',
    '/mcp/..',
    '/mcp/../mcp',
    '/mcp;x',
    '/mcp;x=y/',
    '/mcp%2F',
    '/mcp%2f..%2fmcp',
    '/%2Fmcp',
    '/mcp%00',
    '/mcp%20',
    '/mcp.',
    '/MCP',
    '/Mcp',
    '/mcp#x',
    '/mcp#/../x',
    '/mcp\\',
    '\\mcp',
    '/x%2f..%2fmcp',
    '/mcp%3Fx',
    '/mcp?',
    '/mcp??',
    '/mcp/%2e%2e/mcp',
    '/%2e/mcp',
    '/mcp%252F',
    '/x/%2e%2e/mcp',
    '*',
    'http://127.0.0.1/mcp',
    '/mcp/.%2e/mcp',
    '/ｍcp',
    '/mcp%09',
    '/;/mcp',
    '/mcp%5c',
    '/mc%70/tools',
  ];
  for (const spelling of spellings) {
    test(spelling, async (t) => {
      const target = Buffer.from(spelling, 'utf8').toString('latin1');
      const answer = await sendHead(
        t,
        gateway.port,
        `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nContent-Length: 0`,
      );
      // The protected server never sees it, however it is spelled.
      assert.equal(upstream.headCount, 0, `${answer.status}`);
      // And the other one sees only what it would not read as the protected path.
      for (const request of open.requests) assert.doesNotMatch(request.url, /^\/mcp(?:[/?]|$)/);
    });
  }
});

describe('non-MCP traffic skipped auth: every method and content type on the MCP path is 401', () => {
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'MADEUP']) {
    test(method, async () => {
      for (const type of [
        undefined,
        'application/json',
        'text/plain',
        'text/event-stream',
        'multipart/form-data',
        'application/grpc',
      ]) {
        const headers = type === undefined ? {} : { 'content-type': type, accept: type };
        const answer = await ask(url, { method, headers });
        assert.ok([401, 405, 501, 400].includes(answer.status), `${method} ${type}: ${answer.status}`);
        if (['GET', 'POST', 'DELETE', 'PUT'].includes(method)) assert.equal(answer.status, 401);
      }
      assert.equal(upstream.headCount, 0);
    });
  }

  test('an upgrade to WebSocket', async (t) => {
    const answer = await sendHead(
      t,
      gateway.port,
      `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==`,
    );
    assert.equal(answer.status, 401);
    assert.equal(upstream.headCount, 0);
  });

  test('HTTP/2', async (t) => {
    const session = await openSession(gateway.port);
    t.after(() => session.destroy());
    const stream = session.request({ ':method': 'POST', ':path': '/mcp' });
    stream.end('{}');
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    stream.resume();
    assert.equal(headers[':status'], 401);
    assert.match(String(headers['www-authenticate']), /^Bearer /);
    assert.equal(upstream.headCount, 0);
  });

  test('a preflight needs no token and reaches no server', async () => {
    const answer = await ask(url, {
      method: 'OPTIONS',
      headers: {
        origin: gateway.url,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    });
    assert.ok(answer.status === 204 || answer.status === 200, answer.body);
    assert.equal(upstream.headCount, 0);
  });
});

test('DNS rebinding (CVE-2025-64443): a foreign Host or Origin on a loopback listener is 403, on the login endpoints too', async (t) => {
  for (const path of [
    '/mcp',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-authorization-server/mcp',
    '/.oauth/mcp/authorize',
  ]) {
    const answer = await sendHead(t, gateway.port, `GET ${path} HTTP/1.1\r\nHost: evil.example`);
    assert.equal(answer.status, 403, path);
  }
  const origin = await postMcp(url, listTools, {
    origin: 'https://evil.example',
    authorization: `Bearer ${await issue()}`,
  });
  assert.equal(origin.status, 403);
  assert.equal(upstream.headCount, 0);
});

test('policy not yet programmed: a backend with a rejected policy is never reachable without authentication', async (t) => {
  const wrong: Record<string, object> = {
    'an unknown mode': { ...authentication, mode: 'Sometimes' },
    'an unknown field': { ...authentication, isuer: 'x' },
    'no issuer': { audiences: ['x'] },
    'a Secret that does not exist': {
      ...authentication,
      registration: { mode: 'Shared', clientId: 'x', clientSecretRef: { name: 'nobody', key: 'x' } },
    },
    'http beyond loopback': { ...authentication, issuer: 'http://idp.example.com' },
  };
  const broken = await startProtectedGateway({
    backends: Object.values(wrong).map((policy, index) => ({
      path: `/wrong-${index}`,
      port: upstream.port,
      authentication: policy as Record<string, unknown>,
    })),
  });
  t.after(() => broken.stop());
  upstream.forget();
  for (const [index, name] of Object.keys(wrong).entries()) {
    const target = broken.urlOf(`/wrong-${index}`);
    for (const headers of [{}, { authorization: `Bearer ${await idp.issueAccessToken({ resource: target })}` }]) {
      const answer = await postMcp(target, listTools, headers);
      assert.ok(answer.status === 500 || answer.status === 503, `${name}: ${answer.status} ${answer.body}`);
    }
  }
  assert.equal(upstream.headCount, 0);
});

test('truncated configuration file: an emptied file keeps what protects; only deleting the policy removes it', async (t) => {
  const backends = [{ path: '/mcp', port: upstream.port, authentication }];
  const marker = createReadMarker();
  t.after(() => marker.remove());
  const own = await startProtectedGateway({ backends, flags: marker.flags });
  t.after(() => own.stop());
  const target = own.urlOf('/mcp');
  assert.equal((await postMcp(target, listTools)).status, 401);
  const file = join(own.folder, 'gateway.yaml');
  for (const content of ['', '---\n', '{"apiVersion":"gateway.proxy/v1alph']) {
    writeFileSync(file, content);
    await marker.waitUntilRead(own);
    assert.equal((await postMcp(target, listTools)).status, 401);
  }
  // A policy that was good and becomes bad keeps its last good form.
  const resources = formatResources(own.port, { backends }).filter(
    (each) => !JSON.stringify(each).includes('ProxyPolicy'),
  );
  own.write([...resources, policyResource('mcp', { ...authentication, mode: 'Sometimes' })]);
  await marker.waitUntilRead(own);
  assert.ok([401, 500, 503].includes((await postMcp(target, listTools)).status));
  upstream.forget();
  own.write(resources);
  await waitFor(async () => (await postMcp(target, listTools)).status === 200);
});

test('default internal key: without a key file there is one of its own, and two gateways do not accept each other’s values', async (t) => {
  const backends = [{ path: '/mcp', port: upstream.port, authentication: { ...authentication, flow: 'Broker' } }];
  const [one, two] = await Promise.all([startProtectedGateway({ backends }), startProtectedGateway({ backends })]);
  t.after(() => Promise.all([one.stop(), two.stop()]));
  const registered = await ask(`${one.url}/.oauth/mcp/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1:1/cb'] }),
  });
  assert.equal(registered.status, 201, registered.body);
  const parameters = new URLSearchParams({
    client_id: String(registered.json()['client_id']),
    redirect_uri: 'http://127.0.0.1:1/cb',
    response_type: 'code',
    code_challenge: 'A'.repeat(43),
    code_challenge_method: 'S256',
  });
  assert.equal((await ask(`${one.url}/.oauth/mcp/authorize?${parameters.toString()}`)).status, 200, 'the consent page');
  assert.equal((await ask(`${two.url}/.oauth/mcp/authorize?${parameters.toString()}`)).status, 400);
});

test('admin pages reached from a web page: foreign Host or Origin on the admin port is 403; nothing changes by GET', async (t) => {
  for (const path of ['/', '/flows', '/flows.json']) {
    const rebound = await sendHead(t, gateway.adminPort, `GET ${path} HTTP/1.1\r\nHost: evil.example`);
    assert.equal(rebound.status, 403, path);
    const foreign = await ask(`http://127.0.0.1:${gateway.adminPort}${path}`, {
      headers: { origin: 'https://evil.example' },
    });
    assert.equal(foreign.status, 403, path);
  }
});
