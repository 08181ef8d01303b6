// Who asked, by the token that was verified: for the access log and the request journal. Never the token itself.
import { cutText } from '../base/cut-text.ts';
import type { VerifiedToken } from './token/verified-token.ts';

/** A caller, by name. */
export interface Caller {
  readonly subject: string | undefined;
  readonly issuer: string;
  /** The OAuth client: `client_id` (RFC 9068), or `azp` where the provider calls it so. */
  readonly clientId: string | undefined;
}

/** Issuers choose these; a line must stay a line. */
const maxNameLength = 256;

/** The same for every request with a token. */
const described = new WeakMap<VerifiedToken, Caller>();

/** Names the caller. */
export function describeCaller(token: VerifiedToken): Caller {
  let caller = described.get(token);
  if (caller === undefined) {
    caller = readCaller(token);
    described.set(token, caller);
  }
  return caller;
}

function readCaller({ subject, issuer, claims }: VerifiedToken): Caller {
  return {
    subject: subject === undefined ? undefined : cutText(subject, maxNameLength),
    issuer: cutText(issuer, maxNameLength),
    clientId: readName(claims, 'client_id') ?? readName(claims, 'azp'),
  };
}

function readName(claims: VerifiedToken['claims'], name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return typeof value === 'string' ? cutText(value, maxNameLength) : undefined;
}
