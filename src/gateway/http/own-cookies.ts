// The gateway's own cookies: for logins, consent and the admin pages. Browsers send them with every request to the host; they are not forwarded upstream.

/** The prefix of their names, after the `__Host-` that is added on https. */
export const ownCookiePrefix = 'mcp-gateway-';

const ownCookie = new RegExp(`^\\s*(?:__Host-|__Secure-)?${ownCookiePrefix}`, 'i');

/** A Cookie field without the gateway's cookies; undefined: no cookie is left. */
export function dropOwnCookies(value: string): string | undefined {
  if (!value.toLowerCase().includes(ownCookiePrefix)) return value;
  const others = value.split(';').filter((pair) => !ownCookie.test(pair));
  const kept = others.join(';').trim();
  return kept === '' ? undefined : kept;
}
