// A store in a file that fails in the middle of a login with the flow Issuer: what needs it waits, all else goes on, and nothing of a session is lost.
import assert from 'node:assert/strict';
import { closeSync, fsyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { ask, type FlowClient, postForm } from '../idp/flow-client.ts';
import { waitFor } from '../kit/wait-for.ts';
import { assertAccepted, assertError, likeProfile, startIssuerSite } from './issuer-fixture.ts';

async function start(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-issuer-sqlite-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'private', 'store.db');
  const site = await startIssuerSite({ gitlab: likeProfile('GitLab') }, { flags: ['--store', `sqlite:${path}`] });
  t.after(() => site.close());
  return { path, site };
}

/** What needs the store is a 503; metadata, registration, the pages of a login and tokens do not. Returns what the login came back with. */
async function walkWithout(prepare: () => Promise<FlowClient>, client: FlowClient): Promise<[FlowClient, URL]> {
  const another = await prepare();
  const back = await another.logIn(new BrowserAgent());
  const form = { token: client.tokens!.refresh_token!, client_id: client.clientId };
  // At once: each waits for a while before it gives up.
  const [redeemed, refreshed, revoked] = await Promise.all([
    another.tryRedeem(back),
    client.tryRefresh(),
    postForm(String(client.server!['revocation_endpoint']), form),
  ]);
  assertError(redeemed, 503, 'temporarily_unavailable');
  assertError(refreshed, 503, 'temporarily_unavailable');
  assert.equal(revoked.status, 503);
  assertAccepted(await client.post());
  return [another, back];
}

test('locked by another process: 503, and the same code and refresh token work later', async (t) => {
  const { path, site } = await start(t);
  const client = await site.connect('gitlab');
  site.forgetLog();
  const locker = new DatabaseSync(path);
  t.after(() => locker.close());
  locker.exec('BEGIN IMMEDIATE');
  const [another, back] = await walkWithout(() => site.prepare('gitlab'), client);
  const { detail } = await site.waitForReason('store_unavailable');
  assert.match(String(detail), /the file is locked by another process/);
  assert.equal(await site.gateway.readMetric('mcp_gateway_store_up'), 0);
  locker.exec('ROLLBACK');
  await another.redeem(back);
  await client.refresh();
  assertAccepted(await client.post());
  assertAccepted(await another.post());
  assert.equal(await site.gateway.readMetric('mcp_gateway_store_up'), 1);
});

test('damaged: 503 until somebody removes the file and starts the gateway again; then everybody logs in once more', async (t) => {
  const { path, site } = await start(t);
  const client = await site.connect('gitlab');
  // All of it into the one file, and all of that but the header overwritten.
  const writer = new DatabaseSync(path);
  writer.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  writer.close();
  const file = openSync(path, 'r+');
  const { length } = readFileSync(path);
  writeSync(file, Buffer.alloc(length - 4_096, 0xff), 0, length - 4_096, 4_096);
  fsyncSync(file);
  closeSync(file);
  // A process that has read it before may still know the pages.
  const replica = await site.addGateway();
  site.front.pointTo(replica.port);
  await walkWithout(() => site.prepare('gitlab'), client);
  await waitFor('the log says what to do', () =>
    replica.readLog().some(({ detail }) => /the file is damaged\. Restore it, or delete it/.test(String(detail))),
  );
  assert.equal((await ask(`${new URL(site.urlOf('gitlab')).origin}/.oauth/gitlab/jwks`)).status, 200);
  await replica.stop();
  await site.gateway.stop();
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
  const fresh = await site.addGateway();
  site.front.pointTo(fresh.port);
  assertError(await client.tryRefresh(), 400, 'invalid_grant');
  assertAccepted(await client.post());
  await client.redeem(await client.logIn(new BrowserAgent()));
  await client.refresh();
});
