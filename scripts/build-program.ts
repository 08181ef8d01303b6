// `npm run build`: bundles the commands that serve traffic into build/program, and the controller into build/controller, which `mcp-gatehouse` then starts in
// place of the sources: one file takes less time and memory to load than hundreds. With each goes a list of the files that it was made of: when one of them
// changes, the launcher takes the sources again, and this makes it anew.
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { bundleEntryPoint } from './image/bundle.ts';

const checkout = join(import.meta.dirname, '..');

const programFolder = join(checkout, 'build', 'program');
const servingEntry = 'src/cmd/gateway-image.ts';
const programs = [
  { command: 'run', entry: servingEntry, folder: programFolder },
  { command: 'controller', entry: 'src/cmd/controller-image.ts', folder: join(checkout, 'build', 'controller') },
];
/** How it is made. */
const recipe = ['build-program', 'image/bundle', 'image/merge-chunks', 'image/wrap-chunks'].map(
  (name) => `scripts/${name}.ts`,
);

/** A file of the checkout, and how it was when the program was made. */
type Input = readonly [file: string, size: number, changed: number];

/** Builds a program in a folder and replaces its content; by default the program that serves traffic. */
export async function buildProgram(
  folder: string,
  entry = servingEntry,
): Promise<{ readonly files: number; readonly bytes: number }> {
  const { files, inputs } = await bundleEntryPoint(entry);
  const made = `${folder}.${process.pid}`;
  await rm(made, { recursive: true, force: true });
  await mkdir(made, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(made, name), text);
  const looks = await Promise.all(
    listWitnesses(inputs).map(async (file): Promise<Input> => {
      const { size, mtimeMs } = await stat(join(checkout, file));
      return [file, size, mtimeMs];
    }),
  );
  // For the code that V8 makes of it (src/cmd/load-bundle.ts).
  await mkdir(join(made, 'code'));
  await writeFile(join(made, 'inputs.json'), JSON.stringify({ node: process.version, inputs: looks }));
  await rm(folder, { recursive: true, force: true });
  await rename(made, folder);
  return { files: Object.keys(files).length, bytes: Object.values(files).reduce((sum, text) => sum + text.length, 0) };
}

/** The files that show whether anything has changed. npm records what it has installed: no need to read thousands of files of packages. */
function listWitnesses(inputs: readonly string[]): readonly string[] {
  const installed = 'node_modules/.package-lock.json';
  if (!existsSync(join(checkout, installed))) return ['package.json', ...recipe, ...inputs];
  return ['package.json', ...recipe, installed, ...inputs.filter((file) => !file.startsWith('node_modules/'))];
}

/** Of the launcher, which is plain JavaScript. */
interface Launcher {
  readonly findProgram: (folder: string, command: string) => { readonly file: string; readonly isBuilt: boolean };
}

/** Builds what the launcher would not take, because it is not there or something has changed since. */
export async function buildChanged(): Promise<void> {
  const { findProgram } = (await import(join(checkout, 'bin', 'find-program.mjs'))) as Launcher;
  for (const { command, entry, folder } of programs) {
    if (findProgram(checkout, command).isBuilt) continue;
    const { files, bytes } = await buildProgram(folder, entry);
    console.log(`${relative(checkout, folder)}: ${files} files, ${(bytes / 1e6).toFixed(1)} MB`);
  }
}

if (import.meta.main) await buildChanged();
