// What `npm pack` and `npm publish` run first: bundles every command into dist, for the oldest Node that package.json allows, with the pages of the demo and the
// licences of what is bundled. The published package depends on nothing.
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { bundleEntryPoint } from './image/bundle.ts';
import { findNpmPackages, formatLicences } from './image/npm-packages.ts';

const checkout = join(import.meta.dirname, '..');

/** Where the launcher looks for the program of the published package. */
export const packageFolder = join(checkout, 'dist');

/** Bundles the program into a folder and replaces its content. */
export async function buildPackage(folder: string): Promise<{ readonly files: number; readonly bytes: number }> {
  const { engines } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  const { files, inputs } = await bundleEntryPoint('src/cmd/npm-package.ts', engines.node.replace('>=', 'node'));
  const made = `${folder}.${process.pid}`;
  await rm(made, { recursive: true, force: true });
  await mkdir(made, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(made, name), text);
  // src/demo/landing-page.ts reads them from beside itself, which is the entry of the bundle here.
  await cp(join(checkout, 'src/demo/pages'), join(made, 'pages'), { recursive: true });
  await writeFile(join(made, 'THIRD-PARTY-NOTICES'), await describeLicences(inputs));
  await rm(folder, { recursive: true, force: true });
  await rename(made, folder);
  return { files: Object.keys(files).length, bytes: Object.values(files).reduce((sum, text) => sum + text.length, 0) };
}

async function describeLicences(inputs: readonly string[]): Promise<string> {
  const packages = await findNpmPackages(checkout, inputs);
  return `The files beside this one contain code of these packages.\n\n${formatLicences(packages)}`;
}

if (import.meta.main) {
  const { files, bytes } = await buildPackage(packageFolder);
  // Not to stdout: `npm pack --json` prints there.
  console.error(`${relative(checkout, packageFolder)}: ${files} files, ${(bytes / 1e6).toFixed(1)} MB`);
}
