// Runs a real gateway process from files, on free loopback ports, with one route per MCP server behind it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, startChild } from '../kit/child-process.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { program } from '../kit/gateway-program.ts';

/** An MCP server to put behind the gateway. */
export interface GatewayTarget {
  /** The URL of the MCP endpoint, or of the event stream of a legacy SSE server. */
  readonly url: string;
  readonly protocol?: 'StreamableHTTP' | 'SSE';
}

/** What the gateway should serve. */
export interface GatewayOptions {
  /** Targets by name; `tickets` is served at `/tickets`. */
  readonly targets: Readonly<Record<string, GatewayTarget>>;
  /** Further flags of `mcp-gateway run`. */
  readonly flags?: readonly string[];
  /** Flags for node itself. */
  readonly nodeFlags?: readonly string[];
}

/** A gateway that runs. */
export interface RunningGateway {
  readonly pid: number;
  /** Scheme, address and port. */
  readonly url: string;
  /** The URL at which clients reach a target. */
  urlOf(target: string): string;
  /** Everything that the gateway wrote so far. */
  readOutput(): string;
  /** Stops it with SIGTERM and resolves with its exit code. */
  stop(): Promise<number | null>;
}

/** Thrown when a gateway does not come up. */
export class GatewayNotReadyError extends Error {
  readonly code = 'GATEWAY_NOT_READY';
}

/** Starts a gateway and resolves once it says that it is ready. */
export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  for (let attempt = 1; ; attempt += 1) {
    const [port, admin, metrics, readiness] = (await findFreePorts(4)) as [number, number, number, number];
    const folder = await mkdtemp(join(tmpdir(), 'mcp-gateway-test-'));
    const file = join(folder, 'gateway.yaml');
    await writeFile(file, formatResources(port, options.targets));
    const ports = ['--admin-port', admin, '--metrics-port', metrics, '--readiness-port', readiness].map(String);
    const child = startChild({
      command: process.execPath,
      args: [...(options.nodeFlags ?? []), program, 'run', '-f', file, ...ports, ...(options.flags ?? [])],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    const stop = async (): Promise<number | null> => {
      const code = await child.stop();
      await rm(folder, { recursive: true, force: true });
      return code;
    };
    if (await waitUntilReady(child, readiness)) {
      const url = `http://127.0.0.1:${port}`;
      return { pid: child.pid, url, urlOf: (target) => `${url}/${target}`, readOutput: () => child.readOutput(), stop };
    }
    await stop();
    // Between finding a free port and listening on it, another process may have taken it.
    if (attempt >= 5 || !/EADDRINUSE|in use|taken/i.test(child.readOutput())) {
      throw new GatewayNotReadyError(`The gateway did not become ready:\n${child.readOutput()}`);
    }
  }
}

async function waitUntilReady(child: Child, port: number): Promise<boolean> {
  const deadline = Date.now() + 120_000;
  while (child.exitCode() === undefined && Date.now() < deadline) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/ready`);
      await response.body?.cancel();
      if (response.ok) return true;
    } catch {
      // Nobody listens yet.
    }
    await delay(20);
  }
  return false;
}

function formatResources(port: number, targets: GatewayOptions['targets']): string {
  const gateway = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'test' },
    spec: {
      gatewayClassName: 'proxy',
      addresses: [{ type: 'IPAddress', value: '127.0.0.1' }],
      listeners: [{ name: 'http', port, protocol: 'HTTP' }],
    },
  };
  const others = Object.entries(targets).flatMap(([name, target]) => [
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name },
      spec: {
        parentRefs: [{ name: 'test' }],
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: `/${name}` } }],
            backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name }],
          },
        ],
      },
    },
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyBackend',
      metadata: { name },
      spec: { mcp: { targets: [{ name, static: formatStaticTarget(target) }] } },
    },
  ]);
  // JSON is YAML, and needs no thought about quoting.
  return [gateway, ...others].map((resource) => JSON.stringify(resource, undefined, 2)).join('\n---\n');
}

function formatStaticTarget({ url, protocol = 'StreamableHTTP' }: GatewayTarget): Record<string, unknown> {
  const { hostname, port, pathname } = new URL(url);
  return { host: hostname, port: Number(port), path: pathname, protocol };
}
