// The email address that counts: one for which the identity provider vouches. Others can be typed in by anybody.
import type { JsonObject } from '../../../../base/json-object.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import { lowerAscii } from './lower-ascii.ts';

/** What one document says. */
type EmailStatement =
  | { readonly kind: 'vouched'; readonly email: string }
  /** There is an address, and the identity provider does not vouch for it. */
  | { readonly kind: 'denied' }
  /** No address, or nothing is said about it. */
  | { readonly kind: 'unknown' };

/** RFC 5321 4.5.3.1. */
const maxLength = 254;

/** Judges one document (ID token, userinfo) by itself: an address of one says nothing about that of another. */
export function judgeEmail(preset: ProviderPreset, document: JsonObject): EmailStatement {
  const { email, email_verified: verified } = document;
  if (typeof email !== 'string' || !isAddress(email)) return { kind: 'unknown' };
  const vouches = preset.identity?.vouchesForEmail ?? isVerified;
  if (vouches(document)) return { kind: 'vouched', email: lowerAscii(email) };
  return { kind: verified === undefined || verified === null ? 'unknown' : 'denied' };
}

/** In lower case; undefined: none. The first document that says anything decides. */
export function findVouchedEmail(preset: ProviderPreset, documents: readonly JsonObject[]): string | undefined {
  for (const document of documents) {
    const statement = judgeEmail(preset, document);
    if (statement.kind !== 'unknown') return statement.kind === 'vouched' ? statement.email : undefined;
  }
  return undefined;
}

/** Some identity providers write it as text (Amazon Cognito). */
function isVerified({ email_verified: verified }: JsonObject): boolean {
  return verified === true || verified === 'true';
}

/** One `@`, and nothing that two readers could understand differently: quotes, comments, white space. */
function isAddress(text: string): boolean {
  return text.length <= maxLength && /^[^\s@"(),:;<>[\\\]\p{C}]+@[^\s@"(),:;<>[\\\]\p{C}]+$/u.test(text);
}
