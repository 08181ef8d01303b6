// Half an hour of clients that nobody has seen before: memory that grows with them would be seen.
import { setTimeout as delay } from 'node:timers/promises';
import { formatNumber } from '../bench-report.ts';
import { createResources, mcpAuthenticationPolicy, messageRules } from '../bench-resources.ts';
import type { ExperimentResult } from '../bench-result.ts';
import { inSession } from '../bench-session.ts';
import type { Experiment } from '../experiment.ts';
import { readResidentMemory } from '../process-memory.ts';
import { runSoakClient, type SoakCounts } from '../soak/soak-client.ts';
import { startSoakServer } from '../soak/soak-server.ts';
import { startProxy } from '../start-proxy.ts';
import { findQuantile } from '../statistics.ts';

const clientsAtOnce = 16;
/** Parts of the time: what comes before the first is warm-up, and each is as long as the last. */
const warmUpPart = 0.2;
const windowPart = 0.1;
/** With less a change of a few percent means nothing: V8 moves more than that by itself. */
const fewestMinutes = 10;

/** What was measured: bytes, one reading per second. */
export interface SoakMeasurement {
  readonly minutes: number;
  readonly readings: readonly number[];
  readonly counts: SoakCounts;
}

export const soakExperiment: Experiment = {
  name: 'soak',
  description: '30 minutes (--minutes N) of ever new clients, tokens, paths and sessions: memory stays flat',
  cases: [],
  isLong: true,
  run(options) {
    const { report, smoke } = options;
    const minutes = smoke ? 0.1 : options.minutes;
    return inSession(options, async (session) => {
      const server = session.keep(await startSoakServer());
      const { tools, folder, accessLog } = session;
      const gateway = session.keep(
        await startProxy(
          'soak',
          { kind: 'gateway', resources: (ports) => createResources([mcpAuthenticationPolicy, messageRules], ports) },
          { tools, folder, accessLog, upstreamPort: server.port },
        ),
      );
      const counts: SoakCounts = { clients: 0, requests: 0, answers: new Map() };
      const until = Date.now() + minutes * 60_000;
      let next = 0;
      const runClients = async (): Promise<void> => {
        while (Date.now() < until) {
          next += 1;
          await runSoakClient(gateway.port, next, counts);
        }
      };
      const running = Promise.all(Array.from({ length: clientsAtOnce }, runClients));
      const readings: number[] = [];
      const reading = (async (): Promise<void> => {
        while (Date.now() < until) {
          await delay(1_000);
          readings.push(await readResidentMemory(gateway.pid));
          if (readings.length % 10 === 0) {
            const now = formatNumber(readings.at(-1)! / 1e6);
            report(
              `${readings.length} s of ${minutes * 60}: ${counts.requests} requests of ${counts.clients} clients, ${now} MB`,
            );
          }
        }
      })();
      await Promise.all([running, reading]).catch((error: Error) => {
        throw new Error(`${error.message}\n${gateway.readErrors().slice(-2_000)}`);
      });
      return describeSoak({ minutes, readings, counts });
    });
  },
};

/** Puts the numbers together. */
export function describeSoak({ minutes, readings, counts }: SoakMeasurement): ExperimentResult {
  const medianFrom = (part: number): number => {
    const from = Math.floor(readings.length * part);
    const to = Math.max(from + 1, Math.floor(readings.length * (part + windowPart)));
    return findQuantile(readings.slice(from, to), 0.5);
  };
  const first = medianFrom(warmUpPart);
  const last = medianFrom(1 - windowPart);
  const megabytes = (bytes: number): string => `${formatNumber(bytes / 1e6)} MB`;
  return {
    name: 'soak',
    title: 'Soak',
    tables: [
      {
        head: ['', 'value'],
        rows: [
          ['minutes', formatNumber(minutes)],
          ['clients, each with an address, a token, a session and paths of its own', formatNumber(counts.clients)],
          ['requests', formatNumber(counts.requests)],
          ['memory after warm-up, median', megabytes(first)],
          ['memory at the end, median', megabytes(last)],
          ['memory at most', megabytes(Math.max(...readings))],
        ],
        notes: [],
      },
    ],
    findings: [
      {
        what: 'Memory at the end of the soak, beside that after warm-up',
        measured:
          minutes >= fewestMinutes
            ? { ok: true, median: last / first, spread: 0 }
            : { ok: false, why: `${formatNumber(minutes)} minutes are too few` },
        unit: 'times',
        target: { kind: 'atMost', value: 1.05 },
      },
    ],
    bars: [],
  };
}
