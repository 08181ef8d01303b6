// The authorities that Debian trusts, in one file: what update-ca-certificates would make of its package.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DebianPackages } from './debian-packages.ts';

/** The package. */
export const authoritiesPackage = 'ca-certificates';

/** The text of the file. */
export async function bundleAuthorities(packages: DebianPackages): Promise<string> {
  const { folder } = await packages.find(authoritiesPackage);
  const certificates = join(folder, 'usr', 'share', 'ca-certificates');
  const files = (await readdir(certificates, { recursive: true })).filter((file) => file.endsWith('.crt')).toSorted();
  const texts = await Promise.all(files.map((file) => readFile(join(certificates, file), 'utf8')));
  return texts.map((text) => `${text.trim()}\n`).join('');
}
