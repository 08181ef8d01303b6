// Where and when something was measured, and with which programs.
import { execFile } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Stamp } from './bench-result.ts';
import type { Tools } from './start-proxy.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** Asks the programs themselves. */
export async function createStamp(tools: Tools, accessLog: boolean): Promise<Stamp> {
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: await readCommit(),
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    versions: {
      node: process.versions.node,
      nginx: await readVersion(tools.nginx, ['-v']),
      HAProxy: await readVersion(tools.haproxy, ['-v']),
      Envoy: await readVersion(tools.envoy, ['--version']),
      // wrk says its version only along with how it is used, and fails.
      wrk: await readVersion(tools.wrk, ['-v']),
    },
    accessLog,
  };
}

async function readVersion(program: string, args: readonly string[]): Promise<string> {
  const failed = (error: { stdout?: string; stderr?: string }): { stdout: string; stderr: string } => ({
    stdout: error.stdout ?? '',
    stderr: error.stderr ?? '',
  });
  const { stdout, stderr } = await run(program, args).catch(failed);
  return findVersion(`${stdout}\n${stderr}`);
}

/** The first thing that looks like one. */
export function findVersion(output: string): string {
  return /\b\d+\.\d+\.\d+\b/.exec(output)?.[0] ?? 'unknown';
}

async function readCommit(): Promise<string> {
  const git = async (...args: readonly string[]): Promise<string> =>
    (await run('git', ['-C', root, ...args]).catch(() => ({ stdout: '' }))).stdout.trim();
  const commit = await git('rev-parse', '--short=10', 'HEAD');
  if (commit === '') return 'unknown';
  return (await git('status', '--porcelain', '--', 'src', 'package.json')) === '' ? commit : `${commit} with changes`;
}
