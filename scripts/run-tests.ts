// Runs a suite of tests: `node scripts/run-tests.ts SUITE`, which `npm test` and `npm run test:SUITE` do. `-- NAME...` runs some of its files
// (`npm run test:cluster -- control-plane-login`), `-- --list` names them all. With RETRY_FAILED_FILES=1 files that failed run once more, alone, and what
// passes only then is named: CI runs on machines that others use, too.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { parseArgs } from 'node:util';

interface Suite {
  /** Below test/. */
  readonly folders: readonly string[];
  /** False: nothing of it starts the program. */
  readonly isBuilt: boolean;
  /** Files that run at the same time. */
  readonly concurrency: number;
}

const checkout = join(import.meta.dirname, '..');
const ending = '.test.ts';
/** Tests wait more than they work. */
const asMachineHas = Math.max(2, availableParallelism() - 1);
const suites: Readonly<Record<string, Suite>> = {
  default: { folders: ['.', 'integration', 'security'], isBuilt: true, concurrency: asMachineHas },
  browser: { folders: ['browser'], isBuilt: true, concurrency: 1 },
  chart: { folders: ['chart'], isBuilt: false, concurrency: asMachineHas },
  image: { folders: ['image'], isBuilt: false, concurrency: 1 },
  // Each file has a cluster of its own.
  cluster: { folders: ['cluster'], isBuilt: true, concurrency: 2 },
  conformance: { folders: ['conformance'], isBuilt: true, concurrency: 2 },
  compatibility: { folders: ['compatibility'], isBuilt: true, concurrency: 1 },
};

const { values, positionals } = parseArgs({ options: { list: { type: 'boolean' } }, allowPositionals: true });
process.exitCode = runSuite(positionals[0] ?? '', positionals.slice(1));

function runSuite(suiteName: string, chosen: readonly string[]): number {
  const suite = suites[suiteName];
  if (suite === undefined)
    return refuse(`There is no suite ${suiteName}. There are: ${Object.keys(suites).join(', ')}`);
  const files = suite.folders.flatMap(listFiles);
  const names = new Map(files.map((file) => [basename(file, ending), file]));
  const unknown = chosen.filter((name) => !names.has(name));
  if (unknown.length > 0)
    return refuse(`There is no ${unknown.join(', ')} in this suite. There are: ${[...names.keys()].join(', ')}`);
  if (values.list === true) {
    console.log([...names.keys()].join('\n'));
    return 0;
  }
  if (suite.isBuilt) {
    const code = runNode([join('scripts', 'build-program.ts')]);
    if (code !== 0) return code;
  }
  return runFiles(chosen.length === 0 ? files : chosen.map((name) => names.get(name)!), suite.concurrency);
}

function runFiles(files: readonly string[], concurrency: number): number {
  const { code, failed } = runOnce(files, concurrency);
  if (code === 0 || failed.length === 0 || process.env['RETRY_FAILED_FILES'] !== '1') return code;
  console.log(`\nFailed, and once more, alone: ${failed.join(', ')}`);
  const second = runOnce(failed, 1);
  // A run that broke without saying where has shown nothing.
  const isTold = second.code === 0 || second.failed.length > 0;
  const passed = isTold ? failed.filter((file) => !second.failed.includes(file)) : [];
  if (passed.length > 0) console.log(`Passed at the second attempt only: ${passed.join(', ')}`);
  return second.code;
}

function runOnce(
  files: readonly string[],
  concurrency: number,
): { readonly code: number; readonly failed: readonly string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gateway-test-run-'));
  const failures = join(folder, 'failed-files');
  try {
    const code = runNode([
      '--test',
      '--import',
      './test/keep-compiled-code.mjs',
      `--test-concurrency=${concurrency}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=./test/report-failed-files.mjs',
      `--test-reporter-destination=${failures}`,
      ...files,
    ]);
    const failed = readFileSync(failures, 'utf8').split('\n').filter(Boolean);
    return { code, failed: failed.map((file) => relative(checkout, file)) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runNode(args: readonly string[]): number {
  return spawnSync(process.execPath, args, { cwd: checkout, stdio: 'inherit' }).status ?? 1;
}

function listFiles(folder: string): readonly string[] {
  const files = readdirSync(join(checkout, 'test', folder)).filter((file) => file.endsWith(ending));
  return files.toSorted().map((file) => join('test', folder, file));
}

function refuse(message: string): number {
  console.error(message);
  return 2;
}
