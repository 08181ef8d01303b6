// What `npx mcp-gateway` starts: the program that `npm run build` has made while it is of the sources that are there, and the sources otherwise.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { buildProgram } from '../../scripts/build-program.ts';

const root = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

interface Checkout {
  readonly folder: string;
  /** What the launcher prints for these arguments: each program says who it is. */
  start(...args: readonly string[]): Promise<string>;
  /** Writes down how the inputs are now, as the build does. */
  noteInputs(node?: string): Promise<void>;
}

/** A checkout with the real launcher, and programs that say who they are. */
async function createCheckout(context: TestContext): Promise<Checkout> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-gateway-launcher-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  await cp(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  await mkdir(join(folder, 'src/cmd'), { recursive: true });
  await mkdir(join(folder, 'build/program'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  const say = (who: string): string => `console.log('${who}', process.argv.slice(2).join(' '));`;
  await writeFile(join(folder, 'src/cmd/main.ts'), `const typed: string = 'x';\n${say('sources')}`);
  await writeFile(join(folder, 'build/program/mcp-gateway.js'), say('built'));
  await mkdir(join(folder, 'build/controller'));
  await writeFile(join(folder, 'build/controller/mcp-gateway.js'), say('built controller:'));
  return {
    folder,
    async start(...args) {
      const { stdout } = await run(process.execPath, [join(folder, 'bin/mcp-gateway.mjs'), ...args]);
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

describe('the program that is started', () => {
  test('is the built one for commands that serve, and the sources for all others', async (t) => {
    const checkout = await createCheckout(t);
    await checkout.noteInputs();
    assert.equal(await checkout.start('run', '-f', 'x.yaml'), 'built run -f x.yaml');
    assert.equal(await checkout.start('gateway'), 'built gateway');
    assert.equal(await checkout.start('worker'), 'built worker');
    assert.equal(await checkout.start('controller'), 'built controller: controller');
    for (const args of [['check'], ['demo'], ['--version'], ['status'], []]) {
      assert.equal(await checkout.start(...args), `sources ${args.join(' ')}`.trim());
    }
  });

  test('is the sources when nothing was built', async (t) => {
    const checkout = await createCheckout(t);
    assert.equal(await checkout.start('run'), 'sources run');
  });

  test('is the sources as soon as one of them is another', async (t) => {
    const checkout = await createCheckout(t);
    const source = join(checkout.folder, 'src/cmd/main.ts');
    await checkout.noteInputs();
    const later = new Date(Date.now() + 5_000);
    await utimes(source, later, later);
    assert.equal(await checkout.start('run'), 'sources run');
    await checkout.noteInputs();
    assert.equal(await checkout.start('run'), 'built run');
    await writeFile(source, "console.log('changed');");
    await utimes(source, later, later);
    assert.equal(await checkout.start('run'), 'changed');
  });

  test('is the sources when a file is gone, or another Node runs', async (t) => {
    const checkout = await createCheckout(t);
    await checkout.noteInputs('v1.0.0');
    assert.equal(await checkout.start('run'), 'sources run');
    const inputs = [['src/gone.ts', 1, 1]];
    const list = join(checkout.folder, 'build/program/inputs.json');
    await writeFile(list, JSON.stringify({ node: process.version, inputs }));
    assert.equal(await checkout.start('run'), 'sources run');
    await writeFile(list, '{"node": ');
    assert.equal(await checkout.start('run'), 'sources run');
  });
});

describe('compiled code', () => {
  const cache = 'node_modules/.cache/mcp-gateway';

  test('is kept in node_modules', async (t) => {
    const checkout = await createCheckout(t);
    await mkdir(join(checkout.folder, 'node_modules'));
    assert.equal(await checkout.start('check'), 'sources check');
    assert.equal((await readdir(join(checkout.folder, cache))).length, 1);
    assert.equal(await checkout.start('check'), 'sources check');
  });

  test('is kept nowhere when there is no node_modules', async (t) => {
    const checkout = await createCheckout(t);
    assert.equal(await checkout.start('check'), 'sources check');
    await assert.rejects(stat(join(checkout.folder, 'node_modules')), { code: 'ENOENT' });
  });

  test('is kept by the built program itself', async (t) => {
    const checkout = await createCheckout(t);
    await mkdir(join(checkout.folder, 'node_modules'));
    await checkout.noteInputs();
    assert.equal(await checkout.start('run'), 'built run');
    assert.deepEqual(await readdir(join(checkout.folder, 'node_modules')), []);
  });

  test('is not kept in a folder of somebody else', async (t) => {
    const checkout = await createCheckout(t);
    const modules = join(checkout.folder, 'node_modules');
    await mkdir(modules);
    const { uid } = await stat(modules);
    const asAnother = `--import=data:text/javascript,process.getuid=()=>${uid + 1}`;
    const { stdout } = await run(process.execPath, [asAnother, join(checkout.folder, 'bin/mcp-gateway.mjs'), 'check']);
    assert.equal(stdout.trim(), 'sources check');
    assert.deepEqual(await readdir(modules), []);
  });
});

test('the build makes a program that runs, and the list of what it was made of', async (t) => {
  const checkout = await createCheckout(t);
  // Beside node_modules and the sources, where the launcher looks for it.
  for (const part of ['src', 'node_modules', 'package.json']) {
    await rm(join(checkout.folder, part), { recursive: true, force: true });
    await symlink(join(root, part), join(checkout.folder, part));
  }
  const program = join(checkout.folder, 'build/program');
  await buildProgram(program);
  const help = await checkout.start('run', '--help');
  assert.match(help, /^Usage: mcp-gateway run/m);
  const { stdout } = await run(process.execPath, [join(program, 'mcp-gateway.js'), 'run', '--help']);
  assert.equal(stdout.trim(), help);
  const files = await readdir(program);
  assert.ok(files.includes('inputs.json') && files.includes('mcp-gateway.js'));
  const { findProgram } = (await import(join(root, 'bin/find-program.mjs'))) as {
    findProgram: (checkout: string, command: string) => { readonly file: string; readonly isBuilt: boolean };
  };
  assert.deepEqual(findProgram(checkout.folder, 'run'), { file: join(program, 'mcp-gateway.js'), isBuilt: true });
  // One source fewer is enough.
  await rm(join(checkout.folder, 'package.json'));
  const sources = join(checkout.folder, 'src/cmd/main.ts');
  assert.deepEqual(findProgram(checkout.folder, 'run'), { file: sources, isBuilt: false });
});
