// `mcp-gatehouse check --online` against identity providers that are right, and against ones that are wrong in one place.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { checkCommand } from '../../src/cmd/check.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import type { CheckReport } from '../../src/cmd/check-report.ts';
import { buildShortForm, printResources } from '../../src/cmd/short-form.ts';
import { startOidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { type FakeServerOptions, type FakeProtectedServer, startFakeProtectedServer } from './fake-protected-server.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Authentication = Record<string, unknown>;

async function runCheck(t: TestContext, authentication: Authentication, ...flags: string[]): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'check-online-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // A server that is asked, too, and has nothing to say.
  const upstream = await startMcpUpstream();
  t.after(() => upstream.close());
  const target = `http://127.0.0.1:${upstream.port}/mcp`;
  const short = buildShortForm({ targets: [target], issuer: String(authentication['issuer']) });
  assert.ok(short.ok);
  const policy = short.resources.at(-1) as { spec: { backend: { mcp: { authentication: object } } } };
  policy.spec.backend.mcp.authentication = authentication;
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'idp' },
    stringData: { token: 'hunter2-token' },
  };
  await writeFile(join(folder, 'gateway.yaml'), printResources([...short.resources, secret]));
  let out = '';
  let err = '';
  const code = await executeCommand(checkCommand, ['-f', folder, ...flags], {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color: false,
    env: {},
  });
  assert.doesNotMatch(out + err, /hunter2/);
  return { code, out, err };
}

async function startIdp(t: TestContext, options: FakeServerOptions = {}): Promise<FakeProtectedServer> {
  const server = await startFakeProtectedServer(options);
  t.after(() => server.close());
  return server;
}

function readReport({ out }: Run): CheckReport {
  return JSON.parse(out) as CheckReport;
}

/** The lines about one check. */
function linesOf({ out }: Run, check: string): string {
  const block = out.slice(out.indexOf('Identity provider of'));
  const lines = block.split('\n');
  const start = lines.findIndex((line) => new RegExp(`^ {2}[✓!✗] ${check} `).test(line));
  assert.notEqual(start, -1, `nothing about ${check}:\n${block}`);
  const end = lines.findIndex((line, index) => index > start && !/^ {2}[✓!✗] {4,}|^ {6,}/.test(line));
  return lines.slice(start, end).join('\n');
}

describe('without --online no identity provider is asked', () => {
  test('the policy is shown with issuer, resource and metadata URLs, and a flow that is decided online', async (t) => {
    const server = await startIdp(t);
    const run = await runCheck(t, { issuer: server.origin });
    assert.equal(run.code, 0, run.err);
    assert.equal(server.requests.length, 0);
    assert.match(run.out, /Protected MCP servers\n {2}ProxyPolicy default\/mcp {2}issuer {4}http/);
    assert.match(run.out, /flow {6}Auto, decided online\n/);
    assert.match(run.out, /resource {2}http:\/\/127\.0\.0\.1:3000\/mcp\n/);
    assert.match(run.out, /metadata {2}http:\/\/127\.0\.0\.1:3000\/\.well-known\/oauth-protected-resource\/mcp\n/);
    assert.match(
      run.out,
      / login default\/mcp \[1\]$[^]*\[1\] protected by ProxyPolicy default\/mcp \(backend\.mcp\.authentication, on ProxyBackend default\/mcp\): Strict$/m,
    );
  });

  test('a flow that follows from the policy alone is shown with its reason; a configured resource is what clients see', async (t) => {
    const run = await runCheck(
      t,
      {
        issuer: 'https://idp.example.com',
        registration: { mode: 'Shared', clientId: 'gateway' },
        resourceMetadata: { resource: 'https://mcp.example.com/tickets' },
      },
      '--json',
    );
    const [authentication] = readReport(run).authentications;
    assert.equal(authentication?.flow?.flow, 'Broker');
    assert.match(authentication?.flow?.reason ?? '', /Shared/);
    assert.deepEqual(
      authentication?.resources.map(({ url, metadataUrls }) => [url, metadataUrls[0]]),
      [['https://mcp.example.com/tickets', 'https://mcp.example.com/.well-known/oauth-protected-resource/tickets']],
    );
    assert.equal(readReport(run).online, null);
  });

  test('--try-registration alone is wrong usage', async (t) => {
    const run = await runCheck(t, { issuer: 'https://idp.example.com' }, '--try-registration');
    assert.deepEqual(
      [run.code, run.err],
      [2, 'mcp-gatehouse check: --try-registration goes with --online\nSee mcp-gatehouse check --help.\n'],
    );
  });
});

describe('--online with an identity provider that is right', () => {
  test('oidc-provider: ticks, Broker because of iss, every client works, and nothing is left behind', async (t) => {
    const idp = await startOidcProviderIdp();
    t.after(() => idp.close());
    const run = await runCheck(
      t,
      { issuer: idp.issuer, requiredScopes: ['tickets:read'] },
      '--online',
      '--try-registration',
    );
    assert.equal(run.code, 0, run.out + run.err);
    assert.match(linesOf(run, 'metadata'), /✓ metadata +http:\/\/\S+ in \d+ ms/);
    assert.match(linesOf(run, 'issuer'), /✓ issuer +identical/);
    assert.match(linesOf(run, 'PKCE'), /✓ PKCE +S256/);
    assert.match(linesOf(run, 'registration'), /✓ registration +\S+ took a registration from anybody/);
    assert.match(linesOf(run, 'keys'), /✓ keys +\S+: \d usable, \d \w+/);
    assert.match(linesOf(run, 'scopes'), /✓ scopes +tickets:read/);
    assert.match(linesOf(run, 'flow'), /✓ flow +Broker: .*RFC 9207/);
    assert.match(
      run.out,
      /MCP clients\n {2}✓ {2}SDK v1 .*\n {2}✓ {2}SDK v2 .*\n {2}✓ {2}in a browser .*\n {2}✓ {2}with CIMD/,
    );
    assert.match(run.out, /No problems\.\n$/);
  });

  test('one without iss: Facade, and what that leaves to the identity provider', async (t) => {
    const idp = await startOidcProviderIdp({ iss: false });
    t.after(() => idp.close());
    const run = await runCheck(t, { issuer: idp.issuer }, '--online');
    assert.equal(run.code, 0, run.out);
    assert.match(linesOf(run, 'flow'), /✓ flow +Facade: [^]*! +Facade leaves to the identity provider.*CORS.*nonce/);
    assert.match(linesOf(run, 'registration'), /not tried \(--try-registration does\)/);
    assert.match(run.out, /! {2}in a browser .*CORS/);
  });

  test('the trial registration is removed again, and only asked for', async (t) => {
    const server = await startIdp(t);
    await runCheck(t, { issuer: server.origin }, '--online');
    assert.ok(server.requests.every(({ method }) => method === 'GET'));
    const run = await runCheck(t, { issuer: server.origin }, '--online', '--try-registration');
    assert.match(linesOf(run, 'registration'), /took a registration from anybody\n.*removed it again \(RFC 7592\)/);
    assert.equal(server.clients.size, 0);
    const registration = server.requests.find(({ url }) => url.pathname === '/register');
    assert.match(registration?.body ?? '', /mcp-gatehouse check \(may be deleted\)/);
    for (const secret of server.secrets) assert.ok(!run.out.includes(secret));
  });

  test('--json has it all as data', async (t) => {
    const server = await startIdp(t);
    const [online] = readReport(await runCheck(t, { issuer: server.origin }, '--online', '--json')).online ?? [];
    assert.deepEqual([online?.policy, online?.issuer, online?.ok], ['default/mcp', server.origin, true]);
    assert.equal(online?.flow?.flow, 'Broker');
    assert.deepEqual(
      online?.findings.map(({ check }) => check),
      ['metadata', 'issuer', 'PKCE', 'registration', 'keys', 'audience', 'flow'],
    );
    assert.deepEqual(
      online?.clients.map(({ family }) => family),
      ['SDK v1', 'SDK v2', 'in a browser', 'with CIMD'],
    );
  });
});

describe('--online puts a cross where it is wrong, with what to change', () => {
  interface Case {
    readonly name: string;
    readonly idp?: FakeServerOptions;
    readonly policy?: Authentication;
    readonly flags?: readonly string[];
    readonly check: string;
    readonly lines: RegExp;
    /** Worth knowing, and no problem. */
    readonly isRemark?: boolean;
  }
  const anyKey = { kty: 'RSA', n: 'AQAB', e: 'AQAB' };
  const cases: readonly Case[] = [
    {
      name: 'another issuer',
      idp: { metadata: (document, origin) => (document['issuer'] = `${origin}/`) },
      check: 'metadata',
      lines: /a trailing slash matters[^]*✗[^]*→ Set issuer: http:\/\/127\.0\.0\.1:\d+\/ \(exactly\)/,
    },
    {
      name: 'another issuer, at another address',
      idp: { metadata: (document) => (document['issuer'] = 'https://sso.example.com/realms/mcp') },
      check: 'metadata',
      lines:
        /→ Set issuer: https:\/\/sso\.example\.com\/realms\/mcp \(exactly\), if .*, and metadataUrl: http:\/\/127\.0\.0\.1:\d+\/\.well-known\/oauth-authorization-server, if the gateway reaches it only there\./,
    },
    {
      name: 'another issuer, by metadataUrl',
      idp: { metadata: (document) => (document['issuer'] = 'https://sso.example.com') },
      policy: { metadataUrl: 'the RFC 8414 one' },
      check: 'metadata',
      lines: /→ Set issuer: https:\/\/sso\.example\.com \(exactly\), if .*; otherwise correct metadataUrl\./,
    },
    {
      name: 'no metadata',
      idp: { overrides: () => ({ '/.well-known/oauth-authorization-server': () => ({ status: 404 }) }) },
      check: 'metadata',
      lines: /answers 404[^]*→ Is issuer right/,
    },
    {
      name: 'metadata that redirects',
      idp: {
        overrides: () => ({
          '/.well-known/oauth-authorization-server': () => ({ status: 302, headers: { location: '/login' } }),
        }),
      },
      check: 'metadata',
      lines: /a redirect[^]*→ Set issuer, or metadataUrl, to where it leads/,
    },
    {
      name: 'an endpoint that is no URL of the web',
      idp: { metadata: (document) => (document['authorization_endpoint'] = 'javascript:alert(1)') },
      check: 'metadata',
      lines: /neither http nor https[^]*→ This is for the identity provider to mend/,
    },
    {
      name: 'PKCE without S256',
      idp: { metadata: (document) => (document['code_challenge_methods_supported'] = ['plain']) },
      check: 'PKCE',
      lines: /✗ PKCE +only plain\n.*→ MCP requires S256/,
    },
    {
      name: 'no registration endpoint',
      idp: { metadata: (document) => delete document['registration_endpoint'] },
      check: 'registration',
      lines: /✗ registration .*takes no registrations\n.*→ .*mode: Shared/,
    },
    {
      name: 'a registration that is refused',
      idp: { overrides: () => ({ 'POST /register': () => ({ status: 401, body: { error: 'invalid_token' } }) }) },
      flags: ['--try-registration'],
      check: 'registration',
      lines:
        /✗ registration .*answers 401 to a registration: invalid_token\n.*→ Allow anonymous registration.*initialAccessTokenRef/,
    },
    {
      name: 'an initial access token that is refused',
      policy: { registration: { initialAccessTokenRef: { name: 'idp', key: 'token' } } },
      idp: { overrides: () => ({ 'POST /register': () => ({ status: 401 }) }) },
      flags: ['--try-registration'],
      check: 'registration',
      lines: /→ The initial access token is not accepted/,
    },
    {
      name: 'keys that are not there',
      idp: { overrides: () => ({ '/jwks': () => ({ status: 500 }) }) },
      check: 'keys',
      lines: /✗ keys .*\n.*→ Without keys every request is answered 503/,
    },
    {
      name: 'no usable key',
      idp: { overrides: () => ({ '/jwks': () => ({ status: 200, body: { keys: [{ ...anyKey, use: 'enc' }] } }) }) },
      check: 'keys',
      lines: /✗ keys .*no key that verifies signatures/,
    },
    {
      name: 'no jwks_uri',
      idp: { metadata: (document) => delete document['jwks_uri'] },
      check: 'keys',
      lines: /✗ keys +the metadata has no jwks_uri\n.*→ Set jwks/,
    },
    {
      name: 'Facade with an identity provider that emits iss',
      policy: { flow: 'Facade' },
      check: 'flow',
      lines: /✗ flow +Facade, but .*RFC 9207.*\n.*→ Set flow: Broker/,
    },
    {
      name: 'a preset whose tokens do not carry the resource, with Forward',
      policy: { provider: 'Keycloak', metadataUrl: 'the RFC 8414 one' },
      check: 'audience',
      isRemark: true,
      lines:
        /! audience +the resource's own URL, which Keycloak puts into tokens only if it was set up to.*\n.*→ Only a login shows it/,
    },
    {
      name: 'a preset whose tokens are for the client, with Forward',
      policy: { provider: 'Spring', audiences: ['api'] },
      check: 'audience',
      isRemark: true,
      lines: /! audience +api; tokens of Spring are for the client's own id.*\n.*→ .*Use registration\.mode Shared/,
    },
    {
      name: 'audiences of which only a login shows whether tokens have them',
      policy: { audiences: ['api'] },
      check: 'audience',
      isRemark: true,
      lines:
        /! audience +api; whether tokens carry it shows in a login\n.*→ mcp-gatehouse login URL --verbose prints the aud.*If it is the id of the client, use registration\.mode Shared/,
    },
    {
      name: 'an audience that a scope does not bring',
      policy: {
        provider: 'Dex',
        audiences: ['gateway'],
        registration: { mode: 'Shared', clientId: 'gateway' },
        authorizationRequest: { extraScopes: ['audience:server:client_id:api'] },
      },
      check: 'audience',
      isRemark: true,
      lines: /! audience +gateway, but extraScopes ask for tokens for api, and Dex .*\n.*→ Set audiences: \[api\]/,
    },
    {
      name: 'an audience that only a login shows',
      check: 'audience',
      isRemark: true,
      lines:
        /! audience +the resource's own URL, which clients ask for.*some identity providers ignore that\n.*→ Only a login/,
    },
    {
      name: 'a registration that cannot be removed',
      idp: {
        overrides: () => ({
          'DELETE /register/client-1': () => ({ status: 500 }),
          'DELETE /register/client-2': () => ({ status: 500 }),
        }),
      },
      flags: ['--try-registration'],
      check: 'registration',
      isRemark: true,
      lines: /stays there: removing it failed, the identity provider answered 500/,
    },
  ];
  for (const { name, idp, policy, flags = [], check, lines, isRemark = false } of cases) {
    test(name, async (t) => {
      const server = await startIdp(t, idp);
      const authentication: Authentication = { issuer: server.origin, ...policy };
      if ('metadataUrl' in authentication) {
        authentication['metadataUrl'] = `${server.origin}/.well-known/oauth-authorization-server`;
      }
      const run = await runCheck(t, authentication, '--online', ...flags);
      assert.equal(run.code, isRemark ? 0 : 1, run.out);
      assert.match(linesOf(run, check), lines);
      if (isRemark) return;
      assert.match(run.err, /^\d problems?\n$/);
      const report = readReport(await runCheck(t, authentication, '--online', '--json', ...flags));
      const problem = report.problems.find(({ code }) => code === 'identity_provider');
      assert.deepEqual([problem?.kind, problem?.namespace, problem?.name], ['ProxyPolicy', 'default', 'mcp']);
      assert.equal(report.online?.[0]?.ok, false);
      for (const { mark, advice } of report.online?.[0]?.findings ?? [])
        if (mark === 'bad') assert.notEqual(advice, null);
    });
  }

  describe('a client that stands for all', () => {
    const shared = { registration: { mode: 'Shared', clientId: 'gateway' } };

    test('is known, and its callbacks are named for every host', async (t) => {
      const server = await startIdp(t);
      const run = await runCheck(t, { issuer: server.origin, ...shared }, '--online');
      assert.equal(run.code, 0, run.out);
      assert.match(linesOf(run, 'registration'), /✓ registration +Shared: the client gateway stands for all/);
      assert.match(linesOf(run, 'client'), /✓ client +gateway is known, without a secret/);
      assert.match(
        linesOf(run, 'callback'),
        /! callback +http:\/\/127\.0\.0\.1:3000\/\.oauth\/mcp\/callback has to be/,
      );
      assert.match(linesOf(run, 'callback'), /http:\/\/localhost:3000\/\.oauth\/mcp\/callback has to be/);
      assert.match(
        run.out,
        /callback {2}http:\/\/127\.0\.0\.1:3000\/\.oauth\/mcp\/callback {2}\(a redirect URI of the client/,
      );
      const token = server.requests.find(({ url }) => url.pathname === '/token');
      assert.match(token?.body ?? '', /grant_type=authorization_code&code=mcp-gatehouse-check-/);
      assert.equal(server.clients.size, 0);
    });

    for (const [name, path, answer, check, lines] of [
      [
        'a wrong secret',
        '/token',
        { status: 401, body: { error: 'invalid_client' } },
        'client',
        /✗ client +the identity provider does not accept the client gateway without a secret: invalid_client\n.*→ Set registration\.clientSecretRef/,
      ],
      [
        'one that may not log people in',
        '/token',
        { status: 400, body: { error: 'unauthorized_client' } },
        'client',
        /✗ client +the client gateway may not log people in/,
      ],
      [
        'a callback that is not registered',
        '/authorize',
        { status: 400, body: '<p>Invalid parameter: redirect_uri</p>' },
        'callback',
        /✗ callback +the identity provider does not know http:.*\n.*→ Enter it there as a redirect URI of the client/,
      ],
    ] as const)
      test(name, async (t) => {
        const server = await startIdp(t, { overrides: () => ({ [path]: () => answer }) });
        const run = await runCheck(t, { issuer: server.origin, ...shared }, '--online');
        assert.equal(run.code, 1, run.out);
        assert.match(linesOf(run, check), lines);
        assert.match(run.out, /MCP clients\n {2}✗ {2}SDK v1 +cannot log in: see the client above/);
      });

    test('one name of this machine is enough', async (t) => {
      const server = await startIdp(t, {
        overrides: () => ({
          '/authorize': ({ url }, answerWell) =>
            url.searchParams.get('redirect_uri')?.includes('localhost') === true
              ? { status: 400, body: 'Unregistered redirect_uri' }
              : answerWell(),
        }),
      });
      const run = await runCheck(t, { issuer: server.origin, ...shared }, '--online');
      assert.equal(run.code, 0, run.out);
      assert.match(
        linesOf(run, 'callback'),
        /does not know http:\/\/localhost:3000\S+: open the server by another name/,
      );
    });

    test('an identity provider that does not tell is not judged', async (t) => {
      const server = await startIdp(t, {
        overrides: () => ({
          '/token': () => ({ status: 500, body: 'oops' }),
          '/authorize': () => ({ status: 200, body: '<p>Log in. Your redirect_uri is fine.</p>' }),
        }),
      });
      const run = await runCheck(t, { issuer: server.origin, ...shared }, '--online');
      assert.equal(run.code, 0, run.out);
      assert.match(linesOf(run, 'client'), /! client +whether gateway and its secret are right cannot be told/);
      assert.match(linesOf(run, 'callback'), /! callback/);
    });

    test('an audience is ticked where it is known to be in tokens: the id of the client, or what a scope brings', async (t) => {
      const server = await startIdp(t);
      const dex = { issuer: server.origin, provider: 'Dex', ...shared };
      const own = await runCheck(t, { ...dex, audiences: ['gateway'] }, '--online');
      assert.match(linesOf(own, 'audience'), /✓ audience +gateway: tokens of Dex are for the client's own id/);
      const authorizationRequest = { extraScopes: ['audience:server:client_id:api'] };
      const brought = await runCheck(t, { ...dex, audiences: ['api'], authorizationRequest }, '--online');
      assert.match(linesOf(brought, 'audience'), /✓ audience +api; extraScopes ask for tokens for api/);
    });

    test('the configured resource decides the host of the callback', async (t) => {
      const policy = { ...shared, resourceMetadata: { resource: 'https://mcp.example.com/mcp' } };
      const run = await runCheck(t, { issuer: 'https://idp.example.com', ...policy }, '--json');
      assert.deepEqual(readReport(run).authentications[0]?.resources[0]?.callbackUrls, [
        'https://mcp.example.com/.oauth/mcp/callback',
      ]);
    });
  });

  test('no client works beside a cross of keys, registration or PKCE', async (t) => {
    const plain = await startIdp(t, {
      metadata: (document) => (document['code_challenge_methods_supported'] = ['plain']),
    });
    const without = await runCheck(t, { issuer: plain.origin }, '--online');
    assert.match(without.out, /✗ {2}SDK v1 +cannot log in: see PKCE above\n/);
    assert.doesNotMatch(without.out, /✓ {2}(?:SDK|in a|with CIMD)/);
    const server = await startIdp(t, { overrides: () => ({ '/jwks': () => ({ status: 500 }) }) });
    const run = await runCheck(t, { issuer: server.origin }, '--online');
    assert.match(run.out, /✗ {2}SDK v1 +every token is refused: the keys cannot be used\n/);
    assert.doesNotMatch(run.out, /✓ {2}(?:SDK|in a|with CIMD)/);
    const refusing = await startIdp(t, { overrides: () => ({ 'POST /register': () => ({ status: 403 }) }) });
    const tried = await runCheck(t, { issuer: refusing.origin }, '--online', '--try-registration');
    assert.match(tried.out, /✗ {2}SDK v1 +cannot register: see registration above\n/);
  });

  test('one bad key among good ones is a remark, not a cross', async (t) => {
    const server = await startIdp(t, {
      overrides: () => ({
        '/jwks': (_request, answerWell) => {
          const { keys } = answerWell().body as { keys: object[] };
          return { status: 200, body: { keys: [...keys, { ...anyKey, kid: 'weak' }] } };
        },
      }),
    });
    const run = await runCheck(t, { issuer: server.origin }, '--online');
    assert.equal(run.code, 0, run.out);
    assert.match(linesOf(run, 'keys'), /✓ keys +\S+: 1 usable, 1 ES256\n {2}! +key weak is left out: it /);
  });

  test('a registration that cannot be removed again is named', async (t) => {
    const server = await startIdp(t, {
      overrides: () => ({
        'POST /register': (_request, answerWell) => {
          const { registration_client_uri: _, ...body } = answerWell().body as Record<string, unknown>;
          return { status: 201, body };
        },
      }),
    });
    const run = await runCheck(t, { issuer: server.origin }, '--online', '--try-registration');
    assert.equal(run.code, 0, run.out);
    assert.match(
      linesOf(run, 'registration'),
      /! +the client client-1 \("mcp-gatehouse check.*stays there.*\n.*→ Delete it/,
    );
  });

  test('the token for removing a client is not sent to another origin', async (t) => {
    const other = await startIdp(t);
    const server = await startIdp(t, {
      overrides: () => ({
        'POST /register': (_request, answerWell) => ({
          status: 201,
          body: { ...(answerWell().body as object), registration_client_uri: `${other.origin}/register/client-1` },
        }),
      }),
    });
    await runCheck(t, { issuer: server.origin }, '--online', '--try-registration');
    assert.equal(other.requests.length, 0);
  });

  test('an identity provider that looks like one with a preset is told so', async (t) => {
    const server = await startIdp(t);
    const run = await runCheck(t, { issuer: `${server.origin}/realms/mcp` }, '--online');
    assert.match(linesOf(run, 'provider'), /! provider +this looks like Keycloak: provider: Keycloak/);
  });
});
