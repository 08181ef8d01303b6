// Ten real MCP servers of npm and PyPI as processes on loopback: with HTTP of their own, or on stdio behind a bridge. Each can be killed and started again at its port.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InstalledMcpServers } from '../../scripts/install-mcp-servers.ts';
import { type Child, startChild } from '../kit/child-process.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';

/** How clients of HTTP reach a server. */
export type ServerReach = 'HTTP of its own' | 'supergateway' | 'mcp-proxy';

/** One server, as the page lists it. */
export interface RealServer {
  /** Of its target, which is the prefix as well. */
  readonly name: string;
  readonly package: string;
  readonly registry: 'npm' | 'PyPI';
  readonly reach: ServerReach;
  readonly protocol: 'StreamableHTTP' | 'SSE';
  /** The bridge keeps no sessions, and starts the server anew for each request. */
  readonly isStateless?: true;
  /** On stdio; of those with HTTP of their own, all of it. */
  readonly args: (place: Place) => readonly string[];
  readonly env?: (place: Place) => Readonly<Record<string, string>>;
}

/** What a server is told about where it runs. */
interface Place {
  readonly port: number;
  /** `notes/` with a file, `repository/` of git, and room for databases. */
  readonly folder: string;
}

/** One that runs. */
export interface RunningRealServer extends RealServer {
  readonly url: string;
  /** Ends it at once, and its bridge. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export interface RunningRealServers {
  readonly all: readonly RunningRealServer[];
  readonly folder: string;
  /** Ends all; resolves with the commands of processes that are left although nothing should be. */
  stop(): Promise<readonly string[]>;
}

const modelcontextprotocol = '@modelcontextprotocol/server-';

/** The ten. */
export const realServers: readonly RealServer[] = [
  {
    name: 'everything',
    package: `${modelcontextprotocol}everything`,
    registry: 'npm',
    reach: 'HTTP of its own',
    protocol: 'StreamableHTTP',
    args: () => ['streamableHttp'],
    env: ({ port }) => ({ PORT: String(port) }),
  },
  {
    name: 'budget',
    package: `${modelcontextprotocol}budget-allocator`,
    registry: 'npm',
    reach: 'HTTP of its own',
    protocol: 'StreamableHTTP',
    args: () => [],
    env: ({ port }) => ({ PORT: String(port) }),
  },
  {
    name: 'files',
    package: `${modelcontextprotocol}filesystem`,
    registry: 'npm',
    reach: 'supergateway',
    protocol: 'StreamableHTTP',
    isStateless: true,
    args: ({ folder }) => [join(folder, 'notes')],
  },
  {
    name: 'memory',
    package: `${modelcontextprotocol}memory`,
    registry: 'npm',
    reach: 'supergateway',
    protocol: 'StreamableHTTP',
    args: () => [],
    env: ({ folder }) => ({ MEMORY_FILE_PATH: join(folder, 'memory.jsonl') }),
  },
  {
    name: 'thinking',
    package: `${modelcontextprotocol}sequential-thinking`,
    registry: 'npm',
    reach: 'mcp-proxy',
    protocol: 'StreamableHTTP',
    args: () => [],
  },
  {
    name: 'fetch',
    package: 'mcp-server-fetch',
    registry: 'PyPI',
    reach: 'supergateway',
    protocol: 'StreamableHTTP',
    args: () => ['--allow-private-ips', '--ignore-robots-txt'],
  },
  {
    name: 'time',
    package: 'mcp-server-time',
    registry: 'PyPI',
    reach: 'mcp-proxy',
    protocol: 'StreamableHTTP',
    args: () => ['--local-timezone', 'UTC'],
  },
  {
    name: 'git',
    package: 'mcp-server-git',
    registry: 'PyPI',
    reach: 'mcp-proxy',
    protocol: 'SSE',
    args: ({ folder }) => ['--repository', join(folder, 'repository')],
  },
  {
    name: 'sqlite',
    package: 'mcp-server-sqlite',
    registry: 'PyPI',
    reach: 'mcp-proxy',
    protocol: 'StreamableHTTP',
    args: ({ folder }) => ['--db-path', join(folder, 'database.sqlite')],
  },
  {
    name: 'duckdb',
    package: 'mcp-server-motherduck',
    registry: 'PyPI',
    reach: 'HTTP of its own',
    protocol: 'StreamableHTTP',
    args: ({ port }) => [
      '--transport',
      'http',
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--db-path',
      ':memory:',
      '--read-write',
    ],
  },
];

const preload = new URL('../mcp/bind-loopback.ts', import.meta.url).href;
const markName = 'MCP_GATEHOUSE_TEST_RUN';

/** Starts all of them. */
export async function startRealServers(installed: InstalledMcpServers): Promise<RunningRealServers> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-servers-'));
  prepare(folder);
  const mark = randomUUID();
  const ports = await findFreePorts(realServers.length);
  const all = realServers.map((server, index) =>
    describe(
      server,
      { port: ports[index]!, folder },
      { ...process.env, NODE_OPTIONS: '', [markName]: mark },
      installed,
    ),
  );
  const stop = async (): Promise<readonly string[]> => {
    await Promise.all(all.map((server) => server.stop()));
    // What a bridge started ends when it sees that the bridge is gone.
    await waitFor('the processes of the servers have ended', () => listProcesses(mark).length === 0).catch(() => {});
    rmSync(folder, { recursive: true, force: true });
    return listProcesses(mark);
  };
  try {
    await Promise.all(all.map((server) => server.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { all, folder, stop };
}

function describe(
  server: RealServer,
  place: Place,
  inherited: NodeJS.ProcessEnv,
  installed: InstalledMcpServers,
): RunningRealServer & { stop(): Promise<unknown> } {
  const { command, args } = formatCommand(server, place, installed);
  const env = { ...inherited, ...server.env?.(place) };
  let child: Child | undefined;
  return {
    ...server,
    url: `http://127.0.0.1:${place.port}${server.protocol === 'SSE' ? '/sse' : '/mcp'}`,
    async start() {
      const started = startChild({ command, args, env, cwd: place.folder });
      child = started;
      await waitFor(`${server.name} accepts connections`, async () => {
        if (started.exitCode() !== undefined) throw new Error(`${server.name} ended:\n${started.readOutput()}`);
        const answer = await fetch(`http://127.0.0.1:${place.port}/is-anybody-there`).catch(() => undefined);
        await answer?.body?.cancel();
        return answer !== undefined;
      });
    },
    async kill() {
      if (child?.exitCode() !== undefined) return;
      if (child !== undefined) process.kill(child.pid, 'SIGKILL');
      await child?.waitForExit();
    },
    stop: async () => child?.stop(),
  };
}

interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

function formatCommand(server: RealServer, place: Place, installed: InstalledMcpServers): Command {
  const { reach, isStateless } = server;
  const itself = formatOwnCommand(server, place, installed);
  const port = String(place.port);
  switch (reach) {
    case 'supergateway': {
      const own = ['exec', itself.command, ...itself.args].map((part, index) => (index === 0 ? part : quote(part)));
      // Not HTTP+SSE: there it has one process of the server for all sessions, and sends the answers for one of them to all.
      const output = ['streamableHttp', ...(isStateless ? [] : ['--stateful'])];
      const bridge = join(installed.packageFolder('supergateway'), 'dist', 'index.js');
      const flags = ['--stdio', own.join(' '), '--port', port, '--outputTransport', ...output];
      return { command: process.execPath, args: ['--import', preload, bridge, ...flags] };
    }
    case 'mcp-proxy': {
      const bridge = formatPythonCommand(installed.python1, 'mcp-proxy');
      const flags = ['--host', '127.0.0.1', '--port', port, '--pass-environment', '--'];
      return { ...bridge, args: [...bridge.args, ...flags, itself.command, ...itself.args] };
    }
    case 'HTTP of its own':
      return itself;
  }
}

/** Without the bridge. */
function formatOwnCommand(server: RealServer, place: Place, installed: InstalledMcpServers): Command {
  const args = server.args(place);
  if (server.registry === 'PyPI') {
    const itself = formatPythonCommand(installed[server.name === 'sqlite' ? 'python1' : 'python2'], server.package);
    return { ...itself, args: [...itself.args, ...args] };
  }
  const program = join(installed.packageFolder(server.package), 'dist', 'index.js');
  const loopback = server.reach === 'HTTP of its own' ? ['--import', preload] : [];
  return { command: process.execPath, args: [...loopback, program, ...args] };
}

function formatPythonCommand(environment: string, script: string): Command {
  return { command: join(environment, 'bin', 'python'), args: [join(environment, 'bin', script)] };
}

function quote(part: string): string {
  return `'${part.replaceAll("'", String.raw`'\''`)}'`;
}

/** What the servers look at. */
function prepare(folder: string): void {
  mkdirSync(join(folder, 'notes'));
  writeFileSync(join(folder, 'notes', 'shopping.txt'), 'bread and salt\n');
  const repository = join(folder, 'repository');
  mkdirSync(repository);
  const git = (...args: readonly string[]): void => {
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false'];
    execFileSync('git', [...who, ...args], { cwd: repository, stdio: 'ignore' });
  };
  git('init', '--quiet');
  git('commit', '--quiet', '--allow-empty', '--message', 'The first stone');
}

/** The commands of the processes that have the mark in their environment; where the system does not tell (not Linux), none. */
function listProcesses(mark: string): readonly string[] {
  const read = (pid: string, file: string): string => {
    try {
      return readFileSync(join('/proc', pid, file), 'utf8');
    } catch {
      return '';
    }
  };
  let pids: readonly string[] = [];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    // No such folder.
  }
  return pids
    .filter((pid) => read(pid, 'environ').includes(`${markName}=${mark}`))
    .map((pid) => read(pid, 'cmdline').replaceAll('\0', ' ').trim())
    .filter((command) => command !== '');
}
