// Many routes with a policy each, from files: how long until they are enforced, what one change takes, and memory.
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../../kit/gateway-resources.ts';
import type { BenchProxy } from '../bench-case.ts';
import { formatNumber } from '../bench-report.ts';
import { createPolicy, jwtAuthentication, toolCall } from '../bench-resources.ts';
import type { ExperimentResult } from '../bench-result.ts';
import { type BenchSession, inSession } from '../bench-session.ts';
import type { Experiment } from '../experiment.ts';
import { readSettledMemory } from '../process-memory.ts';
import { formatResources, launchProxy, type RunningProxy } from '../start-proxy.ts';
import { summarize } from '../statistics.ts';

const routesPerFile = 100;
const pollMs = 5;

/** One size. */
export interface ConfigurationMeasurement {
  readonly routes: number;
  readonly bytes: number;
  /** From the start of the process until the last route refuses strangers and lets its own token in. */
  readonly enforcedMs: number;
  /** From the new file until it is enforced. */
  readonly changeMs: readonly number[];
  readonly restBytes: number;
}

export const configurationExperiment: Experiment = {
  name: 'configuration',
  description: '100, 1,000 and 5,000 routes with a policy each, from files: time and memory',
  cases: [],
  run(options) {
    const { report, smoke } = options;
    return inSession(options, async (session) => {
      const measured: ConfigurationMeasurement[] = [];
      for (const routes of smoke ? [10, 100] : [100, 1_000, 5_000]) {
        report(`${routes} routes`);
        measured.push(await measureRoutes(routes, smoke ? 2 : 7, session));
      }
      return describeConfiguration(measured);
    });
  },
};

async function measureRoutes(
  routes: number,
  changes: number,
  session: BenchSession,
): Promise<ConfigurationMeasurement> {
  const { folder, upstreamPort, report } = session;
  const own = join(folder, `routes-${routes}`);
  await mkdir(own);
  const files = Math.ceil(routes / routesPerFile);
  let bytes = 0;
  const writeRoutes = async (file: number, team: string): Promise<void> => {
    const first = file * routesPerFile;
    const count = Math.min(routesPerFile, routes - first);
    const resources = Array.from({ length: count }, (_, index) => {
      // Only the last one ever changes.
      const number = first + index;
      return createRoute(number, number === routes - 1 ? team : 'platform');
    });
    const text = formatResources(resources.flat());
    bytes += text.length;
    // As a careful editor does it: there is never half a file.
    await writeFile(join(own, `.${file}.tmp`), text);
    await rename(join(own, `.${file}.tmp`), join(own, `${file}.yaml`));
  };
  for (let file = 0; file < files; file += 1) await writeRoutes(file, 'platform');
  const total = bytes;
  const proxy: BenchProxy = {
    kind: 'gateway',
    resources: (ports) => [gatewayResource(ports.gateway), backendResource('mcp', upstreamPort)],
    flags: ['-f', own],
  };
  const begun = performance.now();
  const gateway = session.keep(await launchProxy(`routes-${routes}`, proxy, session));
  await waitForStatus(gateway, `/r${routes - 1}`, 200);
  const enforcedMs = performance.now() - begun;
  if ((await ask(gateway, `/r${routes - 1}`, false)) !== 401) throw new Error('a route is not protected');
  report(`${routes} routes: enforced after ${Math.round(enforcedMs)} ms`);
  const changeMs: number[] = [];
  for (let change = 0; change < changes; change += 1) {
    const [team, status] = change % 2 === 0 ? (['others', 403] as const) : (['platform', 200] as const);
    const changed = performance.now();
    await writeRoutes(files - 1, team);
    await waitForStatus(gateway, `/r${routes - 1}`, status);
    changeMs.push(performance.now() - changed);
  }
  const restBytes = await readSettledMemory(gateway.pid);
  await gateway.stop();
  return { routes, bytes: total, enforcedMs, changeMs, restBytes };
}

/** A route, and a policy with a token and a rule over its claims. */
function createRoute(number: number, team: string): readonly object[] {
  const name = `r${number}`;
  const target = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name };
  return [
    routeResource(name, [ruleTo(`/${name}`, 'mcp')]),
    createPolicy(name, target, {
      traffic: {
        jwtAuthentication,
        authorization: { action: 'Require', policy: { matchExpressions: [`jwt.team == "${team}"`] } },
      },
    }),
  ];
}

async function ask({ port }: RunningProxy, path: string, withToken: boolean): Promise<number | undefined> {
  const { authorization } = toolCall.headers;
  const headers = withToken ? { authorization: authorization! } : {};
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers }).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.status;
}

async function waitForStatus(gateway: RunningProxy, path: string, status: number): Promise<void> {
  const deadline = Date.now() + 300_000;
  for (;;) {
    const seen = await ask(gateway, path, true);
    if (seen === status) return;
    if (gateway.exitCode() !== undefined || Date.now() > deadline) {
      throw new Error(`${path} answers ${seen} and not ${status}:\n${gateway.readErrors().slice(-2_000)}`);
    }
    await delay(pollMs);
  }
}

/** Puts the numbers together. */
export function describeConfiguration(measured: readonly ConfigurationMeasurement[]): ExperimentResult {
  return {
    name: 'configuration',
    title: 'Many routes from files',
    tables: [
      {
        head: ['routes, each with a policy', ...measured.map(({ routes }) => formatNumber(routes))],
        rows: [
          ['size of the files', ...measured.map(({ bytes }) => `${formatNumber(bytes / 1e6)} MB`)],
          [
            'all enforced, after process start',
            ...measured.map(({ enforcedMs }) => `${(enforcedMs / 1_000).toFixed(1)} s`),
          ],
          [
            'one change: enforced after, median (most)',
            ...measured.map(
              ({ changeMs }) =>
                `${Math.round(summarize(changeMs).median)} ms (${Math.round(Math.max(...changeMs))} ms)`,
            ),
          ],
          ['memory at rest', ...measured.map(({ restBytes }) => `${formatNumber(restBytes / 1e6)} MB`)],
        ],
        notes: [`Files of ${routesPerFile} routes each; a change is a new file in the place of one of them.`],
      },
    ],
    findings: [],
    bars: [],
  };
}
