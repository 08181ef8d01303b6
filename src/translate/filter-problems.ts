// Filter values that pass the schema but that no request could carry, and filters that have no effect where they are.
import type { HeaderModifier, HttpRouteFilter, PathModifier } from '../api/http-route-filter.ts';

/** Where a list of filters is. */
export type FilterPlace = 'rule' | 'backendRef';

const token = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/; // RFC 9110, section 5.1
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/; // RFC 9110, section 5.5
const path = /^\/(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*$/;

const framing = 'it belongs to the connection, and the gateway sets it';
const ownedHeaders = new Map([
  ['host', 'use a URLRewrite filter with a hostname'],
  ...[
    'connection',
    'keep-alive',
    'proxy-connection',
    'transfer-encoding',
    'content-length',
    'upgrade',
    'te',
    'expect',
  ].map((name) => [name, framing] as const),
]);

/** What is wrong with a filter, without saying where it is. */
export function findFilterProblems(filter: HttpRouteFilter, place: FilterPlace): readonly string[] {
  const { type, requestHeaderModifier, responseHeaderModifier, requestRedirect, urlRewrite, cors } = filter;
  const problems: string[] = [];
  for (const modifier of [requestHeaderModifier, responseHeaderModifier])
    if (modifier !== undefined) problems.push(...findHeaderProblems(modifier));
  for (const replacement of [requestRedirect?.path, urlRewrite?.path])
    if (replacement !== undefined && !isPath(replacement)) problems.push(`${type} would produce an invalid URL path`);
  if (place === 'rule') return problems;
  if (cors !== undefined) problems.push('move CORS to the rule: preflights are answered before a backend is chosen');
  if (requestRedirect !== undefined) problems.push('move RequestRedirect to the rule: a redirect needs no backend');
  return problems;
}

function findHeaderProblems({ set = [], add = [], remove = [] }: HeaderModifier): readonly string[] {
  const problems: string[] = [];
  const lists = [set.map(({ name }) => name), add.map(({ name }) => name), remove];
  for (const name of lists.flat())
    if (!token.test(name)) problems.push(`${JSON.stringify(name)} is not a valid header name`);
  for (const name of lists.flat()) {
    const owner = ownedHeaders.get(name.toLowerCase());
    if (owner !== undefined) problems.push(`header ${name} cannot be modified: ${owner}`);
  }
  for (const { name, value } of [...set, ...add])
    if (!fieldValue.test(value))
      problems.push(`the value of header ${name} has characters that header values cannot have`);
  // "Only one action for a given header name is permitted."
  const seen = new Set<string>();
  for (const list of lists) {
    const names = new Set(list.map((name) => name.toLowerCase()));
    for (const name of names) if (seen.has(name)) problems.push(`more than one action for header ${name}`);
    for (const name of names) seen.add(name);
  }
  return problems;
}

// An empty prefix removes the prefix; an empty path is none.
function isPath({ type, replaceFullPath = '', replacePrefixMatch = '' }: PathModifier): boolean {
  if (type === 'ReplacePrefixMatch') return replacePrefixMatch === '' || path.test(replacePrefixMatch);
  return path.test(replaceFullPath);
}
