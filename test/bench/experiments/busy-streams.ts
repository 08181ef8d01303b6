// 200 event streams with 100 events a second each: what one event costs.
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../../kit/wait-for.ts';
import { formatNumber } from '../bench-report.ts';
import type { ExperimentResult } from '../bench-result.ts';
import { inSession } from '../bench-session.ts';
import { createCalmRounds } from '../calm-rounds.ts';
import { readCpuTime } from '../cpu-time.ts';
import type { Experiment } from '../experiment.ts';
import { compare, summarize } from '../statistics.ts';
import { startStreamSetup, streamProxies, type StreamSetup } from '../streams/stream-setup.ts';

type ProxyName = keyof typeof streamProxies;
const names = Object.keys(streamProxies) as ProxyName[];
const eventsPerStream = 100;

/** By proxy, one entry per round. */
export type StreamMeasurements = ReadonlyMap<
  string,
  { readonly cpuMicrosPerEvent: readonly number[]; readonly eventsPerSecond: readonly number[] }
>;

export const busyStreamExperiment: Experiment = {
  name: 'busy-streams',
  description: '200 event streams of 100 events a second each: CPU per event',
  cases: [],
  run(options) {
    const { pace, report, smoke } = options;
    const streams = smoke ? 20 : 200;
    // It takes a moment until the streams flow evenly.
    const seconds = smoke ? 1 : Math.max(3, pace.secondsPerRound);
    return inSession(options, async (session) => {
      const setups = new Map<string, StreamSetup>();
      const measured = new Map(
        names.map((name) => [name, { cpuMicrosPerEvent: [] as number[], eventsPerSecond: [] as number[] }]),
      );
      for (const name of names) {
        report(`Opening ${streams} streams through ${name}`);
        const setup = await startStreamSetup(name, session);
        await setup.open(streams);
        setups.set(name, setup);
      }
      const rate = streams * eventsPerStream;
      report('Warming up');
      for (const setup of setups.values()) await takeTurn(setup, rate, pace.warmUpSeconds);
      const isSure = (): boolean =>
        compare(measured.get('gateway')!.cpuMicrosPerEvent, measured.get('nginx')!.cpuMicrosPerEvent).ok;
      const measureRound = async (round: number): Promise<ReadonlyMap<ProxyName, StreamTurn>> => {
        const turns = new Map<ProxyName, StreamTurn>();
        for (const [place] of names.entries()) {
          const name = names[(round + place) % names.length]!;
          turns.set(name, await takeTurn(setups.get(name)!, rate, seconds));
        }
        return turns;
      };
      const inCalm = createCalmRounds(pace.mostSpoiltRounds, { report });
      for (let round = 0; round < pace.mostRounds && (round < pace.fewestRounds || !isSure()); round += 1) {
        const turns = await inCalm(() => measureRound(round));
        for (const [name, { cpuMicrosPerEvent, eventsPerSecond }] of turns) {
          measured.get(name)!.cpuMicrosPerEvent.push(cpuMicrosPerEvent);
          measured.get(name)!.eventsPerSecond.push(eventsPerSecond);
        }
        const told = names.map((name) => `${name} ${measured.get(name)!.cpuMicrosPerEvent.at(-1)!.toFixed(1)}`);
        report(`Round ${round + 1} of at most ${pace.mostRounds}, us of CPU per event: ${told.join(', ')}`);
      }
      for (const [name, setup] of setups) {
        const { lost } = await setup.askReaders({ kind: 'state' });
        if (lost > 0) throw new Error(`${name}: ${lost} streams ended by themselves`);
      }
      return describeBusyStreams(measured, streams);
    });
  },
};

interface StreamTurn {
  readonly cpuMicrosPerEvent: number;
  readonly eventsPerSecond: number;
}

/** Lets the source send for a while, and waits until all of it has arrived. */
async function takeTurn(
  { proxy, askSource, askReaders }: StreamSetup,
  eventsPerSecond: number,
  seconds: number,
): Promise<StreamTurn> {
  const cpuBefore = await readCpuTime(proxy.pid);
  const { events: sentBefore } = await askSource({ kind: 'state' });
  const { events: heardBefore } = await askReaders({ kind: 'state' });
  const begun = performance.now();
  await askSource({ kind: 'send', eventsPerSecond });
  await delay(seconds * 1_000);
  const { events: sent } = await askSource({ kind: 'pause' });
  const spent = (performance.now() - begun) / 1_000;
  const events = sent - sentBefore;
  const areHeard = async (): Promise<boolean> => (await askReaders({ kind: 'state' })).events - heardBefore >= events;
  await waitFor('all events are heard', areHeard, { intervalMs: 5 });
  return {
    cpuMicrosPerEvent: ((await readCpuTime(proxy.pid)) - cpuBefore) / events,
    eventsPerSecond: events / spent,
  };
}

/** Puts the numbers together. */
export function describeBusyStreams(measured: StreamMeasurements, streams: number): ExperimentResult {
  const costs = (name: string): readonly number[] => measured.get(name)!.cpuMicrosPerEvent;
  return {
    name: 'busy-streams',
    title: 'Busy event streams',
    tables: [
      {
        head: ['proxy', 'CPU us/event', 'spread', 'events/s'],
        rows: names.map((name) => {
          const { median, spread } = summarize(costs(name));
          const perSecond = summarize(measured.get(name)!.eventsPerSecond).median;
          return [name, formatNumber(median), `+-${(50 * spread).toFixed(1)} %`, formatNumber(perSecond)];
        }),
        notes: [`${streams} streams at once, each with ${eventsPerStream} events of about 140 bytes a second.`],
      },
    ],
    findings: [
      {
        what: 'An event of a busy stream: CPU, beside nginx',
        measured: compare(costs('gateway'), costs('nginx')),
        unit: 'times',
        target: { kind: 'atMost', value: 2 },
      },
    ],
    bars: [],
  };
}
