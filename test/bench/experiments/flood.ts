// A flood of requests that are refused, and what it leaves to those who may come in: nine of ten clients send nothing else.
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../../kit/wait-for.ts';
import type { BenchCase, BenchRequest } from '../bench-case.ts';
import { formatNumber } from '../bench-report.ts';
import { anonymousToolCall, createResources, jwtPolicy, toolAnswer, toolCall } from '../bench-resources.ts';
import type { ExperimentResult } from '../bench-result.ts';
import { type BenchSession, formatUrl, inSession } from '../bench-session.ts';
import { createForgedTokens, expiredToken } from '../bench-tokens.ts';
import { createCalmRounds } from '../calm-rounds.ts';
import type { Experiment } from '../experiment.ts';
import { otherCore, type RunningProxy } from '../start-proxy.ts';
import { compare, summarize } from '../statistics.ts';
import { type Load, startLoad, writeLoadScript } from '../wrk-load.ts';

const goodConnections = 8;
const otherConnections = 72;
const turnMs = 250;
const settleMs = 25;
/** It is a share of wall-clock time, which is less sure than CPU time. */
const widestSpread = 0.1;

/** What the nine of ten send. The first is what the others are compared with: a tenth of the clients has a tenth of the gateway. */
const crowds = {
  'good tokens': toolCall,
  'no token': anonymousToolCall,
  'an expired token': withToken(expiredToken),
  'forged tokens, no two alike': { ...anonymousToolCall, tokens: () => createForgedTokens(12_000) },
} satisfies Record<string, BenchRequest>;
type Crowd = keyof typeof crowds;

function withToken(token: string): BenchRequest {
  return { ...toolCall, headers: { ...toolCall.headers, authorization: `Bearer ${token}` } };
}

const names = Object.keys(crowds) as Crowd[];

/** Requests per second of the good tenth and of the others, one entry per round. */
export type FloodMeasurements = ReadonlyMap<
  string,
  { readonly good: readonly number[]; readonly others: readonly number[] }
>;

export const floodExperiment: Experiment = {
  name: 'flood',
  description: 'what 90 % of refused requests leave to the other 10 %',
  cases: [],
  async run(options) {
    const { pace, report } = options;
    const each: BenchCase = {
      name: 'flood',
      description: 'validates tokens',
      proxy: { kind: 'gateway', resources: (ports) => createResources([jwtPolicy], ports) },
      request: toolCall,
      answer: toolAnswer,
    };
    return inSession(options, async (session) => {
      report('Starting');
      const proxy = await session.start(each);
      const good = await startHeld(each, { proxy, name: 'good', connections: goodConnections }, session);
      const measured = new Map(names.map((name) => [name, { good: [] as number[], others: [] as number[] }]));
      const others = new Map<Crowd, Load>();
      for (const name of names) {
        const crowd = { ...each, request: crowds[name] };
        others.set(name, await startHeld(crowd, { proxy, name, connections: otherConnections }, session));
      }
      report('Warming up');
      for (const load of others.values()) await takeTurn(good, load, pace.warmUpSeconds * 1_000);
      const turns = Math.max(1, Math.round((pace.secondsPerRound * 1_000) / turnMs));
      const isSure = (): boolean =>
        names
          .slice(1)
          .every((name) => compare(measured.get(name)!.good, measured.get(names[0]!)!.good, widestSpread).ok);
      const measureRound = async (round: number): Promise<ReadonlyMap<Crowd, { good: number; others: number }>> => {
        const sums = new Map(names.map((name) => [name, { good: 0, others: 0 }]));
        for (let turn = 0; turn < turns; turn += 1) {
          for (const [place] of names.entries()) {
            const name = names[(place + turn + round) % names.length]!;
            const rates = await takeTurn(good, others.get(name)!, turnMs);
            sums.get(name)!.good += rates.good / turns;
            sums.get(name)!.others += rates.others / turns;
          }
        }
        return sums;
      };
      const inCalm = createCalmRounds(pace.mostSpoiltRounds, { report });
      for (let round = 0; round < pace.mostRounds && (round < pace.fewestRounds || !isSure()); round += 1) {
        const sums = await inCalm(() => measureRound(round));
        for (const [name, sum] of sums) {
          measured.get(name)!.good.push(sum.good);
          measured.get(name)!.others.push(sum.others);
        }
        const told = names.map((name) => `${sums.get(name)!.good.toFixed(0)} among ${name}`);
        report(`Round ${round + 1} of at most ${pace.mostRounds}, good requests/s: ${told.join(', ')}`);
      }
      const { failures, refusals } = await good.finish();
      if (failures + refusals > 0)
        throw new Error(`${failures + refusals} good requests failed:\n${proxy.readErrors()}`);
      return describeFlood(measured);
    });
  },
};

async function startHeld(
  each: BenchCase,
  { proxy, name, connections }: { readonly proxy: RunningProxy; readonly name: string; readonly connections: number },
  session: BenchSession,
): Promise<Load> {
  const { wrk, taskset } = session.tools;
  const script = await writeLoadScript(session.folder, name.replaceAll(/\W+/g, '-'), each.request);
  const url = formatUrl(each, proxy);
  const load = session.keep(startLoad({ wrk, taskset, core: otherCore, url, script, connections }));
  await waitFor('the load has begun', async () => (await load.countRequests()) > 1, { intervalMs: 10 });
  load.pause();
  return load;
}

/** Lets both run together. Returns how many requests a second each got through. */
async function takeTurn(good: Load, others: Load, ms: number): Promise<{ good: number; others: number }> {
  const before = [await good.countRequests(), await others.countRequests()] as const;
  const begun = performance.now();
  others.resume();
  good.resume();
  await delay(ms);
  good.pause();
  others.pause();
  const seconds = (performance.now() - begun) / 1_000;
  await delay(settleMs);
  return {
    good: ((await good.countRequests()) - before[0]) / seconds,
    others: ((await others.countRequests()) - before[1]) / seconds,
  };
}

/** Puts the numbers together. */
export function describeFlood(measured: FloodMeasurements): ExperimentResult {
  const base = measured.get(names[0]!)!.good;
  const share = (name: string): ReturnType<typeof compare> => compare(measured.get(name)!.good, base, widestSpread);
  return {
    name: 'flood',
    title: 'A flood of bad tokens',
    tables: [
      {
        head: ['what 90 % of the clients send', 'requests/s of the good 10 %', 'requests/s of the 90 %', 'share kept'],
        rows: names.map((name) => {
          const kept = share(name);
          return [
            name,
            formatNumber(summarize(measured.get(name)!.good).median),
            formatNumber(summarize(measured.get(name)!.others).median),
            kept.ok ? `${formatNumber(100 * kept.median)} %` : 'not sure',
          ];
        }),
        notes: [`${goodConnections} connections with good tokens, ${otherConnections} others, all at once.`],
      },
    ],
    findings: names.slice(1).map((name) => ({
      what: `Good clients while 90 % send ${name}: what they keep of their share`,
      measured: share(name),
      unit: 'times',
      target: { kind: 'atLeast', value: 0.8 },
    })),
    bars: [],
  };
}
