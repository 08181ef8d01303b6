// Signing keys that change while clients use and refresh their tokens at two gateways: nobody notices.
import assert from 'node:assert/strict';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { findSigningKeyFile, rotateSigningKeyFile } from '../../src/cmd/signing-key-file.ts';
import { ask, type FlowClient, postForm, postMcp } from '../idp/flow-client.ts';
import { likeProfile, startIssuerSite } from '../integration/issuer-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const rotations = 5;
const clientCount = 6;

/** More token requests than one address may make otherwise. */
const registration = {
  mode: 'Shared',
  clientId: 'gateway',
  clientSecretRef: { name: 'idp', key: 'client-secret' },
  limits: { perMinute: 10_000 },
};
const start = () => startIssuerSite({ google: likeProfile('Google', {}, { registration }) });
let site: Awaited<ReturnType<typeof start>>;
before(async () => {
  site = await start();
});
after(() => site?.close());

test('keys rotate under load: every token is accepted, whichever key signed it and whichever gateway is asked', async () => {
  const ports = [site.gateway.port, (await site.addGateway()).port];
  const keyFile = findSigningKeyFile(site.keyFile)!;
  const clients: FlowClient[] = [];
  for (let each = 0; each < clientCount; each += 1) clients.push(await site.connect('google'));
  const kids = new Set<string>();
  const rotation = { isOver: false };
  // Refreshes at one gateway, uses the token at the other one, and the next time round the other way.
  const load = clients.map(async ({ clientId, tokens }) => {
    let refreshToken = tokens!.refresh_token!;
    for (let turn = 0; !rotation.isOver; turn += 1) {
      const [here, there] = [ports[turn % 2]!, ports[(turn + 1) % 2]!];
      const refreshed = await postForm(`http://127.0.0.1:${here}/.oauth/google/token`, {
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        client_id: clientId,
      });
      assert.equal(refreshed.status, 200, refreshed.body);
      const { access_token: token, refresh_token: next } = refreshed.json() as Record<string, string>;
      refreshToken = next!;
      kids.add(decodeProtectedHeader(token!).kid!);
      const answer = await postMcp(`http://127.0.0.1:${there}/google`, listTools, { authorization: `Bearer ${token}` });
      assert.equal(answer.status, 200, answer.body);
    }
  });
  const listKids = async (port: number): Promise<readonly string[]> =>
    ((await ask(`http://127.0.0.1:${port}/.oauth/google/jwks`)).json()['keys'] as { kid: string }[]).map(
      ({ kid }) => kid,
    );

  const rotate = async (): Promise<void> => {
    const rotated = await rotateSigningKeyFile(keyFile, { dropPrevious: false, now: Date.now() });
    assert.ok(rotated.ok);
    const { kid } = rotated.keys.at(-1)!;
    await waitFor('both gateways publish the new key', async () =>
      (await Promise.all(ports.map(listKids))).every((published) => published.includes(kid)),
    );
    // As if its time had come.
    const file = JSON.parse(await readFile(keyFile, 'utf8')) as { keys: { kid: string; signsFrom: string }[] };
    for (const key of file.keys) if (key.kid === kid) key.signsFrom = new Date().toISOString();
    await writeFile(`${keyFile}.new`, JSON.stringify(file), { mode: 0o600 });
    await rename(`${keyFile}.new`, keyFile);
    await waitFor('it signs', () => kids.has(kid));
  };
  const change = async (): Promise<void> => {
    for (let each = 0; each < rotations; each += 1) await rotate();
  };
  await Promise.all([...load, change().finally(() => (rotation.isOver = true))]);
  assert.equal(kids.size, rotations + 1);
});
