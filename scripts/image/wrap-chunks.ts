// Makes functions of the files of a bundle, and puts the file before them that loads them (src/cmd/load-bundle.ts): Node lets one
// hand compiled code to V8 for those, and not for ES modules.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { build, transform } from 'esbuild';

type Files = Readonly<Record<string, string>>;

/** The file that loads the others. */
export const loaderSource = 'src/cmd/load-bundle.ts';

const checkout = join(import.meta.dirname, '..', '..');

/** The same program, of files that the loader loads. The loader takes the name of the one to start, which becomes `main`. */
export async function wrapChunks(files: Files, entry: string, target: string): Promise<Files> {
  const main = 'main.js';
  if (main in files) throw new Error(`the bundle has a file ${main} already`);
  const wrapped = await Promise.all(
    Object.entries(files).map(
      async ([name, text]) => [name === entry ? main : name, await wrapChunk(name, text, target)] as const,
    ),
  );
  const hash = createHash('sha256');
  for (const [name, text] of wrapped.toSorted(([one], [other]) => (one < other ? -1 : 1)))
    hash.update(`${name}\n${text}\n`);
  const loader = await bundleLoader(main, hash.digest('hex').slice(0, 16), target);
  return { ...Object.fromEntries(wrapped), [entry]: loader };
}

async function wrapChunk(name: string, text: string, target: string): Promise<string> {
  const { code, warnings } = await transform(text, {
    sourcefile: name,
    format: 'cjs',
    platform: 'node',
    target,
    minifyWhitespace: true,
    minifySyntax: true,
    // Becomes a call of `require`: what is imported on demand is loaded by the loader, too.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'importMetaUrl' },
    logLevel: 'silent',
  });
  if (warnings.length > 0)
    throw new Error(`${name} cannot be wrapped: ${warnings.map((each) => each.text).join('; ')}`);
  return `(function(exports,require,module,importMetaUrl){${code}})`;
}

async function bundleLoader(main: string, id: string, target: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: checkout,
    entryPoints: [loaderSource],
    write: false,
    bundle: true,
    platform: 'node',
    target,
    format: 'esm',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    define: { bundleMain: JSON.stringify(main), bundleId: JSON.stringify(id) },
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}
