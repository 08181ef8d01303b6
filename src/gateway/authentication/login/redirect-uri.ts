// Redirect URIs: which ones a client may register, and whether a requested one is registered (RFC 6749 3.1.2, RFC 8252 7, RFC 9700 4.1).
// Comparison is by characters. The one exception is the port of an http loopback, which native apps get from the system.

/** Longer ones are refused: a client id carries all of them, and travels in URLs. */
export const maxRedirectUriLength = 2048;

/**
 * The problem of a redirect URI, as a sentence for the author of the client. Undefined: it may be registered. `allowed` is the policy's list; when empty, https
 * anywhere and http on loopback are allowed. `trusted` URIs are always allowed.
 */
export function findRedirectUriProblem(
  uri: string,
  allowed: readonly string[],
  trusted: readonly string[] = [],
): string | undefined {
  if (uri.length > maxRedirectUriLength) return `a redirect URI may have ${maxRedirectUriLength} characters at most`;
  // Parsers disagree on URIs with other characters.
  if (!uriCharacters.test(uri)) return 'a redirect URI must be an absolute URI (RFC 3986) in ASCII';
  if (uri.includes('#')) return 'a redirect URI must not have a fragment';
  if (/^[^?]*\/\/[^/?]*@/.test(uri)) return 'a redirect URI must not have a user name or password';
  const parsed = URL.parse(uri);
  if (parsed === null) return 'a redirect URI must be an absolute URI (RFC 3986)';
  const { protocol } = parsed;
  // Parsers repair `https:cb` and `https:///cb`, but not all to the same host.
  if ((protocol === 'https:' || protocol === 'http:') && !webUri.test(uri))
    return 'a redirect URI must name its host: https://host/path';
  if (forbiddenSchemes.has(protocol)) return `the scheme ${protocol} is never allowed in a redirect URI`;
  if (protocol === 'http:' && !loopbackHosts.has(parsed.hostname))
    return 'a redirect URI must use https; http is for loopback (127.0.0.1, [::1], localhost) only';
  if (trusted.includes(uri)) return undefined;
  if (allowed.length > 0)
    return allowed.some((pattern) => isSameRedirectUri(pattern, uri))
      ? undefined
      : 'this redirect URI is not among those that the operator of this gateway allows';
  if (protocol !== 'https:' && protocol !== 'http:')
    return `the scheme ${protocol} is allowed only for redirect URIs that the operator of this gateway lists`;
  return undefined;
}

/** Whether the client registered the requested redirect URI. */
export function matchesRedirectUri(registered: readonly string[], asked: string): boolean {
  return registered.some((uri) => isSameRedirectUri(uri, asked));
}

/** Same characters; or both http on the same loopback host, and nothing but the port differs. */
export function isSameRedirectUri(registered: string, asked: string): boolean {
  if (registered === asked) return true;
  if (!uriCharacters.test(asked)) return false;
  const own = splitLoopback(registered);
  const other = splitLoopback(asked);
  return own !== undefined && other !== undefined && own.host === other.host && own.rest === other.rest;
}

/** Whether the code goes to a process on the user's own machine: http on loopback. */
export function isLoopbackRedirect(uri: string): boolean {
  return splitLoopback(uri) !== undefined;
}

/** Whether only the owner of a host can receive the redirect. Any program on the machine can use a loopback port or a custom scheme. */
export function isOwnedRedirect(uri: string): boolean {
  return URL.parse(uri)?.protocol === 'https:';
}

/** Where a redirect goes, for people: the host, or the scheme of an app. */
export function describeRedirectTarget(uri: string): string {
  const parsed = URL.parse(uri);
  if (parsed === null) return uri;
  return parsed.protocol === 'https:' || parsed.protocol === 'http:'
    ? parsed.host
    : `${parsed.protocol}//${parsed.host}`;
}

/** The redirect URI with parameters added. Its own characters, a query included, stay as the client wrote them. */
export function appendToRedirectUri(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) added.append(name, value);
  if (added.size === 0) return uri;
  if (!uri.includes('?')) return `${uri}?${added.toString()}`;
  return `${uri}${/[?&]$/.test(uri) ? '' : '&'}${added.toString()}`;
}

const uriCharacters = /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;
/** Scheme, host, port, path: nothing left out, nothing encoded before the path. */
const webUri =
  /^https?:\/\/(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.?|\[[0-9A-Fa-f:.]+\])(?::[1-9]\d{0,4})?(?:[/?].*)?$/i;
const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);
/** Never allowed, even when listed: these schemes run code, read files or show content chosen by the sender. */
const forbiddenSchemes: ReadonlySet<string> = new Set(
  ['javascript', 'data', 'vbscript', 'file', 'filesystem', 'blob', 'about', 'view-source', 'ws', 'wss', 'ftp'].map(
    (name) => `${name}:`,
  ),
);
const loopbackUri = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?((?:[/?].*)?)$/i;

/** The parts of a loopback URI that have to match. Not parsed by URL, which would repair URIs that must not match. */
function splitLoopback(uri: string): { readonly host: string; readonly rest: string } | undefined {
  const match = loopbackUri.exec(uri);
  if (match === null || Number(match[2] ?? 80) > 65_535) return undefined;
  return { host: match[1]!.toLowerCase(), rest: match[3]! };
}
