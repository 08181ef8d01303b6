// Binds a login to the browser that started it: one cookie per login with a secret, whose digest is in the sealed state. On https the name has
// the prefix `__Host-`, so that no other host can set it (RFC 6265bis 4.1.3). Browsers refuse this prefix on http, which a loopback gateway
// uses; there the name has no prefix, and all ports of the host share the cookie.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { RawHeaders } from '../../../http/exchange.ts';
import { ownCookiePrefix } from '../../../http/own-cookies.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';

/** The login of a browser, as the sealed state carries it. */
export interface LoginBinding {
  /** Tells the logins of one browser apart: part of the name of the cookie. */
  readonly id: string;
  /** Digest of the cookie's secret. */
  readonly digest: string;
}

/** How long a login may take, from authorize to callback. */
export const loginLifetimeMs = 600_000;

/** Pending logins per browser; the oldest are dropped, because their cookies would fill the request head. */
const maxPendingLogins = 16;

/** Starts a login: the binding for the state, and the headers that set its cookie. */
export function startLogin(request: OAuthRequest): { readonly binding: LoginBinding; readonly headers: RawHeaders } {
  const id = randomBytes(6).toString('base64url');
  const secret = randomBytes(16).toString('base64url');
  const headers = ['set-cookie', formatCookie(request, nameCookie(request, id), secret, loginLifetimeMs / 1000)];
  // Browsers send the older ones first.
  const pending = [...request.cookies.keys()].filter((name) => name.startsWith(nameCookie(request, '')));
  for (const name of pending.slice(0, Math.max(0, pending.length - maxPendingLogins + 1)))
    headers.push('set-cookie', formatCookie(request, name, '', 0));
  return { binding: { id, digest: digestSecret(secret) }, headers };
}

/** Whether this browser started the login. */
export function isSameBrowser(request: OAuthRequest, binding: LoginBinding): boolean {
  const secret = request.cookies.get(nameCookie(request, binding.id));
  if (secret === undefined) return false;
  const found = Buffer.from(digestSecret(secret));
  const expected = Buffer.from(binding.digest);
  return found.length === expected.length && timingSafeEqual(found, expected);
}

/** The headers that end a login: its state cannot be used again in this browser. */
export function endLogin(request: OAuthRequest, binding: LoginBinding): RawHeaders {
  return ['set-cookie', formatCookie(request, nameCookie(request, binding.id), '', 0)];
}

/** A Set-Cookie value of this gateway: for this host only, not readable by scripts, not sent with forms of other sites. */
export function formatCookie(request: OAuthRequest, name: string, value: string, maxAgeSeconds: number): string {
  const secure = isSecure(request) ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** The name of a cookie, with the prefix that browsers protect where they allow it. */
export function formatCookieName(request: OAuthRequest, name: string): string {
  return `${isSecure(request) ? '__Host-' : ''}${ownCookiePrefix}${name}`;
}

function nameCookie(request: OAuthRequest, id: string): string {
  return formatCookieName(request, `login-${id}`);
}

function isSecure({ base }: OAuthRequest): boolean {
  return base.startsWith('https:');
}

function digestSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url').slice(0, 22);
}
