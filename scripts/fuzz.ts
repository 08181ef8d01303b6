// Fuzzes the HTTP/1 reader of src/http1 with node's own parser as the referee: whatever ours accepts, that one reads as the same messages.
// `npm run fuzz`; `-- --streams N`, `--seconds N` or `--minutes N`, `--seed N` (the same streams again), `--from N`, `--workers N`.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { addCounts, createCounts } from '../test/fuzz/http1-fuzz.ts';
import type { FuzzNews, FuzzTask } from '../test/fuzz/http1-fuzz-worker.ts';

const { values } = parseArgs({
  options: {
    streams: { type: 'string' },
    seconds: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    from: { type: 'string', default: '0' },
    workers: { type: 'string' },
  },
});

function readCount(name: keyof typeof values, otherwise: number): number {
  const text = values[name];
  if (text === undefined) return otherwise;
  if (!/^[0-9]{1,15}$/.test(text)) throw new Error(`--${name} takes a number, not ${JSON.stringify(text)}`);
  return Number(text);
}

const seed = readCount('seed', Math.floor(Math.random() * 2 ** 31));
const seconds = values.minutes === undefined ? readCount('seconds', Infinity) : readCount('minutes', 0) * 60;
const streams = readCount('streams', seconds === Infinity ? 1_000_000 : Infinity);
const from = readCount('from', 0);
const workerCount = Math.max(1, Math.min(readCount('workers', availableParallelism()), streams));

const startedAt = Date.now();
const counts = createCounts();
const failures: string[] = [];
let saidAt = startedAt;

function say(): void {
  const now = Date.now();
  const isTerminal = process.stderr.isTTY;
  if (now - saidAt < (isTerminal ? 500 : 10_000)) return;
  saidAt = now;
  const line = `${counts.streams} streams, ${counts.messages} messages, ${Math.round((now - startedAt) / 1_000)} s`;
  process.stderr.write(isTerminal ? `\r${line}` : `${line}\n`);
}

/** Resolves when the worker has ended, and rejects when it broke. */
function run(first: number): Promise<void> {
  const task: FuzzTask = {
    seed,
    from: first,
    step: workerCount,
    to: from + streams,
    deadline: startedAt + seconds * 1_000,
  };
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('../test/fuzz/http1-fuzz-worker.ts', import.meta.url), { workerData: task });
    worker.on('message', (news: FuzzNews) => {
      if (news.kind === 'failure') failures.push(news.text);
      else addCounts(counts, news.counts);
      say();
    });
    worker.on('error', reject);
    worker.on('exit', () => resolve());
  });
}

console.log(`seed ${seed}`);
await Promise.all(Array.from({ length: workerCount }, (_, index) => run(from + index)));
if (process.stderr.isTTY) process.stderr.write('\n');

console.log(
  `${counts.streams} streams in ${Math.round((Date.now() - startedAt) / 1_000)} s, ${counts.valid} of them valid`,
);
console.log(`${counts.messages} messages that both readers read as the same`);
console.log(`${counts.refusedByBoth} streams that both refused`);
console.log('streams of which the referee reads more, and why the reader does not:');
for (const [why, count] of Object.entries(counts.stricter).toSorted(([, one], [, other]) => other - one))
  console.log(`${String(count).padStart(9)}  ${why}`);
for (const failure of failures) console.log(`\n${failure}`);
if (failures.length > 0) process.exitCode = 1;
