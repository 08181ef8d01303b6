// The processes of the machine and who started them, from /proc.
import { readdirSync, readFileSync } from 'node:fs';

/** A process; the time of its start tells it from another one that got its id later. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly startedAt: string;
  /** The program with its arguments. */
  readonly command: string;
}

/** All processes below one, whatever namespaces they are in. */
export function listDescendants(root: number): readonly ProcessEntry[] {
  const all = listProcesses();
  const found: ProcessEntry[] = [];
  const parents = [root];
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    const children = all.filter((entry) => entry.parent === parent);
    found.push(...children);
    parents.push(...children.map(({ pid }) => pid));
  }
  return found;
}

/** Those that still exist. A process that only waits to be buried does not. */
export function listSurvivors(entries: readonly ProcessEntry[]): readonly ProcessEntry[] {
  const alive = new Set(listProcesses().map(({ pid, startedAt }) => `${pid} ${startedAt}`));
  return entries.filter(({ pid, startedAt }) => alive.has(`${pid} ${startedAt}`));
}

function listProcesses(): readonly ProcessEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        // The name is in brackets and may contain anything.
        const end = stat.lastIndexOf(')');
        const [state = '', parent = '', ...rest] = stat.slice(end + 2).split(' ');
        if (state === 'Z' || state === 'X') return [];
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return [{ pid: Number(name), parent: Number(parent), startedAt: rest[17] ?? '', command }];
      } catch {
        // It ended meanwhile.
        return [];
      }
    });
}
