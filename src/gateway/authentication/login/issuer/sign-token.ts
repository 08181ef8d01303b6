// Access tokens of the gateway's own (RFC 9068), signed with ES256.
import { randomUUID, sign } from 'node:crypto';
import { registeredClaims } from '../../../../base/registered-claims.ts';
import { formatPersonSubject } from '../identity/format-subject.ts';
import type { PersonIdentity, SigningKey } from '../../../config/token-issuer.ts';

/** What a token says. */
export interface TokenContent {
  /** The authorization server of the resource, under the name that the client knows. */
  readonly issuer: string;
  /** URL of the resource. */
  readonly resource: string;
  readonly clientId: string;
  /** The issuer of the identity provider. */
  readonly idp: string;
  readonly person: PersonIdentity;
  /** Claims of the person that go into the token. */
  readonly claims: readonly string[];
  readonly issuedAtMs: number;
  readonly lifetimeMs: number;
}

const registered: ReadonlySet<string> = new Set(registeredClaims);

/** The claims of a token but for its scopes. What the identity provider says can never take the place of a claim that the gateway sets. */
export function createClaims(content: TokenContent): Readonly<Record<string, unknown>> {
  const { person, idp } = content;
  const listed = new Set(content.claims);
  const issuedAt = Math.floor(content.issuedAtMs / 1_000);
  return {
    ...Object.fromEntries(
      Object.entries(person.claims).filter(
        ([name, value]) => listed.has(name) && !registered.has(name) && value !== undefined,
      ),
    ),
    iss: content.issuer,
    sub: formatPersonSubject(idp, person.subject),
    aud: content.resource,
    exp: issuedAt + Math.floor(content.lifetimeMs / 1_000),
    iat: issuedAt,
    jti: randomUUID(),
    client_id: content.clientId,
    idp,
  };
}

/** Signs. */
export function signToken({ kid, privateKey }: SigningKey, claims: Readonly<Record<string, unknown>>): string {
  const signed = `${encode({ alg: 'ES256', typ: 'at+jwt', kid })}.${encode(claims)}`;
  // JWS has the two numbers side by side, not in DER (RFC 7518 3.4).
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
