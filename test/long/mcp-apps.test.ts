// A page of an MCP App and its host, with the packages that hosts and pages are made of: the page knows the server's own names, the host the federation's.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client, InMemoryTransport, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const version = '2.0.4';

interface Page {
  connect(transport: Transport): Promise<void>;
  callServerTool(params: { name: string; arguments: object }): Promise<{ content: { text: string }[] }>;
  close(): Promise<void>;
}

interface Bridge {
  connect(transport: Transport): Promise<void>;
  close(): Promise<void>;
}

/** Of `@modelcontextprotocol/ext-apps`. */
interface AppsPackage {
  readonly App: new (info: object, capabilities: object, options: object) => Page;
  readonly AppBridge: new (client: Client, info: object, capabilities: object) => Bridge;
  readonly getToolUiResourceUri: (tool: object) => string | undefined;
}

describe('a page of an MCP App behind a federation', () => {
  let folder: string;
  let apps: AppsPackage;
  let clock: FederationServer;
  let board: FederationServer;
  let gateway: GatewayRun;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-apps-'));
    apps = await install();
    const resourceUri = 'ui://clock/page';
    clock = await startFederationServer({
      name: 'clock',
      era: 'legacy',
      tools: [
        { name: 'get_time', _meta: { ui: { resourceUri } } },
        { name: 'wind', _meta: { ui: { resourceUri, visibility: ['app'] } } },
      ],
      resources: [{ uri: resourceUri, name: 'page', text: '<!doctype html><title>clock</title>' }],
    });
    board = await startFederationServer({ name: 'board', era: 'modern', tools: [{ name: 'get_time' }] });
    gateway = await startFederatedGateway({ targets: { clock: { url: clock.url }, board: { url: board.url } } });
  });
  after(async () => {
    await gateway?.stop();
    await Promise.all([clock?.close(), board?.close()]);
    await rm(folder, { recursive: true, force: true });
  });

  /** The packages of the checkout are its peers: a client of the test must be one of theirs. */
  async function install(): Promise<AppsPackage> {
    await writeFile(join(folder, 'package.json'), '{}');
    const flags = ['--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...flags, `@modelcontextprotocol/ext-apps@${version}`], { cwd: folder });
    const modules = join(folder, 'node_modules');
    await mkdir(join(modules, '@modelcontextprotocol'), { recursive: true });
    for (const peer of ['@modelcontextprotocol/client', '@modelcontextprotocol/core', 'zod'])
      // eslint-disable-next-line no-await-in-loop
      await symlink(join(root, 'node_modules', peer), join(modules, peer));
    const load = (file: string): Promise<AppsPackage> =>
      import(
        pathToFileURL(join(modules, '@modelcontextprotocol/ext-apps/dist/src', file)).href
      ) as Promise<AppsPackage>;
    const [page, host] = await Promise.all([load('app.js'), load('app-bridge.js')]);
    return { ...host, App: page.App };
  }

  for (const mode of ['legacy', { pin: '2026-07-28' }] as const)
    test(`calls its server's tools by their own names (${mode === 'legacy' ? mode : mode.pin})`, async (t) => {
      const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode } });
      t.after(() => client.close());
      await client.connect(new StreamableHTTPClientTransport(new URL(gateway.urlOf('/mcp'))));

      // The host shows the page of a tool that it has called.
      const { tools } = await client.listTools();
      const shown = tools.find(({ name }) => name === 'clock_get_time')!;
      await client.callTool({ name: shown.name, arguments: {} });
      const uri = apps.getToolUiResourceUri(shown);
      assert.equal(uri, 'ui://clock/clock/page');
      const { contents } = await client.readResource({ uri });
      assert.match(JSON.stringify(contents), /<title>clock/);

      const bridge = new apps.AppBridge(client, { name: 'host', version: '1' }, { serverTools: {} });
      const page = new apps.App({ name: 'page', version: '1' }, {}, { autoResize: false });
      const [ofHost, ofPage] = InMemoryTransport.createLinkedPair();
      await bridge.connect(ofHost);
      await page.connect(ofPage);
      t.after(() => Promise.all([page.close(), bridge.close()]));

      const call = async (name: string): Promise<string> => {
        const { content } = await page.callServerTool({ name, arguments: { a: 1 } });
        return content[0]!.text;
      };
      assert.equal(await call('get_time'), 'clock get_time {"a":1}');
      assert.equal(await call('wind'), 'clock wind {"a":1}');
      assert.equal(await call('board_get_time'), 'board get_time {"a":1}');
      await assert.rejects(call('nothing'), /Unknown tool: nothing/);
    });
});
