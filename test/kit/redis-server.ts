// A real redis-server (or valkey-server) for a test, in a folder of its own, on a port of its own.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from './child-process.ts';
import { findFreePorts } from './free-ports.ts';
import { waitFor } from './wait-for.ts';

interface RedisServerOptions {
  /** Settings as on its command line, without dashes: { requirepass: 'x' }. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Listens with TLS, with these files; otherwise without. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Commands right after the start, such as ACL SETUSER. */
  readonly commands?: readonly (readonly string[])[];
}

/** A server that runs. */
export interface RedisServer {
  readonly port: number;
  /** redis:// or rediss:// with its address. */
  readonly url: string;
  /** One command by a client of its own, without TLS; answers are texts as they come. */
  run(...command: readonly string[]): Promise<string>;
  /** Stops answering, and keeps connections open. */
  pause(): void;
  resume(): void;
  /** As a crash. */
  kill(): Promise<void>;
  /** Again on the same port, with nothing in it; `settings` are added to those of the start. */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
  stop(): Promise<void>;
}

/** The program; a clear error when there is none. */
function findProgram(): string {
  const found = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);
  if (found === undefined)
    throw new Error('there is no redis-server: apt-get install redis-server (or valkey-server) brings one');
  return found;
}

/** Starts one. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const program = findProgram();
  const [port, plainPort] = (await findFreePorts(2)) as [number, number];
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-redis-'));
  const { tls, commands = [] } = options;
  // For the test's own commands, whatever the server asks of others.
  const ownPort = tls === undefined ? port : plainPort;
  let child: Child | undefined;
  let current: Readonly<Record<string, string>> = {};

  const run = (...command: readonly string[]): Promise<string> => {
    const password = current['requirepass'];
    return sendCommands(ownPort, [...(password === undefined ? [] : [['AUTH', password]]), command]);
  };
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<void> => {
    current = { ...options.settings, ...more };
    const settings = {
      bind: '127.0.0.1',
      port: `${ownPort}`,
      dir: folder,
      save: '',
      appendonly: 'no',
      'maxmemory-policy': 'noeviction',
      ...(tls !== undefined && {
        'tls-port': `${port}`,
        'tls-cert-file': tls.certFile,
        'tls-key-file': tls.keyFile,
        'tls-ca-cert-file': tls.certFile,
        'tls-auth-clients': 'no',
      }),
      ...current,
    };
    const started = startChild({
      command: program,
      args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    });
    child = started;
    await waitFor('redis-server answers', async () => {
      if (started.exitCode() !== undefined) throw new Error(`redis-server ended:\n${started.readOutput()}`);
      return (await run('PING').catch(() => '')).includes('PONG');
    });
    for (const command of commands) await run(...command);
  };
  await start();
  return {
    port,
    url: `${tls === undefined ? 'redis' : 'rediss'}://127.0.0.1:${port}/0`,
    run,
    pause: () => void process.kill(child!.pid, 'SIGSTOP'),
    resume: () => void process.kill(child!.pid, 'SIGCONT'),
    async kill() {
      process.kill(child!.pid, 'SIGKILL');
      await child!.waitForExit();
    },
    restart: (settings) => start(settings),
    async stop() {
      if (child?.exitCode() === undefined) {
        process.kill(child!.pid, 'SIGCONT');
        await child!.stop();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The answer to the last of them, as it comes. A client of our own: the one under test proves nothing about itself. */
function sendCommands(port: number, commands: readonly (readonly string[])[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const encode = (words: readonly string[]): string =>
      `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
    socket.setEncoding('utf8');
    socket.on('error', reject);
    socket.on('data', (part: string) => (text += part));
    socket.on('close', () => resolve(text));
    socket.write(`${commands.map(encode).join('')}${encode(['QUIT'])}`);
  });
}
