// One worker of the fuzzer: every n-th stream of a seed, until it is told to stop or has found something.
import { parentPort, workerData } from 'node:worker_threads';
import { describeFailure } from './http1-failure.ts';
import { createCounts, fuzzOne, type FuzzCounts } from './http1-fuzz.ts';

/** What a worker is to do: streams `from`, `from + step` and so on below `to`. */
export interface FuzzTask {
  readonly seed: number;
  readonly from: number;
  readonly step: number;
  readonly to: number;
  /** Milliseconds since the epoch; Infinity for no limit. */
  readonly deadline: number;
}

/** What it says: news since the last time, and at the end how it went. */
export type FuzzNews =
  | { readonly kind: 'progress'; readonly counts: FuzzCounts }
  | { readonly kind: 'failure'; readonly text: string };

/** Between two pieces of news. */
const batchSize = 1_000;

function work({ seed, from, step, to, deadline }: FuzzTask, tell: (news: FuzzNews) => void): void {
  let counts = createCounts();
  for (let index = from; index < to; index += step) {
    const failure = fuzzOne(seed, index, counts);
    if (failure !== undefined) {
      tell({ kind: 'failure', text: describeFailure(failure) });
      return;
    }
    if (counts.streams < batchSize) continue;
    tell({ kind: 'progress', counts });
    counts = createCounts();
    if (Date.now() >= deadline) return;
  }
  tell({ kind: 'progress', counts });
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
work(workerData as FuzzTask, (news) => parentPort?.postMessage(news));
