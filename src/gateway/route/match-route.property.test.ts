// The router against a second one, written here from the words of the Gateway API specification only and in the plainest way:
// collect every match of every route that the request satisfies, sort, take the first. It shares no code with the router.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import type { Configuration } from '../../ir/configuration.ts';
import {
  type Listener,
  ListenerProtocol,
  ListenerSchema,
  PathMatchType,
  type Route,
  type RouteMatch,
  RouteSchema,
  type ValueMatch,
  ValueMatchType,
} from '../../ir/gen/config_pb.ts';
import { compile } from '../config/compile/compile.ts';
import { matchRoute } from './match-route.ts';
import { compareMatchRanks, type MatchRank } from './table/precedence.ts';
import { effort } from '../../../test/kit/effort.ts';

interface TestRequest {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: readonly (readonly [string, string])[];
}

// ---- the naive matcher ----

/** "Hostnames that are prefixed with a wildcard label (`*.`) are interpreted as a suffix match." No hostname: every host. */
function hostMatches(pattern: string, host: string): boolean {
  if (pattern === '') return true;
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) && host !== pattern.slice(1) : pattern === host;
}

/** "Characters in a matching non-wildcard hostname", then "characters in a matching hostname". */
function hostWeight(pattern: string): [number, number] {
  return [pattern.startsWith('*.') ? 0 : pattern.length, pattern.length];
}

function listenerWeight({ hostname }: Listener): number {
  if (hostname === '') return 0;
  return hostname.startsWith('*.') ? hostname.split('.').length - 1 : 1000;
}

/** "Exact matches MUST be processed before wildcard matches, and wildcard matches before fallback"; more dots first. */
function chooseListener(listeners: readonly Listener[], host: string): Listener | undefined {
  return listeners
    .filter((listener) => hostMatches(listener.hostname, host))
    .toSorted((a, b) => listenerWeight(b) - listenerWeight(a))[0];
}

/** "Matches based on a URL path prefix split by `/` ... element by element. When specified, a trailing `/` is ignored." */
function prefixMatches(prefix: string, path: string): boolean {
  const wanted = withoutTrailingSlash(prefix).split('/');
  const elements = path.split('/');
  return wanted.every((element, index) => elements[index] === element);
}

function withoutTrailingSlash(prefix: string): string {
  return prefix.endsWith('/') ? prefix.slice(0, -1) : prefix;
}

function pathMatches(match: RouteMatch, path: string): boolean {
  const { type, value } = match.path!;
  if (type === PathMatchType.EXACT) return path === value;
  if (type === PathMatchType.PREFIX) return prefixMatches(value, path);
  return new RegExp(`^(?:${value})$`, 'v').test(path);
}

/** "If multiple entries specify equivalent names, only the first entry MUST be considered." */
function considered(matches: readonly ValueMatch[], isCaseSensitive: boolean): ValueMatch[] {
  const spell = (name: string): string => (isCaseSensitive ? name : name.toLowerCase());
  return matches.filter(
    (match, index) => matches.findIndex((other) => spell(other.name) === spell(match.name)) === index,
  );
}

function valueMatches(match: ValueMatch, value: string | undefined): boolean {
  if (value === undefined) return false;
  return match.type === ValueMatchType.EXACT
    ? value === match.value
    : new RegExp(`^(?:${match.value})$`, 'v').test(value);
}

function requestMatches(match: RouteMatch, request: TestRequest): boolean {
  return (
    pathMatches(match, request.path) &&
    (match.method === '' || match.method === request.method) &&
    considered(match.headers, false).every((header) => {
      const lines = request.headers.filter(([name]) => name.toLowerCase() === header.name.toLowerCase());
      return valueMatches(header, lines.length === 0 ? undefined : lines.map(([, value]) => value).join(','));
    }) &&
    considered(match.queryParams, true).every((param) =>
      valueMatches(param, request.query.find(([name]) => name === param.name)?.[1]),
    )
  );
}

interface Candidate {
  readonly hostname: string;
  readonly route: Route;
  readonly match: RouteMatch;
  readonly matchIndex: number;
}

/** The criteria of the specification, one line each; a positive number in a line prefers the second. */
function prefer(a: Candidate, b: Candidate): number {
  const criteria: readonly number[] = [
    hostWeight(b.hostname)[0] - hostWeight(a.hostname)[0],
    hostWeight(b.hostname)[1] - hostWeight(a.hostname)[1],
    Number(b.match.path!.type === PathMatchType.EXACT) - Number(a.match.path!.type === PathMatchType.EXACT),
    // "The precedence of RegularExpression path matches are implementation-specific": here before prefixes, longer ones first.
    expressionLength(b.match) - expressionLength(a.match),
    prefixLength(b.match) - prefixLength(a.match),
    Number(b.match.method !== '') - Number(a.match.method !== ''),
    considered(b.match.headers, false).length - considered(a.match.headers, false).length,
    considered(b.match.queryParams, true).length - considered(a.match.queryParams, true).length,
    (a.route.createdAt === 0 ? Infinity : a.route.createdAt) ===
    (b.route.createdAt === 0 ? Infinity : b.route.createdAt)
      ? 0
      : (a.route.createdAt === 0 ? Infinity : a.route.createdAt) -
        (b.route.createdAt === 0 ? Infinity : b.route.createdAt),
    a.route.httpRoute < b.route.httpRoute ? -1 : a.route.httpRoute > b.route.httpRoute ? 1 : 0,
    a.route.ruleIndex - b.route.ruleIndex,
    a.matchIndex - b.matchIndex,
  ];
  return criteria.find((difference) => difference !== 0) ?? 0;
}

function expressionLength({ path }: RouteMatch): number {
  return path!.type === PathMatchType.REGULAR_EXPRESSION ? path!.value.length : -1;
}

function prefixLength({ path }: RouteMatch): number {
  return path!.type === PathMatchType.PREFIX ? withoutTrailingSlash(path!.value).length : -1;
}

function matchNaively(
  configuration: Configuration,
  request: TestRequest,
): { key: string; prefix: string | undefined; rivals: number } | undefined {
  const listener = chooseListener(configuration.listeners, request.host);
  const candidates: Candidate[] = [];
  for (const route of configuration.routes) {
    for (const parent of route.parents.filter((one) => one.listener === listener?.key)) {
      for (const hostname of parent.hostnames.length === 0 ? [''] : parent.hostnames) {
        if (!hostMatches(hostname, request.host)) continue;
        route.matches.forEach((match, matchIndex) => {
          if (requestMatches(match, request)) candidates.push({ hostname, route, match, matchIndex });
        });
      }
    }
  }
  const [winner] = candidates.toSorted(prefer);
  if (winner === undefined) return undefined;
  const { type, value } = winner.match.path!;
  const prefix =
    type === PathMatchType.EXACT
      ? request.path
      : type === PathMatchType.PREFIX
        ? withoutTrailingSlash(value)
        : undefined;
  return { key: winner.route.key, prefix, rivals: candidates.length - 1 };
}

// ---- random tables and requests: few names, so that they meet often ----

const segment = fc.constantFrom('a', 'b', 'ab', 'c');
const plainPath = fc.array(segment, { minLength: 0, maxLength: 2 }).map((segments) => `/${segments.join('/')}`);
const expression = fc.constantFrom(
  '/.*',
  '/a.*',
  '/[ab]/b',
  '/a/(b|c)',
  '/(a|ab)/?',
  '/a',
  '/[a-b]+',
  '.*/c',
  '/ab?(/c)?',
);
const exactOrPrefix = fc.tuple(plainPath, fc.boolean(), fc.boolean()).map(([path, isExact, hasSlash]) => ({
  type: isExact ? PathMatchType.EXACT : PathMatchType.PREFIX,
  value: hasSlash && path !== '/' ? `${path}/` : path,
}));
const path = fc.oneof(
  { weight: 5, arbitrary: exactOrPrefix },
  { weight: 1, arbitrary: expression.map((value) => ({ type: PathMatchType.REGULAR_EXPRESSION, value })) },
);

function valueMatch(names: readonly string[]): fc.Arbitrary<{ name: string; type: ValueMatchType; value: string }> {
  return fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        name: fc.constantFrom(...names),
        type: fc.constant(ValueMatchType.EXACT),
        value: fc.constantFrom('1', '2', '1,2'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        name: fc.constantFrom(...names),
        type: fc.constant(ValueMatchType.REGULAR_EXPRESSION),
        value: fc.constantFrom('[12]', '1.*', '.+', '2|1,2'),
      }),
    },
  );
}

const fewConditions = { maxLength: 2, size: 'xsmall' } as const;

const match = fc.record({
  path,
  method: fc.constantFrom('', '', '', 'GET', 'POST'),
  headers: fc.array(valueMatch(['x-one', 'X-One', 'x-two']), fewConditions),
  queryParams: fc.array(valueMatch(['q', 'Q', 'r']), fewConditions),
});

const hostnames = ['', '*.example.com', '*.b.example.com', 'a.example.com', 'a.b.example.com', 'other.test'] as const;
const hosts = [
  'a.example.com',
  'b.example.com',
  'a.b.example.com',
  'c.b.example.com',
  'example.com',
  'other.test',
  'x.test',
];

const table = fc.record({
  listenerHostnames: fc.uniqueArray(fc.constantFrom('', '*.example.com', '*.b.example.com', 'a.example.com'), {
    minLength: 1,
    maxLength: 3,
  }),
  routes: fc.array(
    fc.record({
      name: fc.constantFrom('n/x', 'n/y', 'm/x', 'm-a/x', 'm/z', 'o/x'),
      ruleIndex: fc.nat({ max: 5 }),
      createdAt: fc.constantFrom(0, 0, 100, 200),
      matches: fc.array(match, { minLength: 1, maxLength: 4 }),
      parents: fc.array(
        fc.record({
          listener: fc.nat({ max: 2 }),
          hostnames: fc.uniqueArray(fc.constantFrom('', ...hostnames), { maxLength: 3, size: 'xsmall' }),
        }),
        { minLength: 1, maxLength: 2 },
      ),
    }),
    { minLength: 3, maxLength: 30, size: 'max' },
  ),
});

const request: fc.Arbitrary<TestRequest> = fc.record({
  host: fc.constantFrom(...hosts),
  method: fc.constantFrom('GET', 'POST', 'PUT'),
  path: fc
    .tuple(plainPath, fc.constantFrom('', '', '', '/', '//'))
    .map(([text, end]) => (text === '/' ? text : `${text}${end}`)),
  query: fc.array(fc.tuple(fc.constantFrom('q', 'Q', 'r', 's'), fc.constantFrom('1', '2', '1,2', '3')), {
    maxLength: 3,
  }),
  headers: fc.array(fc.tuple(fc.constantFrom('x-one', 'X-ONE', 'X-Two', 'x-three'), fc.constantFrom('1', '2', '3')), {
    maxLength: 3,
  }),
});

function buildConfiguration(input: typeof table extends fc.Arbitrary<infer T> ? T : never): Configuration {
  const listeners = input.listenerHostnames.map((hostname, index) =>
    create(ListenerSchema, {
      key: `n/gateway/l${index}`,
      gateway: 'n/gateway',
      name: `l${index}`,
      port: 80,
      protocol: ListenerProtocol.HTTP,
      hostname,
    }),
  );
  const keys = new Set<string>();
  const ages = new Map<string, number>();
  const routes: Route[] = [];
  for (const route of input.routes) {
    const key = `${route.name}/${route.ruleIndex}`;
    if (keys.has(key)) continue;
    keys.add(key);
    // All rules of one HTTPRoute have its age.
    const createdAt = ages.get(route.name) ?? route.createdAt;
    ages.set(route.name, createdAt);
    const parents = route.parents.map((parent) => ({
      listener: listeners[parent.listener % listeners.length]!.key,
      hostnames: [...parent.hostnames],
    }));
    routes.push(
      create(RouteSchema, {
        key,
        httpRoute: route.name,
        ruleIndex: route.ruleIndex,
        createdAt,
        matches: route.matches,
        parents,
      }),
    );
  }
  return { listeners, routes, backends: [], policies: [], secrets: [] };
}

describe('the router and a second, naive one', () => {
  const tables = effort(1_000, 200);
  test(`agree on ${tables.toLocaleString('en')} random tables with 100 random requests each`, () => {
    let hits = 0;
    let contested = 0;
    const requests = fc.sample(request, { numRuns: tables * 20, seed: 7 });
    fc.assert(
      fc.property(table, fc.nat({ max: requests.length - 1 }), (input, offset) => {
        const configuration = buildConfiguration(input);
        const { runtime, problems } = compile(configuration);
        assert.deepEqual(problems, []);
        const port = runtime.ports.get('|80')!;
        for (let count = 0; count < 100; count += 1) {
          const one = requests[(offset + count) % requests.length]!;
          const listener = port.listeners.find(one.host);
          const query = one.query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
          const found =
            listener &&
            matchRoute(listener, {
              hostname: one.host,
              method: one.method,
              path: one.path,
              query: query === '' ? '' : `?${query}`,
              headers: one.headers.flat(),
            });
          const expected = matchNaively(configuration, one);
          if (expected !== undefined) hits += 1;
          if (expected !== undefined && expected.rivals > 0) contested += 1;
          const about = `for ${JSON.stringify(one)}`;
          assert.equal(found?.route.key, expected?.key, about);
          assert.equal(found?.matchedPrefix, expected?.prefix, about);
        }
      }),
      { numRuns: tables },
    );
    // A generator that never hits, always hits, or never lets two matches compete would prove nothing.
    assert.ok(
      hits > 20 * tables && hits < 95 * tables && contested > 10 * tables,
      `${hits} hits, ${contested} of them contested`,
    );
  });
});

describe('precedence', () => {
  const rank: fc.Arbitrary<MatchRank> = fc.record({
    pathType: fc.constantFrom('exact', 'regularExpression', 'prefix'),
    pathLength: fc.nat({ max: 2 }),
    hasMethod: fc.boolean(),
    headerCount: fc.nat({ max: 2 }),
    queryParamCount: fc.nat({ max: 2 }),
    createdAt: fc.nat({ max: 2 }),
    httpRoute: fc.constantFrom('a/b', 'a/c', 'a-a/b'),
    ruleIndex: fc.nat({ max: 2 }),
    matchIndex: fc.nat({ max: 2 }),
  });

  test('is a total order', () => {
    fc.assert(
      fc.property(rank, rank, rank, (a, b, c) => {
        assert.equal(Math.sign(compareMatchRanks(a, b)), -Math.sign(compareMatchRanks(b, a)) + 0);
        assert.equal(compareMatchRanks(a, a), 0);
        if (compareMatchRanks(a, b) === 0) assert.deepEqual({ ...a }, { ...b });
        if (compareMatchRanks(a, b) <= 0 && compareMatchRanks(b, c) <= 0) assert.ok(compareMatchRanks(a, c) <= 0);
      }),
      { numRuns: effort(5_000) },
    );
  });
});
