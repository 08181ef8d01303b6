// The folder of one run: credentials and logs. Folders of runs that were killed go away when the next one starts.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'mcp-gatehouse-cluster-';

/** Makes the folder of this run, after removing those of processes that no longer exist. */
export async function createRunFolder(): Promise<string> {
  await removeStaleFolders();
  return mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
}

/** The folders of runs whose process is gone. */
export async function listStaleFolders(): Promise<readonly string[]> {
  return (await readdir(tmpdir()))
    .filter((name) => {
      const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
      return pid !== undefined && !isAlive(Number(pid));
    })
    .map((name) => join(tmpdir(), name));
}

async function removeStaleFolders(): Promise<void> {
  for (const folder of await listStaleFolders()) await rm(folder, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
