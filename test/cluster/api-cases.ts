// Every resource that the unit tests of src/api judge, collected by running them once with a recorder.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A resource as a test wrote it. */
export type ApiCase = Readonly<Record<string, unknown>> & { readonly kind: string; readonly apiVersion: string };

const root = join(import.meta.dirname, '..', '..');

/** The cases of some kinds, each once. */
export async function collectApiCases(apiVersion: string, kinds: readonly string[]): Promise<readonly ApiCase[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-cases-'));
  const file = join(folder, 'cases');
  try {
    const recorder = join(import.meta.dirname, 'record-api-cases.ts');
    const tests = globSync('src/api/*.test.ts', { cwd: root }).filter((test) =>
      readFileSync(join(root, test), 'utf8').includes('expect-problems'),
    );
    // Not a part of this test run: what they expect is their own affair.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const keeper = join(import.meta.dirname, '..', 'keep-compiled-code.mjs');
    // In one process: a process for each takes longer than all of the tests.
    const imports = ['--import', keeper, '--import', recorder];
    const child = spawn(process.execPath, [...imports, '--test', '--test-isolation=none', ...tests], {
      cwd: root,
      stdio: 'ignore',
      // All cases that they know of.
      env: { ...env, API_CASES_FILE: file, TEST_EFFORT: 'full' },
    });
    await once(child, 'close');
    const lines = new Set((await readFile(file, 'utf8')).trim().split('\n'));
    return [...lines]
      .map((line) => JSON.parse(line) as ApiCase | null)
      .filter((resource) => resource?.apiVersion === apiVersion && kinds.includes(resource.kind)) as ApiCase[];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
