// The files of an image's root, and how they are written: the same input gives the same bytes, modes, owners and times.
import { chmod, lutimes, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Something in the root. */
export type RootEntry =
  | { readonly kind: 'file'; readonly mode: number; readonly content: string | Uint8Array }
  | { readonly kind: 'folder'; readonly mode: number }
  | { readonly kind: 'link'; readonly target: string };

/** Everything in the root by its absolute path. Folders on the way need no entry. */
export type RootFiles = Readonly<Record<string, RootEntry>>;

/** A file that anybody may read. */
export function plainFile(content: string | Uint8Array): RootEntry {
  return { kind: 'file', mode: 0o644, content };
}

/** A file that anybody may run. */
export function programFile(content: string | Uint8Array): RootEntry {
  return { kind: 'file', mode: 0o755, content };
}

/** How many bytes the files have. */
export function countBytes(files: RootFiles): number {
  return Object.values(files).reduce(
    (sum, entry) => sum + (entry.kind === 'file' ? Buffer.byteLength(entry.content) : 0),
    0,
  );
}

/** Writes the root to a folder, in place of what was there. Every time in it is `epochSeconds`. */
export async function writeRoot(folder: string, files: RootFiles, epochSeconds: number): Promise<void> {
  const draft = `${folder}.${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  const folders = new Map<string, number>();
  for (const [path, entry] of Object.entries(files)) {
    for (let parent = dirname(path); !folders.has(parent); parent = dirname(parent)) folders.set(parent, 0o755);
    if (entry.kind === 'folder') folders.set(path, entry.mode);
  }
  const ordered = [...folders].toSorted(([left], [right]) => (left < right ? -1 : 1));
  for (const [path] of ordered) await mkdir(join(draft, path), { recursive: true });
  for (const [path, entry] of Object.entries(files)) await writeEntry(join(draft, path), entry, epochSeconds);
  // The inner folders first: what is made in a folder changes its time. The umask of the builder has no effect.
  for (const [path, mode] of ordered.toReversed()) {
    await chmod(join(draft, path), mode);
    await utimes(join(draft, path), epochSeconds, epochSeconds);
  }
  await rm(folder, { recursive: true, force: true });
  await rename(draft, folder);
}

async function writeEntry(path: string, entry: RootEntry, epochSeconds: number): Promise<void> {
  if (entry.kind === 'folder') return;
  if (entry.kind === 'link') {
    await symlink(entry.target, path);
    await lutimes(path, epochSeconds, epochSeconds);
    return;
  }
  await writeFile(path, entry.content);
  await chmod(path, entry.mode);
  await utimes(path, epochSeconds, epochSeconds);
}
