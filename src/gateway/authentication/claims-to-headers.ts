// Claims as request headers for the backend (RFC 7519 claims, RFC 9110 5.5 field values).
// Printable ASCII goes as it is, except for `%` and for spaces at the ends, which readers of headers drop; everything else is percent-encoded
// UTF-8, so that no claim can break out of its line, every value can be decoded without a guess, and no two values become the same. A list becomes its elements with `,` between them; a comma inside an element is encoded.
import type { ClaimToHeader } from '../../ir/gen/config_pb.ts';
import { readClaim } from './token/read-claim.ts';

/** The headers for these claims. Only strings, numbers, booleans and lists of them become headers. */
export function formatClaimHeaders(
  claims: Readonly<Record<string, unknown>>,
  mappings: readonly Pick<ClaimToHeader, 'claim' | 'header'>[],
): string[] {
  const headers: string[] = [];
  for (const { claim, header } of mappings) {
    const value = formatClaim(readClaim(claims, claim));
    if (value !== undefined) headers.push(header, value);
  }
  return headers;
}

/** The header names, in lower case with '-' for '_': clients must not be able to send them. */
export function listClaimHeaders(mappings: readonly Pick<ClaimToHeader, 'header'>[]): string[] {
  return mappings.map(({ header }) => header.toLowerCase().replaceAll('_', '-'));
}

function formatClaim(value: unknown): string | undefined {
  if (!Array.isArray(value)) return formatScalar(value);
  const elements = value.map((element) => formatScalar(element)?.replaceAll(',', '%2C'));
  return elements.every((element) => element !== undefined) ? elements.join(',') : undefined;
}

function formatScalar(value: unknown): string | undefined {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return isExact(value) ? String(value) : undefined;
  if (typeof value !== 'string') return undefined;
  // The lookbehind scans each run of spaces only once; otherwise a claim full of spaces would take quadratic time.
  return value.toWellFormed().replace(/[^\x20-\x24\x26-\x7E]|^ +|(?<! ) +$/gu, encodeURIComponent);
}

/** An integer beyond 2^53 was rounded by the parser, so it could identify another user. */
function isExact(value: number): boolean {
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}
