// The flow Issuer from 401 to a tool call and beyond, with a real identity provider that replaces its refresh tokens, by a gateway from files with a store.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { ask, FlowClient, postForm } from '../idp/flow-client.ts';
import { type OidcProviderIdp, startOidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { createSealKeyFile, type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import { startTcpSwitch, type TcpSwitch } from '../idp/tcp-switch.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';
import { waitFor } from '../kit/wait-for.ts';

let front: TcpSwitch;
let idp: OidcProviderIdp;
let upstream: RecordingUpstream;
let origin: string;
const keyFile = createSealKeyFile();
const folder = mkdtempSync(join(tmpdir(), 'issuer-flow-'));
const gateways: ProtectedGateway[] = [];

/** A gateway with the same keys and the same store as every other of these. */
async function startGateway(flags: readonly string[] = ['--store', `sqlite:${join(folder, 'store.db')}`]) {
  const gateway = await startProtectedGateway({
    backends: [
      {
        path: '/mcp',
        port: upstream.port,
        authentication: {
          flow: 'Issuer',
          issuer: idp.issuer,
          requiredScopes: ['tickets'],
          registration: { mode: 'Shared', clientId: 'gateway', clientSecretRef: { name: 'idp', key: 'secret' } },
          tokens: {
            claims: ['groups'],
            scopes: [{ scopes: ['tickets'] }, { scopes: ['refunds'], when: '"support" in jwt.groups' }],
          },
        },
      },
    ],
    secrets: { secret: 'a-secret-of-the-gateway' },
    sealKeyFile: keyFile.path,
    origin,
    flags,
  });
  gateways.push(gateway);
  front.pointTo(gateway.port);
  return gateway;
}

before(async () => {
  front = await startTcpSwitch();
  origin = `http://127.0.0.1:${front.port}`;
  [upstream, idp] = await Promise.all([
    startMcpUpstream(),
    startOidcProviderIdp({
      clients: [
        {
          client_id: 'gateway',
          client_secret: 'a-secret-of-the-gateway',
          redirect_uris: [`${origin}/.oauth/mcp/callback`],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      ],
    }),
  ]);
  await startGateway();
});
after(async () => {
  for (const gateway of gateways) await gateway.stop();
  await Promise.all([idp.close(), upstream.close(), front.close()]);
  keyFile.remove();
  rmSync(folder, { recursive: true, force: true });
});

const tokensOf = ({ tokens }: FlowClient): { readonly access: string; readonly refresh: string } => {
  assert.ok(tokens?.refresh_token !== undefined);
  return { access: tokens.access_token, refresh: tokens.refresh_token };
};

describe('a client of a gateway that issues tokens', () => {
  test('finds it from the 401, logs in, calls a tool, refreshes, and calls again', async () => {
    const client = await new FlowClient(`${origin}/mcp`).prepare();
    client.scope = 'tickets refunds openid';
    await client.redeem(await client.logIn(new BrowserAgent()));
    const { access, refresh } = tokensOf(client);
    assert.equal((await client.post()).status, 200);
    const metadata = (await ask(`${origin}/.well-known/oauth-authorization-server/mcp`)).json();
    const keys = (await ask(String(metadata['jwks_uri']))).json() as unknown as JSONWebKeySet;
    const { payload, protectedHeader } = await jwtVerify(access, createLocalJWKSet(keys), {
      issuer: `${origin}/mcp`,
      audience: `${origin}/mcp`,
      typ: 'at+jwt',
      algorithms: ['ES256'],
    });
    assert.equal(protectedHeader.alg, 'ES256');
    assert.equal(payload['sub'], `person:${encodeURIComponent(idp.issuer)}:alice`);
    assert.equal(payload['scope'], 'tickets refunds');
    assert.equal(payload['idp'], idp.issuer);
    assert.deepEqual(payload['groups'], ['support']);

    await client.refresh();
    const next = tokensOf(client);
    assert.notEqual(next.access, access);
    assert.notEqual(next.refresh, refresh);
    assert.equal((await client.post()).status, 200);
    // The identity provider's own refresh token was replaced, too.
    await client.refresh();
    assert.equal((await client.post()).status, 200);
  });

  test('goes on at a gateway that has just started, also with the identity provider down', async () => {
    const client = await new FlowClient(`${origin}/mcp`).connect(new BrowserAgent());
    idp.server.goDown();
    try {
      await startGateway();
      assert.equal((await client.post()).status, 200);
      const answer = await client.tryRefresh();
      assert.equal(answer.status, 503, answer.body);
    } finally {
      idp.server.comeUp();
    }
    // The refresh token is as good as before.
    await waitFor('the identity provider is back', async () => (await client.tryRefresh()).status === 200);
  });

  test('loses its session when an older refresh token comes back, and when it revokes it', async () => {
    const client = await new FlowClient(`${origin}/mcp`).connect(new BrowserAgent());
    const first = tokensOf(client).refresh;
    await client.refresh();
    await client.refresh();
    const reused = await client.tryRefresh({ refresh_token: first });
    assert.deepEqual([reused.status, reused.json()['error']], [400, 'invalid_grant']);
    const ended = await client.tryRefresh();
    assert.deepEqual([ended.status, ended.json()['error']], [400, 'invalid_grant']);

    await client.redeem(await client.logIn(new BrowserAgent()));
    const metadata = (await ask(`${origin}/.well-known/oauth-authorization-server/mcp`)).json();
    const form = { token: tokensOf(client).refresh, client_id: client.clientId };
    assert.equal((await postForm(String(metadata['revocation_endpoint']), form)).status, 200);
    assert.equal((await client.tryRefresh()).status, 400);
    // Its access token lives out its short life.
    assert.equal((await client.post()).status, 200);
  });
});

test('without a store sessions travel with clients: they outlive a restart, and nothing is revoked', async () => {
  await startGateway([]);
  const client = await new FlowClient(`${origin}/mcp`).connect(new BrowserAgent());
  await startGateway([]);
  await client.refresh();
  assert.equal((await client.post()).status, 200);
  const metadata = (await ask(`${origin}/.well-known/oauth-authorization-server/mcp`)).json();
  assert.equal(metadata['revocation_endpoint'], undefined);
  assert.equal((await postForm(`${origin}/.oauth/mcp/revoke`, { token: 'x' })).status, 404);
});
