// Hostnames: reading them from Host or :authority (RFC 9110 7.2, RFC 3986 3.2.2), and tables keyed by them in which exact
// names, wildcard suffixes and a catch-all live together, as Gateway API defines their precedence.
import { isIPv6 } from 'node:net';
import { copyText } from '../../../base/cut-text.ts';
import { rememberTexts } from '../../../base/text-memory.ts';

const maxHostnameLength = 253;

/**
 * The hostname of an authority in the one spelling used for matching: lower case, without port and without a trailing dot.
 * An IPv6 literal keeps its brackets. Undefined when the authority is not valid (or has user information).
 */
export function readHostname(authority: string): string | undefined {
  return parseKnown(authority) || undefined;
}

/** Remembered, because few authorities serve all requests. Empty: not valid. */
const parseKnown = rememberTexts((authority) => copyText(parseAuthority(authority) ?? ''));

function parseAuthority(authority: string): string | undefined {
  if (authority.startsWith('[')) {
    const literal = /^\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?$/.exec(authority);
    if (literal === null || !isIPv6(literal[1]!) || !isPort(literal[2])) return undefined;
    return `[${literal[1]!.toLowerCase()}]`;
  }
  const parts = /^([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)\.?(?::(\d{0,5}))?$/.exec(authority);
  if (parts === null || !isPort(parts[2])) return undefined;
  const name = parts[1]!;
  return name.length > maxHostnameLength ? undefined : name.toLowerCase();
}

function isPort(digits: string | undefined): boolean {
  return digits === undefined || digits === '' || Number(digits) <= 65_535;
}

/**
 * A configured hostname in the spelling that tables use: lower case, '' for any host, '*.' in front of a suffix.
 * Undefined when no request could ever have it.
 */
export function readHostnamePattern(pattern: string): string | undefined {
  if (pattern === '' || pattern === '*') return '';
  const isWildcard = pattern.startsWith('*.');
  const name = isWildcard ? pattern.slice(2) : pattern;
  if (name.includes(':')) return undefined;
  const hostname = readHostname(name);
  return hostname === undefined ? undefined : `${isWildcard ? '*.' : ''}${hostname}`;
}

/**
 * Orders hostname patterns by precedence, the more specific first: "characters in a matching non-wildcard hostname", then
 * "characters in a matching hostname". Names of the same length, which never match the same request, are ordered by spelling.
 */
export function compareHostnamePatterns(left: string, right: string): number {
  const leftIsExact = left !== '' && !left.startsWith('*.');
  const rightIsExact = right !== '' && !right.startsWith('*.');
  if (leftIsExact !== rightIsExact) return leftIsExact ? -1 : 1;
  if (left.length !== right.length) return right.length - left.length;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Values by hostname pattern. A lookup costs one step per label of the hostname, however many entries there are. */
export class HostTable<T> {
  readonly #exact = new Map<string, T>();
  /** By suffix with its leading dot: '.example.com'. */
  readonly #suffixes = new Map<string, T>();
  #any: T | undefined;

  /** Takes patterns as `readHostnamePattern` returns them; of two equal ones the later wins. */
  constructor(entries: Iterable<readonly [pattern: string, value: T]>) {
    for (const [pattern, value] of entries) {
      if (pattern === '') this.#any = value;
      else if (pattern.startsWith('*.')) this.#suffixes.set(pattern.slice(1), value);
      else this.#exact.set(pattern, value);
    }
  }

  /** The value of the most specific pattern that matches. */
  find(hostname: string): T | undefined {
    return this.findFirst(hostname, (value) => value);
  }

  /** The first result of `select` that is not undefined, asked from the most specific matching pattern to the least. */
  findFirst<R>(hostname: string, select: (value: T) => R | undefined): R | undefined {
    const exact = this.#exact.get(hostname);
    if (exact !== undefined) {
      const result = select(exact);
      if (result !== undefined) return result;
    }
    if (this.#suffixes.size > 0) {
      // A longer suffix comes first: the dots are walked from the left. '*.example.com' needs a label in front.
      for (let at = hostname.indexOf('.', 1); at !== -1; at = hostname.indexOf('.', at + 1)) {
        const value = this.#suffixes.get(hostname.slice(at));
        const result = value === undefined ? undefined : select(value);
        if (result !== undefined) return result;
      }
    }
    return this.#any === undefined ? undefined : select(this.#any);
  }

  /** The value for requests without a hostname of their own: the one whose pattern is empty. */
  get any(): T | undefined {
    return this.#any;
  }

  get size(): number {
    return this.#exact.size + this.#suffixes.size + (this.#any === undefined ? 0 : 1);
  }

  /** All patterns and values, in the order of precedence. */
  entries(): [pattern: string, value: T][] {
    const entries: [string, T][] = [...this.#exact];
    for (const [suffix, value] of this.#suffixes) entries.push([`*${suffix}`, value]);
    if (this.#any !== undefined) entries.push(['', this.#any]);
    return entries.toSorted((left, right) => compareHostnamePatterns(left[0], right[0]));
  }
}
