// What the tests of the launcher stand on: a checkout of their own.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

export const root = resolve(import.meta.dirname, '../..');
export const run = promisify(execFile);

export interface Checkout {
  readonly folder: string;
  /** What the launcher prints for these arguments: each program says who it is. */
  start(...args: readonly string[]): Promise<string>;
  /** Writes down how the inputs are now, as the build does. */
  noteInputs(node?: string): Promise<void>;
}

/** A checkout with the real launcher, and programs that say who they are. */
export async function createCheckout(context: TestContext): Promise<Checkout> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-launcher-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  await cp(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  await mkdir(join(folder, 'src/cmd'), { recursive: true });
  await mkdir(join(folder, 'build/program'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  const say = (who: string): string => `console.log('${who}', process.argv.slice(2).join(' '));`;
  await writeFile(join(folder, 'src/cmd/main.ts'), `const typed: string = 'x';\n${say('sources')}`);
  await writeFile(join(folder, 'build/program/mcp-gatehouse.js'), say('built'));
  await mkdir(join(folder, 'build/controller'));
  await writeFile(join(folder, 'build/controller/mcp-gatehouse.js'), say('built controller:'));
  return {
    folder,
    async start(...args) {
      const { stdout } = await run(process.execPath, [join(folder, 'bin/mcp-gatehouse.mjs'), ...args]);
      return stdout.trim();
    },
    async noteInputs(node = process.version) {
      const { size, mtimeMs } = await stat(join(folder, 'src/cmd/main.ts'));
      const inputs = [['src/cmd/main.ts', size, mtimeMs]];
      for (const built of ['program', 'controller']) {
        await writeFile(join(folder, 'build', built, 'inputs.json'), JSON.stringify({ node, inputs }));
      }
    },
  };
}
