// What `npm run build` has made, once more for the pods of a cluster, where they keep the code that V8 makes of it from one start to the next: that is a fifth of a
// start, and a folder of root's would not do (src/cmd/load-bundle.ts).
import { existsSync } from 'node:fs';
import { chown, cp, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** The programs that pods run, by their folders in the checkout. */
const programs = ['build/program', 'build/controller'];
const codeFolder = 'code';

/** Copies what is built into the folder of a run, for pods of this user. */
export async function copyPodPrograms(checkout: string, runFolder: string, user: number): Promise<void> {
  for (const program of programs) {
    const [source, copy] = [join(checkout, program), locate(runFolder, program)];
    if (!existsSync(source)) continue;
    await cp(source, copy, { recursive: true, filter: (path) => basename(path) !== codeFolder });
    const code = join(copy, codeFolder);
    await mkdir(code);
    await chown(code, user, user);
  }
}

/** Where a container of the checkout at `/app` sees the copies of a run. */
export function listPodPrograms(runFolder: string): Readonly<Record<string, string>> {
  const copied = programs.filter((program) => existsSync(locate(runFolder, program)));
  return Object.fromEntries(copied.map((program) => [`/app/${program}`, locate(runFolder, program)]));
}

function locate(runFolder: string, program: string): string {
  return join(runFolder, 'pods', basename(program));
}
