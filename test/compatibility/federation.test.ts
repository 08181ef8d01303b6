// Ten real MCP servers of npm and PyPI behind one endpoint, used by real MCP clients (SDK v1, SDK v2, Python). Writes its section of docs/compatibility.md.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { installMcpServers } from '../../scripts/install-mcp-servers.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';
import { waitUntilAnswered } from '../mcp/everything-server.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import type { ClientLibrary, DrivenClient } from '../mcp/sdk-clients.ts';
import { installClientLibraries } from './client-libraries.ts';
import { type FederationOutcome, formatFederationPage, type FoundServer } from './federation-page.ts';
import { type FederationContext, federationScenarios, serveWebPages, type WebPages } from './federation-scenarios.ts';
import { installedOrExit } from './installed-or-exit.ts';
import { listPackageVersions, pythonVersions } from './package-versions.ts';
import { writePageSection } from './page-section.ts';
import { realServers, type RunningRealServers, startRealServers } from './real-servers.ts';

const installed = await installedOrExit(installMcpServers);
const clientLibraries = await installedOrExit(installClientLibraries);
const libraries = clientLibraries.all;

/** The one that is killed. Its calls last as long as the page that it fetches. */
const victim = 'web';
const deathTitle = 'a server is killed in the middle of a call';
const returnTitle = 'the server is back';
const endTitle = 'end the session with DELETE';
const outcomes = new Map<string, Map<string, FederationOutcome>>();
for (const title of [...federationScenarios.map((scenario) => scenario.title), deathTitle, returnTitle, endTitle])
  outcomes.set(title, new Map(libraries.map(({ name }) => [name, { kind: 'fails' }])));
const note = (title: string, { name }: ClientLibrary, outcome: FederationOutcome): void =>
  void outcomes.get(title)!.set(name, outcome);

const issuer = createIssuer('https://idp.example');
const login = {
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: 'login' },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'all' }],
    traffic: { jwtAuthentication: { providers: [providerOf('corp', issuer)] } },
  },
};

let servers: RunningRealServers;
let pages: WebPages;
let gateway: GatewayRun;
const contexts = new Map<ClientLibrary, FederationContext>();
let found: readonly FoundServer[] = [];

before(async () => {
  pages = await serveWebPages();
  servers = await startRealServers(installed);
  gateway = await startFederatedGateway({
    targets: Object.fromEntries(servers.all.map(({ name, url, protocol }) => [name, { url, protocol }])),
    // Slow is fine: this is about what servers answer.
    mcp: { timeouts: { connect: '1m' } },
    resources: [login],
  });
});

after(async () => {
  await Promise.all([...contexts.values()].map(({ client }) => client.close().catch(() => {})));
  await clientLibraries.stop();
  await gateway?.stop();
  const left = await servers?.stop();
  await pages?.close();
  assert.deepEqual(left, [], 'processes of servers are left');
  await writePageSection('federation', formatFederationPage(found, outcomes, await listVersions()));
});

for (const [index, library] of libraries.entries()) {
  describe(`${library.name} with ten servers behind one endpoint`, () => {
    before(async () => {
      const root = `file:///projects/of-client-${index}`;
      const client = await library.connect({
        url: gateway.urlOf('/mcp'),
        headers: { authorization: `Bearer ${await issuer.sign({ sub: `client-${index}` })}` },
        roots: [root],
        beforeResume: waitUntilAnswered,
      });
      const { stateless } = library;
      const names = realServers.map(({ name }) => name);
      contexts.set(library, {
        client,
        stateless,
        servers: names,
        folder: servers.folder,
        pages,
        name: `client-${index}`,
        root,
      });
    });
    for (const { title, needsSession, run } of federationScenarios) {
      if (needsSession && library.stateless) note(title, library, { kind: 'not-applicable' });
      else
        test(title, async () => {
          const reason = await run(contexts.get(library)!);
          note(title, library, typeof reason === 'string' ? { kind: 'impossible', reason } : { kind: 'works' });
        });
    }
  });
}

describe('a server goes, and comes back, while all clients are connected', () => {
  const target = (): RunningRealServers['all'][number] => servers.all.find(({ name }) => name === victim)!;
  /** Whether the list has the tools of the one that is killed, and which servers it says are missing. One list, and seldom, because each may start processes behind a bridge. */
  const look = async (client: DrivenClient): Promise<{ readonly isThere: boolean; readonly missing: unknown }> => {
    const answer = await client.ask('tools/list');
    const names = (answer['tools'] as { name: string }[]).map(({ name }) => name);
    const meta = answer['_meta'] as Record<string, unknown> | undefined;
    return {
      isThere: names.some((name) => name.startsWith(`${victim}_`)),
      missing: meta?.['gateway.proxy/unavailable'],
    };
  };
  const lookEvery = { intervalMs: 1_000 };
  const heard = new Map<DrivenClient, number>();
  let calls: ReadonlyMap<ClientLibrary, Promise<unknown>>;

  before(async () => {
    const page = pages.addEndlessPage();
    for (const { client } of contexts.values()) {
      await client.watchTools();
      heard.set(client, client.changed.length);
    }
    const call = ({ client }: FederationContext): Promise<unknown> =>
      client.callFully(`${victim}_fetch`, { url: page.url }).then(
        (answer) => answer,
        (error: unknown) => error,
      );
    calls = new Map([...contexts].map(([library, context]) => [library, call(context)]));
    await waitFor('all clients are in the middle of a call', () => page.open === contexts.size);
    found = await describeServers();
    await target().kill();
  });

  for (const library of libraries)
    test(`${library.name}: ${deathTitle}`, async () => {
      const { client } = contexts.get(library)!;
      const failure = await calls.get(library);
      assert.ok(failure instanceof Error, JSON.stringify(failure));
      assert.match(failure.message, new RegExp(`\\b${victim}\\b`));
      const without = await waitFor(
        'the list without it',
        async () => {
          const seen = await look(client);
          return seen.isThere ? undefined : seen;
        },
        lookEvery,
      );
      assert.deepEqual(without.missing, [victim]);
      await assert.rejects(
        client.callFully(`${victim}_fetch`, { url: pages.addPage('x') }),
        new RegExp(`\\b${victim}\\b`),
      );
      const answer = await client.callFully('everything_get-sum', { a: 1, b: 1 });
      assert.match(JSON.stringify(answer), /The sum of 1 and 1 is 2\./);
      await waitFor('the client is told', () => client.changed.length > heard.get(client)!);
      heard.set(client, client.changed.length);
      note(deathTitle, library, { kind: 'works' });
    });

  test('it starts again', async () => {
    await target().start();
  });

  for (const library of libraries)
    test(`${library.name}: ${returnTitle}`, async () => {
      const { client } = contexts.get(library)!;
      await waitFor('the client is told', () => client.changed.length > heard.get(client)!);
      const complete = await waitFor(
        'the list with it',
        async () => {
          const seen = await look(client);
          return seen.isThere ? seen : undefined;
        },
        lookEvery,
      );
      assert.equal(complete.missing, undefined);
      const answer = await client.callFully(`${victim}_fetch`, { url: pages.addPage('It is back.') });
      assert.match(JSON.stringify(answer), /It is back\./);
      note(returnTitle, library, { kind: 'works' });
    });
});

describe('the end', () => {
  for (const library of libraries) {
    if (library.stateless) note(endTitle, library, { kind: 'not-applicable' });
    else
      test(`${library.name}: ${endTitle}`, async () => {
        const { client } = contexts.get(library)!;
        const ping = async (): Promise<number> => {
          const response = await fetch(gateway.urlOf('/mcp'), {
            method: 'POST',
            headers: {
              accept: 'application/json, text/event-stream',
              authorization: `Bearer ${await issuer.sign({ sub: contexts.get(library)!.name })}`,
              'content-type': 'application/json',
              'mcp-protocol-version': '2025-11-25',
              'mcp-session-id': client.sessionId!,
            },
            body: JSON.stringify({ jsonrpc: '2.0', id: 'ping', method: 'ping' }),
          });
          await response.body?.cancel();
          return response.status;
        };
        assert.equal(await ping(), 200);
        await client.terminateSession();
        assert.equal(client.wire.exchanges.find(({ method }) => method === 'DELETE')?.status, 200);
        assert.equal(await ping(), 404);
        note(endTitle, library, { kind: 'works' });
      });
  }
});

/** As the gateway sees them. */
async function describeServers(): Promise<readonly FoundServer[]> {
  const response = await fetch(`http://127.0.0.1:${gateway.adminPort}/routes?format=json`);
  const { federations } = (await response.json()) as {
    federations: { targets: { name: string; version: string; tools: number }[] }[];
  };
  return servers.all.map((server) => {
    const { version, tools } = federations[0]!.targets.find(({ name }) => name === server.name)!;
    return { ...server, packageVersion: installed.versions.get(server.package)!, version, tools };
  });
}

async function listVersions(): Promise<string[]> {
  const clients = await listPackageVersions(['@modelcontextprotocol/sdk', '@modelcontextprotocol/client']);
  const bridges = ['supergateway', 'mcp-proxy'].map((name) => `${name} ${installed.versions.get(name)}`);
  return [...clients, ...pythonVersions, ...bridges];
}
