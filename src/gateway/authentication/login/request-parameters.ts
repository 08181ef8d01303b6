// Parameters of an OAuth request, from a query or a form (RFC 6749 3.1, 3.2): none may be repeated, and an empty one counts as absent.

export interface RequestParameters {
  /** Undefined: absent, empty, or repeated. */
  get(name: string): string | undefined;
  /** All values; for `resource`, which RFC 8707 allows several times. */
  getAll(name: string): readonly string[];
  /** Names that occur more than once, `resource` aside. */
  readonly repeated: ReadonlySet<string>;
  /** Every name that has a value. */
  readonly names: ReadonlySet<string>;
}

/** Reads the parameters of a request. */
export function readRequestParameters(source: URLSearchParams): RequestParameters {
  const values = new Map<string, string[]>();
  const repeated = new Set<string>();
  for (const [name, value] of source) {
    const before = values.get(name);
    if (before === undefined) values.set(name, [value]);
    else {
      before.push(value);
      if (name !== 'resource') repeated.add(name);
    }
  }
  const names = new Set([...values].filter(([, found]) => found.some((value) => value !== '')).map(([name]) => name));
  return {
    get(name) {
      const found = values.get(name);
      return found === undefined || found.length !== 1 || found[0] === '' ? undefined : found[0];
    },
    getAll: (name) => (values.get(name) ?? []).filter((value) => value !== ''),
    repeated,
    names,
  };
}

/** Whether every `resource` that a client names is this one, ignoring a trailing slash and the case of scheme and host. */
export function namesOnlyResource(named: readonly string[], resource: string): boolean {
  const own = normaliseResource(resource);
  return named.every((value) => normaliseResource(value) === own);
}

function normaliseResource(text: string): string {
  const url = text.includes('#') ? null : URL.parse(text);
  if (url === null) return text;
  return `${url.protocol}//${url.username}${url.host}${url.pathname.replace(/\/$/, '')}${url.search}`;
}

/** Scope values, in order, each once (RFC 6749 3.3). */
export function joinScopes(...lists: readonly (readonly string[])[]): string {
  return [...new Set(lists.flat())].join(' ');
}

/** Splits a scope parameter. */
export function splitScope(scope: string | undefined): readonly string[] {
  return scope === undefined ? [] : scope.split(' ').filter((value) => value !== '');
}

/** Whether the text is a list of scope values as RFC 6749 3.3 spells them. */
export function isScope(text: string): boolean {
  return /^[\x21\x23-\x5B\x5D-\x7E]+(?: +[\x21\x23-\x5B\x5D-\x7E]+)*$/.test(text);
}

/** Cleans a foreign text for error_description: printable ASCII without quote and backslash (RFC 6749 4.1.2.1, 5.2), and no markup. */
export function cleanErrorDescription(text: string | undefined): string | undefined {
  const clean = text
    ?.replaceAll('"', "'")
    .replace(/[^\x20-\x7E]|[\\<>]/g, ' ')
    .slice(0, 300)
    .trim();
  return clean === '' ? undefined : clean;
}
