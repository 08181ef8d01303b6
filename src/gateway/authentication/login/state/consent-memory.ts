// Which questions this browser has answered with yes: a sealed cookie with a digest for each. A yes counts for exactly the client, redirect
// URI, scopes and resource that the page showed, so a second client always sees the page. Only redirects to https hosts are remembered:
// behind a loopback port or an app's scheme anybody on the device could be, and has to be let in anew (RFC 8252 8.6).
import { createHash } from 'node:crypto';
import type { Sealer } from '../../../../base/sealed.ts';
import type { RawHeaders } from '../../../http/exchange.ts';
import type { ClientPlace } from '../broker-urls.ts';
import { formatCookie, formatCookieName } from './login-cookie.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import { isOwnedRedirect } from '../redirect-uri.ts';
import { splitScope } from '../request-parameters.ts';

/** What the user said yes to. */
export interface GivenConsent {
  readonly clientDigest: string;
  readonly redirectUri: string;
  readonly scope: string;
}

const purpose = 'consent-memory';
const lifetimeMs = 30 * 24 * 3_600_000;
const maxEntries = 20;

/** Whether this browser has said yes to exactly this before. */
export function remembersConsent(
  request: OAuthRequest,
  sealer: Sealer,
  place: ClientPlace,
  consent: GivenConsent,
): boolean {
  return isOwnedRedirect(consent.redirectUri) && readMemory(request, sealer).includes(digestConsent(place, consent));
}

/** Whether this browser has said yes to this client before, whatever it asked for then. */
export function remembersClient(
  request: OAuthRequest,
  sealer: Sealer,
  place: ClientPlace,
  consent: Omit<GivenConsent, 'scope'>,
): boolean {
  if (!isOwnedRedirect(consent.redirectUri)) return false;
  const digest = digestClient(place, consent);
  return readMemory(request, sealer).some((entry) => entry.startsWith(digest));
}

/** The headers that make the browser remember a yes; none where it must not. */
export function rememberConsent(
  request: OAuthRequest,
  sealer: Sealer,
  place: ClientPlace,
  consent: GivenConsent,
): RawHeaders {
  if (!isOwnedRedirect(consent.redirectUri)) return [];
  const digest = digestConsent(place, consent);
  const entries = [...readMemory(request, sealer).filter((entry) => entry !== digest), digest].slice(-maxEntries);
  const value = sealer.seal(purpose, entries, { expiresAtMs: request.now() + lifetimeMs });
  return ['set-cookie', formatCookie(request, nameCookie(request), value, lifetimeMs / 1000)];
}

function readMemory(request: OAuthRequest, sealer: Sealer): readonly string[] {
  const cookie = request.cookies.get(nameCookie(request));
  const opened = cookie === undefined ? undefined : sealer.open<readonly string[]>(purpose, cookie);
  return opened?.ok === true ? opened.value : [];
}

function nameCookie(request: OAuthRequest): string {
  return formatCookieName(request, 'consent');
}

function digestConsent(place: ClientPlace, consent: GivenConsent): string {
  const scopes = splitScope(consent.scope).toSorted();
  return `${digestClient(place, consent)}${digestParts(scopes)}`;
}

function digestClient(place: ClientPlace, { clientDigest, redirectUri }: Omit<GivenConsent, 'scope'>): string {
  return digestParts([place.issuer, place.resource, clientDigest, redirectUri]);
}

function digestParts(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
