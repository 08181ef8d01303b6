// The proxy under measurement, on a core of its own: `mcp-gatehouse run` as in production, or one of its peers.
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { imageComponents } from '../../scripts/image/components.ts';
import { waitFor } from '../kit/wait-for.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import type { BenchProxy } from './bench-case.ts';
import { type PinnedProcess, startPinned } from './pinned-process.ts';

const ownCheckout = fileURLToPath(new URL('../..', import.meta.url));
/** What users start. */
const program = join('bin', 'mcp-gatehouse.mjs');
/** As the image starts it. */
const imageFlags = imageComponents.flatMap(({ name, nodeFlag }) => (name === 'gateway' && nodeFlag ? [nodeFlag] : []));

/** Where the programs are. */
export type Tools = Readonly<Record<'nginx' | 'haproxy' | 'envoy' | 'wrk' | 'taskset', string>>;

/** The proxies have a core for themselves; load, upstream and whoever else is needed share the other one. */
export const proxyCore = 0;
export const otherCore = 1;

/** A proxy that runs. */
export interface RunningProxy extends PinnedProcess {
  readonly port: number;
}

export interface StartOptions {
  readonly tools: Tools;
  /** Gets a folder inside of this one. */
  readonly folder: string;
  readonly upstreamPort: number;
  readonly accessLog: boolean;
  /** Flags for node itself, where it is our gateway. */
  readonly nodeFlags?: readonly string[];
  /** In place of the one core that proxies have otherwise. */
  readonly cores?: string;
}

/** Starts one, and resolves when it is ready. The name is for messages. */
export async function startProxy(name: string, proxy: BenchProxy, options: StartOptions): Promise<RunningProxy> {
  for (let attempt = 1; ; attempt += 1) {
    const { isReady, ...started } = await launchProxy(name, proxy, options);
    await waitFor(async () => started.exitCode() !== undefined || isReady());
    if (started.exitCode() === undefined) return started;
    // Between finding a free port and listening on it, another process may have taken it.
    if (attempt >= 5 || !/in use|already uses|cannot bind/i.test(started.readErrors())) {
      throw new Error(`the proxy of ${name} ended:\n${started.readErrors()}`);
    }
  }
}

/** A proxy that was started, and may not be ready yet. */
export interface LaunchedProxy extends RunningProxy {
  readonly folder: string;
  readonly isReady: () => Promise<boolean>;
}

/** Starts one, and does not wait for it. */
export async function launchProxy(name: string, proxy: BenchProxy, options: StartOptions): Promise<LaunchedProxy> {
  await mkdir(options.folder, { recursive: true });
  return launch(proxy, await mkdtemp(join(options.folder, `${name}-`)), options);
}

async function launch(proxy: BenchProxy, folder: string, options: StartOptions): Promise<LaunchedProxy> {
  const { tools, upstreamPort, accessLog, nodeFlags = [] } = options;
  const pinned = { taskset: tools.taskset, core: options.cores ?? proxyCore };
  const [port, admin, metrics, readiness] = (await findFreePorts(4)) as [number, number, number, number];
  const ports = { gateway: port, upstream: upstreamPort };
  if (proxy.kind === 'gateway') {
    const file = join(folder, 'gateway.yaml');
    await writeFile(file, formatResources(proxy.resources(ports)));
    const keyFile = join(folder, 'signing-keys');
    if (proxy.signingKeys !== undefined) await writeFile(keyFile, proxy.signingKeys, { mode: 0o600 });
    const keyFlags = proxy.signingKeys === undefined ? [] : ['--signing-key-file', keyFile];
    const own = ['--admin-port', admin, '--metrics-port', metrics, '--readiness-port', readiness].map(String);
    const flags = [...own, ...(accessLog ? [] : ['--no-access-log']), ...keyFlags, ...(proxy.flags ?? [])];
    const gateway = startPinned({
      ...pinned,
      command: process.execPath,
      args: [...imageFlags, ...nodeFlags, join(proxy.checkout ?? ownCheckout, program), 'run', '-f', file, ...flags],
      env: { ...process.env, NODE_OPTIONS: '', XDG_STATE_HOME: folder },
    });
    const isReady = async (): Promise<boolean> =>
      (await fetch(`http://127.0.0.1:${readiness}/ready`).catch(() => undefined))?.ok === true;
    return { ...gateway, port, folder, isReady };
  }
  const file = join(folder, `${proxy.kind}.${proxy.kind === 'envoy' ? 'yaml' : 'conf'}`);
  await writeFile(file, proxy.configure({ ...ports, folder }));
  const args = {
    nginx: ['-e', 'stderr', '-p', folder, '-c', file],
    haproxy: ['-f', file],
    // Several of them on one machine, each alone: nothing to take over from a process before.
    envoy: ['-c', file, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'warning'],
  }[proxy.kind];
  const peer = startPinned({ ...pinned, command: tools[proxy.kind], args });
  return { ...peer, port, folder, isReady: () => isListening(port) };
}

/** Resources as a file has them. */
export function formatResources(resources: readonly object[]): string {
  return resources.map((resource) => JSON.stringify(resource)).join('\n---\n');
}

/** Whether somebody accepts connections there. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
