// `mcp-gatehouse gateway`, here or as a process of its own, and the xDS server of a controller in front of it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { silentLog } from '../../src/base/log.ts';
import { type Configuration, emptyConfiguration } from '../../src/ir/configuration.ts';
import {
  type Backend,
  BackendSchema,
  type Listener,
  ListenerProtocol,
  ListenerSchema,
  PathMatchType,
  type Policy,
  PolicySchema,
  PolicyTargetKind,
  type Route,
  RouteSchema,
} from '../../src/ir/gen/config_pb.ts';
import { gatewayCommand } from '../../src/cmd/gateway.ts';
import { startXdsServer, type XdsServer, type XdsServerOptions } from '../../src/xds/server.ts';
import { buildSnapshot } from '../../src/xds/snapshot.ts';
import { type Child, startChild } from '../kit/child-process.ts';
import { program } from '../kit/gateway-program.ts';
import { type CommandRun, runCommandHere } from '../kit/run-command.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';

export const gatewayName = 'n/g';

/** A controller's xDS server that lets everybody in, unless told otherwise. */
export async function startController(t: TestContext, overrides: Partial<XdsServerOptions> = {}): Promise<XdsServer> {
  const server = await startXdsServer({
    log: silentLog,
    address: '127.0.0.1',
    port: 0,
    authorizeGateway: () => Promise.resolve({ allowed: true }),
    authorizeReplica: () => Promise.resolve({ allowed: true }),
    observer: {
      streamOpened() {},
      streamClosed() {},
      refused() {},
      pushed() {},
      acknowledged() {},
      rejected() {},
    },
    ...overrides,
  });
  t.after(() => server.close());
  return server;
}

/** What the Gateway is to have. */
export function publish(server: XdsServer, configuration: Configuration): string {
  const snapshot = buildSnapshot(configuration);
  server.setSnapshot(gatewayName, snapshot);
  return snapshot.digest;
}

export interface GatewayCommand<R extends CommandRun> {
  readonly child: R;
  readonly adminPort: number;
  readonly metricsPort: number;
  readonly readinessPort: number;
  isReady(): Promise<boolean>;
  stop(): Promise<number | null>;
}

/** A folder that goes away with the test. */
export function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-command-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts the command in this process; does not wait for anything. */
export function startGatewayCommand(
  t: TestContext,
  controller: string,
  flags: readonly string[] = [],
): Promise<GatewayCommand<CommandRun>> {
  return start(t, controller, flags, (args) => runCommandHere(gatewayCommand, args, process.env));
}

/** Starts the command as a process of its own; does not wait for anything. */
export function startGatewayCommandProcess(
  t: TestContext,
  controller: string,
  flags: readonly string[] = [],
): Promise<GatewayCommand<Child>> {
  return start(t, controller, flags, (args) =>
    startChild({ command: process.execPath, args: [program, 'gateway', ...args] }),
  );
}

async function start<R extends CommandRun>(
  t: TestContext,
  controller: string,
  flags: readonly string[],
  run: (args: readonly string[]) => R,
): Promise<GatewayCommand<R>> {
  const [adminPort, metricsPort, readinessPort] = (await findFreePorts(3)) as [number, number, number];
  const ports = ['--admin-port', adminPort, '--metrics-port', metricsPort, '--readiness-port', readinessPort];
  const given = ['--controller', controller, '--gateway', gatewayName, '--node-id', 'pod-1'];
  const child = run([...given, ...ports.map(String), ...flags]);
  t.after(() => child.stop());
  return {
    child,
    adminPort,
    metricsPort,
    readinessPort,
    async isReady() {
      if (child.exitCode() !== undefined) throw new Error(`the gateway ended:\n${child.readOutput()}`);
      return (await fetch(`http://127.0.0.1:${readinessPort}/ready`).catch(() => undefined))?.ok === true;
    },
    stop: () => child.stop(),
  };
}

/** Resolves when the server knows that the process has answered for this digest. */
export async function waitForSettled(server: XdsServer, digest: string): Promise<void> {
  await waitFor(() => server.connected.get().some(({ settled }) => settled === digest));
}

export function listener(port: number): Listener {
  return create(ListenerSchema, {
    key: 'n/g/http',
    gateway: gatewayName,
    name: 'http',
    addresses: ['127.0.0.1'],
    port,
    protocol: ListenerProtocol.HTTP,
  });
}

export function backend(port: number, name = 'a'): Backend {
  return create(BackendSchema, {
    key: `Service/n/${name}/80`,
    kind: { case: 'http', value: { endpoints: [{ host: '127.0.0.1', port }] } },
  });
}

export function route(name: string, path: string, more: MessageInitShape<typeof RouteSchema> = {}): Route {
  return create(RouteSchema, {
    key: `n/${name}/0`,
    httpRoute: `n/${name}`,
    parents: [{ listener: 'n/g/http' }],
    matches: [{ path: { type: PathMatchType.PREFIX, value: path } }],
    backends: [{ backend: 'Service/n/a/80', weight: 1 }],
    ...more,
  });
}

export function policy(
  name: string,
  httpRoute: string,
  spec: NonNullable<MessageInitShape<typeof PolicySchema>['spec']>,
): Policy {
  return create(PolicySchema, {
    key: `n/${name}/traffic/HTTPRoute/${httpRoute}`,
    source: `n/${name}`,
    target: { kind: PolicyTargetKind.HTTP_ROUTE, namespace: 'n', name: httpRoute },
    spec,
  });
}

/** One listener, one backend, and what else the test needs. */
export function configure(port: number, upstream: number, more: Partial<Configuration> = {}): Configuration {
  return { ...emptyConfiguration, listeners: [listener(port)], backends: [backend(upstream)], ...more };
}

/** The status of a GET, or why there is none. */
export async function getStatus(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<number | 'refused'> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 'refused';
  }
}
