// Keys that are almost the ones that matter. Readers that ignore case take `"Method"` for `"method"`, and some fold more than ASCII: then the
// gateway would judge one value and the server would act on the other. So where a key matters, nothing that could be taken for it may be there.
import type { KnownKeys } from '../../config/mcp-authorization-config.ts';

/** Prepares keys for findLookalike. */
export function foldKeys(keys: Iterable<string>): KnownKeys {
  return Map.groupBy(new Set(keys), foldKey);
}

/** A key of the object that could be taken for one that matters, and that one; undefined when there is none. */
export function findLookalike(
  members: Readonly<Record<string, unknown>>,
  known: KnownKeys,
): { readonly key: string; readonly meant: string } | undefined {
  for (const key of Object.keys(members)) {
    // What is spelled as it should be, and folds to itself, needs no folding.
    if (known.get(key)?.includes(key) === true) continue;
    const meant = known.get(foldKey(key));
    if (meant !== undefined && !meant.includes(key)) return { key, meant: meant[0]! };
  }
  return undefined;
}

/** No key that matters comes near it, and no reader sees one in something longer. */
const maxFoldedLength = 256;

/**
 * Everything that some reader may leave out of account: case (also `ı`, `ſ` and the Kelvin sign), compatibility forms such as full-width
 * letters, accents, white space, invisible and control characters, and what follows a NUL. Marks go first: putting a long row of them
 * into the order of NFKD takes time that grows with its square.
 */
export function foldKey(key: string): string {
  if (/^[!-~]*$/.test(key)) return key.toLowerCase();
  const seen = key.split('\0', 1)[0]!.replace(unseen, '');
  if (seen.length > maxFoldedLength) return seen;
  return seen.normalize('NFKD').replace(unseen, '').toUpperCase().toLowerCase();
}

const unseen = /[\p{M}\p{C}\p{Z}]/gu;
