// From the start of the process to the first request that is answered, and the memory that it takes when nothing happens.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchCase } from '../bench-case.ts';
import { formatNumber } from '../bench-report.ts';
import { createResources, jwtPolicy, toolAnswer, toolCall } from '../bench-resources.ts';
import type { ExperimentResult } from '../bench-result.ts';
import { inSession } from '../bench-session.ts';
import type { Experiment } from '../experiment.ts';
import { configureEnvoy } from '../peers/envoy-configuration.ts';
import { configureHaproxy } from '../peers/haproxy-configuration.ts';
import { configureNginx } from '../peers/nginx-configuration.ts';
import { readSettledMemory } from '../process-memory.ts';
import { launchProxy, type RunningProxy } from '../start-proxy.ts';
import { fewestRounds, settle, summarize } from '../statistics.ts';

/** Wall-clock time of a process that reads hundreds of files: less sure than CPU time. */
const widestSpread = 0.15;
/** Between two attempts to be answered. */
const pollMs = 2;

const cases: readonly BenchCase[] = [
  {
    name: 'gateway',
    description: 'with JWT authentication',
    proxy: { kind: 'gateway', resources: (ports) => createResources([jwtPolicy], ports) },
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'nginx',
    description: 'as a plain proxy',
    proxy: { kind: 'nginx', configure: configureNginx },
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'haproxy',
    description: 'with jwt_verify',
    proxy: { kind: 'haproxy', configure: configureHaproxy },
    request: toolCall,
    answer: toolAnswer,
  },
  {
    name: 'envoy',
    description: 'with jwt_authn',
    proxy: { kind: 'envoy', configure: (ports) => configureEnvoy(ports, { jwt: { cache: true } }) },
    request: toolCall,
    answer: toolAnswer,
  },
];

/** Milliseconds and bytes, one entry per start. */
export type StartMeasurements = ReadonlyMap<
  string,
  { readonly startMs: readonly number[]; readonly restBytes: readonly number[] }
>;

export const startExperiment: Experiment = {
  name: 'start',
  description: 'from process start to the first answer, and memory at rest',
  cases: [],
  run(options) {
    const { pace, report, smoke } = options;
    return inSession(options, async (session) => {
      const measured = new Map(cases.map(({ name }) => [name, { startMs: [] as number[], restBytes: [] as number[] }]));
      const isSure = (): boolean => settle(measured.get('gateway')!.startMs, widestSpread).ok;
      // The first start of ours may have to fill caches on disk. People have that once.
      for (let round = -1; round < pace.mostRounds && (round < pace.fewestRounds || !isSure()); round += 1) {
        for (const each of cases) {
          const proxy = session.keep(await launchProxy(each.name, each.proxy, session));
          await waitForAnswer(each, proxy);
          const { startMs, restBytes } = measured.get(each.name)!;
          if (round >= 0) startMs.push(performance.now() - proxy.startedAt);
          if (round >= 0 && restBytes.length < countRests(each, smoke)) restBytes.push(await readAtRest(proxy, smoke));
          await proxy.stop();
        }
        if (round < 0) continue;
        const told = cases.map(({ name }) => `${name} ${measured.get(name)!.startMs.at(-1)!.toFixed(0)}`);
        report(`Round ${round + 1} of at most ${pace.mostRounds}, ms to the first answer: ${told.join(', ')}`);
      }
      return describeStart(measured);
    });
  },
};

/** Asks again and again on new connections, as an impatient client would. */
async function waitForAnswer({ name, request }: BenchCase, proxy: RunningProxy): Promise<void> {
  const { method, path, headers, bodies: [body = ''] = [] } = request;
  const lines = Object.entries({ host: `127.0.0.1:${proxy.port}`, ...headers, 'content-length': body.length });
  const text = `${method} ${path} HTTP/1.1\r\n${lines.map((pair) => `${pair.join(': ')}\r\n`).join('')}\r\n${body}`;
  const deadline = Date.now() + 60_000;
  for (;;) {
    if (proxy.exitCode() !== undefined) throw new Error(`${name} ended:\n${proxy.readErrors()}`);
    if (Date.now() > deadline) throw new Error(`${name} did not answer within a minute:\n${proxy.readErrors()}`);
    const socket = connect({ host: '127.0.0.1', port: proxy.port });
    socket.write(text);
    const answer = await once(socket, 'data').then(
      ([chunk]) => String(chunk as Buffer),
      () => '',
    );
    socket.destroy();
    if (answer.startsWith('HTTP/1.1 200')) return;
    await delay(pollMs);
  }
}

/** Memory of ours is measured until it is sure; that of the others is only shown. */
function countRests({ proxy }: BenchCase, smoke: boolean): number {
  return smoke ? 1 : proxy.kind === 'gateway' ? fewestRounds : 2;
}

/** After the first request nothing more happens. */
async function readAtRest({ pid }: RunningProxy, smoke: boolean): Promise<number> {
  await delay(smoke ? 500 : 5_000);
  return readSettledMemory(pid, smoke ? 1 : 20);
}

/** Puts the numbers together. */
export function describeStart(measured: StartMeasurements): ExperimentResult {
  const ours = measured.get('gateway')!;
  return {
    name: 'start',
    title: 'Start and rest',
    tables: [
      {
        head: ['proxy', 'first answer after', 'spread', 'memory at rest'],
        rows: [...measured].map(([name, { startMs, restBytes }]) => {
          const { median, spread } = summarize(startMs);
          const rest = summarize(restBytes).median / 1e6;
          return [name, `${formatNumber(median)} ms`, `+-${(50 * spread).toFixed(1)} %`, `${formatNumber(rest)} MB`];
        }),
        notes: [
          `${ours.startMs.length} starts each, in turns, on one core; the very first is not counted. Memory is what is resident of all processes of the proxy, some seconds after the first request.`,
        ],
      },
    ],
    findings: [
      {
        what: 'From process start to the first answered request',
        measured: settle(ours.startMs, widestSpread),
        unit: 'ms',
        target: { kind: 'atMost', value: 300 },
      },
      {
        what: 'Memory at rest',
        measured: settle(
          ours.restBytes.map((bytes) => bytes / 1e6),
          widestSpread,
        ),
        unit: 'MB',
        target: { kind: 'atMost', value: 80 },
      },
    ],
    bars: [],
  };
}
