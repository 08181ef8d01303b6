// Remembers consents in this browser: a sealed cookie with a digest for each. A consent covers exactly the client, redirect URI, scopes and
// resource that the page showed, so another client always leads to the page. Only redirects to https hosts are remembered: any program on the
// device could use a loopback port or an app's scheme, so these need consent each time (RFC 8252 8.6).
import { createHash } from 'node:crypto';
import type { Sealer } from '../../../../base/sealed.ts';
import type { RawHeaders } from '../../../http/exchange.ts';
import type { ClientPlace } from '../broker-urls.ts';
import { formatCookie, formatCookieName } from './login-cookie.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import { isOwnedRedirect } from '../redirect-uri.ts';
import { splitScope } from '../request-parameters.ts';

/** A consent of the user. */
interface GivenConsent {
  readonly clientDigest: string;
  readonly redirectUri: string;
  readonly scope: string;
}

const purpose = 'consent-memory';
const lifetimeMs = 30 * 24 * 3_600_000;
const maxEntries = 20;

/** Whether this browser remembers exactly this consent. */
export function remembersConsent(
  request: OAuthRequest,
  sealer: Sealer,
  place: ClientPlace,
  consent: GivenConsent,
): boolean {
  return isOwnedRedirect(consent.redirectUri) && readMemory(request, sealer).includes(digestConsent(place, consent));
}

/** Whether this browser remembers a consent for this client, with any scopes. */
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

/** The headers that make the browser remember a consent; none where it must not be remembered. */
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
