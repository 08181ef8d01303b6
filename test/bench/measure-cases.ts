// Runs cases against each other: one proxy each, all on one core. They take short turns, so that whatever else the machine does falls on
// all of them alike.
import { waitFor } from '../kit/wait-for.ts';
import type { BenchCase } from './bench-case.ts';
import { type BenchSession, formatUrl, inSession, type SessionOptions, type StartedCase } from './bench-session.ts';
import { createCalmRounds } from './calm-rounds.ts';
import { readCpuTime } from './cpu-time.ts';
import { measureRound, usualTurnMs } from './measure-round.ts';
import { otherCore, type RunningProxy } from './start-proxy.ts';
import { compare } from './statistics.ts';
import { type Load, type LoadScript, startLoad, writeLoadScript } from './wrk-load.ts';

/** How long to measure. */
export interface Pace {
  readonly fewestRounds: number;
  /** It ends before, once all ratios are sure. */
  readonly mostRounds: number;
  /** Of each case. */
  readonly secondsPerRound: number;
  readonly warmUpSeconds: number;
  /** Rounds in which others took the machine and that are measured again, at most. After that every round counts, and the spread says the rest. */
  readonly mostSpoiltRounds: number;
}

export interface MeasureOptions extends SessionOptions {
  readonly pace: Pace;
  /** Pairs of cases whose ratio must be sure before it ends. */
  readonly compared: readonly Comparison[];
  /** Those that are worth more rounds, with nobody else taking turns: up to twice as many. */
  readonly findUndecided?: (measured: MeasuredCases) => readonly Comparison[];
  /** How long a case has the cores to itself before it is the next one's turn. */
  readonly turnMs?: number;
}

/** Two cases, and what is compared of them. */
export interface Comparison {
  readonly of: string;
  readonly to: string;
  readonly by?: keyof Measurements;
}

/** What was measured of one case, one entry per round. */
export interface Measurements {
  readonly cpuMicrosPerRequest: readonly number[];
  readonly requestsPerSecond: readonly number[];
}

export type MeasuredCases = ReadonlyMap<string, Measurements>;

/** All cases, and those that had more rounds. */
export interface CaseMeasurements {
  readonly all: MeasuredCases;
  readonly closer: MeasuredCases;
}

/** How often half of the time of the warm-up is added at most. */
const longestWarmUp = 8;

interface RunningCase {
  readonly name: string;
  readonly each: BenchCase;
  readonly proxy: RunningProxy;
  readonly load: Load;
  readonly cpuMicrosPerRequest: number[];
  readonly requestsPerSecond: number[];
}

/** Measures all cases. Throws when a request fails: then it is no measurement. */
export async function measureCases(cases: readonly BenchCase[], options: MeasureOptions): Promise<CaseMeasurements> {
  return inSession(options, async (session) => {
    const { pace, report, compared, turnMs = usualTurnMs } = options;
    const proxies: StartedCase[] = [];
    for (const each of cases) {
      report(`Starting ${each.name}`);
      proxies.push(await session.start(each));
    }
    // Signing tokens takes a while, and a load that is held still all that time takes its answers for lost.
    report('Signing tokens');
    const scripts: LoadScript[] = [];
    for (const [index, { name }] of cases.entries())
      scripts.push(await writeLoadScript(session.folder, name, proxies[index]!.request));
    const running: RunningCase[] = [];
    for (const [index, each] of cases.entries()) {
      running.push(await startCase(each, { proxy: proxies[index]!, script: scripts[index]! }, session));
    }
    report('Warming up');
    await warmUp(running, { seconds: pace.warmUpSeconds, turnMs });
    await measureRounds(running, compared, options);
    const all = listMeasurements(running);
    const undecided = options.findUndecided?.(all) ?? [];
    const isUndecided = ({ name }: RunningCase): boolean => undecided.some(({ of, to }) => of === name || to === name);
    // Who is held still for minutes loses connections.
    for (const each of running) if (!isUndecided(each)) await finishCase(each);
    const closer = running
      .filter(isUndecided)
      .map((each): RunningCase => ({ ...each, cpuMicrosPerRequest: [], requestsPerSecond: [] }));
    if (closer.length > 0) {
      report(`A closer look at ${closer.map(({ name }) => name).join(', ')}`);
      await measureRounds(closer, undecided, { ...options, pace: { ...pace, mostRounds: 2 * pace.mostRounds } });
    }
    for (const each of closer) await finishCase(each);
    return { all, closer: listMeasurements(closer) };
  });
}

function listMeasurements(running: readonly RunningCase[]): MeasuredCases {
  return new Map(running.map((each) => [each.name, each]));
}

/** Rounds until all that is compared is sure. */
async function measureRounds(
  running: readonly RunningCase[],
  compared: readonly Comparison[],
  { pace, report, turnMs = usualTurnMs }: MeasureOptions,
): Promise<void> {
  const { fewestRounds, mostRounds } = pace;
  const inCalm = createCalmRounds(pace.mostSpoiltRounds, { report });
  for (let round = 0; round < mostRounds && (round < fewestRounds || !areSure(running, compared)); round += 1) {
    const measured = await inCalm(() => measureRound(running, { seconds: pace.secondsPerRound, round, turnMs }));
    const costs = running.map((each, index) => {
      const { cpuMicrosPerRequest, requestsPerSecond } = measured[index]!;
      each.cpuMicrosPerRequest.push(cpuMicrosPerRequest);
      each.requestsPerSecond.push(requestsPerSecond);
      return `${each.name} ${cpuMicrosPerRequest.toFixed(1)}`;
    });
    report(`Round ${round + 1} of at most ${mostRounds}, us of CPU per request: ${costs.join(', ')}`);
  }
}

/** Starts the load of a case, and holds it still. */
async function startCase(
  each: BenchCase,
  { proxy, script }: { readonly proxy: RunningProxy; readonly script: LoadScript },
  session: BenchSession,
): Promise<RunningCase> {
  const { taskset, wrk } = session.tools;
  const { name, connections } = each;
  const pinned = { wrk, taskset, core: otherCore };
  const load = session.keep(
    startLoad({
      ...pinned,
      url: formatUrl(each, proxy),
      script,
      ...(connections === undefined ? {} : { connections }),
    }),
  );
  // Reading a long list of tokens takes it a while.
  await waitFor('the load has begun', async () => (await load.countRequests()) > 1, { intervalMs: 10 });
  load.pause();
  return { name, each, proxy, load, cpuMicrosPerRequest: [], requestsPerSecond: [] };
}

/** Whether more rounds would tell nothing new. */
function areSure(running: readonly RunningCase[], compared: MeasureOptions['compared']): boolean {
  const byName = new Map(running.map((each) => [each.name, each]));
  return compared.every(
    ({ of, to, by = 'cpuMicrosPerRequest' }) => compare(byName.get(of)![by], byName.get(to)![by]).ok,
  );
}

/** Until V8 has compiled what there is to compile: so many seconds of CPU time, which is more than that where others use the machine too. */
async function warmUp(
  running: readonly RunningCase[],
  { seconds, turnMs }: { readonly seconds: number; readonly turnMs: number },
): Promise<void> {
  const ours = running.filter(({ each }) => each.proxy.kind === 'gateway');
  for (let round = 0; round < longestWarmUp; round += 1) {
    await measureRound(running, { seconds: seconds / 2, round, turnMs });
    const used = await Promise.all(ours.map(({ proxy }) => readCpuTime(proxy.pid)));
    if (round > 0 && used.every((micros) => micros >= seconds * 1_000_000)) return;
  }
}

async function finishCase({ name, each, proxy, load }: RunningCase): Promise<void> {
  const { failures, refusals, requests } = await load.finish();
  const wrong = each.answer.status < 400 ? refusals : requests - refusals;
  if (failures + wrong > 0) {
    throw new Error(
      `${name}: of ${requests} requests ${failures} failed and ${wrong} got the wrong answer:\n${proxy.readErrors()}`,
    );
  }
}
