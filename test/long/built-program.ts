// A copy of the program that `npm run build` makes, to start and to damage: the suite has built it once, and bundling it again takes longer than the tests of it.
import { cp, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { buildChanged } from '../../scripts/build-program.ts';

const built = resolve(import.meta.dirname, '../../build/program');

/** Copies it, without the code that starts before have kept. The folder has to be in the checkout: the program reads its version from the package that it is in. */
export async function copyBuiltProgram(folder: string): Promise<void> {
  // Nothing, unless the file runs alone.
  await buildChanged();
  const kept = join(built, 'code');
  await mkdir(dirname(folder), { recursive: true });
  await cp(built, folder, { recursive: true, filter: (source) => source !== kept });
  await mkdir(join(folder, 'code'));
}
