// Builds Go programs from the module registry into the user's cache folder, once per version and recipe. A recipe is a folder
// under scripts/go with the go.mod and go.sum that pin every module by its hash. The installers beside this file use it.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, cp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { findCacheFolder } from './cache-folder.ts';
import { InstallationError, installOnce } from './install-once.ts';
import { reachMachineNetwork } from './machine-network.ts';

/** The programs to build from one go.mod. */
export interface GoRecipe {
  /** The folder under scripts/go, and the first part of the folder's name in the cache. */
  readonly name: string;
  readonly version: string;
  /** The message about how long it takes. */
  readonly duration: string;
  readonly programs: readonly GoProgram[];
  /** Folders of modules to copy beside the programs. */
  readonly copies?: readonly ModuleCopy[];
}

/** One program. */
export interface GoProgram {
  readonly output: string;
  readonly package: string;
  /** A test binary (`go test -c`) and not a command. */
  readonly isTest?: boolean;
  readonly linkerFlags?: string;
}

/** A folder inside a module. */
export interface ModuleCopy {
  readonly module: string;
  readonly folder: string;
  readonly output: string;
}

const oldestGo = [1, 26] as const;
const progressInterval = 15_000;

/** Makes sure that the programs of a recipe are built, and returns the folder that holds them. */
export async function installGoPrograms(recipe: GoRecipe, report: (line: string) => void): Promise<string> {
  const source = join(import.meta.dirname, 'go', recipe.name);
  const folder = join(findCacheFolder(), `${recipe.name}-${recipe.version}-${await hashRecipe(source, recipe)}`);
  await installOnce({
    title: `${recipe.name} ${recipe.version}`,
    folder,
    isInstalled: () => isInstalled(folder, recipe),
    async install(building) {
      await requireGo(recipe);
      report(`Building ${recipe.name} ${recipe.version} with Go. This happens once and takes ${recipe.duration}.`);
      const module = join(building, 'module');
      await cp(source, module, { recursive: true });
      for (const program of recipe.programs) await build(program, module, building, report);
      for (const copy of recipe.copies ?? []) await copyModuleFolder(copy, module, building);
      await rm(module, { recursive: true, force: true });
      return building;
    },
    report,
  });
  return folder;
}

/** A changed recipe gets another folder, so that the build of an older checkout is never run. */
async function hashRecipe(source: string, recipe: GoRecipe): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([recipe.programs, recipe.copies ?? []]));
  for (const file of (await readdir(source)).toSorted()) hash.update(file).update(await readFile(join(source, file)));
  return hash.digest('hex').slice(0, 10);
}

async function isInstalled(folder: string, recipe: GoRecipe): Promise<boolean> {
  const outputs = [...recipe.programs, ...(recipe.copies ?? [])].map((part) => join(folder, part.output));
  const found = await Promise.allSettled(outputs.map((file) => access(file)));
  return found.every((result) => result.status === 'fulfilled');
}

async function requireGo(recipe: GoRecipe): Promise<void> {
  const { code, output } = await capture('go', ['env', 'GOVERSION']);
  const [major = 0, minor = 0] = (/go(\d+)\.(\d+)/.exec(output)?.slice(1) ?? []).map(Number);
  if (code === 0 && (major > oldestGo[0] || (major === oldestGo[0] && minor >= oldestGo[1]))) return;
  const found = code === 0 ? `found ${output.trim()}` : 'found none';
  throw new InstallationError(
    `Building ${recipe.name} ${recipe.version} needs Go ${oldestGo.join('.')} or newer on the PATH (${found}).`,
  );
}

async function build(program: GoProgram, module: string, folder: string, report: (line: string) => void) {
  const started = Date.now();
  const seen = { compiled: 0, downloaded: 0, last: '' };
  const progress = setInterval(() => {
    const seconds = Math.round((Date.now() - started) / 1000);
    report(
      `  ${program.output}: ${seen.downloaded} modules downloaded, ${seen.compiled} packages compiled, ${seconds} s`,
    );
  }, progressInterval);
  const verb = program.isTest === true ? ['test', '-c'] : ['build'];
  const flags = ['-v', '-mod=readonly', '-buildvcs=false', '-p', '2'];
  const linker = ['-ldflags', ['-s -w', program.linkerFlags ?? ''].join(' ').trim()];
  try {
    const child = startGo([...verb, ...flags, ...linker, '-o', join(folder, program.output), program.package], module);
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-20_000);
      seen.downloaded += text.match(/^go: downloading /gm)?.length ?? 0;
      seen.compiled += text.match(/^[\w.-]+(\/[\w.-]+)*$/gm)?.length ?? 0;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) return report(`  ${program.output}: done after ${Math.round((Date.now() - started) / 1000)} s`);
    const lines = output.trim().split('\n');
    const reason = lines.find((line) => /error|cannot|missing|mismatch|refused|timeout/i.test(line)) ?? lines.at(-1);
    throw new InstallationError(`${program.output} could not be built (go ${verb.join(' ')}): ${reason}`);
  } finally {
    clearInterval(progress);
  }
}

async function copyModuleFolder(copy: ModuleCopy, module: string, folder: string): Promise<void> {
  const { code, output } = await capture(
    'go',
    ['list', '-mod=readonly', '-m', '-f', '{{.Dir}}', copy.module],
    module,
    goEnvironment(),
  );
  if (code !== 0) throw new InstallationError(`The module ${copy.module} is not there: ${output.trim()}`);
  // Files of the module cache are read-only; the copy of a folder must stay removable.
  await cp(join(output.trim(), copy.folder), join(folder, copy.output), { recursive: true });
  const { code: changed } = await capture('chmod', ['-R', 'u+w', join(folder, copy.output)]);
  if (changed !== 0) throw new InstallationError(`The permissions of ${copy.output} cannot be changed.`);
}

function goEnvironment(): NodeJS.ProcessEnv {
  // Compilers that collect garbage less often need less CPU, and they are short-lived.
  return { GOGC: '400', ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' };
}

function startGo(args: readonly string[], cwd: string): ChildProcessByStdio<null, null, Readable> {
  // It downloads modules.
  const reaching = reachMachineNetwork('go', args);
  return spawn(reaching.command, reaching.args, { cwd, env: goEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] });
}

async function capture(command: string, args: readonly string[], cwd?: string, env?: NodeJS.ProcessEnv) {
  const child: ChildProcessByStdio<Writable | null, Readable, Readable> = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
  });
  let output = '';
  const hear = (text: string): void => void (output += text);
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  } catch {
    return { code: null, output };
  }
}
