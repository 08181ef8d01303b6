// Members of the ID token and of userinfo become claims of issued tokens.
import type { JsonObject } from '../../../../base/json-object.ts';
import { readClaim } from '../../token/read-claim.ts';
import { reservedClaims } from './identity-rules.ts';
import { type IdentityFailure, refuseIdentity } from './identity-outcome.ts';

/** Tokens travel in a header of every request. */
const maxClaims = 64;
const maxClaimLength = 4_096;

type ReadClaims = { readonly kind: 'claims'; readonly claims: Readonly<Record<string, unknown>> } | IdentityFailure;

/**
 * Reads the mapped claims; members that are absent give none. What is too large is refused and not left out: a rule that denies by a claim must not fall
 * silent.
 */
export function readClaims(mapping: ReadonlyMap<string, string>, members: JsonObject): ReadClaims {
  const claims = new Map<string, unknown>();
  for (const [name, member] of mapping) {
    if (reservedClaims.has(name) || name === '__proto__') continue;
    const value = readClaim(members, member) ?? undefined;
    if (value === undefined) continue;
    const length = Buffer.byteLength(JSON.stringify(value));
    if (length > maxClaimLength)
      return refuseIdentity(
        `the claim ${name} would have ${length} bytes, and ${maxClaimLength} are the limit: take it out of tokens.claims and identity.claims, or map a smaller member`,
      );
    if (claims.size === maxClaims) return refuseIdentity(`there are more than ${maxClaims} claims in identity.claims`);
    claims.set(name, value);
  }
  return { kind: 'claims', claims: Object.fromEntries(claims) };
}

/** Strings of a member that is a list, or a single string. */
export function readNames(members: JsonObject, member: string): readonly string[] {
  const value = readClaim(members, member);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((entry): entry is string => typeof entry === 'string' && entry !== '');
}
