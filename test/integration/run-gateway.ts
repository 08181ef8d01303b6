// Starts `mcp-gateway run` as users do: a process, a file, free ports. Readiness is waited for, never slept for.
import { mkdtempSync, rmSync, writeFileSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, startChild } from '../mcp/child-process.ts';
import { program } from '../mcp/gateway-program.ts';
import { findFreePorts } from '../mcp/free-ports.ts';

export interface GatewayRun {
  readonly child: Child;
  readonly port: number;
  readonly adminPort: number;
  readonly metricsPort: number;
  readonly readinessPort: number;
  readonly folder: string;
  /** Replaces the configuration, atomically as a careful editor does. */
  write(resources: readonly object[]): void;
  /** A metric without labels. */
  readMetric(name: string): Promise<number>;
  stop(): Promise<number | null>;
}

export interface GatewayRunOptions {
  /** Gets the port to listen on. */
  readonly resources: (port: number) => readonly object[];
  readonly flags?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** The launcher without one. */
  readonly program?: string;
}

/** Starts a gateway and resolves when it is ready. */
export async function runGateway(options: GatewayRunOptions): Promise<GatewayRun> {
  const [port, adminPort, metricsPort, readinessPort] = (await findFreePorts(4)) as [number, number, number, number];
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gateway-run-'));
  const file = join(folder, 'gateway.yaml');
  const write = (resources: readonly object[]): void => {
    const temporary = join(folder, '.gateway.yaml.tmp');
    writeFileSync(temporary, resources.map((resource) => JSON.stringify(resource)).join('\n---\n'));
    renameSync(temporary, file);
  };
  write(options.resources(port));
  const ports = ['--admin-port', adminPort, '--metrics-port', metricsPort, '--readiness-port', readinessPort].map(
    String,
  );
  const child = startChild({
    command: process.execPath,
    args: [options.program ?? program, 'run', '-f', file, ...ports, ...(options.flags ?? [])],
    // Seal keys of a test do not belong into the home of whoever runs it.
    env: { ...process.env, XDG_STATE_HOME: folder, ...options.env },
  });
  const stop = async (): Promise<number | null> => {
    const code = await child.stop();
    rmSync(folder, { recursive: true, force: true });
    return code;
  };
  try {
    await waitFor(async () => {
      if (child.exitCode() !== undefined) throw new Error(`the gateway ended:\n${child.readOutput()}`);
      return (await fetch(`http://127.0.0.1:${readinessPort}/ready`).catch(() => undefined))?.ok === true;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    child,
    port,
    adminPort,
    metricsPort,
    readinessPort,
    folder,
    write,
    stop,
    async readMetric(name) {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      const line = text.split('\n').find((each) => each.startsWith(`${name} `));
      if (line === undefined) throw new Error(`there is no metric ${name}`);
      return Number(line.slice(name.length + 1));
    },
  };
}

/** Asks again until the answer is yes. Gives up after a minute: slow is fine, stuck is not. */
export async function waitFor(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited two minutes in vain for ${String(condition)}`);
    await delay(10);
  }
}

/** One Gateway on loopback. */
export function gatewayResource(port: number, listener: object = {}): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'test' },
    spec: {
      gatewayClassName: 'proxy',
      addresses: [{ value: '127.0.0.1' }],
      listeners: [{ name: 'http', protocol: 'HTTP', port, ...listener }],
    },
  };
}

/** One HTTPRoute with these rules. */
export function routeResource(name: string, rules: readonly object[], spec: object = {}): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name },
    spec: { parentRefs: [{ name: 'test' }], rules, ...spec },
  };
}

/** One MCP server. */
export function backendResource(name: string, port: number, path = '/mcp', mcp: object = {}): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { name },
    spec: { mcp: { targets: [{ name, static: { host: '127.0.0.1', port, path } }], ...mcp } },
  };
}

/** A rule from a path prefix to a ProxyBackend. */
export function ruleTo(path: string, backend: string, rule: object = {}): object {
  return {
    matches: [{ path: { type: 'PathPrefix', value: path } }],
    backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: backend }],
    ...rule,
  };
}
