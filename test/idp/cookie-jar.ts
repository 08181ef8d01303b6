// A browser's cookies (RFC 6265bis), as strict as browsers are: what one of them would not keep or send is not kept or sent here.

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
  readonly secure: boolean;
  readonly sameSite: string;
  readonly expiresAtMs: number;
}

/** The cookies of one browser. They belong to a host, whatever the port. */
export class CookieJar {
  #cookies: Cookie[] = [];

  /** Keeps what an answer sets. */
  store(url: URL, setCookie: string | readonly string[] | undefined): void {
    const lines = setCookie === undefined ? [] : typeof setCookie === 'string' ? [setCookie] : setCookie;
    for (const line of lines) this.#storeOne(url, line);
  }

  /** The Cookie header for a request to this address; empty for none. */
  format(url: URL, { crossSitePost = false } = {}): string {
    const now = Date.now();
    this.#cookies = this.#cookies.filter(({ expiresAtMs }) => expiresAtMs > now);
    return (
      this.#cookies
        .filter(({ host }) => host === url.hostname)
        .filter(({ path }) => matchesPath(url.pathname, path))
        .filter(({ secure }) => !secure || isTrustworthy(url))
        // Lax cookies, which is what cookies without SameSite are, do not go along with a POST from another site.
        .filter(({ sameSite }) => !crossSitePost || sameSite === 'none')
        .toSorted((a, b) => b.path.length - a.path.length)
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ')
    );
  }

  /** Names of the cookies that are kept for a host. */
  names(host: string): string[] {
    const now = Date.now();
    return this.#cookies.filter((cookie) => cookie.host === host && cookie.expiresAtMs > now).map(({ name }) => name);
  }

  #storeOne(url: URL, line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const equals = pair.indexOf('=');
    const name = pair.slice(0, equals);
    const given = new Map(
      attributes.map((attribute) => {
        const [key = '', ...value] = attribute.split('=');
        return [key.toLowerCase(), value.join('=')] as const;
      }),
    );
    const domain = given.get('domain');
    const secure = given.has('secure');
    const path = given.get('path')?.startsWith('/') === true ? given.get('path')! : defaultPath(url.pathname);
    if (equals < 1 || pair.length > 4_096) return;
    if (secure && !isTrustworthy(url)) return;
    if (name.startsWith('__Secure-') && !secure) return;
    if (name.startsWith('__Host-') && (!secure || path !== '/' || domain !== undefined)) return;
    if (domain !== undefined && domain !== url.hostname) return;
    const sameSite = given.get('samesite')?.toLowerCase() ?? 'lax';
    if (sameSite === 'none' && !secure) return;
    const maxAge = given.get('max-age');
    const expires = given.get('expires');
    const expiresAtMs =
      maxAge !== undefined
        ? Date.now() + Number(maxAge) * 1_000
        : expires !== undefined
          ? Date.parse(expires)
          : Number.POSITIVE_INFINITY;
    const host = url.hostname;
    this.#cookies = this.#cookies.filter((old) => !(old.name === name && old.host === host && old.path === path));
    this.#cookies.push({ name, value: pair.slice(equals + 1), host, path, secure, sameSite, expiresAtMs });
  }
}

/** Browsers treat loopback like https. */
function isTrustworthy(url: URL): boolean {
  return (
    url.protocol === 'https:' ||
    url.hostname === '127.0.0.1' ||
    url.hostname === 'localhost' ||
    url.hostname === '[::1]'
  );
}

function defaultPath(pathname: string): string {
  const slash = pathname.lastIndexOf('/');
  return slash <= 0 ? '/' : pathname.slice(0, slash);
}

function matchesPath(pathname: string, path: string): boolean {
  return pathname === path || (pathname.startsWith(path) && (path.endsWith('/') || pathname[path.length] === '/'));
}
