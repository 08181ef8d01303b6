// All matches of one hostname of one listener, arranged so that a lookup does not walk through all routes: exact paths by map,
// regular expressions in a list, prefixes in a tree of path segments. The winner is always the first by precedence.ts.
import { compareMatchRanks, type MatchRank } from './precedence.ts';
import { maxSubjectLength, type RegularExpression } from './regular-expression.ts';

/** The path of a match. A prefix has no trailing slash: '' stands for '/'. */
export type PathCondition =
  | { readonly type: 'exact'; readonly value: string }
  | { readonly type: 'regularExpression'; readonly expression: RegularExpression }
  | { readonly type: 'prefix'; readonly value: string };

/** A header (name in lower case) or a query parameter that must have a value. */
export interface ValueCondition {
  readonly name: string;
  readonly expected: string | RegularExpression;
}

/** One match of a rule, ready to be tried. */
export interface RouteMatchEntry<R> {
  readonly rank: MatchRank;
  readonly path: PathCondition;
  /** Empty: any. */
  readonly method: string;
  readonly headers: readonly ValueCondition[];
  readonly queryParams: readonly ValueCondition[];
  readonly route: R;
}

/** What of a request decides about its route. `path` and `query` as readTarget returns them. */
export interface MatchRequest {
  readonly method: string;
  readonly hostname: string;
  readonly path: string;
  readonly query: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
}

/** The winner of a lookup. */
interface TableMatch<R> {
  readonly route: R;
  /** The matched prefix without a trailing slash ('' for '/'), the whole path for an exact match, undefined for a regular expression. */
  readonly matchedPrefix: string | undefined;
}

/** One request while it is matched: headers and query are taken apart at most once, and only when a match asks for them. */
export class MatchSubject {
  readonly request: MatchRequest;
  /**
   * A regular expression met a text that is too long to be tried. The right route is then unknown, so none is chosen:
   * the next best one would let a long path bypass the route that protects it.
   */
  undecidable = false;
  #headers: Map<string, string> | undefined;
  #queryParams: Map<string, string> | undefined;

  constructor(request: MatchRequest) {
    this.request = request;
  }

  getHeader(name: string): string | undefined {
    this.#headers ??= joinHeaders(this.request.headers);
    return this.#headers.get(name);
  }

  getQueryParam(name: string): string | undefined {
    this.#queryParams ??= readQueryParams(this.request.query);
    return this.#queryParams.get(name);
  }

  matchesExpression(expression: RegularExpression, text: string): boolean {
    if (text.length > maxSubjectLength) {
      this.undecidable = true;
      return false;
    }
    return expression.matches(text);
  }
}

/** Several lines of one name are one list (RFC 9110 5.3); cookies have their own separator (RFC 9113 8.2.3). */
function joinHeaders(headers: readonly string[]): Map<string, string> {
  const joined = new Map<string, string>();
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase();
    const before = joined.get(name);
    const value = headers[index + 1]!;
    joined.set(name, before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ','}${value}`);
  }
  return joined;
}

/** Of a repeated parameter the first value counts, as Gateway API recommends. */
function readQueryParams(query: string): Map<string, string> {
  const params = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) if (!params.has(name)) params.set(name, value);
  return params;
}

/** An entry, and the result when it wins. */
interface RankedEntry<R> {
  readonly entry: RouteMatchEntry<R>;
  readonly match: TableMatch<R>;
}

interface PrefixNode<R> {
  readonly children: Map<string, PrefixNode<R>>;
  readonly entries: RankedEntry<R>[];
  /** The node of the next shorter prefix. */
  readonly parent: PrefixNode<R> | undefined;
}

/** The matches of one hostname. Immutable once built. */
export class RouteTable<R> {
  /** In the order of precedence. */
  readonly entries: readonly RouteMatchEntry<R>[];
  readonly #exact = new Map<string, RankedEntry<R>[]>();
  readonly #expressions: (RankedEntry<R> & { readonly expression: RegularExpression })[] = [];
  readonly #prefixes: PrefixNode<R> = { children: new Map(), entries: [], parent: undefined };

  constructor(entries: Iterable<RouteMatchEntry<R>>) {
    // Sorted once here, so that every list below is sorted too.
    this.entries = [...entries].toSorted((left, right) => compareMatchRanks(left.rank, right.rank));
    for (const entry of this.entries) {
      const { path, route } = entry;
      if (path.type === 'exact') {
        const ranked = { entry, match: { route, matchedPrefix: path.value } };
        const list = this.#exact.get(path.value);
        if (list === undefined) this.#exact.set(path.value, [ranked]);
        else list.push(ranked);
      } else if (path.type === 'regularExpression') {
        const { expression } = path;
        this.#expressions.push({ entry, match: { route, matchedPrefix: undefined }, expression });
      } else {
        const ranked = { entry, match: { route, matchedPrefix: path.value } };
        this.#insertPrefix(path.value).entries.push(ranked);
      }
    }
  }

  #insertPrefix(prefix: string): PrefixNode<R> {
    let node = this.#prefixes;
    if (prefix === '') return node;
    for (const segment of prefix.slice(1).split('/')) {
      let child = node.children.get(segment);
      if (child === undefined) {
        child = { children: new Map(), entries: [], parent: node };
        node.children.set(segment, child);
      }
      node = child;
    }
    return node;
  }

  /** The first match by precedence; undefined when there is none, or when the subject became undecidable on the way. */
  find(subject: MatchSubject): TableMatch<R> | undefined {
    const { path } = subject.request;
    if (!path.startsWith('/')) return undefined;

    const exact = this.#exact.size === 0 ? undefined : findFirst(this.#exact.get(path), subject);
    if (exact !== undefined || subject.undecidable) return exact;

    for (const { entry, match, expression } of this.#expressions) {
      const isMatch = matchesConditions(entry, subject) && subject.matchesExpression(expression, path);
      if (subject.undecidable) return undefined;
      if (isMatch) return match;
    }

    // Every further node on the way down is a longer prefix of the same path, so the last one is tried first.
    let node: PrefixNode<R> | undefined = this.#prefixes;
    let start = 1;
    while (start <= path.length && node.children.size > 0) {
      const slash = path.indexOf('/', start);
      const end = slash === -1 ? path.length : slash;
      const child: PrefixNode<R> | undefined = node.children.get(path.slice(start, end));
      if (child === undefined) break;
      node = child;
      start = end + 1;
    }
    for (; node !== undefined; node = node.parent) {
      const match = findFirst(node.entries, subject);
      if (match !== undefined || subject.undecidable) return match;
    }
    return undefined;
  }
}

function findFirst<R>(ranked: readonly RankedEntry<R>[] | undefined, subject: MatchSubject): TableMatch<R> | undefined {
  if (ranked === undefined) return undefined;
  for (const { entry, match } of ranked) {
    const isMatch = matchesConditions(entry, subject);
    if (subject.undecidable) return undefined;
    if (isMatch) return match;
  }
  return undefined;
}

function matchesConditions<R>(entry: RouteMatchEntry<R>, subject: MatchSubject): boolean {
  if (entry.method !== '' && entry.method !== subject.request.method) return false;
  for (const condition of entry.headers) {
    if (!matchesValue(condition, subject.getHeader(condition.name), subject)) return false;
  }
  for (const condition of entry.queryParams) {
    if (!matchesValue(condition, subject.getQueryParam(condition.name), subject)) return false;
  }
  return true;
}

function matchesValue(condition: ValueCondition, value: string | undefined, subject: MatchSubject): boolean {
  if (value === undefined) return false;
  if (typeof condition.expected === 'string') return condition.expected === value;
  return subject.matchesExpression(condition.expected, value);
}
