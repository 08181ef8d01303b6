// Installs real MCP servers of npm and PyPI, and the bridges from stdio to HTTP, into the user's cache folder, once per set of versions (scripts/mcp-servers).
// Run by `npm run test:compatibility`; `node scripts/install-mcp-servers.ts` does it alone.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findCacheFolder } from './cache-folder.ts';
import { InstallationError, installOnce, runInstaller } from './install-once.ts';
import { createEnvironment, findInterpreter } from './python-environment.ts';

/** Where the servers are. */
export interface InstalledMcpServers {
  /** The folder of a package of npm. */
  readonly packageFolder: (name: string) => string;
  /** The virtual environments: what needs Python mcp 1.x cannot be in one with what needs 2.x. */
  readonly python1: string;
  readonly python2: string;
  /** As pinned: `supergateway` to `4.0.0`, names of npm and PyPI. */
  readonly versions: ReadonlyMap<string, string>;
}

const pins = join(import.meta.dirname, 'mcp-servers');
const npmFiles = ['package.json', 'package-lock.json'];
const requirements = { python1: 'python-mcp-1.txt', python2: 'python-mcp-2.txt' } as const;

/** Makes sure that the servers are installed. */
export async function installMcpServers(report: (line: string) => void): Promise<InstalledMcpServers> {
  const interpreter = await findInterpreter();
  const folder = join(findCacheFolder(), 'mcp-servers', `${await hashPins()}-python-${interpreter.version}`);
  await installOnce({
    title: 'MCP servers of npm and PyPI',
    folder,
    isInstalled: () => exists(folder),
    async install(building) {
      report(`Installing MCP servers of npm and PyPI for Python ${interpreter.version}. This happens once.`);
      await installNpmPackages(join(building, 'npm'));
      for (const [name, file] of Object.entries(requirements)) {
        // The file has all packages that the named ones need.
        const packages = ['--no-deps', '-r', join(pins, file)];
        const title = `The MCP servers of scripts/mcp-servers/${file}`;
        await createEnvironment({ interpreter, folder: join(building, name), packages, title, report });
      }
      return building;
    },
    report,
  });
  return {
    packageFolder: (name) => join(folder, 'npm', 'node_modules', name),
    python1: join(folder, 'python1'),
    python2: join(folder, 'python2'),
    versions: await readVersions(),
  };
}

async function installNpmPackages(folder: string): Promise<void> {
  await mkdir(folder);
  for (const file of npmFiles) await copyFile(join(pins, file), join(folder, file));
  // Scripts of packages do not run: none of these needs one.
  const args = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
  const child = spawn('npm', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(child, 'close').catch((error: unknown) => [String(error)]);
  const [code] = (await ended) as [unknown];
  if (code === 0) return;
  const reason = output.trim().split('\n')[0] ?? '';
  throw new InstallationError(
    `The MCP servers of scripts/mcp-servers/package.json could not be installed: npm ci ended with ${String(code)}: ${reason}`,
  );
}

async function hashPins(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of [...npmFiles, ...Object.values(requirements)]) hash.update(await readFile(join(pins, file)));
  return hash.digest('hex').slice(0, 12);
}

async function readVersions(): Promise<Map<string, string>> {
  const { dependencies } = JSON.parse(await readFile(join(pins, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const versions = new Map(Object.entries(dependencies));
  for (const file of Object.values(requirements)) {
    const text = await readFile(join(pins, file), 'utf8');
    for (const [, name, version] of text.matchAll(/^([\w.-]+)==(\S+)/gm)) versions.set(name!, version!);
  }
  return versions;
}

async function exists(folder: string): Promise<boolean> {
  try {
    await access(folder);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  await runInstaller('MCP servers and bridges', async (report) => {
    const { versions } = await installMcpServers(report);
    return `${versions.size} pinned packages`;
  });
}
