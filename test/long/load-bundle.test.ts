// The code that V8 has made of a built program is kept beside it, and the next start takes it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { copyBuiltProgram } from './built-program.ts';

const run = promisify(execFile);

// In the checkout: the program reads its version from the package that it is in.
const folder = resolve(import.meta.dirname, `../../build/load-bundle-${process.pid}`);
const built = join(folder, 'built');

before(() => copyBuiltProgram(built));
after(() => rm(folder, { recursive: true, force: true }));

interface Program {
  /** Runs `run --help`, with flags for Node, and returns what it prints. */
  start(...flags: readonly string[]): Promise<string>;
  /** The files of kept code, with what tells whether one was written again. */
  listCode(): Promise<Readonly<Record<string, number>>>;
  readonly code: string;
}

let programs = 0;

async function createProgram(context: TestContext): Promise<Program> {
  const own = join(folder, String((programs += 1)));
  await cp(built, own, { recursive: true });
  context.after(() => rm(own, { recursive: true, force: true }));
  const code = join(own, 'code');
  return {
    code,
    async start(...flags) {
      const args = [...flags, join(own, 'mcp-gatehouse.js'), 'run', '--help'];
      const { stdout, stderr } = await run(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' } });
      assert.equal(stderr, '');
      assert.match(stdout, /^Usage: mcp-gatehouse run/m);
      return stdout;
    },
    async listCode() {
      const names = (await readdir(code, { recursive: true })).filter((name) => name.endsWith('.js')).toSorted();
      return Object.fromEntries(
        await Promise.all(names.map(async (name) => [name, (await stat(join(code, name))).ino])),
      );
    },
  };
}

test('code is kept by the first start, and the second one takes all of it', async (t) => {
  const program = await createProgram(t);
  assert.deepEqual(await program.listCode(), {});
  await program.start();
  const kept = await program.listCode();
  assert.ok(
    Object.keys(kept).some((name) => name.endsWith('/main.js')),
    Object.keys(kept).join(),
  );
  assert.ok(
    Object.keys(kept).some((name) => name.includes('/run-')),
    Object.keys(kept).join(),
  );
  // What V8 refuses is written again.
  await program.start();
  assert.deepEqual(await program.listCode(), kept);
});

test('code has the functions that were called, and not only what a first look at the file compiles', async (t) => {
  const program = await createProgram(t);
  await program.start();
  const name = Object.keys(await program.listCode()).find((each) => each.endsWith('/main.js'));
  const code = await readFile(join(program.code, name!), 'latin1');
  // A text inside of a function that runs, and one of a function that does not.
  assert.ok(code.includes('there is no command'));
  assert.ok(!code.includes('lists the flags of a command'));
});

for (const [what, damage] of [
  ['has another byte', async (file: string) => writeFile(file, flipByte(await readFile(file)))],
  ['is cut off', async (file: string) => truncate(file, 1_000)],
  ['is empty', async (file: string) => truncate(file, 0)],
  ['is something else', async (file: string) => writeFile(file, 'x'.repeat(5_000))],
  ['is a folder', async (file: string) => rm(file).then(() => mkdir(file))],
] as const) {
  test(`code that ${what} is not taken`, async (t) => {
    const program = await createProgram(t);
    const help = await program.start();
    const kept = await program.listCode();
    for (const name of Object.keys(kept)) await damage(join(program.code, name));
    assert.equal(await program.start(), help);
    const names = await readdir(program.code, { recursive: true });
    assert.deepEqual(
      names.filter((name) => /\.\d+$/.test(name)),
      [],
      'half a file is left',
    );
    if (what === 'is a folder') return;
    const again = await program.listCode();
    assert.deepEqual(Object.keys(again), Object.keys(kept));
    for (const name of Object.keys(kept)) assert.notEqual(again[name], kept[name], `${name} was not made again`);
    await program.start();
    assert.deepEqual(await program.listCode(), again);
  });
}

function flipByte(code: Buffer): Buffer {
  const at = Math.floor(code.length / 2);
  code[at] = code[at]! ^ 0x55;
  return code;
}

test('code is kept apart for other flags', async (t) => {
  const program = await createProgram(t);
  await program.start();
  await program.start('--max-lazy');
  assert.equal((await readdir(program.code)).length, 2);
  const kept = await program.listCode();
  await program.start();
  await program.start('--max-lazy');
  assert.deepEqual(await program.listCode(), kept);
});

test('code is kept nowhere without a folder for it, as in images', async (t) => {
  const program = await createProgram(t);
  await rm(program.code, { recursive: true });
  await program.start();
  await assert.rejects(stat(program.code), { code: 'ENOENT' });
});

test('code is neither read from a folder of somebody else nor written there', async (t) => {
  const program = await createProgram(t);
  const { uid } = await stat(program.code);
  const asAnother = `--import=data:text/javascript,process.getuid=()=>${uid + 1}`;
  await program.start(asAnother);
  assert.deepEqual(await readdir(program.code), []);
});

test('a program that cannot keep code starts all the same', async (t) => {
  const program = await createProgram(t);
  await rm(program.code, { recursive: true });
  // Root may write into every folder, but nobody into a file as if it were one.
  await writeFile(program.code, '');
  await chmod(program.code, 0o400);
  await program.start();
  assert.equal(await readFile(program.code, 'utf8'), '');
});
