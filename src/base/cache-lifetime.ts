// How long an answer may be used, as its sender says (RFC 9111).

/** Milliseconds for which the answer is fresh; 0 when it says not to keep it; undefined when it says nothing. */
export function readFreshness(headers: ReadonlyMap<string, string>, nowMs: number): number | undefined {
  const directives = parseCacheControl(headers.get('cache-control') ?? '');
  if (directives.has('no-store') || directives.has('no-cache')) return 0;
  const maxAge = directives.get('max-age');
  if (maxAge !== undefined) {
    // An invalid max-age counts as stale (RFC 9111 4.2.1).
    const seconds = /^\d{1,10}$/.test(maxAge) ? Number(maxAge) - readAge(headers) : 0;
    return Math.max(0, seconds * 1_000);
  }
  const expires = headers.get('expires');
  if (expires === undefined) return undefined;
  const expiresAt = Date.parse(expires);
  const date = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(expiresAt)) return 0;
  return Math.max(0, expiresAt - (Number.isNaN(date) ? nowMs : date) - readAge(headers) * 1_000);
}

function readAge(headers: ReadonlyMap<string, string>): number {
  const age = headers.get('age')?.trim() ?? '';
  return /^\d{1,10}$/.test(age) ? Number(age) : 0;
}

function parseCacheControl(text: string): ReadonlyMap<string, string> {
  const directives = new Map<string, string>();
  for (const part of text.split(',')) {
    const [name = '', value = ''] = part.split('=', 2);
    const directive = name.trim().toLowerCase();
    // The first of two counts.
    if (directive !== '' && !directives.has(directive)) directives.set(directive, value.trim().replaceAll('"', ''));
  }
  return directives;
}
