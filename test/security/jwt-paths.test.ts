// Known failures of how requests reach a guarded route, and of what is told to the server behind it, one test per lesson.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test, type TestContext } from 'node:test';
import { listTools } from '../idp/flow-client.ts';
import { askHttp2, openSession } from '../integration/gateway-fixture.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { type GuardedGateway, routePolicy, startGuardedGateway } from './guarded-gateway.ts';
import { sendHead, type WireAnswer } from './wire-client.ts';

const provider = createIssuer('https://idp.example.com', { algorithm: 'ES256' });
const [ofAlice, again, ofRoot] = await Promise.all([provider.sign(), provider.sign(), provider.sign({ sub: 'root' })]);
let guarded: GuardedGateway;

before(async () => {
  const providers = [providerOf('idp', provider)];
  const claimsToHeaders = [
    { claim: 'sub', header: 'x-auth-subject' },
    { claim: 'groups', header: 'x-auth-groups' },
  ];
  guarded = await startGuardedGateway({
    routes: ['mcp', 'cookie', 'query', 'header', 'optional'],
    policies: [
      routePolicy('mcp', { jwtAuthentication: { providers, claimsToHeaders } }),
      routePolicy('cookie', {
        jwtAuthentication: { providers, claimsToHeaders, location: { cookie: { name: 'session' } } },
      }),
      routePolicy('query', {
        jwtAuthentication: { providers, claimsToHeaders, location: { queryParameter: { name: 'token' } } },
      }),
      routePolicy('header', {
        jwtAuthentication: { providers, claimsToHeaders, location: { header: { name: 'x-access-token' } } },
      }),
      routePolicy('optional', { jwtAuthentication: { mode: 'Optional', providers, claimsToHeaders } }),
    ],
  });
});
after(() => guarded?.close());
beforeEach(() => guarded.upstream.forget());

/** Sends a head as it is written. */
function send(t: TestContext, start: string, ...lines: readonly string[]): Promise<WireAnswer> {
  const head = [`${start} HTTP/1.1`, `Host: 127.0.0.1:${guarded.port}`, ...lines];
  return sendHead(t, guarded.port, head.join('\r\n'));
}

describe('duplicate headers: which of two tokens counts is not ours to guess', () => {
  const good = `Bearer ${ofAlice}`;
  const other = `Bearer ${ofRoot}`;
  const wrong: Record<string, readonly [start: string, ...lines: string[]]> = {
    'two Authorization headers': ['GET /mcp', `Authorization: ${good}`, `authorization: ${other}`],
    'the same one twice': ['GET /mcp', `Authorization: ${good}`, `AUTHORIZATION: ${good}`],
    'a good one behind a bad one': ['GET /mcp', 'Authorization: Bearer x', `Authorization: ${good}`],
    'a good one in front of a bad one': ['GET /mcp', `Authorization: ${good}`, 'Authorization: Basic YTpi'],
    'two joined with a comma': ['GET /mcp', `Authorization: ${good}, ${other}`],
    'a good one and something behind a comma': ['GET /mcp', `Authorization: ${good},x`],
    'one in the query as well': [`GET /mcp?access_token=${again}`, `Authorization: ${good}`],
    'two cookies': ['GET /cookie', `Cookie: session=${ofAlice}; session=${ofRoot}`],
    'two Cookie headers': ['GET /cookie', `Cookie: session=${ofAlice}`, `Cookie: session=x`],
    'two parameters': [`GET /query?token=${ofAlice}&token=x`],
    'two parameters, one spelled otherwise': [`GET /query?token=${ofAlice}&%74oken=x`],
    'two headers of one’s own': ['GET /header', `X-Access-Token: ${ofAlice}`, 'x-access-token: x'],
  };
  for (const [name, [start, ...lines]] of Object.entries(wrong)) {
    test(`${name} -> 400`, async (t) => {
      const answer = await send(t, start, ...lines);
      assert.equal(`${answer.status} ${answer.error}`, '400 invalid_request', answer.body);
      assert.equal(guarded.upstream.headCount, 0);
    });
  }

  test('comma-joined policy headers: what a client says of itself beside our header is dropped', async (t) => {
    await send(t, 'GET /mcp', `Authorization: ${good}`, 'X-Auth-Subject: root', 'x-auth-subject: admin, root');
    assert.deepEqual(guarded.upstream.requests[0]!.all('x-auth-subject'), ['alice']);
  });
});

test('X-Forwarded-Uri trusted (CVE-2026-40575): what a header says about the path opens nothing', async () => {
  for (const name of [
    'x-forwarded-uri',
    'x-original-url',
    'x-rewrite-url',
    'x-original-uri',
    'x-http-method-override',
  ]) {
    for (const value of ['/optional', '/.well-known/oauth-protected-resource', '/', 'OPTIONS']) {
      const answer = await guarded.post('/mcp', undefined, listTools, { [name]: value });
      guarded.assertRefused(answer, 401, 'missing_token', `${name}: ${value}`);
    }
  }
});

test('exemption matches the query (CVE-2025-54576): nothing behind the path opens it', async () => {
  for (const path of [
    '/mcp?x=/.well-known/oauth-protected-resource',
    '/mcp?/optional',
    '/mcp/.well-known/oauth-protected-resource',
    '/mcp/optional',
    '/mcp/healthz',
    '/mcp?method=OPTIONS',
  ]) {
    guarded.assertRefused(await guarded.post(path, undefined, listTools), 401, 'missing_token', path);
  }
});

describe('underscore headers (CVE-2025-64484): identity headers in any spelling from the client are dropped', () => {
  const spellings = ['x-auth-subject', 'X-AUTH-SUBJECT', 'x_auth_subject', 'X_Auth-Subject', 'x-auth_subject'];
  const groups = ['x-auth-groups', 'x_auth_groups', 'X-Auth_Groups'];

  /** Ours, and nothing else that a server could take for it. */
  function assertOurs(subject: readonly string[]): void {
    const { headers } = guarded.upstream.requests[0]!;
    const alike = headers.filter((name, index) => index % 2 === 0 && /^x[-_]auth[-_](subject|groups)$/.test(name));
    assert.deepEqual(alike, subject.length === 0 ? [] : ['x-auth-subject']);
    assert.deepEqual(guarded.upstream.requests[0]!.all('x-auth-subject'), subject);
  }

  for (const path of ['/mcp', '/optional']) {
    test(`over HTTP/1, ${path}`, async (t) => {
      const claims = [...spellings, ...groups].map((name) => `${name}: root`);
      const answer = await send(t, `GET ${path}`, `Authorization: Bearer ${ofAlice}`, ...claims);
      assert.equal(answer.status, 405, 'the answer of the MCP server to a GET');
      assertOurs(['alice']);
    });

    test(`over HTTP/2, ${path}`, async (t) => {
      const session = await openSession(guarded.port);
      t.after(() => session.destroy());
      const fields = [...spellings, ...groups].map((name) => [name.toLowerCase(), 'root']);
      await askHttp2(session, {
        ':path': path,
        ':authority': `127.0.0.1:${guarded.port}`,
        authorization: `Bearer ${ofAlice}`,
        ...Object.fromEntries(fields),
      });
      assertOurs(['alice']);
    });
  }

  test('and for anonymous requests, where they are allowed', async (t) => {
    await send(t, 'GET /optional', ...spellings.map((name) => `${name}: root`));
    assertOurs([]);
  });
});

test('Connection strips ours (CVE-2025-48865): `Connection: X-Auth-Subject` keeps ours', async (t) => {
  const authorization = `Authorization: Bearer ${await provider.sign({ groups: ['a'] })}`;
  for (const connection of [
    'X-Auth-Subject',
    'x-auth-subject, x-auth-groups',
    'close, X-AUTH-SUBJECT',
    'authorization',
  ]) {
    guarded.upstream.forget();
    await send(t, 'GET /mcp', authorization, 'X-Auth-Subject: root', `Connection: ${connection}`);
    const [request] = guarded.upstream.requests;
    assert.deepEqual(request!.all('x-auth-subject'), ['alice'], connection);
    assert.deepEqual(request!.all('x-auth-groups'), ['a'], connection);
    assert.deepEqual(request!.all('authorization'), [], 'the token ends at the gateway');
  }
  guarded.upstream.forget();
  const answer = await send(t, 'GET /mcp', 'Authorization: Bearer x', 'Connection: Authorization');
  assert.equal(answer.status, 401);
  assert.equal(guarded.upstream.headCount, 0);
});

test('two users never become one in a header: spaces, case, line ends and half characters stay apart', async () => {
  const subjects = [
    'admin',
    ' admin',
    'admin ',
    'Admin',
    'admin\u00a0',
    'admin\u200b',
    'admin\t',
    'admin\r\nx-admin: 1',
    '%61dmin',
  ];
  const seen = new Set<string>();
  for (const sub of subjects) {
    guarded.upstream.forget();
    assert.equal((await guarded.post('/mcp', await provider.sign({ sub }), listTools)).status, 200);
    const [value, ...others] = guarded.upstream.requests[0]!.all('x-auth-subject');
    assert.deepEqual(others, []);
    assert.equal(decodeURIComponent(value!), sub);
    assert.deepEqual(guarded.upstream.requests[0]!.all('x-admin'), []);
    seen.add(value!);
  }
  assert.equal(seen.size, subjects.length);
});

describe('router and policy disagree on the path (CVE-2026-22037, CVE-2019-9901): never unprotected', () => {
  for (const spelling of [
    '/%6dcp',
    '//mcp',
    '/./mcp',
    '/x/../mcp',
    '/mcp/',
    '/mcp/../mcp',
    '/mcp;x',
    '/mcp%2F',
    '/%2Fmcp',
    '/mcp%00',
    '/mcp%2f..%2fmcp',
    '/MCP',
    '/mcp#x',
    '/mcp\\',
    '/mcp%5c',
    '/mcp?',
    '/optional/../mcp',
    '/optional/..%2fmcp',
    '/optional%2f..%2fmcp',
    'http://127.0.0.1/mcp',
    '*',
  ]) {
    test(spelling, async (t) => {
      const answer = await send(t, `POST ${spelling}`, 'Content-Length: 0');
      assert.notEqual(answer.status, 200);
      // What reaches the server behind the open route is not what it would read as the guarded one.
      for (const request of guarded.upstream.requests) assert.doesNotMatch(request.url, /\.\./);
      if (!spelling.startsWith('/optional')) assert.equal(guarded.upstream.headCount, 0, `${answer.status}`);
    });
  }
});

describe('non-MCP traffic skipped auth: every method and content type is 401', () => {
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH']) {
    test(method, async (t) => {
      for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'application/grpc']) {
        const answer = await send(t, `${method} /mcp`, `Content-Type: ${type}`, 'Content-Length: 0');
        assert.equal(answer.status, 401, type);
      }
      assert.equal(guarded.upstream.headCount, 0);
    });
  }

  test('an upgrade to WebSocket', async (t) => {
    const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
    const answer = await send(t, 'GET /mcp', 'Connection: Upgrade', ...upgrade);
    assert.equal(answer.status, 401);
    assert.equal(guarded.upstream.headCount, 0);
  });

  test('HTTP/2', async (t) => {
    const session = await openSession(guarded.port);
    t.after(() => session.destroy());
    const answer = await askHttp2(session, { ':path': '/mcp', ':authority': `127.0.0.1:${guarded.port}` });
    assert.equal(answer.status, 401);
    assert.equal(guarded.upstream.headCount, 0);
  });
});

describe('the token ends at the gateway, and is in no log', () => {
  const places: Record<string, (token: string) => readonly [path: string, headers: Record<string, string>]> = {
    'in the Authorization header': (token) => ['/mcp', { authorization: `Bearer ${token}` }],
    'in a cookie': (token) => ['/cookie', { cookie: `a=1; session=${token}; b=2` }],
    'in the query': (token) => [`/query?a=1&token=${token}&b=2`, {}],
    'in a header of its own': (token) => ['/header', { 'x-access-token': token }],
  };
  for (const [name, place] of Object.entries(places)) {
    test(name, async () => {
      const token = await provider.sign({ jti: name });
      for (const sent of [token, `${token.slice(0, -6)}AAAAAA`]) {
        const [path, headers] = place(sent);
        const answer = await guarded.post(path, undefined, listTools, headers);
        assert.equal(answer.status, sent === token ? 200 : 401, answer.body);
        assert.equal(answer.body.includes(token.slice(0, 60)), false);
      }
      assert.equal(guarded.upstream.headCount, 1);
      assert.equal(guarded.upstream.bytes.includes(token.split('.')[1]!), false, 'it reached the server');
      const [request] = guarded.upstream.requests;
      if (name === 'in a cookie') assert.deepEqual(request!.all('cookie'), ['a=1; b=2']);
      if (name === 'in the query') assert.match(request!.url, /\?a=1&b=2$/);
      const log = guarded.run.readOutput();
      for (const part of token.split('.').slice(1)) assert.equal(log.includes(part), false, 'it is in the log');
    });
  }
});
