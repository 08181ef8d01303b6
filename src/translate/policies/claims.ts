// requiredClaims and claimsToHeaders of a policy.
import type { ClaimsToHeaders, RequiredClaims } from '../../api/claims.ts';
import { sortEntries } from '../order.ts';

/** Values as JSON texts, sorted by name: the order in which they were written has no meaning. */
export function convertRequiredClaims(claims: RequiredClaims = {}): { name: string; values: string[] }[] {
  return Object.entries(sortEntries(claims)).map(([name, expected]) => ({
    name,
    values: (Array.isArray(expected) ? expected : [expected]).map((each) => JSON.stringify(each)),
  }));
}

/** Header names in lower case. */
export function convertClaimsToHeaders(entries: ClaimsToHeaders = []): { claim: string; header: string }[] {
  return entries.map(({ claim, header }) => ({ claim, header: header.toLowerCase() }));
}
