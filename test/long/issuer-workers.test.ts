// The flow Issuer with several worker processes: each step of a login at whichever worker gets it, sessions and keys that all of them know.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { findSigningKeyFile, rotateSigningKeyFile } from '../../src/cmd/signing-key-file.ts';
import { startSampleServer } from '../../src/demo/sample-mcp-server.ts';
import { type AuthSetup, profileSetups } from '../idp/auth-setups.ts';
import { FlowClient, listTools } from '../idp/flow-client.ts';
import { createSealKeyFile, describeProtectedGateway, type ProtectedBackend } from '../idp/protected-gateway.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { walkWithBreaks } from '../idp/stepwise-login.ts';
import { startTcpSwitch } from '../idp/tcp-switch.ts';
import { connectToEach, killHard, listWorkers } from '../integration/workers-fixture.ts';
import { runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const names = ['Google', 'GitLab', 'GitHub, App'] as const;
type Name = (typeof names)[number];
const pathOf = (name: Name): string => `/server-${names.indexOf(name)}`;

/** A gateway with two workers, and a server for each identity provider. */
async function start(withStore: boolean) {
  const ends: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    const front = await startTcpSwitch();
    ends.push(() => front.close());
    const origin = `http://127.0.0.1:${front.port}`;
    const mcpServer = await startSampleServer({ host: '127.0.0.1', port: 0 });
    ends.push(() => mcpServer.close());
    const target = new URL(mcpServer.url);
    const setupOf = (name: Name): AuthSetup => profileSetups.find((each) => each.name === `a stub like ${name}`)!;
    const backends: ProtectedBackend[] = [];
    const secrets: Record<string, string> = {};
    for (const name of names) {
      const idp = await setupOf(name).start(`${origin}/.oauth${pathOf(name)}/callback`);
      ends.push(() => idp.close());
      const { authentication } = idp;
      backends.push({ path: pathOf(name), port: Number(target.port), targetPath: target.pathname, authentication });
      Object.assign(secrets, idp.secrets);
    }
    const key = createSealKeyFile();
    ends.push(() => key.remove());
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-issuer-workers-'));
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const gateway = await runGatewayProcess(
      describeProtectedGateway({
        backends,
        secrets,
        sealKeyFile: key.path,
        origin,
        flags: ['--workers', '2', ...(withStore ? ['--store', `sqlite:${join(folder, 'private', 'store.db')}`] : [])],
      }),
    );
    ends.push(() => gateway.stop());
    front.pointTo(gateway.port);
    const { host } = new URL(origin);
    /** The same at every worker at once, on a connection of its own to each. */
    const postToEach = async (path: string, headers: Readonly<Record<string, string>>, body: string) => {
      const connections = await connectToEach(listWorkers(gateway.child.pid), gateway.port, path);
      try {
        assert.equal(connections.size, 2);
        return await Promise.all([...connections.values()].map((worker) => worker.post(path, headers, body)));
      } finally {
        for (const connection of connections.values()) connection.close();
      }
    };
    return {
      setupOf,
      gateway,
      keyFile: key.path,
      close,
      urlOf: (name: Name) => `${origin}${pathOf(name)}`,
      refreshAtEach: (name: Name, { clientId, tokens }: FlowClient) => {
        const form = new URLSearchParams({
          grant_type: 'refresh_token',
          client_id: clientId,
          refresh_token: tokens!.refresh_token!,
        }).toString();
        const headers = { host, 'content-type': 'application/x-www-form-urlencoded' };
        return postToEach(`/.oauth${pathOf(name)}/token`, headers, form);
      },
      callAtEach: async (name: Name, { tokens }: FlowClient): Promise<readonly number[]> => {
        const headers = {
          host,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${tokens!.access_token}`,
        };
        const answers = await postToEach(pathOf(name), headers, JSON.stringify(listTools));
        return answers.map(({ status }) => status);
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

for (const withStore of [false, true])
  describe(withStore ? 'with a store' : 'without a store', () => {
    let site: Awaited<ReturnType<typeof start>>;
    const clients = new Map<Name, { readonly client: FlowClient; readonly accepted: readonly number[] }>();
    before(async () => {
      site = await start(withStore);
    });
    after(() => site?.close());

    for (const name of names)
      test(`like ${name}: a login, calls and refreshes`, async () => {
        const client = await walkWithBreaks(site.setupOf(name), site.urlOf(name), () => Promise.resolve());
        const accepted = await site.callAtEach(name, client);
        // Without a session the server may refuse the call; the gateway does not.
        for (const status of accepted) assert.ok(![401, 403, 503].includes(status), String(status));
        clients.set(name, { client, accepted });
      });

    test('and on when the workers are others', async () => {
      const { gateway, callAtEach } = site;
      const replaced = listWorkers(gateway.child.pid);
      for (const worker of replaced) killHard(worker);
      await waitFor('there are others', async () => {
        const now = listWorkers(gateway.child.pid);
        return (
          (await gateway.readMetric('mcp_gateway_workers')) === 2 &&
          now.length === 2 &&
          now.every((worker) => !replaced.includes(worker))
        );
      });
      assert.equal(clients.size, names.length);
      for (const [name, { client, accepted }] of clients) {
        await client.refresh();
        assert.deepEqual(await callAtEach(name, client), accepted, name);
      }
    });

    if (withStore)
      test('the same refresh at all workers at once gets one answer; an older token ends the session at all', async () => {
        const { urlOf, refreshAtEach, gateway } = site;
        const countSessions = async (): Promise<number> => {
          const sessions = await fetch(`http://127.0.0.1:${gateway.adminPort}/sessions?format=json`);
          return ((await sessions.json()) as { sessions: unknown[] }).sessions.length;
        };
        const sessionsBefore = await countSessions();
        const client = await new FlowClient(urlOf('GitLab')).connect(new BrowserAgent());
        for (let round = 0; round < 5; round += 1) {
          const answers = await refreshAtEach('GitLab', client);
          const refused = answers.filter(({ status }) => status !== 200);
          assert.deepEqual(refused, [], JSON.stringify(gateway.readLog().slice(-20)));
          assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
          client.tokens = JSON.parse(answers[0]!.body) as typeof client.tokens;
        }
        assert.equal(await countSessions(), sessionsBefore + 1);
        const stolen = client.tokens!.refresh_token!;
        await client.refresh();
        await client.refresh();
        assert.equal((await client.tryRefresh({ refresh_token: stolen })).status, 400);
        for (const { status } of await refreshAtEach('GitLab', client)) assert.equal(status, 400);
      });
    else
      test('a signing key that leaked is worth nothing at any worker once it is replaced', async () => {
        const { urlOf, keyFile, callAtEach } = site;
        const client = await new FlowClient(urlOf('Google')).connect(new BrowserAgent());
        const old = { tokens: client.tokens } as FlowClient;
        const { kid } = decodeProtectedHeader(client.tokens!.access_token);
        const rotated = await rotateSigningKeyFile(findSigningKeyFile(keyFile)!, {
          dropPrevious: true,
          now: Date.now(),
        });
        assert.ok(rotated.ok);
        await waitFor('all workers refuse it', async () =>
          (await callAtEach('Google', old)).every((status) => status === 401),
        );
        await client.refresh();
        assert.notEqual(decodeProtectedHeader(client.tokens!.access_token).kid, kid);
        for (const status of await callAtEach('Google', client)) assert.notEqual(status, 401);
      });
  });
