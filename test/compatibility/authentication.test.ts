// Real MCP clients with OAuth (SDK v1, SDK v2, Python, a page in Chromium) crossed with identity providers, through the gateway. Writes its part of docs/compatibility.md.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { dexVersion, installDex } from '../../scripts/install-dex.ts';
import { installKeycloak, keycloakVersion } from '../../scripts/install-keycloak.ts';
import { installPythonMcp, pythonMcpVersions } from '../../scripts/install-python-mcp.ts';
import { installSpring, springVersion } from '../../scripts/install-spring.ts';
import { walkJourney } from '../idp/auth-journey.ts';
import { type AuthSetup, isBroker, oidcProviderSetups, profileSetups } from '../idp/auth-setups.ts';
import { createDexSetups } from '../idp/dex.ts';
import { offersDocuments, withUnreachableDocument } from '../idp/document-client.ts';
import { readBlocks } from '../idp/page-blocks.ts';
import { createKeycloakSetups } from '../idp/keycloak-realm.ts';
import { type Keycloak, startKeycloak } from '../idp/keycloak.ts';
import { type ProtectedSystem, startProtectedSystem } from '../idp/protected-system.ts';
import { createSpringSetups } from '../idp/spring.ts';
import type { RecordedCall } from '../idp/switchable-server.ts';
import { type AuthClientLibrary, authSdkV1, authSdkV2 } from '../idp/sdk-auth-clients.ts';
import { waitFor } from '../kit/wait-for.ts';
import { allowOrigin } from './allow-origin.ts';
import { type AuthenticationRow, type Cell, formatAuthenticationSection } from './authentication-page.ts';
import { type BrowserClient, startBrowserClient } from './browser-client.ts';
import { checkForPage } from './checked-page.ts';
import { installedOrExit } from './installed-or-exit.ts';
import { listPackageVersions, pythonVersions } from './package-versions.ts';
import { writePageSection } from './page-section.ts';
import { createPythonAuthLibrary, pythonAuthClientScript } from './python-auth-client.ts';
import { createPythonProgram, type PythonProgram } from './python-program.ts';

const report = (line: string): void => console.log(line);

interface Client {
  readonly name: string;
  /** From the 401 to a tool call and a refreshed token. */
  walk(system: ProtectedSystem, setup: AuthSetup): Promise<void>;
  /** Tries, and fails. */
  walkInVain(system: ProtectedSystem): Promise<void>;
}

function asClient(library: AuthClientLibrary): Client {
  return {
    name: library.name,
    walk: (system, setup) => walkJourney(library, system, setup),
    walkInVain: ({ url }) => assert.rejects(library.connect({ url })),
  };
}

interface Prepared {
  readonly libraries: readonly AuthClientLibrary[];
  readonly programs: readonly PythonProgram[];
  readonly keycloakFolder: string;
  readonly dexFolder: string;
  readonly springProgram: string;
  readonly page: BrowserClient;
}

async function prepare(): Promise<Prepared> {
  const libraries = [authSdkV1, authSdkV2];
  const programs: PythonProgram[] = [];
  for (const version of pythonMcpVersions) {
    const program = createPythonProgram(await installPythonMcp(version, report), pythonAuthClientScript);
    programs.push(program);
    libraries.push(createPythonAuthLibrary(program, version));
  }
  const keycloakFolder = await installKeycloak(report);
  const springProgram = await installSpring(report);
  const dexFolder = await installDex(report);
  return { libraries, programs, keycloakFolder, dexFolder, springProgram, page: await startBrowserClient() };
}

const { libraries, programs, keycloakFolder, dexFolder, springProgram, page } = await installedOrExit(prepare);

const browserClient: Client = {
  name: 'SDK v2 in Chromium',
  walk: ({ url }, setup) => page.walkJourney(url, setup),
  walkInVain: ({ url }) => page.walkInVain(url),
};
const libraryWithDocument = withUnreachableDocument(authSdkV2);
const clientWithDocument: Client = {
  ...asClient(libraryWithDocument),
  async walk(system, setup) {
    // Otherwise the journey would not show what becomes of an offer that cannot be kept.
    assert.equal(await offersDocuments(system.url), isBroker(setup), 'documents are offered');
    await walkJourney(libraryWithDocument, system, setup);
  },
};
const clients: readonly Client[] = [...libraries.map(asClient), browserClient, clientWithDocument];

interface Obstacle {
  readonly why: string;
  /** Whether the obstacle was met. `calls` are those that reached the identity provider during the attempt. */
  wasMet(calls: readonly RecordedCall[]): boolean;
}

/** What stands between a client and an identity provider, if anything does. */
function findObstacle(setup: AuthSetup, client: Client): Obstacle | undefined {
  if (client !== browserClient) return undefined;
  if (setup.flow === 'Direct') {
    return {
      why: `${setup.name}: the page has to register at oidc-provider itself, whose registration endpoint does not let pages of other origins ask (no CORS).`,
      wasMet: (calls) =>
        calls.some(({ method, path, status }) => method === 'OPTIONS' && path === '/reg' && status === 404),
    };
  }
  if (setup.name === 'a stub like Descope') {
    return {
      why: `${setup.name}: in Facade the page asks the token endpoint of the identity provider itself, and the stub's does not let pages of other origins read the answer (no CORS). \`flow: Broker\` mends that.`,
      wasMet: (calls) => calls.at(-1)?.form.get('grant_type') === 'authorization_code',
    };
  }
  return undefined;
}

// It takes a minute to start, and two on a busy machine. The rows before it do not wait for it.
const keycloakEnd = new AbortController();
const starting = startKeycloak(keycloakFolder, report, keycloakEnd.signal);
starting.catch(() => {});
let keycloak: Keycloak | undefined;
const keycloakSetups = createKeycloakSetups(() => keycloak!);
const rows: AuthenticationRow[] = [];

after(async () => {
  await page.close();
  await Promise.all(programs.map((program) => program.stop()));
  keycloakEnd.abort();
  await starting.then(
    (started) => started.stop(),
    () => {},
  );
  await writePageSection('authentication', formatAuthenticationSection(rows, await listVersions()));
});

describe('identity providers from npm', () => {
  for (const setup of oidcProviderSetups) describeRow(setup);
});

describe('Keycloak', () => {
  before(async () => {
    report('Waiting for Keycloak');
    keycloak = await starting;
  });
  for (const setup of keycloakSetups) describeRow(setup);
});

describe('Dex', () => {
  for (const setup of createDexSetups(dexFolder)) describeRow(setup);
});

describe('Spring Authorization Server', () => {
  for (const setup of createSpringSetups(springProgram)) describeRow(setup);
});

/** The real ones are in the table. */
const tried = new Set(['a stub like Dex', 'a stub like Spring']);

describe('stubs', () => {
  for (const setup of profileSetups.filter(({ name }) => !tried.has(name))) describeRow(setup);
});

function describeRow(setup: AuthSetup): void {
  const row: AuthenticationRow = {
    idp: setup.name,
    flow: '',
    registration: setup.isShared ? 'Shared' : 'Forward',
    cells: new Map(clients.map(({ name }): [string, Cell] => [name, { kind: 'not-run' }])),
  };
  rows.push(row);

  describe(setup.name, () => {
    let system: ProtectedSystem;
    before(async () => {
      report(`${setup.name}: starting`);
      system = await startProtectedSystem({ startIdp: (callback) => setup.start(callback) });
      await allowOrigin(system, page.origin);
    });
    after(() => system?.close());

    for (const client of clients) {
      const obstacle = findObstacle(setup, client);
      if (obstacle === undefined) {
        test(`${client.name}: from the 401 to a tool call and a refreshed token`, async () => {
          row.cells.set(client.name, { kind: 'fails' });
          await client.walk(system, setup);
          row.cells.set(client.name, { kind: 'works', refreshes: setup.refreshes });
          report(`${setup.name}: ${client.name} works`);
        });
      } else {
        test(`${client.name} cannot get through: ${obstacle.why}`, async () => {
          row.cells.set(client.name, { kind: 'fails' });
          const { calls } = system.idp.server;
          const seen = calls.length;
          await client.walkInVain(system);
          await waitFor(() => obstacle.wasMet(calls.slice(seen)));
          row.cells.set(client.name, { kind: 'impossible', why: obstacle.why });
        });
      }
    }

    test(`the flow is ${setup.flow}`, async () => {
      row.flow = await readFlow(system);
      assert.equal(row.flow, setup.flow);
    });

    const { page: shown } = setup;
    if (shown !== undefined) {
      test(`check --online prints what docs/${shown.path} shows`, async () => {
        const printed = await checkForPage(system, shown.issuer);
        const blocks = readBlocks(shown.path, 'text');
        assert.ok(blocks.includes(printed), `not on the page:\n${printed}`);
      });
    }

    if (isBroker(setup)) {
      test('the identity provider sees no redirect URI but the one of the gateway', () => {
        const asked = system.idp.server.calls
          .filter(({ method, query }) => method === 'GET' && query.has('response_type'))
          .map(({ query }) => query.get('redirect_uri'));
        const callback = `${new URL(system.url).origin}/.oauth${new URL(system.url).pathname}/callback`;
        assert.deepEqual([...new Set(asked)], [callback]);
      });
    }
  });
}

/** The flow that the gateway says it uses. */
async function readFlow({ gateway }: ProtectedSystem): Promise<string> {
  const find = (): unknown => gateway.readLog().findLast(({ msg }) => msg === 'the login flow is chosen')?.['flow'];
  await waitFor(() => typeof find() === 'string');
  return String(find());
}

async function listVersions(): Promise<string[]> {
  const names = ['@modelcontextprotocol/sdk', '@modelcontextprotocol/client', 'oidc-provider'];
  const real = [`Keycloak ${keycloakVersion}`, `Dex ${dexVersion}`, `Spring Authorization Server ${springVersion}`];
  return [...(await listPackageVersions(names)), ...pythonVersions, ...real, `Chromium ${page.version}`];
}
