// A gateway for tests: `mcp-gatehouse run` with a file and free ports. `runGateway` runs the command in the process of the test, which costs a tenth of a start;
// `runGatewayProcess` starts the program as users do, for tests of signals, workers, memory and what is loaded.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../src/cmd/run.ts';
import { type Child, startChild } from './child-process.ts';
import { type CommandRun, runCommandHere } from './run-command.ts';
import { findFreePorts } from './free-ports.ts';
import { program } from './gateway-program.ts';
import { waitFor } from './wait-for.ts';

export interface GatewayRun {
  readonly port: number;
  /** Scheme, address and port. */
  readonly url: string;
  /** The URL of a path there; its first slash may be left out. */
  urlOf(path: string): string;
  readonly adminPort: number;
  readonly metricsPort: number;
  readonly readinessPort: number;
  /** Where its file is, and its state. */
  readonly folder: string;
  /** Replaces the configuration, atomically as a careful editor does. */
  write(resources: readonly object[]): void;
  /** Everything that it has written so far: its log. */
  readOutput(): string;
  /** The log so far, record by record: with `--log-format json`. */
  readLog(): Record<string, unknown>[];
  /** Undefined while it runs. */
  exitCode(): number | null | undefined;
  /** A metric without labels. */
  readMetric(name: string): Promise<number>;
  /** As SIGTERM does. Resolves with the exit code. */
  stop(): Promise<number | null>;
}

export interface GatewayProcessRun extends GatewayRun {
  readonly child: Child;
}

export interface GatewayRunOptions {
  /** Gets the port to listen on. */
  readonly resources: (port: number) => readonly object[];
  readonly flags?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export interface GatewayProcessOptions extends GatewayRunOptions {
  /** The launcher without one. */
  readonly program?: string;
}

/** Starts a gateway in this process, and resolves when it is ready. */
export function runGateway(options: GatewayRunOptions): Promise<GatewayRun> {
  return run(options, (args, env) => runCommandHere(runCommand, args, env));
}

/** Starts a gateway as a process of its own, and resolves when it is ready. */
export async function runGatewayProcess(options: GatewayProcessOptions): Promise<GatewayProcessRun> {
  let child: Child | undefined;
  const started = await run(options, (args, env) => {
    child = startChild({ command: process.execPath, args: [options.program ?? program, 'run', ...args], env });
    return child;
  });
  return { ...started, child: child! };
}

async function run(
  options: GatewayRunOptions,
  start: (args: readonly string[], env: NodeJS.ProcessEnv) => CommandRun,
): Promise<GatewayRun> {
  const [port, adminPort, metricsPort, readinessPort] = (await findFreePorts(4)) as [number, number, number, number];
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-run-'));
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
  // Seal keys of a test do not belong into the home of whoever runs it.
  const env = { ...process.env, XDG_STATE_HOME: folder, ...options.env };
  const runner = start(['-f', file, ...ports, ...(options.flags ?? [])], env);
  const stop = async (): Promise<number | null> => {
    const code = await runner.stop();
    rmSync(folder, { recursive: true, force: true });
    return code;
  };
  try {
    await waitFor('the gateway is ready', async () => {
      if (runner.exitCode() !== undefined) throw new Error(`the gateway ended:\n${runner.readOutput()}`);
      const answer = await fetch(`http://127.0.0.1:${readinessPort}/ready`).catch(() => undefined);
      // Without a route it never is: then it is enough that it has applied its configuration.
      return answer !== undefined && (answer.ok || (await answer.text()).includes('Serving nothing'));
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const url = `http://127.0.0.1:${port}`;
  return {
    port,
    url,
    urlOf: (path) => `${url}/${path.replace(/^\//, '')}`,
    adminPort,
    metricsPort,
    readinessPort,
    folder,
    write,
    readOutput: () => runner.readOutput(),
    readLog: () => parseLog(runner.readOutput()),
    exitCode: () => runner.exitCode(),
    stop,
    async readMetric(name) {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      const line = text.split('\n').find((each) => each.startsWith(`${name} `));
      if (line === undefined) throw new Error(`there is no metric ${name}`);
      return Number(line.slice(name.length + 1));
    },
  };
}

function parseLog(output: string): Record<string, unknown>[] {
  return (
    output
      .split('\n')
      // The last line may be half written.
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  );
}
