// Paths that the gateway and a server behind it may read differently. The gateway keeps `//`, `;parameters` and encoded separators as they are; many servers merge,
// strip or decode them. `//admin` then passes the rule of `/`, and arrives as `/admin`. Where that makes a difference, the request is refused.

/** Matches hardly any path. */
const suspicious = /\/\/|;|%(?:25)*(?:2F|5C)/i;
const separators = /%(?:25)*(?:2F|5C)/gi;

/** The paths that servers may make of a path in normal form; none where all agree. */
export function listReadings(path: string): readonly string[] {
  if (!suspicious.test(path)) return noReadings;
  const readings = new Set<string>();
  for (const decoded of [path, path.replace(separators, '/')])
    for (const stripped of [decoded, decoded.replace(/;[^/]*/g, '')])
      for (const merged of [stripped, stripped.replace(/\/{2,}/g, '/')]) readings.add(resolveDots(merged));
  readings.delete(path);
  return [...readings];
}

const noReadings: readonly string[] = [];

/** Decoding separators and stripping parameters may have uncovered dot segments. */
function resolveDots(path: string): string {
  if (!/\/\.{1,2}(?:\/|$)/.test(path)) return path;
  const kept: string[] = [];
  for (const segment of path.split('/').slice(1)) {
    if (segment === '..') kept.pop();
    else if (segment !== '.') kept.push(segment);
  }
  return `/${kept.join('/')}`;
}
