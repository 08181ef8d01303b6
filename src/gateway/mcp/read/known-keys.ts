// Lookalikes of relevant keys. Parsers that ignore case take `"Method"` for `"method"`, and some fold more than ASCII: then the gateway would
// judge one value and the server would act on the other. So an object with a relevant key must not have a lookalike of it.
import type { KnownKeys } from '../../config/mcp-authorization-config.ts';

/** Prepares keys for findLookalike. */
export function foldKeys(keys: Iterable<string>): KnownKeys {
  return Map.groupBy(new Set(keys), foldKey);
}

/** A key of the object that could be mistaken for a relevant key, with that key; undefined when there is none. */
export function findLookalike(
  members: Readonly<Record<string, unknown>>,
  known: KnownKeys,
): { readonly key: string; readonly meant: string } | undefined {
  for (const key of Object.keys(members)) {
    // An exact match needs no folding.
    if (known.get(key)?.includes(key) === true) continue;
    const meant = known.get(foldKey(key));
    if (meant !== undefined && !meant.includes(key)) return { key, meant: meant[0]! };
  }
  return undefined;
}

/** Far longer than any relevant key: no parser takes a longer key for one. */
const maxFoldedLength = 256;

/**
 * Removes every difference that some parser may ignore: case (also `ı`, `ſ` and the Kelvin sign), compatibility forms such as full-width
 * letters, accents, white space, invisible and control characters, and everything after a NUL. Marks are removed first: NFKD sorts a
 * long sequence of them in quadratic time.
 */
export function foldKey(key: string): string {
  if (/^[!-~]*$/.test(key)) return key.toLowerCase();
  const seen = key.split('\0', 1)[0]!.replace(unseen, '');
  if (seen.length > maxFoldedLength) return seen;
  return seen.normalize('NFKD').replace(unseen, '').toUpperCase().toLowerCase();
}

const unseen = /[\p{M}\p{C}\p{Z}]/gu;
