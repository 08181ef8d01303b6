// Real MCP clients (SDK v1, SDK v2, Python) crossed with real MCP servers, through the gateway. Writes docs/compatibility.md.
import { after, before, describe, test } from 'node:test';
import { clientScenarios } from '../mcp/client-scenarios.ts';
import { dialogueFixture, everythingFixture, type ServedFixtures, serveFixtures } from '../mcp/server-fixtures.ts';
import { installClientLibraries } from './client-libraries.ts';
import { formatCompatibilityPage, type Outcome, type ServerMatrix } from './compatibility-page.ts';
import { installedOrExit } from './installed-or-exit.ts';
import { listPackageVersions, pythonVersions } from './package-versions.ts';
import { writePageSection } from './page-section.ts';

const libraries = await installedOrExit(installClientLibraries);

let served: ServedFixtures | undefined;
const matrices: ServerMatrix[] = [];

before(async () => {
  served = await serveFixtures();
});

after(async () => {
  await libraries.stop();
  if (served === undefined) return;
  await served.stop();
  await writePageSection('servers', formatCompatibilityPage(matrices, await listVersions()));
});

for (const server of [dialogueFixture, everythingFixture]) {
  // server-everything is on SDK v1, which does not know 2026-07-28.
  const clients = libraries.all.filter((library) => server === dialogueFixture || !library.stateless);
  const outcomes = new Map<string, Map<string, Outcome>>();
  for (const { title, needsSession } of clientScenarios) {
    const initial = clients.map(({ name, stateless }): [string, Outcome] => [
      name,
      needsSession && stateless ? 'not-applicable' : 'fails',
    ]);
    outcomes.set(title, new Map(initial));
  }
  matrices.push({ server: server.title, outcomes });

  for (const library of clients) {
    describe(`${library.name} through the gateway to ${server.title}`, () => {
      for (const scenario of clientScenarios) {
        if (scenario.needsSession && library.stateless) continue;
        test(scenario.title, async () => {
          await scenario.run({ library, server, url: served!.gateway.urlOf(server.route) });
          outcomes.get(scenario.title)?.set(library.name, 'works');
        });
      }
    });
  }
}

async function listVersions(): Promise<string[]> {
  const names = ['sdk', 'client', 'server', 'server-everything'].map((name) => `@modelcontextprotocol/${name}`);
  return [...(await listPackageVersions(names)), ...pythonVersions];
}
