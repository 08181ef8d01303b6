// Puts the root file systems of the product's images together, without a container runtime: build/image/COMPONENT/root, and its list of contents beside
// it. The Dockerfile makes images of them. `npm run image`; SOURCE_DATE_EPOCH sets the time of all files. Reproducible: the same input, the same files.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type ImageBase, makeBase, nodeProgram } from './image/base.ts';
import { bundleEntry, bundleEntryPoint } from './image/bundle.ts';
import { type ImageComponent, imageComponents, imageProgram } from './image/components.ts';
import { findNpmPackages, formatLicences } from './image/npm-packages.ts';
import { ImageUnavailableError } from './image/platform.ts';
import { countBytes, plainFile, programFile, type RootEntry, type RootFiles, writeRoot } from './image/root-files.ts';
import { formatSbom } from './image/sbom.ts';

const checkout = join(import.meta.dirname, '..');

/** The default folder in which images are assembled. */
export const imageFolder = join(checkout, 'build', 'image');

/** The image that was made. */
export interface BuiltImage {
  readonly component: ImageComponent;
  readonly root: string;
  readonly sbom: string;
  readonly bytes: number;
}

/** Makes the images in a folder, in place of those that are there. */
export async function buildImages(folder: string): Promise<readonly BuiltImage[]> {
  const manifest = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as Manifest;
  const base = await makeBase();
  const built: BuiltImage[] = [];
  for (const component of imageComponents)
    built.push(await buildImage(join(folder, component.name), component, base, manifest));
  return built;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

async function buildImage(
  folder: string,
  component: ImageComponent,
  base: ImageBase,
  manifest: Manifest,
): Promise<BuiltImage> {
  const { name, version, license } = manifest;
  const bundle = await bundleEntryPoint(component.entry);
  const packages = await findNpmPackages(checkout, bundle.inputs);
  const image = { name: `${name}-${component.name}`, version, description: component.description, licence: license };
  const sbomText = formatSbom(image, [
    ...base.parts,
    ...packages.map((each) => ({
      kind: 'npm' as const,
      name: each.name,
      version: each.version,
      licence: each.licence,
    })),
  ]);
  const documents = `/usr/share/doc/${name}`;
  const files: RootFiles = {
    ...base.files,
    ...placeBundle(bundle.files, component, manifest),
    [imageProgram]: { kind: 'link', target: `../../../app/${bundleEntry}` },
    [`${documents}/copyright`]: plainFile(await readFile(join(checkout, 'LICENSE'), 'utf8')),
    [`${documents}/third-party-licences.txt`]: plainFile(formatLicences(packages)),
    [`${documents}/sbom.cdx.json`]: plainFile(sbomText),
  };
  const [root, sbom] = [join(folder, 'root'), join(folder, 'sbom.cdx.json')];
  await mkdir(folder, { recursive: true });
  await writeRoot(root, files, Number(process.env['SOURCE_DATE_EPOCH'] ?? 0));
  await writeFile(sbom, sbomText);
  return { component, root, sbom, bytes: countBytes(files) };
}

/** The program in /app. Its first line says what runs it, so that it can be started by name where there is no shell. */
function placeBundle(
  files: Readonly<Record<string, string>>,
  { nodeFlag }: ImageComponent,
  { name, version, license }: Manifest,
): RootFiles {
  const placed: Record<string, RootEntry> = {
    '/app/package.json': plainFile(`${JSON.stringify({ name, version, license, type: 'module' }, null, 2)}\n`),
  };
  for (const [file, text] of Object.entries(files)) {
    placed[`/app/${file}`] =
      file === bundleEntry ? programFile(`#!${[nodeProgram, nodeFlag].join(' ').trim()}\n${text}`) : plainFile(text);
  }
  return placed;
}

async function main(): Promise<number> {
  try {
    for (const { component, root, bytes } of await buildImages(imageFolder)) {
      console.log(`${component.name}: ${relative(checkout, root)}, ${(bytes / 1e6).toFixed(1)} MB`);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof ImageUnavailableError)) throw error;
    console.error(error.message);
    return 1;
  }
}

if (import.meta.main) process.exitCode = await main();
