// One round of a measurement: whoever is compared gets the machine for a moment at a time, by turns, so that whatever else it does falls on all of them
// alike.
import { setTimeout as delay } from 'node:timers/promises';
import { readCpuTime } from './cpu-time.ts';
import type { RunningProxy } from './start-proxy.ts';
import type { Load } from './wrk-load.ts';

/** How long a load runs before it is the next one's turn. */
export const usualTurnMs = 200;
/** For what is on its way when the load is held still. */
const settleMs = 20;

/** A proxy, and the load for it, which is held still. */
export interface LoadedProxy {
  readonly name: string;
  readonly proxy: Pick<RunningProxy, 'pid' | 'readErrors'>;
  readonly load: Load;
}

/** What came of a round for one of them. */
export interface RoundResult {
  readonly cpuMicrosPerRequest: number;
  readonly requestsPerSecond: number;
}

/** So many seconds of each. Throws when no request comes through. */
export async function measureRound(
  running: readonly LoadedProxy[],
  { seconds, round, turnMs }: { readonly seconds: number; readonly round: number; readonly turnMs: number },
): Promise<readonly RoundResult[]> {
  const turns = Math.max(1, Math.round((seconds * 1_000) / turnMs));
  const sums = running.map(() => ({ cpuMicros: 0, requests: 0, seconds: 0 }));
  for (let turn = 0; turn < turns; turn += 1) {
    for (let place = 0; place < running.length; place += 1) {
      // Another one begins each time, so that none is always behind the same neighbour.
      const index = (round + turn + place) % running.length;
      const taken = await takeTurn(running[index]!, turnMs);
      const sum = sums[index]!;
      sum.cpuMicros += taken.cpuMicros;
      sum.requests += taken.requests;
      sum.seconds += taken.seconds;
    }
  }
  return sums.map(({ cpuMicros, requests, seconds: spent }, index) => {
    const { name, proxy } = running[index]!;
    if (requests === 0) throw new Error(`${name}: no request came through:\n${proxy.readErrors()}`);
    return { cpuMicrosPerRequest: cpuMicros / requests, requestsPerSecond: requests / spent };
  });
}

/** Lets the load run for a moment. Only what the proxy does meanwhile and right after counts: it waits much longer than it works. */
async function takeTurn(
  { load, proxy }: LoadedProxy,
  turnMs: number,
): Promise<{ readonly cpuMicros: number; readonly requests: number; readonly seconds: number }> {
  const [sent, used] = [await load.countRequests(), await readCpuTime(proxy.pid)];
  const begun = performance.now();
  load.resume();
  await delay(turnMs);
  load.pause();
  const seconds = (performance.now() - begun) / 1_000;
  await delay(settleMs);
  return {
    cpuMicros: (await readCpuTime(proxy.pid)) - used,
    requests: (await load.countRequests()) - sent,
    seconds,
  };
}
