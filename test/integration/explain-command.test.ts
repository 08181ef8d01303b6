// `mcp-gatehouse explain` on real files: what it says, that a running gateway does the same, and that it sends nothing.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import type { ExplainReport } from '../../src/cmd/explain/explain-report.ts';
import {
  backendTarget,
  baseResources,
  createTicketIssuer,
  gatewayTarget,
  issuerUrl,
  jwtPolicy,
  policy,
  printResources,
  routeTarget,
  rulesPolicy,
  type Run,
  runExplain,
  toolRules,
  writeFolder,
} from './explain-fixture.ts';
import { createCertificate } from '../self-signed-certificate.ts';
import { listenOnLoopback } from './gateway-fixture.ts';

const url = 'http://127.0.0.1:8080/mcp';
const issuer = createTicketIssuer();
const inline = { inline: issuer.jwks };

interface Setup {
  readonly folder: string;
  /** Explains a POST to the MCP server, in the name of these claims, signed. */
  readonly explain: (claims: Readonly<Record<string, unknown>> | undefined, ...args: readonly string[]) => Promise<Run>;
  /** The same as data. */
  readonly read: (
    claims: Readonly<Record<string, unknown>> | undefined,
    ...args: readonly string[]
  ) => Promise<ExplainReport>;
}

async function setUp(t: TestContext, policies: readonly object[]): Promise<Setup> {
  const folder = await writeFolder(t, { 'gateway.yaml': printResources([...baseResources(8080), ...policies]) });
  const explain: Setup['explain'] = async (claims, ...args) => {
    const request = args.includes('--request') ? [] : ['--request', `POST ${url}`];
    if (claims === undefined) return runExplain(['-f', join(folder, 'gateway.yaml'), ...request, ...args]);
    const token = await issuer.sign(claims);
    const run = await runExplain(['-f', join(folder, 'gateway.yaml'), ...request, '--token', '-', ...args], {
      stdin: `Bearer ${token}\n`,
    });
    for (const part of token.split('.'))
      assert.ok(!`${run.out}${run.err}`.includes(part), 'a part of the token is printed');
    return run;
  };
  return {
    folder,
    explain,
    async read(claims, ...args) {
      const { out, err } = await explain(claims, '--json', ...args);
      assert.equal(err, '');
      return JSON.parse(out) as ExplainReport;
    },
  };
}

/** The answer of a report without what differs each time. */
function plain(text: string): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'REQUEST-ID');
}

describe('explain: InferencePools', () => {
  const file = join(import.meta.dirname, '../../src/cmd/testdata/check-inference.yaml');
  const ask = (path: string, ...args: readonly string[]): Promise<Run> =>
    runExplain(['-f', file, '--request', `POST http://127.0.0.1:8080${path}`, ...args]);

  test('names the pool, its picker, its failure mode and its endpoints', async () => {
    const { code, out, err } = await ask('/llama/v1/completions', '--inference-extension');
    assert.deepEqual([code, err], [0, '']);
    assert.match(out, /\nAllowed: forwarded to InferencePool default\/llama\n/);
    assert.match(
      out,
      /\n {2}POST \/llama\/v1\/completions\n {2}endpoint picker 127\.0\.0\.9:9002 \(TLS, not verified\); FailClose: without an answer in 10000 ms, 503\n {2}it is not asked here; it chooses among http:\/\/127\.0\.0\.2:8000, http:\/\/127\.0\.0\.2:8001\n/,
    );
    const open = await ask('/mistral/v1/completions', '--inference-extension');
    assert.match(open.out, /endpoint picker no endpoints; FailOpen: any endpoint\n/);
  });

  test('--json has the picker, and null where there is none', async (t) => {
    const pool = JSON.parse((await ask('/llama', '--inference-extension', '--json')).out) as ExplainReport;
    assert.deepEqual(pool.forward?.picker, {
      endpoints: ['127.0.0.9:9002'],
      tls: 'unverified',
      failureMode: 'FailClose',
      timeoutMs: 10_000,
    });
    const { read } = await setUp(t, []);
    assert.equal((await read(undefined)).forward?.picker, null);
  });

  test('a pool that cannot be used, and the extension off: 500, and why', async () => {
    const lost = await ask('/lost', '--inference-extension');
    assert.equal(lost.code, 1);
    assert.match(lost.out, /Denied: backend_invalid; .*Service default\/missing does not exist/);
    const off = await ask('/llama');
    assert.equal(off.code, 1);
    assert.match(off.out, /Denied: backend_invalid; .*--inference-extension/);
  });
});

describe('explain: authentication', () => {
  test('a request that every policy lets pass: each of them, and how it is forwarded', async (t) => {
    const { explain } = await setUp(t, [
      jwtPolicy(inline),
      rulesPolicy('no-mallory', gatewayTarget, 'Deny', ['jwt.sub == "mallory"']),
      rulesPolicy('team', routeTarget, 'Allow', ['jwt.team == "red"', '"support" in jwt.groups']),
    ]);
    const { code, out, err } = await explain({ groups: ['support'], team: 'blue' }, '--tool', 'ticket_list');
    assert.equal(err, '');
    assert.equal(code, 0);
    assert.equal(
      out,
      `POST http://127.0.0.1:8080/mcp
  message   tools/call ticket_list, MCP 2026-07-28
  token     alice, of https://idp.example.com
  listener  http of Gateway default/test, HTTP 8080, any host
  route     HTTPRoute default/tickets, rule mcp: /mcp/*
            not /mcp/* header x-beta=1 of default/tickets, rule stream: the header x-beta is absent

Policies
  ✓  traffic.jwtAuthentication  default/who         on Gateway default/test, Strict
  ✓  traffic.authorization      default/team        on HTTPRoute default/tickets
      Allow    false    jwt.team == "red"
                        jwt.team = "blue"
      Allow    true     "support" in jwt.groups  <- decides
                        jwt.groups = ["support"]
  ✓  traffic.authorization      default/no-mallory  on Gateway default/test
      Deny     false    jwt.sub == "mallory"
                        jwt.sub = "alice"

Allowed: forwarded to ProxyBackend default/tickets

  POST http://127.0.0.1:3001/mcp
  host: 127.0.0.1:3001
  + x-auth-subject: alice
  - authorization
  + x-forwarded-for, x-forwarded-proto, x-forwarded-host, x-forwarded-port, x-request-id, as always
`,
    );
  });

  test('a Deny that matches: which one, what it saw, and the exact answer', async (t) => {
    const { explain, read } = await setUp(t, [
      jwtPolicy(inline),
      rulesPolicy('no-mallory', gatewayTarget, 'Deny', ['jwt.sub == "mallory"']),
    ]);
    const { code, out } = await explain({ sub: 'mallory' });
    assert.equal(code, 1);
    assert.equal(
      plain(out).slice(out.indexOf('Policies')),
      `Policies
  ✓  traffic.jwtAuthentication  default/who         on Gateway default/test, Strict
  ✗  traffic.authorization      default/no-mallory  on Gateway default/test
      Deny     true     jwt.sub == "mallory"  <- decides
                        jwt.sub = "mallory"

Denied: rbac_denied; policy default/no-mallory, Deny, matchExpressions[0] matches: jwt.sub == "mallory"

  HTTP/1.1 403 Forbidden
  content-type: application/json
  cache-control: no-store
  content-length: 151
  x-request-id: REQUEST-ID

  {"error":"rbac_denied","error_description":"The rules of this gateway do not allow this request.","request_id":"REQUEST-ID"}
`,
    );
    const report = await read({ sub: 'mallory' });
    assert.deepEqual(report.policies.at(-1), {
      field: 'traffic.authorization',
      policy: 'default/no-mallory',
      level: 'Gateway',
      target: 'Gateway default/test',
      mode: '',
      overriddenBy: null,
      reason: 'rbac_denied',
      detail: 'policy default/no-mallory, Deny, matchExpressions[0] matches: jwt.sub == "mallory"',
      rules: [
        {
          action: 'Deny',
          index: 0,
          expression: 'jwt.sub == "mallory"',
          value: true,
          problem: null,
          decided: true,
          saw: [{ attribute: 'jwt.sub', value: '"mallory"' }],
        },
      ],
      outcome: 'deny',
    });
  });

  test('no Allow matches: every policy with one is why', async (t) => {
    const { explain, read } = await setUp(t, [
      jwtPolicy(inline),
      rulesPolicy('team', routeTarget, 'Allow', ['jwt.team == "red"']),
      rulesPolicy('lead', gatewayTarget, 'Allow', ['jwt.lead == true']),
    ]);
    const { code, out } = await explain({ team: 'blue', lead: false });
    assert.equal(code, 1);
    assert.match(out, /^ {2}✗ {2}traffic\.authorization {6}default\/team/m);
    assert.match(out, /^ {2}✗ {2}traffic\.authorization {6}default\/lead/m);
    assert.match(out, /^Denied: rbac_denied; no Allow rule matches: policies default\/team, default\/lead$/m);
    const { policies, verdict } = await read({ team: 'blue', lead: false });
    assert.deepEqual(
      policies.map(({ policy: name, outcome }) => [name, outcome]),
      [
        ['default/who', 'allow'],
        ['default/team', 'deny'],
        ['default/lead', 'deny'],
      ],
    );
    assert.deepEqual(verdict.outcome, 'denied');
  });

  test('each policy has the mark of what it says itself, also where another one decides', async (t) => {
    const { explain, read } = await setUp(t, [
      jwtPolicy(inline),
      rulesPolicy('no-mallory', gatewayTarget, 'Deny', ['jwt.sub == "mallory"']),
      rulesPolicy('needs', routeTarget, 'Require', ['jwt.team == "red"', 'jwt.lead == true']),
    ]);
    const { code, out } = await explain({ sub: 'mallory' });
    assert.equal(code, 1);
    assert.match(out, /^ {2}✗ {2}traffic\.authorization {6}default\/no-mallory {2}on Gateway default\/test$/m);
    assert.match(
      out,
      /^ {2}✗ {2}traffic\.authorization {6}default\/needs {7}on HTTPRoute default\/tickets, would deny too$/m,
    );
    const outcomes = async (claims: object): Promise<unknown> =>
      (await read({ ...claims })).policies.map(({ policy: name, outcome, reason }) => [name, outcome, reason]);
    assert.deepEqual(await outcomes({ sub: 'mallory' }), [
      ['default/who', 'allow', null],
      ['default/needs', 'also_denies', null],
      ['default/no-mallory', 'deny', 'rbac_denied'],
    ]);
    assert.deepEqual(await outcomes({ sub: 'mallory', team: 'red', lead: true }), [
      ['default/who', 'allow', null],
      ['default/needs', 'allow', null],
      ['default/no-mallory', 'deny', 'rbac_denied'],
    ]);
  });

  test('an Allow that does not match has no say where another one matches', async (t) => {
    const { explain } = await setUp(t, [
      jwtPolicy(inline),
      rulesPolicy('team', routeTarget, 'Allow', ['jwt.team == "red"']),
      rulesPolicy('lead', gatewayTarget, 'Allow', ['jwt.lead == true']),
    ]);
    const { code, out } = await explain({ team: 'blue', lead: true });
    assert.equal(code, 0);
    assert.match(
      out,
      /^ {2}- {2}traffic\.authorization {6}default\/team {2}on HTTPRoute default\/tickets, has no say here$/m,
    );
    assert.match(out, /^ {2}✓ {2}traffic\.authorization {6}default\/lead {2}on Gateway default\/test$/m);
  });

  test('a policy that another one of the same place leaves without a say is named, with the reason', async (t) => {
    const { explain, read } = await setUp(t, [
      jwtPolicy(inline),
      rulesPolicy('a-first', routeTarget, 'Deny', ['jwt.sub == "mallory"']),
      rulesPolicy('b-late', routeTarget, 'Deny', ['jwt.sub == "alice"']),
    ]);
    const { code, out } = await explain({});
    assert.equal(code, 0);
    assert.match(
      out,
      /^ {2}- {2}traffic\.authorization {6}default\/b-late {3}on HTTPRoute default\/tickets, has no say: ProxyPolicy default\/a-first comes first by name$/m,
    );
    const { policies } = await read({});
    const loser = policies.find(({ policy: name }) => name === 'default/b-late');
    assert.deepEqual(
      [loser?.outcome, loser?.overriddenBy],
      ['no_say', { policy: 'default/a-first', target: 'HTTPRoute default/tickets' }],
    );
  });

  test('an expression that cannot be evaluated says why, and keeps a Deny shut', async (t) => {
    const { explain } = await setUp(t, [
      jwtPolicy(inline),
      rulesPolicy('banned', gatewayTarget, 'Deny', ['"banned" in jwt.groups']),
    ]);
    const { code, out } = await explain({});
    assert.equal(code, 1);
    assert.match(out, /^ {6}Deny {5}error {4}"banned" in jwt\.groups {2}<- decides\n {24}jwt\.groups is absent$/m);
    // The problem says it; what it saw is not said again.
    assert.equal(out.match(/jwt\.groups is absent$/gm)?.length, 1);
  });

  test('a request without a token gets the challenge, and a hint', async (t) => {
    const { explain } = await setUp(t, [
      policy('login', backendTarget, {
        backend: { mcp: { authentication: { issuer: issuerUrl, jwks: inline, requiredScopes: ['tickets:read'] } } },
      }),
    ]);
    const { code, out } = await explain(undefined);
    assert.equal(code, 1);
    assert.match(out, /^ {2}token {5}none$/m);
    assert.match(
      out,
      /^ {2}✗ {2}backend\.mcp\.authentication {2}default\/login {2}on ProxyBackend default\/tickets, Strict$/m,
    );
    assert.match(
      out,
      /^ {2}www-authenticate: Bearer resource_metadata="http:\/\/127\.0\.0\.1:8080\/\.well-known\/oauth-protected-resource\/mcp", scope="tickets:read"$/m,
    );
    assert.match(out, /^Note: The request has no token; --token FILE or --claims FILE says who asks\.$/m);
  });

  test('a tool that is hidden is refused as an unknown one, with status 200 and exit code 1', async (t) => {
    const { explain, read } = await setUp(t, [jwtPolicy(inline), toolRules]);
    const { code, out } = await explain({ groups: ['support'] }, '--tool', 'admin_reset');
    assert.equal(code, 1);
    assert.match(out, /^Denied: item_hidden; no Allow rule matches: policy default\/tools$/m);
    assert.match(out, /^ {2}HTTP\/1\.1 200 OK$/m);
    assert.match(
      out,
      /^ {2}\{"jsonrpc":"2\.0","id":1,"error":\{"code":-32602,"message":"Unknown tool: admin_reset"\}\}$/m,
    );
    const { verdict, answer, policies } = await read({ groups: ['support'] }, '--tool', 'admin_reset');
    assert.deepEqual([verdict.outcome, verdict.reason, answer?.status], ['denied', 'item_hidden', 200]);
    assert.equal(policies.at(-1)?.outcome, 'deny');
  });

  test('a missing scope is named', async (t) => {
    const { explain } = await setUp(t, [jwtPolicy(inline), toolRules]);
    const claims = { groups: ['support'], scope: 'tickets:read' };
    const { code, out } = await explain(claims, '--tool', 'ticket_close');
    assert.equal(code, 1);
    assert.match(out, /^Denied: insufficient_scope; missing: \["tickets:write"\]; it has \["tickets:read"\]$/m);
    assert.match(out, /^ {2}www-authenticate: Bearer error="insufficient_scope", scope="tickets:write"$/m);
    assert.equal((await explain({ ...claims, scope: 'tickets:write' }, '--tool', 'ticket_close')).code, 0);
  });

  test('no route: what there is, and why it does not fit', async (t) => {
    const { explain, read } = await setUp(t, []);
    const { code, out } = await explain(undefined, '--request', 'GET http://127.0.0.1:8080/elsewhere');
    assert.equal(code, 1);
    assert.match(out, /^ {2}routes {4}not \/mcp\/\* header x-beta=1 of default\/tickets, rule stream: another path$/m);
    assert.match(out, /^Denied: no_route$/m);
    const { route, passedOver } = await read(undefined, '--request', 'GET http://127.0.0.1:8080/elsewhere');
    assert.equal(route, null);
    assert.equal(passedOver.length, 3);
  });

  test('a policy that cannot be enforced closes the route, and the report says which', async (t) => {
    const { explain, read } = await setUp(t, [rulesPolicy('broken', routeTarget, 'Allow', ['jwt.sub =='])]);
    const { code, out } = await explain(undefined);
    assert.equal(code, 1);
    assert.match(out, /^ {2}✗ {2}closed {2}default\/broken {2}cannot be enforced, so what it protects is closed$/m);
    assert.match(out, /^Denied: policy_invalid; policy default\/broken .*matchExpressions\[0\]: line 1, column 11: /m);
    assert.match(out, /^Note: The files have \d+ problems?, which mcp-gatehouse check lists\.$/m);
    const { answer } = await read(undefined);
    assert.equal(answer?.status, 500);
  });

  test('a redirect is an answer of the gateway, once the rules give leave', async (t) => {
    const { explain } = await setUp(t, [
      jwtPolicy(inline),
      rulesPolicy('team', routeTarget, 'Allow', ['jwt.team == "red"']),
    ]);
    const request = ['--request', 'GET http://127.0.0.1:8080/old/x?a=b'];
    const allowed = await explain({ team: 'red' }, ...request);
    assert.equal(allowed.code, 0);
    assert.match(allowed.out, /^Answered by the gateway with 302$/m);
    assert.match(allowed.out, /^ {2}location: http:\/\/127\.0\.0\.1:8080\/mcp\/x\?a=b$/m);
    assert.equal((await explain({ team: 'blue' }, ...request)).code, 1);
  });

  test('the more specific policy wins, and the other one says so', async (t) => {
    const { explain, read } = await setUp(t, [
      jwtPolicy(inline, { name: 'everywhere', jwt: { mode: 'Optional' } }),
      jwtPolicy(inline, { name: 'here', target: routeTarget }),
    ]);
    const { code, out } = await explain(undefined);
    assert.equal(code, 1);
    assert.match(
      out,
      /^ {2}✗ {2}traffic\.jwtAuthentication {2}default\/here {8}on HTTPRoute default\/tickets, Strict\n {2}- {2}traffic\.jwtAuthentication {2}default\/everywhere {2}on Gateway default\/test, overridden by default\/here on HTTPRoute default\/tickets$/m,
    );
    const { policies } = await read({});
    assert.deepEqual(
      policies.map(({ policy: name, outcome, overriddenBy }) => [name, outcome, overriddenBy?.policy]),
      [
        ['default/here', 'allow', undefined],
        ['default/everywhere', 'overridden', 'default/here'],
      ],
    );
  });

  test('Optional lets pass what Strict would refuse, and says what that was', async (t) => {
    const { explain } = await setUp(t, [jwtPolicy(inline, { jwt: { mode: 'Optional' } })]);
    const { code, out } = await explain(undefined);
    assert.equal(code, 0);
    assert.match(out, /Optional, lets pass what Strict would refuse: missing_token$/m);
  });

  test('an endpoint of the gateway itself', async (t) => {
    const { explain } = await setUp(t, [
      policy('login', backendTarget, { backend: { mcp: { authentication: { issuer: issuerUrl, jwks: inline } } } }),
    ]);
    const { code, out } = await explain(
      undefined,
      '--request',
      'GET http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp',
    );
    assert.equal(code, 0);
    assert.match(out, /^ {2}endpoint {2}protected-resource-metadata, of the gateway itself$/m);
    assert.match(out, /^ {2} {2}"resource": "http:\/\/127\.0\.0\.1:8080\/mcp",$/m);
  });
});

describe('explain: tokens', () => {
  test('keys in the policy verify the signature: a forged token is refused', async (t) => {
    const { folder } = await setUp(t, [jwtPolicy(inline)]);
    const forged = await createTicketIssuer().sign();
    const { code, out } = await runExplain(['-f', folder, '--request', `POST ${url}`, '--token', '-'], {
      stdin: forged,
    });
    assert.equal(code, 1);
    assert.match(out, /^Denied: token_bad_signature;/m);
    assert.match(out, /^ {2}token {5}not accepted by any policy$/m);
  });

  test('a token that no policy reads is said to be one', async (t) => {
    const { folder } = await setUp(t, []);
    const { code, out } = await runExplain(['-f', folder, '--request', `POST ${url}`, '--token', '-'], {
      stdin: await createTicketIssuer().sign(),
    });
    assert.equal(code, 0);
    assert.match(out, /^ {2}token {5}no policy here reads it, so rules see no claims$/m);
  });

  test('keys at a URL are not fetched; the signature counts as good, all else is judged, and the report says so', async (t) => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.end(issuer.jwks);
    });
    const keyServer = await listenOnLoopback(server);
    const { port } = keyServer;
    t.after(() => keyServer.close());
    const jwks = { url: `http://127.0.0.1:${port}/jwks` };
    const { folder, explain } = await setUp(t, [jwtPolicy(jwks), toolRules]);
    const claims = { groups: ['support'] };
    const offline = await explain(claims, '--tool', 'ticket_list');
    assert.equal(offline.code, 0);
    assert.match(
      offline.out,
      new RegExp(
        `^ {12}its signature was not checked and counts as good: the keys are at http://127\\.0\\.0\\.1:${port}/jwks \\(--online fetches them\\)$`,
        'm',
      ),
    );
    for (const [wrong, reason] of [
      [{ exp: 1_000 }, 'token_expired'],
      [{ aud: 'other' }, 'token_wrong_audience'],
      [{ iss: 'https://other.example' }, 'token_wrong_issuer'],
      [{ nbf: 9_999_999_999 }, 'token_not_yet_valid'],
      [{ c_hash: 'x' }, 'token_is_id_token'],
    ] as const) {
      const { code, out } = await explain({ ...claims, ...wrong }, '--tool', 'ticket_list');
      assert.equal(code, 1);
      assert.match(out, new RegExp(`^Denied: ${reason}`, 'm'));
    }
    assert.equal(asked, 0);

    const online = await explain(claims, '--online', '--tool', 'ticket_list');
    assert.equal(online.code, 0);
    assert.doesNotMatch(online.out, /not checked/);
    assert.equal(asked, 1);
    const forged = await createTicketIssuer().sign(claims);
    const args = ['-f', folder, '--request', `POST ${url}`, '--token', '-', '--tool', 'ticket_list'];
    assert.equal((await runExplain(args, { stdin: forged })).code, 0);
    const refused = await runExplain([...args, '--online'], { stdin: forged });
    assert.equal(refused.code, 1);
    assert.match(refused.out, /^Denied: token_bad_signature;/m);
  });

  test('MCP authentication with discovered keys: no request is sent, and claims get the audience of the resource', async (t) => {
    const { folder, explain } = await setUp(t, [
      policy('login', backendTarget, {
        backend: {
          mcp: { authentication: { issuer: issuerUrl, claimsToHeaders: [{ claim: 'sub', header: 'x-user' }] } },
        },
      }),
    ]);
    const good = await explain({ aud: url });
    assert.equal(good.code, 0);
    assert.match(
      good.out,
      /the keys are at the jwks_uri in the metadata of https:\/\/idp\.example\.com \(--online fetches them\)$/m,
    );
    const wrong = await explain({ aud: 'tickets' });
    assert.equal(wrong.code, 1);
    assert.match(
      wrong.out,
      /^Denied: token_wrong_audience; .*accepted: \["http:\/\/127\.0\.0\.1:8080\/mcp","http:\/\/127\.0\.0\.1:8080\/mcp\/"\]/m,
    );

    await writeFile(join(folder, 'claims.json'), '{"sub": "bob"}');
    const args = [
      '-f',
      join(folder, 'gateway.yaml'),
      '--request',
      `POST ${url}`,
      '--claims',
      join(folder, 'claims.json'),
    ];
    const claimed = await runExplain(args);
    assert.equal(claimed.code, 0);
    assert.match(
      claimed.out,
      /^ {2}token {5}bob, of https:\/\/idp\.example\.com\n {12}claims from a file, taken as verified; assumed: iss, aud, exp$/m,
    );
    assert.match(claimed.out, /^ {2}\+ x-user: bob$/m);
  });

  test('claims: what they say is judged, what they leave out is as it should be, and their time does not matter', async (t) => {
    const { folder, read } = await setUp(t, [
      jwtPolicy(inline, {
        jwt: {
          providers: [
            { name: 'corp', issuer: issuerUrl, audiences: ['tickets'], jwks: inline, requiredClaims: { team: 'red' } },
          ],
        },
      }),
      rulesPolicy('times', routeTarget, 'Require', ['jwt.exp > 0 && jwt.aud == "tickets"']),
    ]);
    const explainClaims = async (claims: object): Promise<ExplainReport> => {
      await writeFile(join(folder, 'claims.json'), JSON.stringify(claims));
      return read(undefined, '--claims', join(folder, 'claims.json'));
    };
    await writeFile(join(folder, 'claims.json'), '{}');
    const outcomes = [
      [{ team: 'red' }, 'forwarded', null],
      [{ team: 'red', exp: 1_000, nbf: 9_999_999_999 }, 'forwarded', null],
      [{ team: 'blue' }, 'denied', 'token_missing_claim'],
      [{ team: 'red', aud: 'other' }, 'denied', 'token_wrong_audience'],
      [{ team: 'red', iss: 'https://other.example' }, 'denied', 'token_wrong_issuer'],
    ] as const;
    for (const [claims, outcome, reason] of outcomes) {
      const { verdict, token } = await explainClaims(claims);
      assert.deepEqual([verdict.outcome, verdict.reason], [outcome, reason], JSON.stringify(claims));
      assert.equal(token?.from, 'claims');
    }
  });

  test('the token is put where the policy looks for it, and is not shown', async (t) => {
    const locations = [
      [{ header: { name: 'x-token', prefix: '' } }, /^ {2}- x-token$/m],
      [{ cookie: { name: 'session' } }, /^ {2}- cookie$/m],
      [{ queryParameter: { name: 'jwt' } }, /^ {2}POST http:\/\/127\.0\.0\.1:3001\/mcp$/m],
    ] as const;
    for (const [location, expected] of locations) {
      const { explain } = await setUp(t, [jwtPolicy(inline, { jwt: { location } })]);
      const { code, out } = await explain({});
      assert.equal(code, 0, out);
      assert.match(out, expected);
      assert.match(out, /^POST http:\/\/127\.0\.0\.1:8080\/mcp\n/);
    }
  });

  test('both modes on one request: the JWT policy first, then MCP authentication', async (t) => {
    const { explain, read } = await setUp(t, [
      jwtPolicy(inline),
      policy('login', backendTarget, {
        backend: {
          mcp: { authentication: { issuer: issuerUrl, audiences: ['tickets'], jwks: inline, requiredScopes: ['x'] } },
        },
      }),
      rulesPolicy('team', routeTarget, 'Allow', ['jwt.team == "red"']),
    ]);
    const { policies } = await read({ team: 'red', scope: 'x' });
    assert.deepEqual(
      policies.map(({ field, outcome }) => [field, outcome]),
      [
        ['traffic.jwtAuthentication', 'allow'],
        ['backend.mcp.authentication', 'allow'],
        ['traffic.authorization', 'allow'],
      ],
    );
    const { out } = await explain({ team: 'red' });
    assert.match(
      out,
      /^ {2}- {2}traffic\.authorization {7}default\/team {3}on HTTPRoute default\/tickets, not reached$/m,
    );
  });
});

describe('explain: rules over items', () => {
  const tools = ['ticket_list', 'ticket_close', 'admin_reset'];

  test('several tools make a table: may it be used, and is it listed?', async (t) => {
    const { explain, read } = await setUp(t, [jwtPolicy(inline), toolRules]);
    const claims = { groups: ['support'], scope: 'tickets:read' };
    const { code, out } = await explain(claims, ...tools.flatMap((tool) => ['--tool', tool]));
    assert.equal(code, 1);
    assert.equal(
      out,
      `POST http://127.0.0.1:8080/mcp
  token     alice, of https://idp.example.com
  listener  http of Gateway default/test, HTTP 8080, any host
  route     HTTPRoute default/tickets, rule mcp: /mcp/*
            not /mcp/* header x-beta=1 of default/tickets, rule stream: the header x-beta is absent

  ✓  tool  ticket_list   may be used  listed
  ✗  tool  ticket_close  refused      listed  insufficient_scope; missing: ["tickets:write"]; it has ["tickets:read"]
  ✗  tool  admin_reset   refused      hidden  item_hidden; no Allow rule matches: policy default/tools
`,
    );
    const { items, request } = await read(claims, '--method', 'tools/list', '--tool', 'ticket_list');
    assert.equal(request.message?.method, 'tools/list');
    assert.deepEqual(items, [
      { kind: 'tool', name: 'ticket_list', allowed: true, listed: true, reason: null, detail: null },
    ]);
  });

  test('--tools-from takes what a server answered, or a list of names', async (t) => {
    const { folder, read, explain } = await setUp(t, [jwtPolicy(inline), toolRules]);
    const entries = tools.map((name) => ({ name, inputSchema: { type: 'object' } }));
    const file = join(folder, 'tools.json');
    for (const content of [{ jsonrpc: '2.0', id: 1, result: { tools: entries } }, { tools: entries }, entries, tools]) {
      await writeFile(file, JSON.stringify(content));
      const { items } = await read({ groups: ['support'], scope: 'tickets:write' }, '--tools-from', file);
      assert.deepEqual(
        items?.map(({ name, allowed, listed }) => [name, allowed, listed]),
        [
          ['ticket_list', true, true],
          ['ticket_close', true, true],
          ['admin_reset', false, false],
        ],
      );
    }
    await writeFile(file, JSON.stringify(['ticket_list']));
    assert.equal((await explain({ groups: ['support'] }, '--tools-from', file)).code, 0);
    assert.equal((await explain({ groups: ['dev'] }, '--tools-from', file)).code, 1);
  });

  test('prompts, resources and arguments', async (t) => {
    const rules = policy('items', backendTarget, {
      backend: {
        mcp: {
          authorization: {
            action: 'Allow',
            policy: {
              matchExpressions: [
                'mcp.prompt.name == "summary"',
                'mcp.resource.uri.startsWith("file:///public/")',
                'mcp.tool.name == "pay" && mcp.tool.arguments.amount < 100',
              ],
            },
          },
        },
      },
    });
    const { read } = await setUp(t, [rules]);
    const cases: readonly (readonly [readonly string[], string])[] = [
      [['--prompt', 'summary'], 'forwarded'],
      [['--prompt', 'other'], 'denied'],
      [['--method', 'completion/complete', '--prompt', 'summary'], 'forwarded'],
      [['--resource', 'file:///public/a'], 'forwarded'],
      [['--method', 'resources/subscribe', '--resource', 'file:///secret'], 'denied'],
      [['--tool', 'pay', '--arguments', '{"amount": 5}'], 'forwarded'],
      [['--tool', 'pay', '--arguments', '{"amount": 500}'], 'denied'],
      [['--method', 'prompts/list'], 'forwarded'],
    ];
    for (const version of ['2025-06-18', '2025-11-25', '2026-07-28']) {
      for (const [args, outcome] of cases) {
        // Subscriptions have another form in the newest version.
        if (version === '2026-07-28' && args.includes('resources/subscribe')) continue;
        const { verdict } = await read(undefined, '--protocol-version', version, ...args);
        assert.equal(verdict.outcome, outcome, `${version} ${args.join(' ')}: ${verdict.detail}`);
      }
    }
    const { items } = await read(
      undefined,
      '--prompt',
      'summary',
      '--prompt',
      'other',
      '--resource',
      'file:///public/a',
    );
    assert.deepEqual(
      items?.map(({ kind, name, allowed, listed }) => [kind, name, allowed, listed]),
      [
        ['prompt', 'summary', true, true],
        ['prompt', 'other', false, false],
        ['resource', 'file:///public/a', true, true],
      ],
    );
  });

  test('a name that no header can carry as it is', async (t) => {
    const { read } = await setUp(t, [
      policy('any', backendTarget, {
        backend: {
          mcp: { authorization: { action: 'Allow', policy: { matchExpressions: ['mcp.tool.name == "zażółć"'] } } },
        },
      }),
    ]);
    const { verdict, policies } = await read(undefined, '--tool', 'zażółć');
    assert.equal(verdict.outcome, 'forwarded');
    assert.deepEqual(policies[0]?.rules[0]?.saw, [{ attribute: 'mcp.tool.name', value: '"zażółć"' }]);
  });

  test('over TLS: the listener of the server name', async (t) => {
    const [gateway, ...others] = baseResources(8443) as [{ spec: { listeners: object[] } }, ...object[]];
    const certificate = createCertificate({ names: ['*.example.com'] });
    gateway.spec.listeners = ['a', 'b'].map((name) => ({
      name,
      protocol: 'HTTPS',
      port: 8443,
      hostname: `${name}.example.com`,
      tls: { certificateRefs: [{ name: 'tls' }] },
    }));
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'tls' },
      type: 'kubernetes.io/tls',
      stringData: { 'tls.crt': certificate.cert, 'tls.key': certificate.key },
    };
    const folder = await writeFolder(t, { 'gateway.yaml': printResources([gateway, ...others, secret]) });
    const { code, out } = await runExplain(['-f', folder, '--request', 'POST https://b.example.com/mcp', '--json']);
    const report = JSON.parse(out) as ExplainReport;
    assert.equal(code, 0);
    assert.deepEqual(report.listener, {
      gateway: 'default/test',
      name: 'b',
      hostname: 'b.example.com',
      protocol: 'HTTPS',
      port: 8443,
    });
    assert.deepEqual(report.notes, []);
    const proto = report.forward?.ownHeaders.find(([name]) => name === 'x-forwarded-proto');
    assert.deepEqual(proto, ['x-forwarded-proto', 'https']);
  });

  test('a body from a file is sent as it is', async (t) => {
    const { folder, read } = await setUp(t, [toolRules]);
    const file = join(folder, 'body.json');
    const send = async (body: string): Promise<ExplainReport> => {
      await writeFile(file, body);
      return read(undefined, '--body', file, '--protocol-version', '2025-11-25');
    };
    const list = await send('{"jsonrpc":"2.0","id":7,"method":"tools/list"}');
    assert.deepEqual([list.verdict.outcome, list.request.message?.method], ['forwarded', 'tools/list']);
    const twice = await send('{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/list"}');
    assert.deepEqual([twice.verdict.outcome, twice.answer?.status], ['denied', 400]);
    assert.equal((await send('no json')).answer?.status, 400);
    // The newest version wants headers that repeat the body: they come along, as a client would send them.
    await writeFile(file, '{"jsonrpc":"2.0","id":7,"method":"tools/list"}');
    assert.equal((await read(undefined, '--body', file)).verdict.outcome, 'forwarded');
    const mismatch = await read(undefined, '--body', file, '--header', 'Mcp-Method: ping');
    assert.equal(mismatch.verdict.reason, 'header_mismatch');
  });

  test('backends by weight: the first, or the one that is asked for', async (t) => {
    const second = { ...(baseResources(8080)[2] as object), metadata: { name: 'canary' } };
    const [gateway, route, backend] = baseResources(8080) as [
      object,
      { spec: { rules: { backendRefs?: object[] }[] } },
      object,
    ];
    route.spec.rules[0]!.backendRefs = ['tickets', 'canary'].map((name, index) => ({
      group: 'gateway.proxy',
      kind: 'ProxyBackend',
      name,
      weight: index === 0 ? 90 : 10,
    }));
    const folder = await writeFolder(t, {
      'gateway.yaml': printResources([gateway, route, backend, second, toolRules]),
    });
    const args = ['-f', folder, '--request', `POST ${url}`, '--tool', 'x'];
    const first = await runExplain(args);
    assert.equal(first.code, 1);
    assert.match(first.out, /--backend NAME explains another one/);
    const canary = await runExplain([...args, '--backend', 'canary']);
    assert.equal(canary.code, 0);
    assert.match(canary.out, /^Allowed: forwarded to ProxyBackend default\/canary$/m);
    assert.match(
      canary.out,
      /^ {2}split by weight: ProxyBackend default\/tickets 90, ProxyBackend default\/canary 10$/m,
    );
    const nobody = await runExplain([...args, '--backend', 'nobody']);
    assert.deepEqual(
      [nobody.code, nobody.err],
      [2, 'mcp-gatehouse explain: --backend nobody: the rule sends requests to tickets, canary\n'],
    );
  });
});

describe('explain: input that is no use', () => {
  test('one clear line each, and exit code 2', async (t) => {
    const { folder } = await setUp(t, [toolRules]);
    const file = join(folder, 'gateway.yaml');
    await writeFile(join(folder, 'list.json'), '[1]');
    await writeFile(join(folder, 'text.json'), 'hello');
    await writeFile(join(folder, 'token.txt'), 'a.b.c');
    await writeFile(join(folder, 'empty.txt'), '\n');
    const claims = join(folder, 'list.json');
    const ok = ['-f', file, '--request', `POST ${url}`];
    const cases: readonly (readonly [readonly string[], string])[] = [
      [[], "say what to explain: --request 'POST https://host/mcp', or --request-id ID"],
      [
        ['--request', `POST ${url}`],
        'say by which files: -f PATH; or --from-cluster, or --admin URL of a running gateway',
      ],
      [
        ['-f', file, '--request', 'hello'],
        '--request "hello" is not a method and a URL, such as --request \'POST https://mcp.example.com/mcp\'',
      ],
      [
        ['-f', file, '--request', `post ${url}`],
        '--request "post" is not an HTTP method in capitals, such as --request \'POST https://mcp.example.com/mcp\'',
      ],
      [
        ['-f', file, '--request', 'POST http://user@host/mcp'],
        '--request "user@host" is not a host name with or without a port',
      ],
      [['-f', join(folder, 'nope'), '--request', `POST ${url}`], `${join(folder, 'nope')}: does not exist`],
      [[...ok, '--listener', 'htp'], 'there is no listener "htp"; did you mean http?'],
      [[...ok, '--token', 'a', '--claims', 'b'], 'give --token or --claims, not both: one of them says who is asking'],
      [[...ok, '--token', join(folder, 'none')], `--token: ${join(folder, 'none')} does not exist`],
      [[...ok, '--token', join(folder, 'empty.txt')], `--token: ${join(folder, 'empty.txt')} is empty`],
      [
        [...ok, '--token', '-'],
        'the token is read from standard input, and that is a terminal: add "< token.txt", or pipe it in',
      ],
      [
        [...ok, '--token', 'eyJhbGciOiJub25lIn0.e30.'],
        '--token takes a file, or - for standard input: a token on the command line stays in the shell history',
      ],
      [[...ok, '--claims', claims], `--claims: ${claims} is not a JSON object`],
      [[...ok, '--claims', join(folder, 'text.json')], `--claims: ${join(folder, 'text.json')} is not JSON`],
      [[...ok, '--online', '--claims', claims], '--online checks the signature of a token; --claims has none'],
      [
        [...ok, '--tools-from', join(folder, 'text.json')],
        `--tools-from: ${join(folder, 'text.json')} is not JSON; it should be the answer to a tools/list`,
      ],
      [[...ok, '--tools-from', claims], `--tools-from: ${claims} has a tool without a name in it`],
      [
        [...ok, '--tool', 'x', '--arguments', '[]'],
        `--arguments is not a JSON object; write it as '{"name": "value"}'`,
      ],
      [[...ok, '--arguments', '{}'], '--arguments goes with --tool or --prompt'],
      [
        [...ok, '--tool', 'x', '--method', 'resources/read'],
        '--method resources/read does not use a tool; with --tool it is tools/call',
      ],
      [
        [...ok, '--tool', 'x', '--body', claims],
        '--body is the whole body; --tool, --prompt, --resource, --method and --arguments would build another',
      ],
      [[...ok, '--header', 'nonsense'], `--header "nonsense" is not a header such as 'X-Team: support'`],
      [
        [...ok, '--header', 'Authorization: Bearer eyJhbGciOiJub25lIn0.e30.'],
        '--header Authorization has a token in it, which stays in the shell history; use --token FILE',
      ],
      [[...ok, '--header', 'Host: a'], '--header Host is not needed: the URL and the body say it'],
      [[...ok, '--source', 'here'], '--source must be an IP address, not "here"'],
      [['-f', file, '--request', `GET ${url}`, '--tool', 'x'], 'MCP messages are sent with POST, not with GET'],
      [
        ['--request-id', '../config'],
        '--request-id "../config" is not the id of a request: it is in x-request-id and in the access log',
      ],
      [
        ['--request-id', 'x', '--admin', 'nowhere'],
        '--admin must be a URL such as http://127.0.0.1:15000, not "nowhere"',
      ],
    ];
    for (const [args, line] of cases) {
      const { code, out, err } = await runExplain(args);
      const [first, ...rest] = err.split('\n');
      assert.equal(first, `mcp-gatehouse explain: ${line}`);
      assert.deepEqual([code, out, rest.filter((each) => each !== '' && !each.startsWith('See '))], [2, '', []], line);
      assert.doesNotMatch(err, /eyJ/);
    }
  });

  test('no Gateway listens for the host: which ones there are', async (t) => {
    const [gateway, ...others] = baseResources(8443) as [{ spec: { listeners: object[] } }, ...object[]];
    gateway.spec.listeners = [
      { name: 'one', protocol: 'HTTP', port: 8080, hostname: 'one.example.com' },
      { name: 'two', protocol: 'HTTP', port: 8081, hostname: '*.example.com' },
      { name: 'three', protocol: 'HTTP', port: 8082, hostname: '*.example.com' },
    ];
    const folder = await writeFolder(t, { 'gateway.yaml': printResources([gateway, ...others]) });
    const ask = (request: string, ...args: readonly string[]): Promise<Run> =>
      runExplain(['-f', folder, '--request', request, ...args]);
    const foreign = await ask('POST http://other.example.org/mcp');
    assert.equal(
      foreign.err,
      'mcp-gatehouse explain: no Gateway listens for http://other.example.org; there is default/test/one (HTTP 8080, one.example.com), default/test/two (HTTP 8081, *.example.com), default/test/three (HTTP 8082, *.example.com)\n',
    );
    assert.equal(foreign.code, 2);
    const ambiguous = await ask('POST http://x.example.com/mcp');
    assert.equal(
      ambiguous.err,
      'mcp-gatehouse explain: several listeners could be meant: default/test/two (HTTP 8081, *.example.com), default/test/three (HTTP 8082, *.example.com); name one with --listener, or its port in the URL\n',
    );
    assert.equal((await ask('POST http://x.example.com:8082/mcp')).code, 0);
    assert.match(
      (await ask('POST http://x.example.com/mcp', '--listener', 'test/two')).out,
      /^ {2}listener {2}two of Gateway/m,
    );
    assert.equal((await ask('POST http://x.example.com/mcp', '--listener', 'one')).code, 2);
    // Something in front ends TLS, and has the port of the URL.
    const tls = await ask('POST https://one.example.com/mcp', '--listener', 'one');
    assert.match(
      tls.out,
      /^Note: The URL is https, the listener speaks HTTP: something in front of the gateway ends TLS\. The gateway sees http\.$/m,
    );
  });

  test('colours change nothing but the colours, and --help names every flag', async (t) => {
    const { folder } = await setUp(t, [toolRules]);
    const args = ['-f', folder, '--request', `POST ${url}`, '--tool', 'a'];
    const colored = await runExplain(args, { color: true });
    const { out } = await runExplain(args);
    assert.notEqual(colored.out, out);
    assert.equal(plain(stripVTControlCharacters(colored.out)), plain(out));
    const help = await runExplain(['--help']);
    assert.equal(help.code, 0);
    for (const flag of ['--request', '--token', '--claims', '--tools-from', '--request-id', '--json'])
      assert.ok(help.out.includes(flag), flag);
  });
});
