// 10,000 event streams on which nothing happens: how much memory each takes, and whether they are all there after ten minutes.
import { setTimeout as delay } from 'node:timers/promises';
import { formatNumber } from '../bench-report.ts';
import type { ExperimentResult } from '../bench-result.ts';
import { inSession } from '../bench-session.ts';
import type { Experiment } from '../experiment.ts';
import { readOpenFileLimit, readResidentMemory, readSettledMemory } from '../process-memory.ts';
import { startStreamSetup, streamProxies } from '../streams/stream-setup.ts';

const names = Object.keys(streamProxies) as (keyof typeof streamProxies)[];
const wanted = 10_000;
const heldMinutes = 10;

/** What was measured of one proxy. */
export interface IdleStreams {
  readonly name: string;
  readonly streams: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** Of ours, after it was held for a while. */
  readonly held?: { readonly minutes: number; readonly lost: number; readonly bytes: number };
}

export const idleStreamExperiment: Experiment = {
  name: 'idle-streams',
  description: '10,000 idle event streams: memory each, and none lost in ten minutes',
  cases: [],
  run(options) {
    const { report, smoke } = options;
    return inSession(options, async (session) => {
      // A stream takes two descriptors of the proxy; some hundred are left for everything else.
      const limit = await readOpenFileLimit();
      const streams = Math.min(smoke ? 100 : wanted, Math.floor((limit - 400) / 2));
      const minutes = smoke ? 1 / 60 : Math.min(heldMinutes, options.minutes);
      const measured: IdleStreams[] = [];
      for (const name of names) {
        report(`Opening ${streams} streams through ${name}`);
        const setup = await startStreamSetup(name, session);
        // A first time lets code be compiled and buffers grow, which is paid once and not per stream.
        await setup.open(Math.min(streams, 500));
        await setup.close();
        const bytesBefore = await readSettledMemory(setup.proxy.pid);
        await setup.open(streams);
        const bytesAfter = await readSettledMemory(setup.proxy.pid);
        if (name !== 'gateway') measured.push({ name, streams, bytesBefore, bytesAfter });
        else {
          for (let tenth = 0; tenth < 10; tenth += 1) {
            report(`Holding ${streams} streams: ${10 * tenth} % of ${formatNumber(minutes)} minutes`);
            await delay(minutes * 6_000);
          }
          const { lost } = await setup.askReaders({ kind: 'state' });
          const bytes = await readResidentMemory(setup.proxy.pid);
          measured.push({ name, streams, bytesBefore, bytesAfter, held: { minutes, lost, bytes } });
        }
        await setup.stop();
      }
      return describeIdleStreams(measured, limit);
    });
  },
};

/** Puts the numbers together. */
export function describeIdleStreams(measured: readonly IdleStreams[], openFileLimit: number): ExperimentResult {
  const megabytes = (bytes: number): string => `${formatNumber(bytes / 1e6)} MB`;
  const perStream = ({ streams, bytesBefore, bytesAfter }: IdleStreams): number =>
    (bytesAfter - bytesBefore) / streams / 1_000;
  const ours = measured.find(({ held }) => held !== undefined)!;
  const { streams, held } = ours;
  // A handful of streams says nothing about what one of many takes.
  const enough = streams >= wanted / 2;
  const few = { ok: false, why: `${formatNumber(streams)} streams are too few` } as const;
  return {
    name: 'idle-streams',
    title: 'Idle event streams',
    tables: [
      {
        head: ['proxy', 'streams', 'memory before', 'with all open', 'KB per stream'],
        rows: measured.map((each) => [
          each.name,
          formatNumber(each.streams),
          megabytes(each.bytesBefore),
          megabytes(each.bytesAfter),
          formatNumber(perStream(each)),
        ]),
        notes: [
          `After ${formatNumber(held!.minutes)} minutes ${held!.lost} of the gateway's streams were lost, and it had ${megabytes(held!.bytes)}.`,
          ...(streams < wanted && enough
            ? [
                `A process may have ${formatNumber(openFileLimit)} files open here, and a stream takes two: there was no room for ${formatNumber(wanted)}.`,
              ]
            : []),
        ],
      },
    ],
    findings: [
      {
        what: 'An idle event stream among 10,000: memory in the gateway',
        measured: enough ? { ok: true, median: perStream(ours), spread: 0 } : few,
        unit: 'KB',
        target: { kind: 'atMost', value: 20 },
      },
      {
        what: 'Idle event streams lost in ten minutes',
        measured:
          enough && held!.minutes >= heldMinutes
            ? { ok: true, median: held!.lost, spread: 0 }
            : {
                ok: false,
                why: `${formatNumber(streams)} streams were held for ${formatNumber(held!.minutes)} minutes`,
              },
        unit: 'streams',
        target: { kind: 'atMost', value: 0 },
      },
    ],
    bars: [],
  };
}
