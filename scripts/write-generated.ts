// Writes generated files, or with --check says which of them are out of date. Shared by the generate-*.ts scripts.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** The generated files whose content on disk differs, by path from the repository's root. */
export async function findStaleFiles(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const stale: string[] = [];
  for (const [path, content] of Object.entries(files)) {
    const current = await readFile(join(root, path), 'utf8').catch(() => undefined);
    if (current !== content) stale.push(path);
  }
  return stale;
}

/** Writes the files, or with `--check` among the arguments only compares them; sets the exit code. */
export async function writeOrCheck(
  files: Readonly<Record<string, string>>,
  script: string,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  const stale = await findStaleFiles(files);
  if (args.includes('--check')) {
    for (const path of stale) console.error(`${path} is out of date: run node ${script}`);
    if (stale.length > 0) process.exitCode = 1;
    return;
  }
  for (const path of stale) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), files[path]!);
    console.log(`wrote ${path}`);
  }
}
