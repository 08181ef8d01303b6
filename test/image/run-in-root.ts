// Runs a program with the root of an image: read-only, with /proc and an empty /tmp and nothing else of the machine but its network, as the image's
// user, without a way to more privileges.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { imageEnvironment, imageProgram, imageUser } from '../../scripts/image/components.ts';
import { machinePath } from '../cluster/machine.ts';
import { type Child, startChild } from '../kit/child-process.ts';

/** What to run. */
export interface RootRun {
  readonly root: string;
  readonly args: readonly string[];
  /** In place of the image's own. */
  readonly program?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Texts that are mounted into the root, by their paths there. */
  readonly files?: Readonly<Record<string, string>>;
}

/** How it ended. */
export interface RootResult {
  readonly exitCode: number | null;
  readonly output: string;
}

// The root, a folder, the user, the PATH in there, how many files follow as pairs of path and text, and then the program.
const script = `
set -e
root=$1 scratch=$2 user=$3 path=$4 files=$5
shift 5
mount -t tmpfs -o mode=0755 tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" overlay "$scratch/root"
mkdir "$scratch/root/proc"
mount -t proc proc "$scratch/root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$scratch/root/tmp"
while [ "$files" -gt 0 ]; do
  mkdir -p "$scratch/root$(dirname "$1")"
  printf %s "$2" > "$scratch/root$1"
  shift 2
  files=$((files - 1))
done
mount -o remount,bind,ro "$scratch/root"
setpriv=$(command -v setpriv) chroot=$(command -v chroot) PATH=$path
exec "$setpriv" --no-new-privs "$chroot" --userspec="$user:$user" --groups="$user" "$scratch/root" "$@"
`;

/** Starts it. It keeps the process id, so that signals reach it and its end is seen. */
export function startInRoot({ root, args, program = imageProgram, env = {}, files = {} }: RootRun): Child {
  const scratch = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-root-'));
  const texts = Object.entries(files).flat();
  const { PATH: path = '', ...others } = { ...imageEnvironment, ...env };
  const words = [root, scratch, `${imageUser}`, path, `${texts.length / 2}`, ...texts, program, ...args];
  const variables = Object.entries({ ...others, PATH: machinePath }).map(([name, value]) => `${name}=${value}`);
  const child = startChild({
    command: 'env',
    args: ['-i', ...variables, 'unshare', '--mount', '--propagation=private', 'sh', '-c', script, 'sh', ...words],
  });
  void child.waitForExit().finally(() => rmSync(scratch, { recursive: true, force: true }));
  return child;
}

/** Runs it to its end. */
export async function runInRoot(run: RootRun): Promise<RootResult> {
  const child = startInRoot(run);
  const exitCode = await child.waitForExit();
  return { exitCode, output: child.readOutput() };
}
