// A slice of a core: a process that may use so much of one and no more, as if the core were slower. Linux only, with the right to make control groups.
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Short, so that a process that has used up its share does not wait for long. */
const periodMicros = 20_000;

/** A group of processes that share a slice. */
export interface CpuSlice {
  /** Takes in a process. */
  add(pid: number): Promise<void>;
  /** Whoever is still in it gets out. */
  stop(): Promise<void>;
}

/** Where groups are made, and the files that say how much of a core a group has: control groups of version 2 and of version 1. */
const places = [
  {
    root: '/sys/fs/cgroup',
    limits: (quota: number) => [['cpu.max', `${quota} ${periodMicros}`]],
    prepare: () => say('/sys/fs/cgroup/cgroup.subtree_control', '+cpu'),
  },
  {
    root: '/sys/fs/cgroup/cpu',
    limits: (quota: number) => [
      ['cpu.cfs_period_us', String(periodMicros)],
      ['cpu.cfs_quota_us', String(quota)],
    ],
    prepare: () => Promise.resolve(),
  },
] as const;

/** Makes a slice of this share of a core. Undefined where the machine does not let us. */
export async function createCpuSlice(name: string, share: number): Promise<CpuSlice | undefined> {
  for (const { root, limits, prepare } of places) {
    const folder = join(root, `${name}-${process.pid}`);
    try {
      await prepare();
      await mkdir(folder);
    } catch {
      continue;
    }
    try {
      for (const [file, value] of limits(Math.round(periodMicros * share))) await say(join(folder, file!), value!);
      return { add: (pid) => say(join(folder, 'cgroup.procs'), String(pid)), stop: () => remove(root, folder) };
    } catch {
      await rmdir(folder).catch(() => {});
    }
  }
  return undefined;
}

async function remove(root: string, folder: string): Promise<void> {
  const pids = await readFile(join(folder, 'cgroup.procs'), 'utf8');
  // One that has ended meanwhile is in none.
  for (const pid of pids.split('\n').filter(Boolean)) await say(join(root, 'cgroup.procs'), pid).catch(() => {});
  await rmdir(folder);
}

/** Into a file of the kernel. Where there is none, none must be made. */
function say(file: string, text: string): Promise<void> {
  return writeFile(file, text, { flag: 'r+' });
}
