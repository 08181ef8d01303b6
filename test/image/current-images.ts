// The images of this checkout in their folder (`npm run image`), made only when something has changed since: for tests that run them, and do not ask how they are made.
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type BuiltImage, buildImages, imageFolder } from '../../scripts/build-image.ts';
import { imageComponents } from '../../scripts/image/components.ts';

const checkout = join(import.meta.dirname, '..', '..');

/** One image, as far as it takes to run it. */
export type ImageRoot = Pick<BuiltImage, 'root' | 'component'>;

export async function buildCurrentImages(): Promise<readonly ImageRoot[]> {
  return findCurrentImages() ?? (await buildImages(imageFolder));
}

/** What images are made of. */
const imageInputs = ['src/**/*.ts', 'scripts/image/*.ts', 'scripts/build-image.ts', 'package*.json', 'LICENSE'];

/** The images of `npm run image` or another suite, when nothing has changed since: they take half a minute of the processor. */
function findCurrentImages(): readonly ImageRoot[] | undefined {
  const changedAt = Math.max(
    ...globSync(imageInputs, { cwd: checkout }).map((file) => statSync(join(checkout, file)).mtimeMs),
  );
  const images = imageComponents.map((component) => ({ component, folder: join(imageFolder, component.name) }));
  // The list of contents is written last.
  const isCurrent = images.every(({ folder }) => {
    const list = statSync(join(folder, 'sbom.cdx.json'), { throwIfNoEntry: false });
    return list !== undefined && list.mtimeMs > changedAt;
  });
  return isCurrent ? images.map(({ component, folder }) => ({ component, root: join(folder, 'root') })) : undefined;
}
