// CPU time of a process from /proc (proc(5)), in microseconds. Linux only.
import { readFile } from 'node:fs/promises';

/** USER_HZ: a part of Linux's interface, the same on every architecture that node runs on. */
const ticksPerSecond = 100;

/** utime and stime of a process with all its threads, and of children that have ended and were waited for. */
export function parseCpuTime(stat: string): number {
  // The name is in parentheses and may hold anything, parentheses and spaces too: fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].map((at) => Number(fields[at]));
  const sum = ticks.reduce((total, value) => total + value, 0);
  if (fields.length < 20 || !Number.isInteger(sum)) throw new Error(`not a stat file of /proc: ${stat}`);
  return (sum / ticksPerSecond) * 1_000_000;
}

/** The CPU time that a process and all its descendants have used so far. */
export async function readCpuTime(pid: number): Promise<number> {
  let sum = parseCpuTime(await readFile(`/proc/${pid}/stat`, 'utf8'));
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  for (const child of children.split(' ').filter((text) => text !== '')) sum += await readCpuTime(Number(child));
  return sum;
}
