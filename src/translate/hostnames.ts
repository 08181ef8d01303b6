// Which host names a route serves on a listener: the intersection that Gateway API defines.

/** Whether a host name, exact or wildcard, lies within "*.example.com"; "example.com" itself does not. */
function isWithinWildcard(hostname: string, wildcard: string): boolean {
  const suffix = wildcard.slice(1);
  const rest = hostname.startsWith('*.') ? hostname.slice(1) : hostname;
  return rest.length >= suffix.length && rest.endsWith(suffix) && (rest !== suffix || hostname.startsWith('*.'));
}

/** The more specific of two host names when one lies within the other, undefined when they have nothing in common. */
export function intersectHostname(left: string, right: string): string | undefined {
  if (left === right) return left;
  if (left.startsWith('*.') && isWithinWildcard(right, left)) return right;
  if (right.startsWith('*.') && isWithinWildcard(left, right)) return left;
  return undefined;
}

/**
 * The host names of a route on a listener, each once, in the route's order.
 * Empty means any host name; undefined means that the two do not meet.
 */
export function intersectHostnames(
  listener: string | undefined,
  route: readonly string[],
): readonly string[] | undefined {
  if (listener === undefined || listener === '') return [...new Set(route)];
  if (route.length === 0) return [listener];
  const shared = new Set<string>();
  for (const hostname of route) {
    const both = intersectHostname(listener, hostname);
    if (both !== undefined) shared.add(both);
  }
  return shared.size === 0 ? undefined : [...shared];
}
