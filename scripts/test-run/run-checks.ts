// Types, lint and format: the checks besides the tests.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { checkout } from './suites.ts';
import type { TestResults } from './test-results.ts';

/** Runs them one after the other; what they complain about is a failure of the run. */
export async function runChecks(scripts: readonly string[], results: TestResults): Promise<void> {
  for (const script of scripts) {
    const { code, output } = await runProgram('npm', ['run', '--silent', script]);
    if (code !== 0)
      results.failures.push({ file: '', title: `npm run ${script}`, error: output.trim() || `exit ${code}` });
  }
}

/** Runs a program to its end, with what it printed. */
export async function runProgram(
  command: string,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(command, args, {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
    // The checker of types is written in Go: with a quarter of a gigabyte more it collects garbage less often, and needs a sixth less of CPU.
    env: { GOGC: '400', ...process.env },
    shell: process.platform === 'win32',
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
