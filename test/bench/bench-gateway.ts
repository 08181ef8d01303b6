// The gateway under measurement: `mcp-gateway run` as in production, on a core of its own.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../integration/run-gateway.ts';
import { findFreePorts } from '../mcp/gateway-under-test.ts';
import type { BenchCase } from './bench-case.ts';
import { type PinnedProcess, startPinned } from './pinned-process.ts';

const program = fileURLToPath(new URL('../../src/cmd/main.ts', import.meta.url));

/** A gateway with the configuration of a case. */
export interface BenchGateway extends PinnedProcess {
  readonly port: number;
}

export interface BenchGatewayOptions {
  readonly taskset: string;
  readonly core: number;
  readonly folder: string;
  readonly upstreamPort: number;
  readonly accessLog: boolean;
  /** Flags for node itself. */
  readonly nodeFlags?: readonly string[];
}

/** Starts one, and resolves when it is ready. */
export async function startBenchGateway(
  { name, resources }: BenchCase,
  { taskset, core, folder, upstreamPort, accessLog, nodeFlags = [] }: BenchGatewayOptions,
): Promise<BenchGateway> {
  const [port, admin, metrics, readiness] = (await findFreePorts(4)) as [number, number, number, number];
  const own = join(folder, name);
  await mkdir(own, { recursive: true });
  const file = join(own, 'gateway.yaml');
  const documents = resources({ gateway: port, upstream: upstreamPort }).map((resource) => JSON.stringify(resource));
  await writeFile(file, documents.join('\n---\n'));
  const ports = ['--admin-port', admin, '--metrics-port', metrics, '--readiness-port', readiness].map(String);
  const gateway = startPinned({
    taskset,
    core,
    command: process.execPath,
    args: [...nodeFlags, program, 'run', '-f', file, ...ports, ...(accessLog ? [] : ['--no-access-log'])],
    env: { ...process.env, NODE_OPTIONS: '', XDG_STATE_HOME: own },
  });
  await waitFor(async () => {
    if (gateway.exitCode() !== undefined) throw new Error(`the gateway of ${name} ended:\n${gateway.readErrors()}`);
    return (await fetch(`http://127.0.0.1:${readiness}/ready`).catch(() => undefined))?.ok === true;
  });
  return { ...gateway, port };
}
