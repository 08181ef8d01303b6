// Real MCP clients (SDK v1, SDK v2, Python) crossed with real MCP servers, through the gateway. Writes docs/compatibility.md.
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { installPythonMcp, pythonMcpVersions } from '../../scripts/install-python-mcp.ts';
import { PythonUnavailableError } from '../../scripts/python-environment.ts';
import { clientScenarios } from '../mcp/client-scenarios.ts';
import { type ClientLibrary, sdkV1, sdkV2, sdkV2Stateless } from '../mcp/sdk-clients.ts';
import { dialogueFixture, everythingFixture, type ServedFixtures, serveFixtures } from '../mcp/server-fixtures.ts';
import { formatCompatibilityPage, type Outcome, type ServerMatrix } from './compatibility-page.ts';
import { writePageSection } from './page-section.ts';
import { createPythonLibrary } from './python-client.ts';

const [python1, python2] = pythonMcpVersions;
const interpreters = new Map<string, string>();
try {
  for (const version of pythonMcpVersions) {
    interpreters.set(version, await installPythonMcp(version, (line) => console.log(line)));
  }
} catch (error) {
  if (!(error instanceof PythonUnavailableError)) throw error;
  console.error(error.message);
  process.exit(1);
}

const libraries: readonly ClientLibrary[] = [
  sdkV1,
  sdkV2,
  sdkV2Stateless,
  createPythonLibrary(interpreters.get(python1)!, python1, false),
  createPythonLibrary(interpreters.get(python2)!, python2, false),
  createPythonLibrary(interpreters.get(python2)!, python2, true),
];

let served: ServedFixtures | undefined;
const matrices: ServerMatrix[] = [];

before(async () => {
  served = await serveFixtures();
});

after(async () => {
  if (served === undefined) return;
  await served.stop();
  await writePageSection('servers', formatCompatibilityPage(matrices, await listVersions()));
});

for (const server of [dialogueFixture, everythingFixture]) {
  // server-everything is on SDK v1, which does not know 2026-07-28.
  const clients = libraries.filter((library) => server === dialogueFixture || !library.stateless);
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
  const installed = await Promise.all(
    names.map(async (name) => {
      const manifest = new URL(`node_modules/${name}/package.json`, new URL('../../', import.meta.url));
      return `${name} ${(JSON.parse(await readFile(manifest, 'utf8')) as { version: string }).version}`;
    }),
  );
  return [...installed, ...pythonMcpVersions.map((version) => `Python mcp ${version}`)];
}
