// `mcp-gatehouse controller` as a process: its ports, its log, how it ends, and what docs/control-plane.md says about it.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createMetrics } from '../../src/base/metrics.ts';
import { controllerCommandFlags } from '../../src/cmd/controller-flags.ts';
import { formatFlagName } from '../../src/cmd/flags.ts';
import { createControllerMetrics } from '../../src/controller/controller-metrics.ts';
import { conditionReasons } from '../../src/translate/conditions.ts';
import { program } from '../kit/gateway-program.ts';
import { putGateway, startCluster, waitForCondition } from './controller-fixture.ts';
import type { Cleanup, FakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

const root = resolve(fileURLToPath(import.meta.url), '../../..');

interface LogLine {
  readonly msg: string;
  readonly ports?: { readonly xds: number; readonly health: number; readonly metrics: number };
}

interface RunningCommand {
  readonly process: ChildProcess;
  readonly lines: readonly LogLine[];
  readonly errors: () => string;
  readonly exit: Promise<number | null>;
}

function runCommand(context: Cleanup, cluster: FakeApiServer, args: readonly string[]): RunningCommand {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-command-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'fake', cluster: { server: cluster.url } }],
      users: [{ name: 'nobody', user: {} }],
      contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'nobody' } }],
      'current-context': 'fake',
    }),
  );
  const ports = ['xds', 'health', 'metrics'].flatMap((name) =>
    args.includes(`--${name}-port`) ? [] : [`--${name}-port`, '0'],
  );
  const child = spawn(
    process.execPath,
    [program, 'controller', '--kubeconfig', kubeconfig, '--log-format', 'json', ...ports, ...args],
    { cwd: root, env: { PATH: process.env['PATH'], HOME: folder }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const lines: LogLine[] = [];
  let [rest, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop()!;
    for (const part of parts) lines.push(JSON.parse(part) as LogLine);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const exit = new Promise<number | null>((done) => child.on('exit', done));
  context.after(async () => {
    child.kill('SIGKILL');
    await exit;
    rmSync(folder, { recursive: true, force: true });
  });
  return { process: child, lines, errors: () => errors, exit };
}

describe('the command', () => {
  test('runs, answers on its ports, and ends cleanly with its Lease given back', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    const command = runCommand(context, cluster, ['--pod-name', 'proxy-7', '--pod-address', '127.0.0.1']);
    const { ports } = await waitFor(`it runs ${command.errors()}`, () =>
      command.lines.find(({ msg }) => msg === 'the controller runs'),
    );
    const get = (port: number, path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
    assert.deepEqual(await (await get(ports!.health, '/healthz')).json(), { live: true });
    await waitFor('it is ready', async () => (await get(ports!.health, '/readyz')).status === 200);
    const readiness = (await (await get(ports!.health, '/readyz')).json()) as { checks: { name: string }[] };
    assert.deepEqual(
      readiness.checks.map(({ name }) => name),
      ['process', 'xds', 'caches'],
    );
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Accepted', 'True');
    const metrics = await (await get(ports!.metrics, '/metrics')).text();
    assert.match(metrics, /^mcp_gateway_controller_leader 1$/m);
    assert.match(metrics, /^mcp_gateway_controller_watched_objects\{kind="Gateway"\} 1$/m);
    assert.match(metrics, /^process_cpu_seconds_total /m);
    const holder = (): unknown =>
      (cluster.find('Lease', 'proxy-system/proxy-controller')!['spec'] as { holderIdentity: string }).holderIdentity;
    assert.equal(holder(), 'proxy-7');
    command.process.kill('SIGHUP');
    await waitFor('it says what SIGHUP does', () => command.lines.find(({ msg }) => msg.startsWith('SIGHUP: ')));
    command.process.kill('SIGTERM');
    assert.equal(await command.exit, 0, JSON.stringify(command.lines.slice(-5)));
    assert.equal(holder(), '');
    assert.equal(command.lines.at(-1)?.msg, 'stopped');
  });

  test('a port that is taken stops the start with one line', async (context) => {
    const cluster = await startCluster(context);
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, done));
    context.after(() => taken.close());
    const { port } = taken.address() as AddressInfo;
    const command = runCommand(context, cluster, ['--health-port', `${port}`]);
    assert.equal(await command.exit, 1);
    assert.equal(
      command.errors(),
      `mcp-gatehouse controller: port ${port} on every interface (health) is in use; choose another with --health-port or MCP_GATEHOUSE_HEALTH_PORT\n`,
    );
  });

  test('an API server that is not there is waited for: alive, not ready, and it says why', async (context) => {
    const cluster = await startCluster(context);
    await cluster.goAway();
    const command = runCommand(context, cluster, []);
    const { ports } = await waitFor('it runs', () => command.lines.find(({ msg }) => msg === 'the controller runs'));
    const readyz = `http://127.0.0.1:${ports!.health}/readyz`;
    const reason = await waitFor('it says why', async () => {
      const answer = await fetch(readyz);
      const { checks } = (await answer.json()) as { checks: { name: string; reason?: string }[] };
      const caches = checks.find(({ name }) => name === 'caches');
      return answer.status === 503 && /127\.0\.0\.1/.test(caches?.reason ?? '') ? caches!.reason : undefined;
    });
    assert.match(reason, /no answer from/);
    await cluster.comeBack();
    await waitFor('it is ready', async () => (await fetch(readyz)).status === 200);
  });
});

describe('docs/control-plane.md', () => {
  const text = readFileSync(join(root, 'docs/control-plane.md'), 'utf8');

  test('names every metric, and no other', async () => {
    const metrics = createMetrics();
    const created = createControllerMetrics(metrics, 'test');
    created.readFrom({
      isSynced: () => true,
      isHeld: () => false,
      isLeading: () => true,
      watchedObjects: () => ({ Gateway: 1 }),
      gateways: () => 0,
      connectedProcesses: () => 0,
      relayedProcesses: () => 0,
      configurationSize: () => ({ messages: 0, bytes: 0 }),
      pendingStatuses: () => 0,
      deployProblems: () => 0,
      rollouts: () => new Map(),
      behindGateways: () => ({ 'team/edge': 0 }),
      certificateExpiry: () => undefined,
      certificateState: () => undefined,
    });
    const exposed = [...(await metrics.expose()).matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]!);
    const named = [...text.matchAll(/`(mcp_gateway_controller_\w+?)(?:\{[\w,]+\})?`/g)].map((match) => match[1]!);
    assert.ok(exposed.length > 20);
    assert.deepEqual([...new Set(named)].toSorted(), exposed.toSorted());
  });

  test('names every flag', () => {
    for (const key of Object.keys(controllerCommandFlags.flags))
      assert.ok(text.includes(`\`${formatFlagName(key)}\``), formatFlagName(key));
  });

  test('names every condition and reason', () => {
    for (const types of Object.values(conditionReasons))
      for (const [type, reasons] of Object.entries(types))
        for (const word of [type, ...reasons]) assert.ok(text.includes(`\`${word}\``), word);
  });
});
