// Puts files of a bundle together that are always loaded together. The bundler makes a file of every set of modules that the same commands share, some forty
// of them for a gateway, and looking for a file, reading and linking it takes Node most of a millisecond.
import { basename } from 'node:path';
import { build, type Metafile, type PluginBuild } from 'esbuild';

type Files = Readonly<Record<string, string>>;

/** A file that others become parts of. */
interface Group {
  readonly name: string;
  readonly parts: readonly string[];
}

/** The files with as few as can be of those that the given ones import; what is imported on demand stays as it is. Paths of the metafile end with the names of the files. */
export async function mergeChunks(
  files: Files,
  outputs: Metafile['outputs'],
  roots: readonly string[],
  target: string,
): Promise<Files> {
  const imports = readImports(outputs);
  const groups = groupChunks(imports, roots);
  const exported = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output.exports]));
  const groupOf = new Map(groups.flatMap((group) => group.parts.map((part) => [part, group] as const)));
  const rename = (part: string, name: string): string => `part${groupOf.get(part)!.parts.indexOf(part)}_${name}`;
  const list = (part: string, write: (name: string, renamed: string) => string): string =>
    (exported.get(part) ?? []).map((name) => write(name, rename(part, name))).join(',');

  function resolveParts(bundler: PluginBuild): void {
    bundler.onResolve({ filter: /^\.\// }, ({ path, importer, namespace, kind }) => {
      const name = basename(path);
      if (kind === 'entry-point')
        return { path: name, namespace: groups.some((each) => each.name === name) ? 'group' : 'chunk' };
      const group = groupOf.get(name);
      if (group === undefined) return { path, external: true };
      const isInside = namespace === 'group' ? importer === group.name : groupOf.get(importer) === group;
      return { path: name, namespace: isInside ? 'chunk' : 'elsewhere' };
    });
    bundler.onLoad({ filter: /./, namespace: 'chunk' }, ({ path }) => ({ contents: files[path]! }));
    bundler.onLoad({ filter: /./, namespace: 'group' }, ({ path }) => ({
      contents: groups
        .find(({ name }) => name === path)!
        .parts.map((part) => `export{${list(part, (name, renamed) => `${name} as ${renamed}`)}}from"./${part}";`)
        .join('\n'),
    }));
    // A part of another file, seen from here.
    bundler.onLoad({ filter: /./, namespace: 'elsewhere' }, ({ path }) => ({
      contents: `export{${list(path, (name, renamed) => `${renamed} as ${name}`)}}from"./${groupOf.get(path)!.name}";`,
    }));
  }

  const alone = Object.keys(files).filter((name) => !groupOf.has(name));
  const { outputFiles, warnings } = await build({
    entryPoints: [...alone, ...groups.map(({ name }) => name)].map((name) => `./${name}`),
    outdir: 'merged',
    write: false,
    bundle: true,
    platform: 'node',
    target,
    format: 'esm',
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'silent',
    plugins: [{ name: 'parts', setup: resolveParts }],
  });
  if (warnings.length > 0)
    throw new Error(`the files cannot be merged: ${warnings.map(({ text }) => text).join('; ')}`);
  return Object.fromEntries(outputFiles.map(({ path, text }) => [basename(path), text]));
}

/** Which files each file imports at once. */
function readImports(outputs: Metafile['outputs']): ReadonlyMap<string, readonly string[]> {
  return new Map(
    Object.entries(outputs).map(([path, { imports }]) => [
      basename(path),
      imports
        .filter(({ kind, external }) => kind === 'import-statement' && external !== true)
        .map((each) => basename(each.path)),
    ]),
  );
}

/**
 * Files that the same roots need belong together. That cannot make a circle: what a file imports is needed by all roots that need the file, so that
 * imports only go from a group to one with more roots.
 */
function groupChunks(imports: ReadonlyMap<string, readonly string[]>, roots: readonly string[]): readonly Group[] {
  const needed = roots.map((root) => reach(imports, root));
  const byRoots = Map.groupBy(
    [...imports.keys()].filter((name) => !roots.includes(name)),
    (name) => needed.map((reached) => (reached.has(name) ? 1 : 0)).join(''),
  );
  return [...byRoots]
    .filter(([key, parts]) => key.includes('1') && parts.length > 1)
    .map(([key, parts]) => ({ name: `merged-${key}.js`, parts }));
}

function reach(
  imports: ReadonlyMap<string, readonly string[]>,
  root: string,
  reached = new Set<string>(),
): ReadonlySet<string> {
  if (reached.has(root)) return reached;
  reached.add(root);
  for (const name of imports.get(root) ?? []) reach(imports, name, reached);
  return reached;
}
