// One worker and two of them: what the second one adds. Where the machine has two cores for the gateway and two for the load it is a matter of
// requests per second; where it has not, load and upstream take from the workers what they need. There CPU time is compared, and then every worker gets a
// slice of a core, the same for all, so that the load always has what it needs: two slow cores that are free.
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { waitFor } from '../../kit/wait-for.ts';
import type { BenchCase } from '../bench-case.ts';
import { formatNumber } from '../bench-report.ts';
import { createResources, jwtPolicy, toolAnswer, toolCall } from '../bench-resources.ts';
import type { ExperimentResult } from '../bench-result.ts';
import { type BenchSession, formatUrl, inSession } from '../bench-session.ts';
import { createCalmRounds } from '../calm-rounds.ts';
import { createCpuSlice } from '../cpu-slice.ts';
import type { Experiment } from '../experiment.ts';
import { type LoadedProxy, measureRound, type RoundResult, usualTurnMs } from '../measure-round.ts';
import { startProxy } from '../start-proxy.ts';
import { compare, type Measured, summarize } from '../statistics.ts';
import { startLoad, writeLoadScript } from '../wrk-load.ts';

const counts = [1, 2] as const;
const connections = 64;
const neededCores = 4;
/** It is a rate over wall-clock time, which is less sure than CPU time. */
const widestSpread = 0.1;
/** Of a core, for each worker. Load and upstream need less than the rest. */
const slice = 0.25;
/** Slices are dealt out fifty times a second: in a short turn one more or less would count. */
const slicedTurnMs = 1_000;

/** Requests per second and microseconds of CPU per request, one entry per round. */
export interface WorkerMeasurements {
  readonly rates: readonly number[];
  readonly cpu: readonly number[];
  /** With a slice of a core per worker; empty where that was not measured. */
  readonly slicedRates: readonly number[];
}

interface RunningWorkers extends LoadedProxy {
  readonly rates: number[];
  readonly cpu: number[];
  readonly slicedRates: number[];
}

export const workerExperiment: Experiment = {
  name: 'workers',
  description: 'one worker and two of them: requests per second and CPU per request',
  cases: [],
  run(options) {
    const { pace, report } = options;
    const cores = availableParallelism();
    const isRoomy = cores >= neededCores;
    return inSession(options, async (session) => {
      const { wrk, taskset } = session.tools;
      const running: RunningWorkers[] = [];
      for (const count of counts) {
        report(`Starting ${formatWorkers(count)}`);
        const each: BenchCase = {
          name: `workers-${count}`,
          description: formatWorkers(count),
          proxy: {
            kind: 'gateway',
            resources: (ports) => createResources([jwtPolicy], ports),
            flags: ['--workers', String(count)],
          },
          request: toolCall,
          answer: toolAnswer,
        };
        const proxy = session.keep(await startProxy(each.name, each.proxy, { ...session, cores: '0,1' }));
        const script = await writeLoadScript(session.folder, each.name, each.request);
        const load = session.keep(
          startLoad({ wrk, taskset, core: isRoomy ? 2 : '0,1', url: formatUrl(each, proxy), script, connections }),
        );
        await waitFor('the load has begun', async () => (await load.countRequests()) > connections, { intervalMs: 10 });
        load.pause();
        running.push({ name: each.name, proxy, load, rates: [], cpu: [], slicedRates: [] });
      }
      report('Warming up');
      await measureRound(running, { seconds: pace.warmUpSeconds, round: 0, turnMs: pace.warmUpSeconds * 1_000 });
      const measure = async (
        turnMs: number,
        isSure: () => boolean,
        keep: (each: RunningWorkers, result: RoundResult) => void,
      ): Promise<void> => {
        const inCalm = createCalmRounds(pace.mostSpoiltRounds, { report });
        for (let round = 0; round < pace.mostRounds && (round < pace.fewestRounds || !isSure()); round += 1) {
          const measured = await inCalm(() => measureRound(running, { seconds: pace.secondsPerRound, round, turnMs }));
          for (const [index, each] of running.entries()) keep(each, measured[index]!);
          const told = measured.map(
            ({ requestsPerSecond, cpuMicrosPerRequest }) =>
              `${requestsPerSecond.toFixed(0)}/s at ${cpuMicrosPerRequest.toFixed(1)} us`,
          );
          report(
            `Round ${round + 1} of at most ${pace.mostRounds}, requests of one worker and of two: ${told.join(', ')}`,
          );
        }
      };
      const [one, two] = running as [RunningWorkers, RunningWorkers];
      const isCpuSure = (): boolean => compare(two.cpu, one.cpu).ok;
      const isGrowthSure = (): boolean => compare(two.rates, one.rates, widestSpread).ok;
      await measure(
        usualTurnMs,
        () => isCpuSure() && (!isRoomy || isGrowthSure()),
        (each, { requestsPerSecond, cpuMicrosPerRequest }) => {
          each.rates.push(requestsPerSecond);
          each.cpu.push(cpuMicrosPerRequest);
        },
      );
      if (!isRoomy && (await giveSlices(running, session))) {
        report(`Every worker gets ${slice * 100} % of a core`);
        await measure(
          slicedTurnMs,
          () => compare(two.slicedRates, one.slicedRates, widestSpread).ok,
          (each, { requestsPerSecond }) => each.slicedRates.push(requestsPerSecond),
        );
      }
      for (const { load } of running) {
        const { failures, refusals } = await load.finish();
        if (failures + refusals > 0) throw new Error(`${failures + refusals} requests failed`);
      }
      return describeWorkers(running, cores);
    });
  },
};

/** False where the machine does not let us. */
async function giveSlices(running: readonly RunningWorkers[], session: BenchSession): Promise<boolean> {
  for (const { proxy } of running) {
    for (const worker of await listWorkers(proxy.pid)) {
      const own = await createCpuSlice(`mcp-gatehouse-bench-${worker}`, slice);
      if (own === undefined) return false;
      await session.keep(own).add(worker);
    }
  }
  return true;
}

/** The processes that serve requests: one alone has none beside it. */
async function listWorkers(pid: number): Promise<readonly number[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean);
  return children.length === 0 ? [pid] : children.map(Number);
}

function formatWorkers(count: number): string {
  return count === 1 ? 'one worker' : `${count} workers`;
}

/** Puts the numbers together: what one worker did, and what two did. */
export function describeWorkers(measured: readonly WorkerMeasurements[], cores: number): ExperimentResult {
  const [one, two] = measured as readonly [WorkerMeasurements, WorkerMeasurements];
  const isRoomy = cores >= neededCores;
  const isSliced = !isRoomy && two.slicedRates.length > 0;
  const growth: Measured = isRoomy
    ? compare(two.rates, one.rates, widestSpread)
    : isSliced
      ? compare(two.slicedRates, one.slicedRates, widestSpread)
      : {
          ok: false,
          why: `it takes ${neededCores} cores, two for the workers and two for the load, and here are ${cores}; or the right to make control groups (cgroups), which give each worker a slice of a core`,
        };
  const sliced = isSliced ? [`requests/s with ${slice * 100} % of a core each`] : [];
  return {
    name: 'workers',
    title: 'Workers',
    tables: [
      {
        head: ['workers', 'requests/s', 'CPU us/request', ...sliced],
        rows: measured.map(({ rates, cpu, slicedRates }, index) => [
          String(counts[index]),
          formatNumber(summarize(rates).median),
          formatNumber(summarize(cpu).median),
          ...(isSliced ? [formatNumber(summarize(slicedRates).median)] : []),
        ]),
        notes: [
          isRoomy
            ? 'A JWT-protected request. The workers have two cores, load and upstream others.'
            : 'A JWT-protected request. Load and upstream share the two cores with the workers, so the second worker gets less than a core: see CPU per request.',
        ],
      },
    ],
    findings: [
      {
        what: `Two workers: requests per second, beside one${isSliced ? `, with ${slice * 100} % of a core each` : ''}`,
        measured: growth,
        unit: 'times',
        target: { kind: 'atLeast', value: 1.8 },
      },
      {
        what: 'Two workers: CPU per request, beside one',
        measured: compare(two.cpu, one.cpu),
        unit: 'times',
        // Two cores at 1.11 times the cost do 1.8 times the work.
        target: { kind: 'atMost', value: 1.11 },
      },
    ],
    bars: [],
  };
}
