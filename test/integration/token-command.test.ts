// `mcp-gatehouse token inspect`: what it shows of a token, what each policy would say about it, and that the token goes nowhere.
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import type { ExplainReport } from '../../src/cmd/explain/explain-report.ts';
import type { TokenReport } from '../../src/cmd/token/token-report.ts';
import { startQuirkyIdp } from '../idp/quirky-idp.ts';
import { createIssuer, encodePart } from '../kit/test-issuer.ts';
import {
  backendTarget,
  baseResources,
  createTicketIssuer,
  issuerUrl,
  jwtPolicy,
  policy,
  printResources,
  type Run,
  runExplain,
  runToken,
  writeFolder,
} from './explain-fixture.ts';
import { listenOnLoopback } from './gateway-fixture.ts';

const issuer = createTicketIssuer();
const inline = { inline: issuer.jwks };

/** Inspects, and makes sure that no part of the token is printed. */
async function inspect(token: string, ...args: readonly string[]): Promise<Run> {
  const run = await runToken(['inspect', ...args], { stdin: token });
  for (const part of token.trim().split(/[\s.]/))
    if (part.length > 12) assert.ok(!`${run.out}${run.err}`.includes(part), 'a part of the token is printed');
  return run;
}

async function inspectJson(token: string, ...args: readonly string[]): Promise<TokenReport> {
  const { out, err } = await inspect(token, '--json', ...args);
  assert.equal(err, '');
  return JSON.parse(out) as TokenReport;
}

async function writePolicies(t: TestContext, ...policies: readonly object[]): Promise<string> {
  return writeFolder(t, { 'gateway.yaml': printResources([...baseResources(8080), ...policies]) });
}

async function serve(t: TestContext, listener: RequestListener): Promise<number> {
  const server = await listenOnLoopback(createServer(listener));
  t.after(() => server.close());
  return server.port;
}

describe('token inspect: what is in it', () => {
  const now = Date.UTC(2026, 0, 31, 12);
  const at = (hours: number): number => now / 1_000 + hours * 3_600;

  test('header and claims, with times that a person can read', async () => {
    const token = await issuer.sign({
      scope: 'tickets:read',
      groups: ['support', 'sales'],
      address: { country: 'AT' },
      iat: at(-3),
      exp: at(0.1),
    });
    const { code, out, err } = await runToken(['inspect'], { stdin: `Bearer ${token}\n`, now: () => now });
    assert.deepEqual([code, err], [0, '']);
    assert.equal(
      out,
      `A signed JSON Web Token, ${token.length} characters

Header
  alg  ES256
  kid  k1
  typ  at+jwt

Claims
  iss      https://idp.example.com
  sub      alice
  aud      tickets
  iat      2026-01-31T09:00:00Z, 3 h ago
  exp      2026-01-31T12:06:00Z, in 6 min
  scope    tickets:read
  groups   ["support","sales"]
  address  {"country":"AT"}
`,
    );
    const expired = await runToken(['inspect'], { stdin: await issuer.sign({ exp: at(-50) }), now: () => now });
    assert.match(expired.out, /^ {2}exp {2}2026-01-29T10:00:00Z, expired 2 d ago$/m);
    assert.equal(expired.code, 0);
  });

  test('however it was copied', async () => {
    const token = await issuer.sign();
    for (const text of [token, `  ${token}\r\n`, `bearer ${token}`, `Authorization: Bearer ${token}\n`, `"${token}"`]) {
      const { form, length } = await inspectJson(text);
      assert.deepEqual([form, length], ['jwt', token.length]);
    }
  });

  test('describes problems with the form of a token', async () => {
    const claims = { iss: issuerUrl, exp: 9_999_999_999 };
    const cases: readonly (readonly [string, TokenReport['form'], string | null, RegExp])[] = [
      [
        'ya29.a0AfB_byC',
        'opaque',
        'token_malformed',
        /^! This is no JSON Web Token: only its issuer can tell what it is for\./m,
      ],
      ['0a1b2c3d-aaaa', 'opaque', 'token_malformed', /^✗ No gateway takes it: token_malformed\. .* opaque one\.$/m],
      [
        `${encodePart({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`,
        'encrypted',
        'token_malformed',
        /^! It is encrypted \(JWE\)/m,
      ],
      [
        `${encodePart({ alg: 'ES256' })}.${encodePart(claims)}`,
        'malformed',
        'token_malformed',
        /does not have three parts\.$/m,
      ],
      [
        `${encodePart({ alg: 'ES256' })}.%%%.AAAA`,
        'malformed',
        'token_malformed',
        /payload of the token is not base64url\.$/m,
      ],
      [
        `${encodePart({ alg: 'none' })}.${encodePart(claims)}.`,
        'jwt',
        'token_unsupported_algorithm',
        /alg is "none"\.$/m,
      ],
      [await issuer.sign({}, { typ: 'dpop+jwt' }), 'jwt', 'token_wrong_type', /typ is "dpop\+jwt"\.$/m],
      [
        await issuer.sign({}, { cty: 'JWT' }),
        'jwt',
        null,
        /^! There is another token inside \(cty\): nested tokens are not accepted\.$/m,
      ],
      [
        await issuer.sign({ typ: 'ID' }),
        'jwt',
        null,
        /^! It is an ID token, which tells a client who logged in\. Send the access token\.$/m,
      ],
      [
        await issuer.sign({ nonce: 'n', at_hash: 'h' }),
        'jwt',
        null,
        /^! It looks like an ID token \(nonce or at_hash, and no scope\)\./m,
      ],
      [await issuer.sign({ exp: '1' }), 'jwt', null, /^! exp is a text; it has to be a number of seconds\.$/m],
      [
        await issuer.sign({ exp: 1_800_000_000_000 }),
        'jwt',
        null,
        /^! exp looks like milliseconds; it has to be seconds\.$/m,
      ],
      [
        await issuer.sign({ aud: 'a b' }),
        'jwt',
        null,
        /^! aud is one text with spaces in it, and counts as one audience;/m,
      ],
    ];
    for (const [token, form, reason, expected] of cases) {
      const { code, out } = await inspect(token);
      assert.match(out, expected);
      assert.equal(code, reason === null ? 0 : 1, out);
      const report = await inspectJson(token);
      assert.deepEqual([report.form, report.refusal?.reason ?? null], [form, reason]);
    }
  });

  test('a token inside the token is not shown, nor do control characters reach the terminal', async () => {
    const inner = await issuer.sign({ sub: 'inner' });
    const { out } = await inspect(await issuer.sign({ actor: inner, name: 'a\u001b[31mb' }));
    assert.ok(!out.includes(inner));
    assert.match(out, /^ {2}actor {2}\[redacted\]$/m);
    assert.ok(out.includes('a\\x1b[31mb'));
  });

  test('input that is no use: one clear line, and never what was typed', async (t) => {
    const token = await issuer.sign();
    const folder = await writePolicies(t);
    const history =
      'the token comes from standard input: on the command line it would stay in the shell history, where others can read it';
    const cases: readonly (readonly [readonly string[], string | undefined, string])[] = [
      [
        ['inspect'],
        undefined,
        'mcp-gatehouse token inspect: the token is read from standard input, and that is a terminal: add "< token.txt", or pipe it in',
      ],
      [['inspect'], ' \n', 'mcp-gatehouse token inspect: standard input is empty'],
      [
        ['inspect'],
        'Bearer a b',
        'mcp-gatehouse token inspect: standard input has more than one word in it; a token has no spaces',
      ],
      [
        ['inspect'],
        'x'.repeat(1024 * 1024 + 1),
        'mcp-gatehouse token inspect: standard input is larger than 1 MiB; that is no token',
      ],
      [['inspect', token], token, `mcp-gatehouse token inspect: ${history}`],
      [['inspect', '0a1b2c3d'], '', `mcp-gatehouse token inspect: ${history}`],
      [[token], token, 'mcp-gatehouse token: there is no such command; there is inspect or new'],
      [['decode'], token, 'mcp-gatehouse token: there is no such command; there is inspect or new'],
      [[], token, 'Usage: mcp-gatehouse token COMMAND [flags]'],
      [['inspect', '--online'], token, 'mcp-gatehouse token inspect: --online goes with -f'],
      [
        ['inspect', '--resource', 'here'],
        token,
        'mcp-gatehouse token inspect: --resource must be a URL such as https://mcp.example.com/mcp',
      ],
      [['inspect', '-f', `${folder}/nope`], token, `mcp-gatehouse token inspect: ${folder}/nope: does not exist`],
    ];
    for (const [args, stdin, line] of cases) {
      const { code, out, err } = await runToken(args, stdin === undefined ? {} : { stdin });
      assert.deepEqual([code, out, err.split('\n', 1)[0]], [2, '', line]);
      assert.ok(!err.includes(token) && !err.includes('0a1b2c3d'));
    }
    assert.equal((await runToken(['--help'])).code, 0);
    assert.match((await runToken(['inspect', '--help'])).out, /--resource URL/);
  });

  test('colours change nothing but the colours', async (t) => {
    const folder = await writePolicies(t, jwtPolicy(inline));
    const stdin = await issuer.sign({ aud: 'other', exp: 1_000 });
    const colored = await runToken(['inspect', '-f', folder], { stdin, color: true, now: () => now });
    const { out } = await runToken(['inspect', '-f', folder], { stdin, now: () => now });
    assert.notEqual(colored.out, out);
    assert.equal(stripVTControlCharacters(colored.out), out);
  });
});

describe('token inspect: which providers accept it', () => {
  test('two providers in one policy: the one of the issuer decides, the other has nothing to do with it', async (t) => {
    const folder = await writePolicies(
      t,
      jwtPolicy(inline, {
        jwt: {
          providers: [
            { name: 'corp', issuer: issuerUrl, audiences: ['tickets'], jwks: inline },
            {
              name: 'partner',
              issuer: 'https://partner.example',
              audiences: ['x'],
              jwks: { url: 'https://partner.example/jwks' },
            },
          ],
        },
      }),
    );
    const { code, out } = await inspect(await issuer.sign(), '-f', folder);
    assert.equal(code, 0);
    assert.match(
      out,
      /^Policies\n {2}✓ default\/who, provider corp \(traffic\.jwtAuthentication\): takes it\n {6}the signature is right; the keys are in the policy\n {2}- default\/who, provider partner: not its issuer\n$/m,
    );
    const late = await inspect(await issuer.sign({ exp: 1_000 }), '-f', folder);
    assert.equal(late.code, 1);
    assert.match(late.out, /^ {2}✗ default\/who, provider corp .*: answers token_expired$/m);
    assert.match(late.out, /^ {2}- default\/who, provider partner: not its issuer$/m);

    const stranger = await issuer.sign({ iss: 'https://stranger.example' });
    const refused = await inspect(stranger, '-f', folder);
    assert.equal(refused.code, 1);
    assert.match(
      refused.out,
      /^Policies\n {2}✗ default\/who \(traffic\.jwtAuthentication\): answers token_wrong_issuer\n {6}The token comes from another issuer\. iss is "https:\/\/stranger\.example"\. This one takes https:\/\/idp\.example\.com, https:\/\/partner\.example\.\n$/m,
    );
    const verdicts = (await inspectJson(stranger, '-f', folder)).providers?.map(({ notItsIssuer }) => notItsIssuer);
    assert.deepEqual(verdicts, [false, false]);
  });

  test('all checks that fail are named, in the order of the gateway; the first is what a gateway answers', async (t) => {
    const folder = await writePolicies(
      t,
      jwtPolicy(inline, {
        jwt: {
          providers: [
            {
              name: 'corp',
              issuer: issuerUrl,
              audiences: ['tickets'],
              jwks: inline,
              requiredClaims: { team: 'red', 'realm.role': ['a', 'b'] },
              clockSkew: '10m',
            },
          ],
        },
      }),
    );
    const good = { team: 'red', realm: { role: 'a' } };
    const seconds = Math.floor(Date.now() / 1_000);
    const other = createTicketIssuer();
    const cases: readonly (readonly [string, readonly string[]])[] = [
      [await issuer.sign(good), []],
      [await issuer.sign({ ...good, iss: undefined }), ['issuer']],
      [await issuer.sign({ ...good, exp: seconds - 3_600 }), ['expiry']],
      // Clocks may be ten minutes apart.
      [await issuer.sign({ ...good, exp: seconds - 10 }), []],
      [await issuer.sign({ ...good, exp: undefined }), ['expiry']],
      [await issuer.sign({ ...good, exp: 'soon' }), ['expiry']],
      [await other.sign(good), ['signature']],
      [await issuer.sign(good, { kid: 'k9' }), ['signature']],
      [await issuer.sign({ ...good, c_hash: 'x' }), ['kind']],
      [await issuer.sign({ ...good, nbf: seconds + 3_600 }), ['start']],
      [await issuer.sign({ ...good, iat: seconds + 3_600 }), ['start']],
      [await issuer.sign({ realm: { role: 'c' } }), ['claim realm.role', 'claim team']],
      [await issuer.sign({ ...good, aud: ['a', 'b'] }), ['audience']],
      [await issuer.sign({ ...good, aud: undefined }), ['audience']],
      [await issuer.sign(good, { typ: 'dpop+jwt' }), ['form']],
      [
        await other.sign({ iss: 'https://x.example', exp: seconds - 3_600, nbf: seconds + 3_600, aud: 'x', typ: 'ID' }),
        ['issuer', 'expiry', 'signature', 'kind', 'start', 'claim realm.role', 'claim team', 'audience'],
      ],
    ];
    for (const [token, failed] of cases) {
      const [verdict] = (await inspectJson(token, '-f', folder)).providers ?? [];
      assert.deepEqual(
        verdict?.failed.map(({ check }) => check),
        failed,
      );
      assert.equal(verdict?.accepted, failed.length === 0);
      assert.equal(verdict?.first?.check, failed[0]);
      const { code } = await inspect(token, '-f', folder);
      assert.equal(code, failed.length === 0 ? 0 : 1);
      // The same token on a request.
      const request = ['-f', folder, '--json', '--request', 'POST http://127.0.0.1:8080/mcp', '--token', '-'];
      const { out } = await runExplain(request, { stdin: token });
      assert.equal((JSON.parse(out) as ExplainReport).verdict.reason, verdict?.first?.reason ?? null);
    }
  });

  test('MCP authentication: the audience is the resource, scopes and the user count too', async (t) => {
    const login = policy('login', backendTarget, {
      backend: { mcp: { authentication: { issuer: issuerUrl, jwks: inline, requiredScopes: ['tickets:read'] } } },
    });
    const folder = await writePolicies(t, login);
    const resource = 'http://127.0.0.1:8080/mcp';
    const verdictOf = async (claims: object, ...args: readonly string[]) =>
      (await inspectJson(await issuer.sign({ ...claims }), '-f', folder, ...args)).providers?.[0];
    const good = { aud: resource, scope: 'tickets:read' };
    assert.equal((await verdictOf(good))?.accepted, true);
    assert.equal((await verdictOf({ ...good, aud: `${resource}/` }))?.accepted, true);
    const elsewhere = 'https://mcp.example.com/mcp';
    assert.equal((await verdictOf(good, '--resource', elsewhere))?.first?.reason, 'token_wrong_audience');
    assert.equal((await verdictOf({ ...good, aud: elsewhere }, '--resource', elsewhere))?.accepted, true);
    assert.equal((await verdictOf({ ...good, scope: 'x' }))?.first?.reason, 'insufficient_scope');
    assert.equal((await verdictOf({ aud: resource }))?.first?.reason, 'token_without_scopes');
    assert.equal((await verdictOf({ ...good, sub: undefined }))?.first?.reason, 'missing_subject');
  });

  test('a listener for any host on every interface has no URL: the policy is closed, and the report says so', async (t) => {
    const [gateway, ...others] = baseResources(8080) as [{ spec: { addresses?: object } }, ...object[]];
    delete gateway.spec.addresses;
    const login = policy('login', backendTarget, {
      backend: { mcp: { authentication: { issuer: issuerUrl, jwks: inline } } },
    });
    const folder = await writeFolder(t, { 'gateway.yaml': printResources([gateway, ...others, login]) });
    const { code, out, err } = await inspect(await issuer.sign(), '-f', folder);
    assert.equal(code, 1);
    assert.match(out, /No policy in these files takes tokens\./);
    assert.match(err, /the files have problems, which mcp-gatehouse check lists/);
  });

  test('keys elsewhere are fetched with --online only, and only the keys', async (t) => {
    const idp = await startQuirkyIdp({ metadataDocuments: ['openid-configuration'] });
    t.after(() => idp.close());
    const base = idp.issuer;
    const asked = (): string[] =>
      idp.server.calls.map(({ method, path, headers }) => `${method} ${path} ${headers.authorization ?? ''}`);
    const folder = await writePolicies(
      t,
      jwtPolicy(
        { url: `${base}/jwks` },
        { jwt: { providers: [{ name: 'corp', issuer: base, jwks: { url: `${base}/jwks` } }] } },
      ),
      policy('login', backendTarget, {
        backend: { mcp: { authentication: { issuer: base, audiences: ['tickets'] } } },
      }),
    );
    const token = await idp.sign(issuer.claims({ iss: base }));
    const offline = await inspect(token, '-f', folder);
    assert.equal(offline.code, 0);
    assert.match(offline.out, /^ {2}✓ default\/who, provider corp .*: takes it, if the signature is right$/m);
    assert.match(
      offline.out,
      /^ {6}the signature was not checked: the keys are at http:\S+\/jwks \(--online fetches them\)$/m,
    );
    assert.deepEqual(asked(), []);

    const online = await inspectJson(token, '-f', folder, '--online');
    assert.deepEqual(
      online.providers?.map(({ policy: name, accepted, signature }) => [name, accepted, signature]),
      [
        ['default/who', true, 'verified'],
        ['default/login', true, 'verified'],
      ],
    );
    for (const line of asked()) assert.match(line, /^GET \S+ $/);
    const { kid } = idp.state.keys[0]!;
    const forged = await createIssuer(base, { audience: 'tickets', kid }).sign();
    const refused = await inspect(forged, '-f', folder, '--online');
    assert.equal(refused.code, 1);
    assert.match(refused.out, /^ {2}✗ default\/login \(backend\.mcp\.authentication\): answers token_bad_signature$/m);
    // An expired token too: whether it was good otherwise is what people want to know.
    const late = await inspectJson(await idp.sign(issuer.claims({ iss: base, exp: 1_000 })), '-f', folder, '--online');
    assert.deepEqual(
      late.providers?.map(({ signature, first }) => [signature, first?.reason]),
      [
        ['verified', 'token_expired'],
        ['verified', 'token_expired'],
      ],
    );
  });

  test('keys that cannot be fetched: no policy takes the token, and why', async (t) => {
    const port = await serve(t, (_, response) => response.writeHead(500).end('{}'));
    const url = `http://127.0.0.1:${port}/jwks`;
    const folder = await writePolicies(t, jwtPolicy({ url }));
    const { code, out } = await inspect(await issuer.sign(), '-f', folder, '--online');
    assert.equal(code, 1);
    assert.match(out, /^ {2}✗ default\/who, provider corp \(traffic\.jwtAuthentication\): answers keys_unavailable$/m);
    assert.match(out, new RegExp(`^ {6}keys: the keys could not be fetched: .*${url} answers 500`, 'm'));
  });

  test('files without such a policy, and files with problems', async (t) => {
    const none = await inspect(await issuer.sign(), '-f', await writePolicies(t));
    assert.match(none.out, /^No policy in these files takes tokens\.$/m);
    assert.equal(none.code, 1);
    const broken = await inspect(
      await issuer.sign(),
      '-f',
      await writePolicies(t, jwtPolicy(inline), policy('x', backendTarget, { nonsense: 1 })),
    );
    assert.equal(broken.code, 0);
    assert.equal(broken.err, 'mcp-gatehouse token inspect: the files have problems, which mcp-gatehouse check lists\n');
  });

  test('--json: every member is always there', async (t) => {
    const report = await inspectJson(await issuer.sign(), '-f', await writePolicies(t, jwtPolicy(inline)));
    assert.deepEqual(Object.keys(report), [
      'form',
      'length',
      'header',
      'claims',
      'times',
      'issuedFor',
      'refusal',
      'warnings',
      'providers',
    ]);
    assert.deepEqual(report.providers, [
      {
        field: 'traffic.jwtAuthentication',
        policy: 'default/who',
        provider: 'corp',
        issuer: issuerUrl,
        isOwn: false,
        keys: 'in the policy',
        accepted: true,
        first: null,
        failed: [],
        signature: 'verified',
        notes: [],
        notItsIssuer: false,
      },
    ]);
  });
});
