// Bundles an entry point of src/cmd with everything that it imports. Commands, and what they load on demand, stay files of their own that are read
// when they are needed.
import { build } from 'esbuild';
import { isBuiltin } from 'node:module';
import { basename, join } from 'node:path';
import { mergeChunks } from './merge-chunks.ts';
import { loaderSource, wrapChunks } from './wrap-chunks.ts';

/** A bundle in memory. */
export interface Bundle {
  /** Files by their names; `mcp-gatehouse.js` is the one to start. */
  readonly files: Readonly<Record<string, string>>;
  /** The sources that some of it is from, relative to the checkout. */
  readonly inputs: readonly string[];
}

/** The file to start. */
export const bundleEntry = 'mcp-gatehouse.js';

const checkout = join(import.meta.dirname, '..', '..');

/** Packages that others try to load and do without. They are in no image. */
const optionalPackages = ['@node-rs/xxhash', 'bufferutil', 'supports-color', 'utf-8-validate'];

/** Other forms of packages than the bundler would take. */
const forms = {
  // Its ES module hides what it requires from the bundler; its CommonJS form is the same code and does not.
  '@opentelemetry/otlp-grpc-exporter-base': './node_modules/@opentelemetry/otlp-grpc-exporter-base/dist/index.cjs',
  // Under the demo's identity provider: its form for Node makes functions by eval, to warn of deprecated calls; that for browsers does not.
  depd: './node_modules/depd/lib/browser/index.js',
};

/** The commands whose start time matters. What one of them needs at its start is merged into as few files as possible. */
const servingCommands = new Set(['run', 'gateway', 'workers/worker', 'controller'].map((name) => `src/cmd/${name}.ts`));

/** The Node that a bundle is for, as esbuild names it; without one it is the Node that makes the bundle. */
export const thisNode = `node${process.versions.node}`;

/** Makes the bundle; `entry` is relative to the checkout. */
export async function bundleEntryPoint(entry: string, target = thisNode): Promise<Bundle> {
  const { outputFiles, metafile, warnings } = await build({
    absWorkingDir: checkout,
    entryPoints: { [bundleEntry.replace(/\.js$/, '')]: entry },
    outdir: 'bundle',
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    platform: 'node',
    target,
    format: 'esm',
    // Not the names: a stack trace of a container is to name our functions.
    minifyWhitespace: true,
    minifySyntax: true,
    // The texts of all licences are a file of the image.
    legalComments: 'none',
    external: optionalPackages,
    alias: forms,
    logLevel: 'silent',
  });
  if (warnings.length > 0) {
    throw new Error(`${entry} cannot be bundled as it is: ${warnings.map(({ text }) => text).join('; ')}`);
  }
  const missing = outputFiles.flatMap(({ text }) => findMissing(text));
  if (missing.length > 0) {
    throw new Error(`${entry} would look for what is not in its bundle: ${[...new Set(missing)].join(', ')}`);
  }
  const inputs = Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  const files = Object.fromEntries(outputFiles.map(({ path, text }) => [basename(path), text]));
  const roots = Object.entries(metafile.outputs).filter(
    ([, { entryPoint = '' }]) => entryPoint === entry || servingCommands.has(entryPoint),
  );
  const merged = await mergeChunks(
    files,
    metafile.outputs,
    roots.map(([path]) => basename(path)),
    target,
  );
  return {
    files: await wrapChunks(merged, bundleEntry, target),
    inputs: [...new Set([...inputs, loaderSource])].toSorted(),
  };
}

/** Packages that a file of the bundle would look for when it runs. Bundlers, ours and those of packages, call the function by that name. */
function findMissing(text: string): readonly string[] {
  return [...text.matchAll(/\b__require\d*\(["'`]([^"'`]+)["'`]\)/g)]
    .map(([, name]) => name!)
    .filter((name) => !isBuiltin(name) && !optionalPackages.includes(name));
}
