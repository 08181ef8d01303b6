// Where programs that the heavier suites install are kept between runs: $XDG_CACHE_HOME/mcp-gatehouse.
import { existsSync, renameSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folder, which may not exist yet. What the product's former name left is moved there once; where it cannot be moved, it stays in use. */
export function findCacheFolder(): string {
  const parent = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const [folder, former] = [join(parent, 'mcp-gatehouse'), join(parent, 'mcp-gateway')];
  if (existsSync(folder) || !existsSync(former)) return folder;
  try {
    renameSync(former, folder);
    // Python's environments, and checkouts of before, have its path.
    symlinkSync(folder, former);
    process.stderr.write(`Moved ${former} to ${folder}.\n`);
  } catch {
    // Another process was faster, or it is a mount.
    if (!existsSync(folder)) return former;
  }
  return folder;
}
