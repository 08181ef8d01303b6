// The flow Issuer with several worker processes: each step of a login at whichever worker gets it, sessions and keys that all of them know.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { findSigningKeyFile, rotateSigningKeyFile } from '../../src/cmd/signing-key-file.ts';
import { startSampleServer } from '../../src/demo/sample-mcp-server.ts';
import { profileSetups } from '../idp/auth-setups.ts';
import { FlowClient, listTools } from '../idp/flow-client.ts';
import { createSealKeyFile, describeProtectedGateway } from '../idp/protected-gateway.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { walkWithBreaks } from '../idp/stepwise-login.ts';
import { startTcpSwitch } from '../idp/tcp-switch.ts';
import { connectToEach, type KeptConnection, killHard, listWorkers } from '../integration/workers-fixture.ts';
import { runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

async function start(t: TestContext, name: string, withStore: boolean) {
  const setup = profileSetups.find((each) => each.name === `a stub like ${name}`)!;
  const front = await startTcpSwitch();
  t.after(() => front.close());
  const origin = `http://127.0.0.1:${front.port}`;
  const idp = await setup.start(`${origin}/.oauth/tickets/callback`);
  t.after(() => idp.close());
  const mcpServer = await startSampleServer({ host: '127.0.0.1', port: 0 });
  t.after(() => mcpServer.close());
  const key = createSealKeyFile();
  t.after(() => key.remove());
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-issuer-workers-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const target = new URL(mcpServer.url);
  const { authentication } = idp;
  const gateway = await runGatewayProcess(
    describeProtectedGateway({
      backends: [{ path: '/tickets', port: Number(target.port), targetPath: target.pathname, authentication }],
      secrets: idp.secrets,
      sealKeyFile: key.path,
      origin,
      flags: ['--workers', '2', ...(withStore ? ['--store', `sqlite:${join(folder, 'private', 'store.db')}`] : [])],
    }),
  );
  t.after(() => gateway.stop());
  front.pointTo(gateway.port);
  /** One connection to each worker. */
  const connect = async (): Promise<readonly KeptConnection[]> => {
    const connections = await connectToEach(listWorkers(gateway.child.pid), gateway.port, '/tickets');
    t.after(() => {
      for (const connection of connections.values()) connection.close();
    });
    assert.equal(connections.size, 2);
    return [...connections.values()];
  };
  const { host } = new URL(origin);
  /** The same client at every worker at once. */
  const refreshAtEach = async ({ clientId, tokens }: FlowClient) => {
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: tokens!.refresh_token!,
    }).toString();
    const headers = { host, 'content-type': 'application/x-www-form-urlencoded' };
    return Promise.all((await connect()).map((worker) => worker.post('/.oauth/tickets/token', headers, form)));
  };
  const callAtEach = async ({ tokens }: FlowClient): Promise<readonly number[]> => {
    const headers = {
      host,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${tokens!.access_token}`,
    };
    const calls = (await connect()).map((worker) => worker.post('/tickets', headers, JSON.stringify(listTools)));
    return (await Promise.all(calls)).map(({ status }) => status);
  };
  return { setup, url: `${origin}/tickets`, gateway, keyFile: key.path, refreshAtEach, callAtEach };
}

for (const withStore of [false, true])
  describe(withStore ? 'with a store' : 'without a store', () => {
    for (const name of ['Google', 'GitLab', 'GitHub, App'])
      test(`like ${name}: a login, calls and refreshes, and on when the workers are others`, async (t) => {
        const { setup, url, gateway, callAtEach } = await start(t, name, withStore);
        const client = await walkWithBreaks(setup, url, () => Promise.resolve());
        const accepted = await callAtEach(client);
        // Without a session the server may refuse the call; the gateway does not.
        for (const status of accepted) assert.ok(![401, 403, 503].includes(status), String(status));
        const before = listWorkers(gateway.child.pid);
        for (const worker of before) killHard(worker);
        await waitFor('there are others', async () => {
          const now = listWorkers(gateway.child.pid);
          return (
            (await gateway.readMetric('mcp_gateway_workers')) === 2 &&
            now.length === 2 &&
            now.every((worker) => !before.includes(worker))
          );
        });
        await client.refresh();
        assert.deepEqual(await callAtEach(client), accepted);
      });
  });

test('with a store: the same refresh at all workers at once gets one answer; an older token ends the session at all', async (t) => {
  const { url, refreshAtEach, gateway } = await start(t, 'GitLab', true);
  const client = await new FlowClient(url).connect(new BrowserAgent());
  for (let round = 0; round < 5; round += 1) {
    const answers = await refreshAtEach(client);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
    client.tokens = JSON.parse(answers[0]!.body) as typeof client.tokens;
  }
  const sessions = await fetch(`http://127.0.0.1:${gateway.adminPort}/sessions?format=json`);
  assert.equal(((await sessions.json()) as { sessions: unknown[] }).sessions.length, 1);
  const stolen = client.tokens!.refresh_token!;
  await client.refresh();
  await client.refresh();
  assert.equal((await client.tryRefresh({ refresh_token: stolen })).status, 400);
  for (const { status } of await refreshAtEach(client)) assert.equal(status, 400);
});

test('a signing key that leaked is worth nothing at any worker once it is replaced', async (t) => {
  const { url, keyFile, callAtEach } = await start(t, 'Google', false);
  const client = await new FlowClient(url).connect(new BrowserAgent());
  const old = { tokens: client.tokens } as FlowClient;
  const { kid } = decodeProtectedHeader(client.tokens!.access_token);
  const rotated = await rotateSigningKeyFile(findSigningKeyFile(keyFile)!, { dropPrevious: true, now: Date.now() });
  assert.ok(rotated.ok);
  await waitFor('all workers refuse it', async () => (await callAtEach(old)).every((status) => status === 401));
  await client.refresh();
  assert.notEqual(decodeProtectedHeader(client.tokens!.access_token).kid, kid);
  for (const status of await callAtEach(client)) assert.notEqual(status, 401);
});
