// What `npx mcp-gatehouse` starts: the program that `npm run build` has made while it is of the sources that are there, and the sources otherwise.
import assert from 'node:assert/strict';
import { mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createCheckout, run } from './launcher-fixture.ts';

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
  const cache = 'node_modules/.cache/mcp-gatehouse';

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
    const { stdout } = await run(process.execPath, [
      asAnother,
      join(checkout.folder, 'bin/mcp-gatehouse.mjs'),
      'check',
    ]);
    assert.equal(stdout.trim(), 'sources check');
    assert.deepEqual(await readdir(modules), []);
  });
});
