// What `npm run build` makes, and that the launcher takes it.
import assert from 'node:assert/strict';
import { readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildProgram } from '../../scripts/build-program.ts';
import { createCheckout, root, run } from '../integration/launcher-fixture.ts';

test('the build makes a program that runs, and the list of what it was made of', async (t) => {
  const checkout = await createCheckout(t);
  // Beside node_modules and the sources, where the launcher looks for it.
  for (const part of ['src', 'scripts', 'node_modules', 'package.json']) {
    await rm(join(checkout.folder, part), { recursive: true, force: true });
    await symlink(join(root, part), join(checkout.folder, part));
  }
  const program = join(checkout.folder, 'build/program');
  await buildProgram(program);
  const help = await checkout.start('run', '--help');
  assert.match(help, /^Usage: mcp-gatehouse run/m);
  const { stdout } = await run(process.execPath, [join(program, 'mcp-gatehouse.js'), 'run', '--help']);
  assert.equal(stdout.trim(), help);
  const files = await readdir(program);
  assert.ok(files.includes('inputs.json') && files.includes('mcp-gatehouse.js'));
  const { findProgram } = (await import(join(root, 'bin/find-program.mjs'))) as {
    findProgram: (checkout: string, command: string) => { readonly file: string; readonly isBuilt: boolean };
  };
  assert.deepEqual(findProgram(checkout.folder, 'run'), { file: join(program, 'mcp-gatehouse.js'), isBuilt: true });
  // One source fewer is enough.
  await rm(join(checkout.folder, 'package.json'));
  const sources = join(checkout.folder, 'src/cmd/main.ts');
  assert.deepEqual(findProgram(checkout.folder, 'run'), { file: sources, isBuilt: false });
});
