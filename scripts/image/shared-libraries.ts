// The loader and the shared libraries that Node needs, as its file says and as theirs say, from Debian packages.
import type { DebianPackages } from './debian-packages.ts';
import { readElf } from './elf.ts';
import { ImageUnavailableError } from './platform.ts';
import { plainFile, programFile, type RootEntry, type RootFiles } from './root-files.ts';

/** The package of each library. Libraries that Node does not need are left out, even if they are listed here. */
const owners: readonly (readonly [pattern: RegExp, packageName: string])[] = [
  [/^(?:ld-linux-.*|lib(?:c|m|dl|pthread|rt|resolv|util))\.so\.\d+$/, 'libc6'],
  [/^libstdc\+\+\.so\.6$/, 'libstdc++6'],
  [/^libgcc_s\.so\.1$/, 'libgcc-s1'],
  [/^libatomic\.so\.1$/, 'libatomic1'],
];

/** Libraries as files of the root, and the packages that they are from. */
export interface SharedLibraries {
  readonly files: RootFiles;
  readonly packages: readonly string[];
}

/** Finds everything that a program needs to be loaded. */
export async function collectLibraries(
  program: Buffer,
  { packages, libraryFolder }: { readonly packages: DebianPackages; readonly libraryFolder: string },
): Promise<SharedLibraries> {
  const { interpreter, needed } = readElf(program);
  if (interpreter === undefined) return { files: {}, packages: [] };
  const files: Record<string, RootEntry> = {};
  const used = new Set<string>();
  const take = async (name: string): Promise<Buffer> => {
    const owner = findOwner(name);
    used.add(owner);
    return packages.readFile(owner, name);
  };
  const loaderName = interpreter.slice(interpreter.lastIndexOf('/') + 1);
  files[interpreter] = programFile(await take(loaderName));
  const waiting = [...needed];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const path = `${libraryFolder}/${name}`;
    // A library that names the loader gets the one that has loaded it.
    if (name === loaderName || files[path] !== undefined) continue;
    const library = await take(name);
    files[path] = plainFile(library);
    waiting.push(...readElf(library).needed);
  }
  return { files, packages: [...used].toSorted() };
}

function findOwner(library: string): string {
  const owner = owners.find(([pattern]) => pattern.test(library))?.[1];
  if (owner !== undefined) return owner;
  throw new ImageUnavailableError(
    `Node needs ${library}, and scripts/image/shared-libraries.ts does not say which Debian package has it.`,
  );
}
