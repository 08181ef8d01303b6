// Describes the caller by its verified token, for the access log and the request journal. Never the token itself.
import { cutText } from '../../base/cut-text.ts';
import type { Caller, VerifiedToken } from '../authentication/token/verified-token.ts';

/** Issuers choose these; a line must stay a line. */
const maxNameLength = 256;

/** Names the caller. */
export function describeCaller(token: VerifiedToken): Caller {
  return (token.caller ??= readCaller(token));
}

function readCaller({ subject, issuer, claims }: VerifiedToken): Caller {
  return {
    subject: subject === undefined ? undefined : cutText(subject, maxNameLength),
    issuer: cutText(issuer, maxNameLength),
    clientId: readName(claims, 'client_id') ?? readName(claims, 'azp'),
    logged: undefined,
  };
}

function readName(claims: VerifiedToken['claims'], name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return typeof value === 'string' ? cutText(value, maxNameLength) : undefined;
}
