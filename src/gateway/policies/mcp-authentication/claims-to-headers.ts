// Claims as request headers for the backend (RFC 7519 claims, RFC 9110 5.5 field values).
// Printable ASCII goes as it is, except for `%`; everything else is percent-encoded UTF-8, so that no claim can break out of its line and every
// value can be decoded without a guess. A list becomes its elements with `,` between them; a comma inside an element is encoded.
import type { ClaimToHeader } from '../../../ir/gen/config_pb.ts';
import { readClaim } from '../../token/read-claim.ts';

/** The headers for these claims; a claim that is absent, or no text, number, boolean or list of them, gives none. */
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

/** Names in lower case with '-' for '_': what clients must not be able to send themselves. */
export function listClaimHeaders(mappings: readonly Pick<ClaimToHeader, 'header'>[]): string[] {
  return mappings.map(({ header }) => header.toLowerCase().replaceAll('_', '-'));
}

function formatClaim(value: unknown): string | undefined {
  if (!Array.isArray(value)) return formatScalar(value)?.trim();
  const elements = value.map((element) => formatScalar(element)?.replaceAll(',', '%2C').trim());
  return elements.every((element) => element !== undefined) ? elements.join(',') : undefined;
}

function formatScalar(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return undefined;
  return value.toWellFormed().replace(/[^\x20-\x24\x26-\x7E]/gu, encodeURIComponent);
}
