// What the installers of programs in Java have in common: a JDK, Maven, which knows its mirrors and proxies, and how to run them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { InstallationError } from './install-once.ts';

const oldestJava = 17;

/** Flags of Maven for a program that calls it. */
export const mavenFlags: readonly string[] = ['--batch-mode', '--no-transfer-progress', '--strict-checksums'];

/** Makes sure that a JDK and Maven are there. */
export async function requireJavaTools(program: string): Promise<void> {
  const help = '(Debian: apt-get install openjdk-17-jdk-headless maven)';
  const version = /version "(\d+)/.exec((await capture('java', ['-version'])) ?? '')?.[1];
  const isNewEnough = version !== undefined && Number(version) >= oldestJava;
  if (!isNewEnough || (await capture('jar', ['--version'])) === undefined) {
    throw new InstallationError(`The compatibility suite needs a JDK ${oldestJava} or newer for ${program} ${help}.`);
  }
  if ((await capture('mvn', ['--version'])) === undefined) {
    throw new InstallationError(`The compatibility suite needs Maven to install ${program} ${help}.`);
  }
}

/** Runs a step of an installation in a folder. */
export async function runStep(
  program: string,
  command: string,
  args: readonly string[],
  folder: string,
): Promise<void> {
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const hear = (text: string): void => void (output += text);
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return;
  const lines = output.trim().split('\n');
  const reason = lines.find((line) => /error|exception/i.test(line)) ?? lines.at(-1) ?? '';
  throw new InstallationError(`${program} could not be installed (${command}): ${reason}`);
}

/** The output of a program on both streams; undefined when it is missing or fails. */
async function capture(command: string, args: readonly string[]): Promise<string | undefined> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const hear = (text: string): void => void (output += text);
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0 ? output : undefined;
  } catch {
    return undefined;
  }
}
