// Files of a bundle that become one behave as before: the same values under the same names, each module once, and what is loaded on demand later.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { thisNode } from '../../scripts/image/bundle.ts';
import { mergeChunks } from '../../scripts/image/merge-chunks.ts';

const sources: Readonly<Record<string, string>> = {
  'main.js':
    'import { log } from "./log.js"; log.push("main"); export const load = { serve: () => import("./serve.js"), check: () => import("./check.js"), help: () => import("./help.js") };',
  'serve.js':
    'import { log } from "./log.js"; import { name } from "./one.js"; import { name as other } from "./two.js"; import { only } from "./only.js"; log.push("serve"); export const said = [name, other, only]; export const later = () => import("./later.js");',
  'check.js':
    'import { name } from "./one.js"; import { count, increase } from "./count.js"; increase(); export const said = [name, count];',
  'help.js': 'import { name } from "./two.js"; export const said = [name];',
  'later.js':
    'import { count, increase } from "./count.js"; import { log } from "./log.js"; increase(); export const seen = () => [count, log];',
  'log.js': 'export const log = globalThis.mergedLog ??= [];',
  'one.js':
    'import { log } from "./log.js"; import { increase } from "./count.js"; log.push("one"); increase(); export const name = "one";',
  'two.js': 'import { log } from "./log.js"; log.push("two"); export const name = "two";',
  'only.js':
    'import { log } from "./log.js"; import { name } from "./two.js"; log.push("only"); export const only = `only ${name}`;',
  'count.js': 'export let count = 0; export function increase() { count += 1; }',
};

interface Main {
  readonly load: Readonly<
    Record<
      'serve' | 'check' | 'help',
      () => Promise<{ said: readonly unknown[]; later?: () => Promise<{ seen: () => readonly unknown[] }> }>
    >
  >;
}

async function makeFolder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-chunks-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

test('files that a command always loads together become one, and nothing else changes', async (t) => {
  const folder = await makeFolder(t, { ...sources, 'package.json': '{"type":"module"}' });
  const { outputFiles, metafile } = await build({
    absWorkingDir: folder,
    entryPoints: ['main.js'],
    outdir: 'out',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    write: false,
    metafile: true,
  });
  const files = Object.fromEntries(outputFiles.map(({ path, text }) => [path.slice(path.lastIndexOf('/') + 1), text]));
  const rootOf = (source: string): string =>
    Object.entries(metafile.outputs)
      .find(([, { entryPoint }]) => entryPoint === source)![0]
      .replace('out/', '');
  const merged = await mergeChunks(files, metafile.outputs, [rootOf('main.js'), rootOf('serve.js')], thisNode);
  const built = await makeFolder(t, { ...merged, 'package.json': '{"type":"module"}' });

  // log.js is of both; one, two, only and count are of serve alone, although check and help share them in different ways.
  const shared = (await readdir(built)).filter((name) => name.startsWith('merged-') || name.startsWith('chunk-'));
  assert.deepEqual(
    shared.filter((name) => name.startsWith('merged-')),
    ['merged-01.js'],
  );
  assert.ok(shared.length < Object.keys(files).filter((name) => name.startsWith('chunk-')).length, shared.join());

  const { load } = (await import(pathToFileURL(join(built, 'main.js')).href)) as Main;
  const log = (globalThis as { mergedLog?: string[] }).mergedLog!;
  assert.deepEqual(log, ['main']);
  const serve = await load.serve();
  assert.deepEqual(serve.said, ['one', 'two', 'only two']);
  assert.deepEqual(log.toSorted(), ['main', 'one', 'only', 'serve', 'two']);
  assert.equal(log.at(-1), 'serve');
  // Values that change are seen by all, and no module runs twice.
  assert.deepEqual((await load.check()).said, ['one', 2]);
  assert.deepEqual((await load.help()).said, ['two']);
  assert.deepEqual((await serve.later!()).seen(), [3, log]);
  assert.equal(log.length, 5);
});
