// Writes the files of a volume so that a reader sees all of a new version or all of the old one: the files are links through
// `..data`, which is replaced by one rename. Kubernetes does it the same way, and programs rely on it.
import { chmod, chown, lstat, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** One file of a volume. */
export interface VolumeFile {
  readonly content: Buffer;
  readonly mode: number;
  readonly owner?: number;
  readonly group?: number;
}

let versions = 0;

/** Replaces the content of a folder. Paths are relative and may have folders in them. */
export async function writeAtomically(folder: string, files: ReadonlyMap<string, VolumeFile>): Promise<void> {
  versions += 1;
  const version = `..version-${versions}`;
  const target = join(folder, version);
  await mkdir(target, { recursive: true, mode: 0o755 });
  for (const [path, { content, mode, owner = 0, group = 0 }] of files) {
    const file = join(target, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, content, { mode: 0o600 });
    await chown(file, owner, group);
    await chmod(file, mode);
  }
  await symlink(version, join(folder, '..data.next'));
  await rename(join(folder, '..data.next'), join(folder, '..data'));

  const visible = new Set([...files.keys()].map((path) => path.split('/')[0] ?? ''));
  for (const name of visible) {
    if (!(await exists(join(folder, name)))) await symlink(`..data/${name}`, join(folder, name));
  }
  for (const name of await readdir(folder)) {
    const isOld = name.startsWith('..version-') && name !== version;
    const isGone = !name.startsWith('..') && !visible.has(name);
    if (isOld || isGone) await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
