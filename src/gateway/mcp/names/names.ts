// The names of a federation's tools, prompts, resources and tasks: what the server calls them, and what clients do.
//
// With prefixes a tool `close` of the target with the prefix `tix` is `tix_close`. The first `_` ends the prefix, which has none itself: so a name
// leads to its target without a lookup, and no server can take a name of another one. A resource `file:///a` is `tix+file:///a`, and
// `ui://app/x`, which hosts know by its scheme, is `ui://tix/app/x`.
import type { FederationConfig, FederationTarget } from '../../config/federation-config.ts';

/** What a name of a client leads to. */
export interface NamedAtTarget {
  readonly target: FederationTarget;
  /** What the server calls it. */
  readonly own: string;
}

type Naming = FederationConfig['naming'];

/** A tool or a prompt, as clients call it. */
export function writeClientName({ prefix }: Pick<FederationTarget, 'prefix'>, naming: Naming, own: string): string {
  return naming === 'never' ? own : `${prefix}_${own}`;
}

/** The target that a prefixed name leads to. */
export function readClientName(federation: FederationConfig, name: string): NamedAtTarget | undefined {
  return readPrefixed(federation, name, name.indexOf('_'), (end) => name.slice(end + 1));
}

/** Whether a name begins like those of a target, also where it leads to nothing there. */
export function hasKnownPrefix(federation: FederationConfig, name: string): boolean {
  const end = name.indexOf('_');
  return end > 0 && end <= longestPrefix && findByPrefix(federation).has(name.slice(0, end));
}

/** The beginning of a URI (RFC 3986 section 3.1). */
const scheme = /^[a-z][a-z0-9+.-]*:/i;
const uiScheme = 'ui://';

/** Whether it is a URI, and not a reference that means something at the server only. */
export function hasScheme(uri: string): boolean {
  return scheme.test(uri);
}

/** A resource or a template, as clients call it; undefined: without a scheme it is no URI. */
export function writeClientUri(
  { prefix }: Pick<FederationTarget, 'prefix'>,
  naming: Naming,
  own: string,
): string | undefined {
  if (!hasScheme(own)) return undefined;
  if (naming === 'never') return own;
  return own.startsWith(uiScheme) ? `${uiScheme}${prefix}/${own.slice(uiScheme.length)}` : `${prefix}+${own}`;
}

/** The target that a prefixed URI leads to. */
export function readClientUri(federation: FederationConfig, uri: string): NamedAtTarget | undefined {
  if (uri.startsWith(uiScheme)) {
    const host = uri.slice(uiScheme.length);
    return readPrefixed(federation, host, host.indexOf('/'), (end) => `${uiScheme}${host.slice(end + 1)}`);
  }
  return readPrefixed(federation, uri, uri.indexOf('+'), (end) => {
    const own = uri.slice(end + 1);
    // `ui://` has a form of its own: one resource must not have two names.
    return scheme.test(own) && !own.startsWith(uiScheme) ? own : undefined;
  });
}

/** A task, as clients know it. Its id means nothing to them, so it carries its target under every naming. */
export function writeClientTask({ prefix }: Pick<FederationTarget, 'prefix'>, own: string): string {
  return `${prefix}_${own}`;
}

/** The target that a task runs at. */
export function readClientTask(federation: FederationConfig, task: string): NamedAtTarget | undefined {
  return readClientName(federation, task);
}

function readPrefixed(
  federation: FederationConfig,
  text: string,
  end: number,
  readOwn: (end: number) => string | undefined,
): NamedAtTarget | undefined {
  if (end <= 0 || end > longestPrefix) return undefined;
  const target = findByPrefix(federation).get(text.slice(0, end));
  const own = target && readOwn(end);
  return target === undefined || own === undefined || own === '' ? undefined : { target, own };
}

/** The schema allows 20 characters. */
const longestPrefix = 64;

/** Made when the first name is read: a configuration is read far more often than it changes. */
const byPrefix = new WeakMap<FederationConfig, ReadonlyMap<string, FederationTarget>>();

function findByPrefix(federation: FederationConfig): ReadonlyMap<string, FederationTarget> {
  let known = byPrefix.get(federation);
  if (known === undefined) {
    known = new Map(federation.targets.map((target) => [target.prefix, target]));
    byPrefix.set(federation, known);
  }
  return known;
}
