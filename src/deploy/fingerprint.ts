// A fingerprint of our fields in a live object: a different one means that someone changed them.
import { createHash } from 'node:crypto';
import { isJson } from './merge-values.ts';

/**
 * The fingerprint of the fields that `desired` has, with the values of `live`. Lists count as a whole: the API server adds the same defaults each time.
 * Statuses, versions and fields of other managers do not count.
 */
export function fingerprintFields(live: unknown, desired: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(project(live, desired)))
    .digest('base64');
}

function project(live: unknown, desired: unknown): unknown {
  if (!isJson(desired) || !isJson(live)) return live ?? null;
  return Object.keys(desired)
    .toSorted()
    .map((key) => [key, project(live[key], desired[key])]);
}
