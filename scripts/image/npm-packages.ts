// The npm packages that sources of a bundle are from, with their licences.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A package. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly licence: string;
  /** The texts of its licence and notices; empty when it brings none. */
  readonly licenceText: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

const licenceFile = /^(?:licen[cs]e|copying|notice|third[-_]party[-_]notices)(?:[.-].*)?$/i;

/** Packages of files, which are relative to the checkout; each package once, in the order of names. */
export async function findNpmPackages(checkout: string, files: readonly string[]): Promise<readonly NpmPackage[]> {
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []));
  const packages = await Promise.all([...folders].map((folder) => readNpmPackage(join(checkout, folder))));
  return packages.toSorted((left, right) => (describe(left) < describe(right) ? -1 : 1));
}

/** The package in a folder. */
export async function readNpmPackage(folder: string): Promise<NpmPackage> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
  if (typeof license !== 'string') throw new Error(`the package ${name} ${version} does not say its licence`);
  const names = (await readdir(folder)).filter((file) => licenceFile.test(file)).toSorted();
  const texts = await Promise.all(names.map((file) => readFile(join(folder, file), 'utf8')));
  return { name, version, licence: license, licenceText: texts.map((text) => text.trim()).join('\n\n') };
}

/** The licences of packages, for people. */
export function formatLicences(packages: readonly NpmPackage[]): string {
  return packages
    .map(
      (each) =>
        `${describe(each)} (${each.licence})\n\n${each.licenceText || `${each.licence}; the package brings no text.`}\n`,
    )
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function describe({ name, version }: NpmPackage): string {
  return `${name} ${version}`;
}
