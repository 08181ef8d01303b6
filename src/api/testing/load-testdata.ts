// Reads the resources in testdata/, for tests.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Kind } from '../kinds.ts';

/** A resource as a file has it. */
export type RawResource = {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: { readonly name: string };
} & Readonly<Record<string, unknown>>;

const folder = join(import.meta.dirname, '..', 'testdata');

/** The resources of one file. */
export function loadTestdata(file: string): readonly RawResource[] {
  const text = readFileSync(join(folder, file), 'utf8');
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS() as RawResource;
  });
}

/** Every resource that the gateway accepts. */
export function loadGoodResources(): readonly RawResource[] {
  return globSync('*.yaml', { cwd: folder })
    .filter((file) => file !== 'not-supported-yet.yaml')
    .toSorted()
    .flatMap(loadTestdata);
}

/** Resources of a right shape that use what is refused. */
export function loadRefusedResources(): readonly RawResource[] {
  return loadTestdata('not-supported-yet.yaml');
}
