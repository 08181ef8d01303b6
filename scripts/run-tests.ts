// Runs a suite of tests: `node scripts/run-tests.ts SUITE`, which `npm test` and `npm run test:SUITE` do. `-- NAME...` runs some of its files
// (`npm run test:cluster -- control-plane-login`), `-- --list` names them all, `-- --times` says what each file cost, and `-- --names FILE` writes down every
// test that ran, for scripts/compare-tests.ts.
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { enterOwnNetwork } from './test-run/own-network.ts';
import { formatCounts, formatFailures, formatTimes, showDots, showLines } from './test-run/progress.ts';
import { runChecks, runProgram } from './test-run/run-checks.ts';
import { runLanes } from './test-run/run-lanes.ts';
import { findSuite, nameFile, type Suite, suiteNames } from './test-run/suites.ts';
import { TestResults } from './test-run/test-results.ts';

const { values, positionals } = parseArgs({
  // npm removes one `--`, but a direct call still has it.
  args: process.argv.slice(2).filter((argument) => argument !== '--'),
  options: {
    list: { type: 'boolean' },
    lines: { type: 'boolean' },
    times: { type: 'boolean' },
    names: { type: 'string' },
  },
  allowPositionals: true,
});
const noWait = Promise.resolve();
process.exitCode = await runSuite(positionals[0] ?? '', positionals.slice(1));

async function runSuite(suiteName: string, chosen: readonly string[]): Promise<number> {
  const suite = findSuite(suiteName);
  if (suite === undefined) return refuse(`There is no suite ${suiteName}. There are: ${suiteNames.join(', ')}`);
  const names = suite.files.map(nameFile);
  const unknown = chosen.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    return refuse(`There is no ${unknown.join(', ')} in this suite. "-- --list" names its ${names.length} files.`);
  if (values.list === true) {
    console.log(names.join('\n'));
    return 0;
  }
  if (suite.hasOwnNetwork === true) enterOwnNetwork();
  const files = chosen.length === 0 ? suite.files : suite.files.filter((file) => chosen.includes(nameFile(file)));
  return runFiles(suite, files, chosen.length === 0);
}

async function runFiles(suite: Suite, files: readonly string[], isWhole: boolean): Promise<number> {
  const startedAt = performance.now();
  const write = (text: string): void => void process.stdout.write(text);
  const dots = process.stdout.isTTY || suite.isLive || values.lines === true ? undefined : showDots(write);
  const results = new TestResults(dots ?? showLines(write));
  const env: NodeJS.ProcessEnv = { ...process.env };
  if (suite.isFull === true) {
    env['TEST_EFFORT'] = 'full';
    env['TEST_SEED'] ??= String(randomInt(2 ** 31));
    console.log(`The seed is ${env['TEST_SEED']}: with TEST_SEED=${env['TEST_SEED']} all inputs are the same again.`);
  }

  const built = suite.isBuilt ? build(results) : Promise.resolve();
  const tested = runLanes({ ...suite, files, env, results, awaitBefore: (file) => (isUnit(file) ? noWait : built) });
  const checked = isWhole ? runChecks(suite.checks ?? [], results) : noWait;
  await Promise.all([tested, checked]);

  dots?.end();
  if (results.hasFailed) console.log(formatFailures(results));
  if (values.times === true) console.log(`\n${formatTimes(results)}`);
  if (values.names !== undefined)
    writeFileSync(values.names, results.ends.map((end) => `${JSON.stringify(end)}\n`).join(''));
  console.log(`\n${formatCounts(results, (performance.now() - startedAt) / 1_000)}`);
  return results.hasFailed ? 1 : 0;
}

/** Builds the programs that tests start once, and not at each start. */
async function build(results: TestResults): Promise<void> {
  const { code, output } = await runProgram(process.execPath, [join('scripts', 'build-program.ts')]);
  if (code !== 0) results.failures.push({ file: '', title: 'npm run build', error: output });
}

function isUnit(file: string): boolean {
  return file.startsWith('src/');
}

function refuse(message: string): number {
  console.error(message);
  return 2;
}
