// `mcp-gatehouse check --online` for policies with the flow Issuer, and where it recommends that flow.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { checkCommand } from '../../src/cmd/check.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { buildShortForm, printResources } from '../../src/cmd/short-form.ts';
import { startGithubIdp } from '../idp/github-idp.ts';
import type { Quirks } from '../idp/quirks.ts';
import { type QuirkyIdp, startQuirkyIdp } from '../idp/quirky-idp.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';

type Authentication = Readonly<Record<string, unknown>>;

const callbacks = ['http://127.0.0.1:3000/.oauth/mcp/callback', 'http://localhost:3000/.oauth/mcp/callback'];
const registration = { mode: 'Shared', clientId: 'gateway', clientSecretRef: { name: 'idp', key: 'secret' } };
const secret = 'hunter2-secret';

async function check(t: TestContext, authentication: Authentication, ...flags: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'check-online-issuer-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const upstream = await startMcpUpstream();
  t.after(() => upstream.close());
  const short = buildShortForm({
    targets: [`http://127.0.0.1:${upstream.port}/mcp`],
    issuer: 'https://idp.example.com',
  });
  assert.ok(short.ok);
  const policy = short.resources.at(-1) as { spec: { backend: { mcp: { authentication: object } } } };
  policy.spec.backend.mcp.authentication = authentication;
  const secrets = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'idp' },
    stringData: { secret, wrong: 'hunter2' },
  };
  await writeFile(join(folder, 'gateway.yaml'), printResources([...short.resources, secrets]));
  let out = '';
  const write = (text: string): void => void (out += text);
  const io = { stdout: write, stderr: write, color: false, env: {} };
  const code = await executeCommand(checkCommand, ['-f', folder, '--online', ...flags], io);
  assert.doesNotMatch(out, /hunter2/);
  return { code, out, block: out.slice(out.indexOf('Identity provider of')).replaceAll(/ {2,}/g, ' ') };
}

async function startIdp(t: TestContext, quirks: Partial<Quirks> = {}): Promise<QuirkyIdp> {
  const idp = await startQuirkyIdp({ userinfoMembers: ['email', 'email_verified', 'groups'], ...quirks });
  t.after(() => idp.close());
  idp.addClient({ id: 'gateway', secret, redirectUris: callbacks });
  return idp;
}

describe('--online with the flow Issuer', () => {
  test('all is well: nothing about audiences, and who gets in', async (t) => {
    const idp = await startIdp(t);
    const { code, block } = await check(t, {
      issuer: idp.issuer,
      flow: 'Issuer',
      registration,
      requiredScopes: ['tickets'],
      identity: { allow: { domains: ['example.com'], organizations: ['support'], subjects: ['42'] } },
      tokens: { claims: ['email', 'groups'], lifetime: '10m' },
    });
    assert.equal(code, 0, block);
    for (const line of [
      /✓ metadata http/,
      /✓ PKCE S256, end to end/,
      /✓ client gateway is known, and its secret is right/,
      /! callback http:\/\/127\.0\.0\.1:3000\/\.oauth\/mcp\/callback has to be a redirect URI/,
      /✓ keys http:\S+: 1 usable/,
      /✓ identity ID tokens, and userinfo at http:\S+\/userinfo/,
      /✓ lets in members of support; everybody with an email at example\.com; the subjects 42/,
      /✓ tokens valid for 10 min; a new login after 30 d; claims email, groups; scopes tickets/,
      /✓ flow Issuer: the gateway issues the tokens/,
      /✓ SDK v1 registers and logs in through the gateway, after its consent page/,
    ])
      assert.match(block, line);
    assert.doesNotMatch(block, /audience|RFC 8707/);
    // The scopes of clients are no business of the identity provider.
    const asked = idp.server.callsTo(idp.paths.authorize).map(({ query }) => query.get('scope'));
    assert.deepEqual(new Set(asked), new Set(['openid']));
  });

  test('one like GitHub: no metadata, errors as 200, no keys', async (t) => {
    const idp = await startGithubIdp({
      kind: 'OAuth app',
      clientId: 'gateway',
      clientSecret: secret,
      callback: callbacks[0]!,
    });
    t.after(() => idp.close());
    const policy = {
      provider: 'GitHub',
      issuer: idp.issuer,
      endpoints: idp.endpoints,
      allowInsecureHttp: true,
      registration,
      identity: { allow: { organizations: ['acme'] } },
    };
    const { code, block } = await check(t, policy);
    assert.equal(code, 0, block);
    assert.match(block, /✓ metadata none is needed: the policy has the endpoints/);
    assert.match(block, /✓ client gateway is known, and its secret is right/);
    assert.match(block, /✓ identity userinfo at http:\S+\/user/);
    assert.match(block, /✓ scopes read:user user:email read:org/);
    assert.match(block, /✓ lets in members of acme/);
    assert.match(block, /✓ flow Issuer: access tokens of GitHub are opaque, so the gateway issues its own/);
    assert.doesNotMatch(block, / keys |audience/);
    const wrong = await check(t, {
      ...policy,
      registration: { ...registration, clientSecretRef: { name: 'idp', key: 'wrong' } },
    });
    assert.equal(wrong.code, 1, wrong.block);
    assert.match(wrong.block, /✗ client the identity provider does not accept the client gateway with this secret/);
    assert.match(wrong.block, /✗ SDK v1 cannot log in: see client above/);
  });

  const policy = (idp: QuirkyIdp): Authentication => ({ issuer: idp.issuer, flow: 'Issuer', registration });
  for (const [name, quirks, line, changes = {}] of [
    ['no keys for ID tokens', { jwksAnswer: { status: 500 } }, /✗ keys .*\n.*→ Without keys nobody can log in/],
    ['userinfo that is down', { userinfoAnswer: { status: 503 } }, /✗ identity userinfo: \S+ answers 503/],
    [
      'userinfo elsewhere',
      { userinfoAnswer: { status: 404 } },
      /✗ identity userinfo: \S+ answers 404\n.*→ Is it the right URL\?/,
    ],
    ['no metadata', { metadataDocuments: [] }, /✗ No metadata of http|✗ .*No metadata of http/],
  ] as const satisfies readonly (readonly [string, Partial<Quirks>, RegExp, Authentication?])[])
    test(name, async (t) => {
      const idp = await startIdp(t, quirks);
      const { code, block } = await check(t, { ...policy(idp), ...changes });
      assert.equal(code, 1, block);
      assert.match(block, line);
      assert.doesNotMatch(block, /✓ (?:SDK|in a|with CIMD)/);
    });

  test('scopes and claims that the metadata does not list; nobody is kept out; --json', async (t) => {
    const idp = await startIdp(t, { metadataMembers: { scopes_supported: ['openid'], claims_supported: ['sub'] } });
    const extra = { authorizationRequest: { extraScopes: ['directory'] }, tokens: { claims: ['groups'] } };
    const { code, block } = await check(t, { ...policy(idp), ...extra });
    assert.equal(code, 0, block);
    assert.match(block, /! scopes not in the metadata's scopes_supported: directory/);
    assert.match(block, /not in the metadata's claims_supported: groups/);
    assert.match(block, /! lets in everybody with an account at http/);
    const { out } = await check(t, policy(idp), '--json');
    const [online] = (JSON.parse(out) as { online: { flow: unknown; findings: { check: string }[] }[] }).online;
    assert.partialDeepStrictEqual(online, { ok: true, flow: { flow: 'Issuer' } });
    assert.deepEqual(
      [...new Set(online?.findings.map((finding) => finding.check))],
      [
        'metadata',
        'issuer',
        'PKCE',
        'registration',
        'client',
        'callback',
        'keys',
        'identity',
        'scopes',
        'lets in',
        'tokens',
        'flow',
      ],
    );
  });
});

describe('--online recommends the flow Issuer', () => {
  test('where an audience may not be had', async (t) => {
    const idp = await startIdp(t);
    const dex = await check(t, { issuer: idp.issuer, provider: 'Dex', registration });
    assert.match(
      dex.block,
      /! audience .*\n.*→ Set audiences: \[gateway\], the id of the client\. Or let the gateway issue its own tokens, for which no audience is needed: flow: Issuer\./,
    );
    const forward = await check(t, { issuer: idp.issuer });
    assert.match(
      forward.block,
      /! audience .*\n.*Or let the gateway issue its own tokens.*: flow: Issuer, registration: \{mode: Shared, clientId: ID, clientSecretRef: \{name: NAME, key: KEY\}\}\./,
    );
  });
});
