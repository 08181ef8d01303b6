// How much memory a process has in use, as the operating system sees it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Bytes of resident memory. */
export function readResidentBytes(pid: number): number {
  if (process.platform === 'linux') {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes) * 1024;
  }
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}
