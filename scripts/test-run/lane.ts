// One process of a run of tests. It asks for a file, runs it, says what it cost, and asks for the next: most files start nothing that needs a process of its
// own, and a process for each costs more than what is in them. Every file is a test of its own here, so that its hooks are its own, too.
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { configureGlobal } from 'fast-check';
import { seed } from '../../test/kit/effort.ts';
import type { FileCost, LaneMessage, LaneOrder } from './lane-messages.ts';

configureGlobal({ seed });
const send = (message: LaneMessage): void => void process.send!(message);

// Sent in order with the other messages, so that the run knows which file has printed it.
let current = '';
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    send({ kind: 'output', file: current, text: typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString() });
    const done = rest.findLast((each) => typeof each === 'function');
    if (done !== undefined) process.nextTick(done);
    return true;
  };
}

// Tests may wait for what does not keep a process alive by itself.
process.channel?.ref();
// The run has ended.
process.once('disconnect', () => process.exit(1));

for (;;) {
  const file = await askForFile();
  if (file === undefined) break;
  current = file;
  const [startedAt, cpuBefore] = [performance.now(), readCpu()];
  await test(file, () => import(pathToFileURL(file).href));
  const cpu = readCpu();
  const cost: FileCost = {
    seconds: (performance.now() - startedAt) / 1_000,
    ownCpu: cpu.own - cpuBefore.own,
    childrenCpu: cpu.children - cpuBefore.children,
  };
  send({ kind: 'cost', file, cost });
}
// From here on it ends by itself, unless a test has left something behind.
process.channel?.unref();
setInterval(() => send({ kind: 'open', open: process.getActiveResourcesInfo() }), 500).unref();

function askForFile(): Promise<string | undefined> {
  return new Promise((resolve) => {
    process.once('message', (order: LaneOrder) => resolve(order.file));
    send({ kind: 'next' });
  });
}

/** Seconds so far: of this process, and of the processes that it started and that have ended. Without /proc only its own are known. */
function readCpu(): { readonly own: number; readonly children: number } {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1e6;
  let children = 0;
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // cutime and cstime, in hundredths of a second.
    children = (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    // Not Linux.
  }
  return { own, children };
}
