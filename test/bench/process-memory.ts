// Memory of a process from /proc (proc(5)), in bytes. Linux only.
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** What is resident of a process and all its descendants. */
export async function readResidentMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  let sum = parseResidentMemory(status);
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  for (const child of children.split(' ').filter((text) => text !== '')) sum += await readResidentMemory(Number(child));
  return sum;
}

/** VmRSS, out of /proc/PID/status. */
export function parseResidentMemory(status: string): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kilobytes === undefined) throw new Error(`not a status file of /proc: ${status}`);
  return Number(kilobytes) * 1_024;
}

/** Waits until it has stopped moving: four readings, a second apart, within half a percent. Or takes it as it is after a while. */
export async function readSettledMemory(pid: number, longestSeconds = 60): Promise<number> {
  let readings: number[] = [];
  for (let second = 0; second < longestSeconds; second += 1) {
    readings = [...readings, await readResidentMemory(pid)].slice(-4);
    if (readings.length === 4 && Math.max(...readings) - Math.min(...readings) < readings[0]! * 0.005) break;
    await delay(1_000);
  }
  return readings.at(-1)!;
}

/** How many files a process may have open. */
export async function readOpenFileLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
}
