// What of a live object is ours to decide, as a short text: another text means that somebody changed it.
import { createHash } from 'node:crypto';
import { isJson } from './merge-values.ts';

/**
 * The fingerprint of the fields that `desired` has, with the values of `live`. Of lists the whole: the API server adds defaults inside, the same each time.
 * So statuses, versions and what others write into fields of their own do not count.
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
