// Matches of a rule as messages. A regular expression that RE2 refuses makes the rule invalid; its match is then widened to all
// that it could have meant, so that the rule answers 500 there and no other rule takes its requests.
import { create } from '@bufbuild/protobuf';
import { RE2JS } from '@bufbuild/re2';
import { everyPath } from '../api/http-route.ts';
import type { HttpRouteMatch } from '../api/http-route-match.ts';
import {
  type RouteMatch,
  type ValueMatch,
  PathMatchSchema,
  PathMatchType,
  RouteMatchSchema,
  ValueMatchSchema,
  ValueMatchType,
} from '../ir/gen/config_pb.ts';

/** The messages, and what is wrong with the expressions among them. */
interface TranslatedMatches {
  readonly matches: RouteMatch[];
  readonly problems: readonly string[];
}

const anything = '(?s).*';

/** The matches of a rule; a rule without any matches every path. */
export function translateMatches(matches: readonly HttpRouteMatch[]): TranslatedMatches {
  const problems: string[] = [];
  const messages = (matches.length === 0 ? everyPath : matches).map((match, index) => {
    const report = (field: string, problem: string): void => {
      problems.push(`matches[${index}].${field}: ${problem}`);
    };
    return create(RouteMatchSchema, {
      path: translatePath(match.path, report),
      method: match.method ?? '',
      headers: translateValues('headers', match.headers ?? [], (name) => name.toLowerCase(), report),
      queryParams: translateValues('queryParams', match.queryParams ?? [], (name) => name, report),
    });
  });
  return { matches: messages, problems };
}

type Report = (field: string, problem: string) => void;

function translatePath({ type, value }: HttpRouteMatch['path'], report: Report): RouteMatch['path'] {
  if (type === 'Exact') return create(PathMatchSchema, { type: PathMatchType.EXACT, value });
  if (type === 'PathPrefix') return create(PathMatchSchema, { type: PathMatchType.PREFIX, value });
  const problem = checkExpression(value);
  if (problem !== undefined) report('path.value', problem);
  return create(PathMatchSchema, {
    type: PathMatchType.REGULAR_EXPRESSION,
    value: problem === undefined ? value : widenPath(value),
  });
}

type ValueMatchSpec = NonNullable<HttpRouteMatch['headers']>[number];

// "If multiple entries specify equivalent names, only the first entry MUST be considered for a match."
function translateValues(
  field: string,
  values: readonly ValueMatchSpec[],
  normalize: (name: string) => string,
  report: Report,
): ValueMatch[] {
  const byName = new Map<string, ValueMatch>();
  for (const [index, { type, name, value }] of values.entries()) {
    const key = normalize(name);
    if (byName.has(key)) continue;
    if (type === 'Exact') {
      byName.set(key, create(ValueMatchSchema, { name: key, type: ValueMatchType.EXACT, value }));
      continue;
    }
    const problem = checkExpression(value);
    if (problem !== undefined) report(`${field}[${index}].value`, problem);
    byName.set(
      key,
      create(ValueMatchSchema, {
        name: key,
        type: ValueMatchType.REGULAR_EXPRESSION,
        value: problem === undefined ? value : anything,
      }),
    );
  }
  return [...byName.values()];
}

function checkExpression(expression: string): string | undefined {
  try {
    RE2JS.compile(expression);
    return undefined;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return `${JSON.stringify(expression)} is not a valid RE2 regular expression (${detail})`;
  }
}

// Longer expressions take precedence, so the wide one is made as long as the one whose place it takes.
function widenPath(expression: string): string {
  const wide = RE2JS.quote(readLiteralPrefix(expression)) + anything;
  const nothing = '(?:)';
  return wide + nothing.repeat(Math.ceil(Math.max(0, expression.length - wide.length) / nothing.length));
}

/** What every path that the expression could have meant begins with; empty when its text does not tell. */
function readLiteralPrefix(expression: string): string {
  const body = expression.startsWith('^') ? expression.slice(1) : expression;
  if (body.includes('|')) return '';
  const [literal] = /^[A-Za-z0-9/_~%-]*/.exec(body) ?? [''];
  const next = body.charAt(literal.length);
  return next === '*' || next === '?' || next === '{' ? literal.slice(0, -1) : literal;
}
