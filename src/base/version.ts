// The version that `--version`, the log, federations and the build-info metric show: of the package that this file is part of, in a checkout and in an image.
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

const manifest = JSON.parse(readFileSync(findPackageJSON(import.meta.url)!, 'utf8')) as { version: string };

export const version: string = manifest.version;
