// `mcp-gatehouse login` against servers that are right, and against servers that are wrong in one place: it names the place and what to change.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { loginCommand } from '../../src/cmd/login.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import {
  type FakeProtectedServer,
  type FakeServerOptions,
  followLogin,
  startFakeProtectedServer,
} from './fake-protected-server.ts';

/** Nothing listens there. */
const [closedPort] = await findFreePorts(1);

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function runLogin(
  args: readonly string[],
  openBrowser: (url: string) => Promise<boolean> = followLogin,
  color = false,
): Promise<Run> {
  let out = '';
  let err = '';
  const code = await executeCommand(loginCommand, args, {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color,
    env: {},
    openBrowser: async (url) => {
      // Not waited for: it comes back while the command waits.
      void openBrowser(url).catch(() => {});
      return Promise.resolve(true);
    },
  });
  return { code, out, err };
}

async function startServer(t: TestContext, options: FakeServerOptions = {}): Promise<FakeProtectedServer> {
  const server = await startFakeProtectedServer(options);
  t.after(() => server.close());
  return server;
}

function assertNothingLeaks(server: FakeProtectedServer, { out, err }: Run): void {
  assert.ok(server.secrets.length > 0);
  for (const secret of server.secrets) assert.ok(!`${out}${err}`.includes(secret), 'a secret was shown');
  assert.doesNotMatch(out + err, /alice-the-person/);
}

describe('login', () => {
  test('walks the whole flow, tells each step with its standard, and ends with the tools', async (t) => {
    const server = await startServer(t);
    const run = await runLogin([server.url, '--verbose']);
    assert.equal(run.code, 0, run.out + run.err);
    const headings = run.out.split('\n').filter((line) => /^ *\d+ {2}\S/.test(line));
    assert.deepEqual(
      headings.map((line) => line.trim().split(/ {2,}/)),
      [
        ['1', 'Ask without a token', 'RFC 6750 3, RFC 9728 5.1'],
        ['2', 'Resource metadata', 'RFC 9728 3'],
        ['3', 'Authorization server metadata', 'RFC 8414 3, OpenID Connect Discovery 4'],
        ['4', 'Registration', 'RFC 7591 3'],
        ['5', 'Login in the browser', 'RFC 6749 4.1.1, RFC 7636, RFC 8707'],
        ['6', 'Back from the login', 'RFC 6749 4.1.2, RFC 9207'],
        ['7', 'Token', 'RFC 6749 4.1.3, RFC 7636 4.5'],
        ['8', 'Ask again, with the token', 'RFC 6750 2.1, MCP'],
        ['9', 'Leave nothing behind', 'RFC 7592 2.3'],
      ],
    );
    assert.match(run.out, /tickets 2\.1 \(MCP 2025-11-25\) lets us in/);
    assert.match(
      run.out,
      /It works\. Tools:\n {4}ticket_list {3}Lists tickets\.\n {4}ticket_close {2}Closes a ticket\.\n$/,
    );
    assert.match(run.out, /aud +http/);
    assertNothingLeaks(server, run);
  });

  test('sends what MCP asks for: resource, the scope of the challenge, PKCE, a loopback redirect; and removes its registration', async (t) => {
    const server = await startServer(t);
    assert.equal((await runLogin([server.url])).code, 0);
    const authorize = server.requests.find(({ url }) => url.pathname === '/authorize')?.url.searchParams;
    assert.equal(authorize?.get('resource'), server.url);
    assert.equal(authorize?.get('scope'), 'tickets:read');
    assert.equal(authorize?.get('code_challenge_method'), 'S256');
    assert.match(authorize?.get('redirect_uri') ?? '', /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    const token = new URLSearchParams(server.requests.find(({ url }) => url.pathname === '/token')?.body);
    assert.equal(token.get('resource'), server.url);
    const last = server.requests.findLast(({ url }) => url.pathname === '/mcp');
    assert.deepEqual([last?.method, last?.headers['mcp-session-id']], ['DELETE', 'session-1']);
    assert.equal(server.clients.size, 0);
  });

  test('reads tools from event streams, page by page', async (t) => {
    const server = await startServer(t, { streams: true });
    const { code, out } = await runLogin([server.url]);
    assert.equal(code, 0, out);
    assert.match(out, /2 tools\./);
  });

  test('--json is one object with the same content, and the address goes to standard error', async (t) => {
    const server = await startServer(t);
    const run = await runLogin([server.url, '--json']);
    assert.equal(run.code, 0);
    const report = JSON.parse(run.out) as {
      ok: boolean;
      url: string;
      tools: { name: string }[];
      steps: { title: string; ok: boolean; exchanges: unknown[]; findings: { mark: string }[] }[];
    };
    assert.deepEqual([report.ok, report.url, report.steps.length], [true, server.url, 9]);
    assert.deepEqual(
      report.tools.map(({ name }) => name),
      ['ticket_list', 'ticket_close'],
    );
    assert.ok(report.steps.every(({ ok }) => ok));
    assert.match(run.err, /Log in|log in at/);
    assertNothingLeaks(server, run);
  });

  test('a client that is registered already, with a secret in a file', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'login-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'secret');
    await writeFile(file, 'hunter2-hunter2\n');
    const server = await startServer(t);
    const run = await runLogin([server.url, '--client-id', 'mine', '--client-secret-file', file, '--scope', 'a b']);
    assert.equal(run.code, 0, run.out);
    const { headers, body } = server.requests.find(({ url }) => url.pathname === '/token')!;
    assert.equal(headers.authorization, `Basic ${Buffer.from('mine:hunter2-hunter2').toString('base64')}`);
    assert.doesNotMatch(body, /client_id|hunter2/);
    assert.ok(!server.requests.some(({ url }) => url.pathname === '/register'));
    assert.equal(
      server.requests.find(({ url }) => url.pathname === '/authorize')?.url.searchParams.get('scope'),
      'a b',
    );
    assert.doesNotMatch(run.out, /hunter2/);
  });

  test('a server that needs no token is used without one', async (t) => {
    const result = { protocolVersion: '2025-11-25', capabilities: {}, tools: [{ name: 'echo' }] };
    const server = await startServer(t, {
      overrides: () => ({
        '/mcp': ({ body }) => (body === '' ? undefined : { status: 200, body: { jsonrpc: '2.0', id: 1, result } }),
      }),
    });
    const { code, out } = await runLogin([server.url]);
    assert.equal(code, 0);
    assert.match(out, /answers without a token: it is not protected/);
    assert.match(out, /echo/);
  });

  for (const [name, answer, code, said] of [
    [
      'a refresh token that is refused',
      { status: 400, body: { error: 'invalid_grant' } },
      1,
      /spent, expired or revoked/,
    ],
    [
      'a session that has ended',
      {
        status: 400,
        body: {
          error: 'invalid_grant',
          error_description: 'This session has ended: it was revoked, or one of its refresh tokens was used twice.',
        },
      },
      1,
      /→ Log in again\. Who ended it: mcp-gatehouse sessions revoke/,
    ],
    ['a refresh token that stays', undefined, 0, /✓ The refresh token stays the same\./],
  ] as const)
    test(`--refresh: ${name}`, async (t) => {
      let first: Record<string, unknown> = {};
      const server = await startServer(t, {
        overrides: () => ({
          '/token': ({ body }, answerWell) => {
            if (body.includes('grant_type=refresh_token')) {
              const { refresh_token: _, ...renewed } = first;
              return answer ?? { status: 200, headers: { 'cache-control': 'no-store' }, body: renewed };
            }
            const given = answerWell();
            first = given.body as Record<string, unknown>;
            return given;
          },
        }),
      });
      const run = await runLogin([server.url, '--refresh']);
      assert.equal(run.code, code, run.out);
      assert.match(run.out, said);
    });

  test('--refresh without a refresh token', async (t) => {
    const server = await startServer(t, {
      metadata: (document) => (document['scopes_supported'] = ['openid', 'offline_access']),
      overrides: () => ({
        '/token': (_request, answerWell) => {
          const { refresh_token: _, ...body } = answerWell().body as Record<string, unknown>;
          return { status: 200, body };
        },
      }),
    });
    const { code, out } = await runLogin([server.url, '--refresh']);
    assert.equal(code, 1, out);
    assert.match(out, /There is no refresh token: users log in again/);
    assert.match(out, /the metadata lists offline_access.*\n.*→ authorizationRequest\.extraScopes: \[offline_access\]/);
    assert.match(out, /Failed at step \d+: Refresh/);
  });

  test('an older server without any metadata: the fixed endpoints of 2025-03-26', async (t) => {
    const server = await startServer(t, {
      overrides: () => ({
        'POST /mcp': ({ headers }) => (headers.authorization === undefined ? { status: 401 } : undefined),
        '/.well-known/oauth-protected-resource/mcp': () => ({ status: 404 }),
        '/.well-known/oauth-authorization-server': () => ({ status: 404 }),
      }),
    });
    const { code, out } = await runLogin([server.url]);
    assert.equal(code, 0, out);
    assert.match(out, /401 without WWW-Authenticate/);
    assert.match(out, /There is no resource metadata/);
    assert.match(out, /on to \/authorize, \/token and \/register/);
  });

  test('a callback with another state does not finish the login', async (t) => {
    const server = await startServer(t);
    const { code, out } = await runLogin([server.url], async (url) => {
      const redirectUri = new URL(url).searchParams.get('redirect_uri')!;
      const stray = await fetch(`${redirectUri}?code=stolen&state=other`);
      assert.equal(stray.status, 400);
      assert.equal((await fetch(new URL('/elsewhere', redirectUri))).status, 404);
      return followLogin(url);
    });
    assert.equal(code, 0, out);
    assert.match(out, /came back with another state/);
  });

  test('colours on a terminal only, and control characters of a server never', async (t) => {
    const server = await startServer(t, {
      overrides: () => ({
        '/register': () => ({ status: 400, body: { error: 'x', error_description: '\u001b[31mred\u001b[2J' } }),
      }),
    });
    const colored = await runLogin([server.url], followLogin, true);
    const plain = await runLogin([server.url]);
    assert.ok(colored.out.includes('\u001b[1m') && !colored.out.includes('\u001b[2J'));
    assert.match(plain.out, /\\x1b\[31mred/);
    const withoutPorts = (text: string): string =>
      stripVTControlCharacters(text).replaceAll(/:\d{4,5}\/|in \d+ ms/g, '');
    assert.equal(withoutPorts(colored.out), withoutPorts(plain.out));
  });
});

describe('login names the step that failed, and what to change', () => {
  const cases: readonly [name: string, options: FakeServerOptions, step: RegExp, finding: RegExp][] = [
    [
      'the server redirects',
      { overrides: () => ({ '/mcp': () => ({ status: 308, headers: { location: 'https://elsewhere/' } }) }) },
      /step 1: Ask without/,
      /answered 308.*\n.*→ It redirects to https:\/\/elsewhere\//,
    ],
    [
      'no Bearer challenge',
      { overrides: () => ({ '/mcp': () => ({ status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } }) }) },
      /step 1/,
      /no Bearer challenge/,
    ],
    [
      'resource metadata that is not an http URL',
      {
        overrides: () => ({
          '/mcp': () => ({
            status: 401,
            headers: { 'www-authenticate': 'Bearer resource_metadata="file:///etc/passwd"' },
          }),
        }),
      },
      /step 1/,
      /not an http\(s\) URL/,
    ],
    [
      'resource metadata that is not there',
      { overrides: () => ({ '/.well-known/oauth-protected-resource/mcp': () => ({ status: 404 }) }) },
      /step 2: Resource metadata/,
      /not there: answered 404.*\n.*must be public/,
    ],
    [
      'resource metadata of another resource',
      {
        overrides: () => ({
          '/.well-known/oauth-protected-resource/mcp': (_request, answerWell) => ({
            ...answerWell(),
            body: { ...(answerWell().body as object), resource: 'http://internal:8080/mcp' },
          }),
        }),
      },
      /step 2/,
      /`resource` is http:\/\/internal:8080\/mcp.*\n.*X-Forwarded-Proto/,
    ],
    [
      'no authorization servers',
      {
        overrides: (origin) => ({
          '/.well-known/oauth-protected-resource/mcp': () => ({ status: 200, body: { resource: `${origin}/mcp` } }),
        }),
      },
      /step 2/,
      /No usable `authorization_servers`/,
    ],
    [
      'another issuer in the metadata (RFC 8414 3.3)',
      { metadata: (document, origin) => (document['issuer'] = `${origin}/`) },
      /step 3: Authorization server metadata/,
      /not to be used \(RFC 8414 3\.3\)[^]*down to the last slash.*SDK v1 go on/,
    ],
    [
      'an issuer that differs in the slash at the end',
      { metadata: (document, origin) => (document['issuer'] = `${origin}/`) },
      /step 3/,
      /✗ .*differ in the slash at the end\.\n.*set issuer: http\S+\/ in the policy/,
    ],
    [
      'a gateway whose identity provider is down',
      {
        overrides: () => ({
          '/.well-known/oauth-authorization-server': () => ({
            status: 503,
            body: {
              error: 'temporarily_unavailable',
              error_description: 'The identity provider cannot be reached at the moment. Try again shortly.',
              request_id: 'r-9',
            },
          }),
        }),
      },
      /step 3/,
      /✗ .*temporarily_unavailable: The identity provider cannot be reached.* shortly\.\n.*→ Is the identity provider up[^]*request_id +r-9/,
    ],
    [
      'an authorization server that is down',
      {
        overrides: (origin) => ({
          '/.well-known/oauth-protected-resource/mcp': () => ({
            status: 200,
            body: { resource: `${origin}/mcp`, authorization_servers: [`http://127.0.0.1:${closedPort}/`] },
          }),
        }),
      },
      /step 3/,
      /✗ The authorization server cannot be reached: connection refused\.\n.*Nothing listens at 127\.0\.0\.1:\d+/,
    ],
    [
      'a redirect URI that is refused on a page',
      {
        overrides: () => ({
          '/authorize': () => ({ status: 400, body: '<h1>We are sorry</h1><p>Invalid parameter: redirect_uri</p>' }),
        }),
      },
      /step 5: Login in the browser/,
      /callback is not registered: .*127\.0\.0\.1:\d+\/callback: We are sorry\. Invalid parameter: redirect_uri\.\n/,
    ],
    [
      'an authorization request that is refused on a page',
      {
        overrides: () => ({
          '/authorize': () => ({ status: 400, body: '<style>x</style><p>Client not found.</p>' }),
        }),
      },
      /step 5/,
      /✗ The authorization server refuses the request: Client not found\.\n.*Is the client registered there/,
    ],
    [
      'a secret that is wrong',
      { overrides: () => ({ '/token': () => ({ status: 401, body: { error: 'invalid_client' } }) }) },
      /step 7/,
      /invalid_client\.\n.*--client-secret-file PATH/,
    ],
    [
      'metadata that is a page',
      { overrides: () => ({ '/.well-known/oauth-authorization-server': () => ({ status: 200, body: '<html>' }) }) },
      /step 3/,
      /Not a JSON object[^]*No form of the metadata/,
    ],
    [
      'no S256',
      { metadata: (document) => (document['code_challenge_methods_supported'] = ['plain']) },
      /step 3/,
      /S256 is not offered, only plain/,
    ],
    [
      'an authorization endpoint that would reach a shell (CVE-2025-6514)',
      { metadata: (document) => (document['authorization_endpoint'] = 'file:///bin/sh') },
      /step 3/,
      /`authorization_endpoint` is not an http\(s\) URL/,
    ],
    [
      'no registration',
      { metadata: (document) => delete document['registration_endpoint'] },
      /step 4: Registration/,
      /takes no registrations.*\n.*--client-id ID/,
    ],
    [
      'registration only with a token',
      {
        overrides: () => ({
          '/register': () => ({ status: 403, body: { error: 'access_denied', request_id: 'r-1' } }),
        }),
      },
      /step 4/,
      /access_denied.*\n.*initial access token[^]*request_id +r-1/,
    ],
    [
      'a login that the user refuses',
      { overrides: () => ({ '/authorize': (request) => redirectBack(request.url, { error: 'access_denied' }) }) },
      /step 6: Back from the login/,
      /refused: access_denied/,
    ],
    [
      'iss of another server (RFC 9207)',
      {
        overrides: () => ({
          '/authorize': (request) => redirectBack(request.url, { code: 'c', iss: 'https://idp.example' }),
        }),
      },
      /step 6/,
      /`iss` is https:\/\/idp\.example.*\n.*use flow Broker/,
    ],
    [
      'iss promised and not sent',
      { overrides: () => ({ '/authorize': (request) => redirectBack(request.url, { code: 'c' }) }) },
      /step 6/,
      /`iss` is missing although/,
    ],
    [
      'neither code nor error',
      {
        overrides: () => ({ '/authorize': (request) => redirectBack(request.url, {}) }),
        metadata: (document) => delete document['authorization_response_iss_parameter_supported'],
      },
      /step 6/,
      /neither a code nor an error/,
    ],
    [
      'a code that is refused',
      { overrides: () => ({ '/token': () => ({ status: 400, body: { error: 'invalid_grant' } }) }) },
      /step 7: Token/,
      /invalid_grant.*\n.*The code is spent/,
    ],
    [
      'a token endpoint that answers a page',
      { overrides: () => ({ '/token': () => ({ status: 500, body: '<html>' }) }) },
      /step 7/,
      /refused\.\n.*not JSON/,
    ],
    [
      'a token that is refused because of its audience',
      {
        overrides: () => ({
          '/token': (_request, answerWell) => ({
            ...answerWell(),
            body: {
              ...(answerWell().body as object),
              access_token: `e30.${Buffer.from('{"aud":"account"}').toString('base64url')}.x`,
            },
          }),
        }),
      },
      /step 8: Ask again/,
      /answers 401: invalid_token: unknown token[^]*request_id +rid-7[^]*aud is "account", not http.*\n.*audience mapper/,
    ],
    [
      'an opaque token',
      {
        overrides: () => ({
          '/token': (_request, answerWell) => ({
            ...answerWell(),
            body: { ...(answerWell().body as object), access_token: 'opaque' },
          }),
        }),
      },
      /step 8/,
      /The token is opaque/,
    ],
    [
      'a missing scope',
      {
        overrides: () => ({
          'POST /mcp': ({ headers }) =>
            headers.authorization === undefined
              ? undefined
              : {
                  status: 403,
                  headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="tickets:write"' },
                },
        }),
      },
      /step 8/,
      /insufficient_scope.*\n.*--scope[^]*scope needed +tickets:write/,
    ],
    [
      'an MCP server that is broken',
      {
        overrides: () => ({
          'POST /mcp': ({ headers }) => (headers.authorization === undefined ? undefined : { status: 200, body: 'hm' }),
        }),
      },
      /step 8/,
      /The login works, but the MCP server does not/,
    ],
  ];
  for (const [name, options, step, finding] of cases) {
    test(name, async (t) => {
      const server = await startServer(t, options);
      const run = await runLogin([server.url]);
      assert.equal(run.code, 1, run.out);
      const [last = ''] = run.out.trimEnd().split('\n').slice(-1);
      assert.match(last, /^Failed at /);
      assert.match(last, step);
      assert.match(run.out, finding);
      assert.match(run.out, / {4}✗ .*\n {6}→ /);
      assert.doesNotMatch(run.out, /(?<!\.)\.\.(?!\.)/, 'two full stops');
      for (const secret of server.secrets) assert.ok(!run.out.includes(secret));
      assert.equal(server.clients.size, 0, 'a registration was left behind');
    });
  }

  test('no server listens', async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const { code, out } = await runLogin([`http://127.0.0.1:${port}/mcp`]);
    assert.equal(code, 1);
    assert.match(out, /cannot be reached: connection refused\.\n.*Is it started\?/);
  });

  test('an authorization endpoint that dislikes programs is left to the browser', async (t) => {
    const server = await startServer(t, {
      overrides: () => ({
        '/authorize': ({ headers }) => (headers['user-agent'] === 'mcp-gatehouse-login' ? { status: 403 } : undefined),
      }),
    });
    const { code, out } = await runLogin([server.url]);
    assert.equal(code, 0, out);
    assert.match(out, /! The authorization endpoint answers 403 to this program\. A browser may get another answer/);
  });

  test('the browser never comes back', async (t) => {
    const server = await startServer(t);
    const { code, out } = await runLogin([server.url, '--timeout', '1s'], () => Promise.resolve(true));
    assert.equal(code, 1);
    assert.match(
      out,
      /Nobody came back.*\n.*One about a redirect URI or callback: http:\/\/127\.0\.0\.1:\d+\/callback is not registered for this client/,
    );
    assert.equal(server.clients.size, 0);
  });
});

function redirectBack(asked: URL, parameters: Record<string, string>) {
  const location = new URL(asked.searchParams.get('redirect_uri')!);
  location.search = new URLSearchParams({ state: asked.searchParams.get('state')!, ...parameters }).toString();
  return { status: 302, headers: { location: location.href } };
}

describe('login refuses what it cannot do, with exit code 2', () => {
  const cases: readonly [args: readonly string[], message: RegExp][] = [
    [[], /say which server/],
    [['http://a/', 'http://b/'], /unexpected argument "http:\/\/b\/"/],
    [['mcp.example.com'], /is not a URL such as .*; did you mean https:\/\/mcp\.example\.com \?$/m],
    [['ftp://mcp.example.com'], /is not a URL/],
    [['https://user:hunter2@mcp.example.com/mcp'], /is not a URL/],
    [['http://a/', '--redirect-uri', 'https://evil.example/cb'], /must be http on 127\.0\.0\.1/],
    [['http://a/', '--client-secret-file', '/x'], /goes with --client-id/],
    [['http://a/', '--client-id', 'x', '--client-secret-file', '/does/not/exist'], /--client-secret-file: /],
    [['http://a/', '--scop', 'x'], /did you mean --scope/],
  ];
  for (const [args, message] of cases) {
    test(args.join(' ') || 'nothing', async () => {
      const { code, out, err } = await runLogin(args);
      assert.deepEqual([code, out], [2, '']);
      assert.match(err, message);
    });
  }

  test('a port that is taken', async (t) => {
    const server = await startServer(t);
    const taken = new URL(server.url).port;
    const { code, err } = await runLogin([server.url, '--redirect-uri', `http://127.0.0.1:${taken}/cb`]);
    assert.equal(code, 2);
    assert.match(err, /the port is in use\. Another place: --redirect-uri/);
  });
});
