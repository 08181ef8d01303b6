// The authorization codes and refresh tokens that clients see: the IdP's own, sealed together with the client they were issued to.
// In Shared registration all clients are one client at the IdP, so the IdP could not detect a stolen one (RFC 6749 10.4, 10.5).
import type { Sealer, SealProblem } from '../../../../base/sealed.ts';
import { digestClientId, digestPlace } from './client-envelope.ts';
import type { ClientPlace } from '../broker-urls.ts';
import type { IdpClient } from '../../../config/shared-logins.ts';

/** The content of a code. */
export interface IssuedCode {
  /** The IdP's code. */
  readonly code: string;
  readonly redirectUri: string;
  /** PKCE, S256. */
  readonly challenge: string;
  /** Named in the token request because it was named in the authorization request; undefined: not named. */
  readonly resource: string | undefined;
  /** What the IdP was asked for, when the client asked for something else; with the flow Issuer what the client may get. */
  readonly scope: string | undefined;
  /** Only for clients whose client_id does not carry it. */
  readonly idpClient: IdpClient | undefined;
  /** With the flow Issuer: what the ID token has to repeat. Undefined: another flow. */
  readonly nonce?: string | undefined;
}

/** The content of a refresh token. */
interface IssuedRefreshToken {
  /** The IdP's refresh token. */
  readonly token: string;
  readonly resource: string | undefined;
  /** The client at the IdP; undefined: the shared client. */
  readonly idpClient: IdpClient | undefined;
}

type OpenGrantResult<T> =
  | { readonly ok: true; readonly grant: T }
  /** `elsewhere`: for another resource or IdP. `other_client`: issued to somebody else. */
  | { readonly ok: false; readonly problem: SealProblem | 'elsewhere' | 'other_client' };

/** The maximum lifetime of codes in RFC 6749 4.1.2; IdPs mostly use about a minute. */
const codeLifetimeMs = 600_000;

/** Seals a code for the client with this digest. */
export function sealCode(
  sealer: Sealer,
  place: ClientPlace,
  clientDigest: string,
  issued: IssuedCode,
  nowMs: number,
): string {
  return sealer.seal(codePurpose, seal(place, clientDigest, issued), { expiresAtMs: nowMs + codeLifetimeMs });
}

/** Opens a code that this client presents. */
export function openCode(
  sealer: Sealer,
  place: ClientPlace,
  clientId: string,
  text: string,
): OpenGrantResult<IssuedCode> {
  return open<IssuedCode>(sealer, codePurpose, place, clientId, text);
}

/** Seals a refresh token. It lives as long as the IdP lets it. */
export function sealRefreshToken(
  sealer: Sealer,
  place: ClientPlace,
  clientId: string,
  issued: IssuedRefreshToken,
): string {
  return sealer.seal(refreshPurpose, seal(place, digestClientId(clientId), issued));
}

/** Opens a refresh token that this client presents. */
export function openRefreshToken(
  sealer: Sealer,
  place: ClientPlace,
  clientId: string,
  text: string,
): OpenGrantResult<IssuedRefreshToken> {
  return open<IssuedRefreshToken>(sealer, refreshPurpose, place, clientId, text);
}

const codePurpose = 'code';
const refreshPurpose = 'refresh';

interface SealedGrant<T> {
  readonly p: string;
  readonly c: string;
  readonly g: T;
}

function seal<T>(place: ClientPlace, clientDigest: string, grant: T): SealedGrant<T> {
  return { p: digestPlace(place), c: clientDigest, g: grant };
}

function open<T>(
  sealer: Sealer,
  purpose: string,
  place: ClientPlace,
  clientId: string,
  text: string,
): OpenGrantResult<T> {
  const opened = sealer.open<SealedGrant<T>>(purpose, text);
  if (!opened.ok) return opened;
  const { p, c, g } = opened.value;
  if (p !== digestPlace(place)) return { ok: false, problem: 'elsewhere' };
  if (c !== digestClientId(clientId)) return { ok: false, problem: 'other_client' };
  return { ok: true, grant: g };
}
