// CPU time of a process from /proc (proc(5)), in microseconds. Linux only.
import { readdir, readFile } from 'node:fs/promises';

/** USER_HZ: a part of Linux's interface, the same on every architecture that node runs on. */
const ticksPerSecond = 100;

/** utime and stime of a process with all its threads, and of children that have ended and were waited for: in hundredths of a second. */
export function parseCpuTime(stat: string): number {
  // The name is in parentheses and may hold anything, parentheses and spaces too: fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].map((at) => Number(fields[at]));
  const sum = ticks.reduce((total, value) => total + value, 0);
  if (fields.length < 20 || !Number.isInteger(sum)) throw new Error(`not a stat file of /proc: ${stat}`);
  return (sum / ticksPerSecond) * 1_000_000;
}

/** The same of one thread, in nanoseconds: the first number is the time that it was on a processor. */
export function parseThreadTime(schedstat: string): number {
  const match = /^(\d+) \d+ \d+\s*$/.exec(schedstat);
  if (match === null) throw new Error(`not a schedstat file of /proc: ${schedstat}`);
  return Number(match[1]) / 1_000;
}

/** The CPU time that a process and all its descendants have used so far. As exact as the kernel tells it. */
export async function readCpuTime(pid: number): Promise<number> {
  let sum = (await readThreadTimes(pid)) ?? parseCpuTime(await readFile(`/proc/${pid}/stat`, 'utf8'));
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  for (const child of children.split(' ').filter((text) => text !== '')) sum += await readCpuTime(Number(child));
  return sum;
}

/** Of all threads that there are. Undefined where the kernel does not keep count. */
async function readThreadTimes(pid: number): Promise<number | undefined> {
  const threads = await readdir(`/proc/${pid}/task`);
  const texts = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => undefined)),
  );
  const known = texts.filter((text) => text !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, text) => sum + parseThreadTime(text), 0);
}
