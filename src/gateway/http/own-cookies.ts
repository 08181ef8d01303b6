// Cookies of the gateway itself: of logins, of consent and of the admin pages. Browsers send them with every request to the host; no server behind the gateway has any business with them.

/** What their names begin with, after the `__Host-` that they have on https. */
export const ownCookiePrefix = 'mcp-gateway-';

const ownCookie = new RegExp(`^\\s*(?:__Host-|__Secure-)?${ownCookiePrefix}`, 'i');

/** A Cookie field without them; undefined: nothing is left of it. */
export function dropOwnCookies(value: string): string | undefined {
  if (!value.toLowerCase().includes(ownCookiePrefix)) return value;
  const others = value.split(';').filter((pair) => !ownCookie.test(pair));
  const kept = others.join(';').trim();
  return kept === '' ? undefined : kept;
}
