// `explain` and `token inspect` where the gateway issues the tokens itself (flow: Issuer).
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { printResources } from '../../src/cmd/short-form.ts';
import { createClaims, signToken } from '../../src/gateway/authentication/login/issuer/sign-token.ts';
import { formatJwks } from '../../src/gateway/authentication/token/format-jwks.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { policyResource } from '../idp/protected-gateway.ts';
import { runExplain, runToken } from './explain-fixture.ts';

const idp = 'https://github.com';
const key = { kid: 'k-2026', ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };

/** A folder with a policy that issues tokens, and a file for claims. */
async function write(t: TestContext, port = 3000) {
  const folder = await mkdtemp(join(tmpdir(), 'explain-issuer-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const resources = [
    gatewayResource(port),
    routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
    backendResource('mcp', 9),
    policyResource('mcp', {
      provider: 'GitHub',
      registration: { mode: 'Shared', clientId: 'gateway' },
      identity: { allow: { organizations: ['acme'] } },
      tokens: { claims: ['preferred_username'] },
      requiredScopes: ['tickets'],
    }),
  ];
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, printResources(resources));
  return {
    file,
    claims: join(folder, 'claims.json'),
    resource: `http://127.0.0.1:${port}/mcp`,
    base: `http://127.0.0.1:${port}`,
  };
}

function issue(resource: string, changes: Readonly<Record<string, unknown>> = {}): string {
  const claims = createClaims({
    issuer: resource,
    resource,
    clientId: 'editor',
    idp,
    person: { subject: '583231', claims: { preferred_username: 'octocat' }, email: undefined, organizations: ['acme'] },
    claims: ['preferred_username'],
    issuedAtMs: Date.now(),
    lifetimeMs: 900_000,
  });
  return signToken(key, { ...claims, scope: 'tickets', ...changes });
}

describe('explain with the flow Issuer', () => {
  test('an issued token is let in; its signature counts as good', async (t) => {
    const { file, resource } = await write(t);
    const args = ['-f', file, '--request', `POST ${resource}`, '--token', '-'];
    for (const flags of [[], ['--online']]) {
      const run = await runExplain([...args, ...flags], { stdin: issue(resource) });
      assert.equal(run.code, 0, run.out + run.err);
      assert.match(run.out, /person:https%3A%2F%2Fgithub\.com:583231, of http:\/\/127\.0\.0\.1:3000\/mcp/);
      assert.match(run.out, /its signature was not checked and counts as good: the keys are the gateway's own\n/);
    }
    for (const [changes, reason] of [
      [{ idp: 'https://gitlab.com' }, 'claim'],
      [{ iss: idp }, 'token_wrong_issuer'],
      [{ exp: 1 }, 'token_expired'],
      [{ aud: 'https://elsewhere.example' }, 'token_wrong_audience'],
      [{ scope: 'other' }, 'insufficient_scope'],
    ] as const) {
      const run = await runExplain(args, { stdin: issue(resource, changes) });
      assert.equal(run.code, 1, run.out);
      assert.match(run.out, new RegExp(reason));
    }
  });

  test('claims stand for a token of the gateway: what they leave out is as it should be', async (t) => {
    const { file, claims, resource } = await write(t);
    const args = ['-f', file, '--request', `POST ${resource}`, '--claims', claims];
    await writeFile(claims, '{"sub":"person:x","scope":"tickets"}');
    const run = await runExplain(args);
    assert.equal(run.code, 0, run.out + run.err);
    assert.match(run.out, /claims from a file, taken as verified; assumed: iss, aud, exp, idp/);
    await writeFile(claims, '{"sub":"person:x","scope":"tickets","idp":"https://gitlab.com"}');
    assert.equal((await runExplain(args)).code, 1);
  });
});

describe('token inspect with the flow Issuer', () => {
  test('an issued token: whom it is about, and that the policy takes it', async (t) => {
    const { file, resource } = await write(t);
    const run = await runToken(['inspect', '-f', file], { stdin: issue(resource) });
    assert.equal(run.code, 0, run.out + run.err);
    assert.match(
      run.out,
      /A gateway issued it \(flow: Issuer\), about the person that https:\/\/github\.com calls 583231\./,
    );
    assert.match(run.out, /✓ default\/mcp \(backend\.mcp\.authentication\): takes it, if the signature is right/);
    assert.match(run.out, /the keys are at http:\/\/127\.0\.0\.1:3000\/\.oauth\/mcp\/jwks \(--online fetches them\)/);
    const { out } = await runToken(['inspect', '-f', file, '--json'], { stdin: issue(resource) });
    assert.partialDeepStrictEqual(JSON.parse(out), {
      issuedFor: { kind: 'person', idp, subject: '583231' },
      providers: [{ issuer: resource, isOwn: true, accepted: true, notes: [] }],
    });
    const root = await runToken(['inspect', '-f', file], { stdin: issue(resource, { iss: 'http://127.0.0.1:3000' }) });
    assert.equal(root.code, 0, root.out);
    const other = await runToken(['inspect', '-f', file, '--resource', 'https://mcp.example.com/mcp'], {
      stdin: issue(resource),
    });
    assert.equal(other.code, 1, other.out);
    assert.match(other.out, /This one takes https:\/\/mcp\.example\.com\/mcp\./);
  });

  test('with --online the keys of the gateway say whether it is real', async (t) => {
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(formatJwks({ keys: [key] })));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const { file, resource } = await write(t, (server.address() as AddressInfo).port);
    const good = await runToken(['inspect', '-f', file, '--online'], { stdin: issue(resource) });
    assert.equal(good.code, 0, good.out);
    assert.match(good.out, /the signature is right; the keys are at \S+\/\.oauth\/mcp\/jwks/);
    const stranger = signToken({ ...key, kid: 'unknown' }, { iss: resource, sub: 'x' });
    const bad = await runToken(['inspect', '-f', file, '--online'], { stdin: stranger });
    assert.equal(bad.code, 1, bad.out);
    assert.match(bad.out, /signature: /);
  });

  test('tokens of the identity provider are of no use there, and it says so', async (t) => {
    const { file } = await write(t);
    const idToken = signToken(key, {
      iss: idp,
      sub: '583231',
      aud: 'gateway',
      nonce: 'n',
      at_hash: 'h',
      exp: 9_999_999_999,
    });
    for (const stdin of ['gho_16C7e42F292c6912E7710c838347Ae178B4a', idToken]) {
      const run = await runToken(['inspect', '-f', file], { stdin });
      assert.equal(run.code, 1, run.out);
      assert.match(
        run.out,
        /it takes only tokens that the gateway issues itself, after a login at https:\/\/github\.com: an access token or ID token of the identity provider is of no use here/,
      );
    }
  });
});
