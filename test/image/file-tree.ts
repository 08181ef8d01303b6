// What is in a folder: every path with all that an image keeps of it.
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Something in the folder. */
export interface TreeEntry {
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  /** All twelve bits. */
  readonly mode: number;
  readonly owner: string;
  readonly modifiedMs: number;
  /** The hash of a file, the target of a link. */
  readonly content: string;
}

/** Everything below the folder and the folder itself, by path, as paths of a root. */
export function readTree(folder: string): readonly TreeEntry[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `/${path}`);
  return ['/', ...paths].toSorted().map((path) => {
    const place = join(folder, path);
    const status = lstatSync(place);
    const kind = status.isSymbolicLink() ? 'link' : status.isDirectory() ? 'folder' : 'file';
    return {
      path,
      kind,
      mode: status.mode & 0o7777,
      owner: `${status.uid}:${status.gid}`,
      modifiedMs: status.mtimeMs,
      content: kind === 'file' ? hash(readFileSync(place)) : kind === 'link' ? readlinkSync(place) : '',
    };
  });
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
