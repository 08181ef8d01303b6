// Every expression of a rule set with its outcome and the values it read: for denied requests, and for `explain`.
// Values that are credentials by their name, place or form are redacted.
import { cutText } from '../../base/cut-text.ts';
import { isSecretName, isSecretParameter, redactValue } from '../../base/redact.ts';
import { ambiguous, type Expression, type ExpressionVariables } from '../../cel/expression.ts';
import type { TokenLocation } from '../../ir/gen/config_pb.ts';
import { evaluate, listRules, refer, type RuleApplication } from './decide-rules.ts';
import type { RuleOutcome, RuleSet } from '../config/rule-set.ts';

/** The rules to evaluate, and how. */
interface OutcomeRequest {
  readonly rules: RuleSet;
  readonly variables: ExpressionVariables;
  readonly application?: RuleApplication | undefined;
  /** Where the route's JWT authentication reads tokens: the value there is redacted, whatever its name. */
  readonly tokenLocation?: TokenLocation | undefined;
}

/** Evaluates every expression, in the order of `decideRules`. */
export function listOutcomes({ rules, variables, application, tokenLocation }: OutcomeRequest): RuleOutcome[] {
  const viewers = new Map<ExpressionVariables, ReturnType<typeof createViewer>>();
  const show = (expression: Expression): RuleOutcome['saw'] => {
    const seen = application?.view?.(expression) ?? variables;
    let viewer = viewers.get(seen);
    if (viewer === undefined) viewers.set(seen, (viewer = createViewer(hideCredentials(seen, tokenLocation))));
    return viewer(expression);
  };
  return listRules(rules).flatMap((rule) =>
    rule.expressions.map((expression, index): RuleOutcome => {
      const reference = refer(rule, index);
      if (application?.applies(expression) === false)
        return { ...reference, value: 'skipped', problem: undefined, saw: [] };
      const outcome = evaluate(expression, variables, application);
      const saw = show(expression);
      return outcome.ok
        ? { ...reference, value: outcome.value, problem: undefined, saw }
        : { ...reference, value: 'error', problem: cutText(outcome.problem, maxProblemLength), saw };
    }),
  );
}

const maxValueLength = 256;
const maxProblemLength = 512;
/** An expression may name hundreds of attributes; the first ones tell enough. */
const maxAttributes = 16;

/** Expressions often read the same attributes: each attribute is formatted once. */
function createViewer(variables: ExpressionVariables): (expression: Expression) => RuleOutcome['saw'] {
  const seen = new Map<string, RuleOutcome['saw'][number]>();
  return ({ reads }) =>
    reads.slice(0, maxAttributes).map((path) => {
      const attribute = formatAttribute(path);
      let shown = seen.get(attribute);
      if (shown === undefined) {
        shown = { attribute: cutText(attribute, maxValueLength), value: formatValue(path, readPath(variables, path)) };
        seen.set(attribute, shown);
      }
      return shown;
    });
}

function formatAttribute(path: readonly string[]): string {
  return path.reduce((text, name) => (/^[A-Za-z_]\w*$/.test(name) ? `${text}.${name}` : `${text}[${quote(name)}]`));
}

function readPath(variables: ExpressionVariables, path: readonly string[]): unknown {
  let value: unknown = variables;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

function formatValue(path: readonly string[], value: unknown): string {
  if (value === undefined) return 'absent';
  if (value === ambiguous) return severalTimes;
  if (path.some(isHiddenName)) return hidden;
  if (path[0] === 'request' && path[1] === 'time' && typeof value === 'number') return new Date(value).toISOString();
  return cutText(quote(redactValue(value)), maxValueLength);
}

const hidden = '[redacted]';
const severalTimes = 'sent several times';

/** JSON, with text for values that JSON cannot represent. */
function quote(value: unknown): string {
  return (
    JSON.stringify(value, (_, member: unknown) =>
      typeof member === 'symbol' ? severalTimes : typeof member === 'bigint' ? String(member) : member,
    ) ?? 'absent'
  );
}

/** A session id is a credential where sessions are not bound to users. */
function isHiddenName(name: string): boolean {
  return isSecretName(name) || /session-?id$/i.test(name);
}

/** The same variables as plain objects, with credentials redacted. */
function hideCredentials(variables: ExpressionVariables, location: TokenLocation | undefined): ExpressionVariables {
  const { method, path, host, scheme, headers, query, time } = variables.request;
  const place = location?.location;
  const header = place?.case === 'header' ? place.value.name : undefined;
  const parameter = place?.case === 'queryParameter' ? place.value : undefined;
  return {
    ...variables,
    request: {
      method,
      path,
      host,
      scheme,
      headers: hideMembers(headers, (name) => name === header || isHiddenName(name)),
      query: hideMembers(query, (name) => name === parameter || isSecretParameter(name)),
      time,
    },
  };
}

function hideMembers<V>(
  members: Readonly<Record<string, V>>,
  isHidden: (name: string) => boolean,
): Record<string, V | string> {
  const shown = Object.create(null) as Record<string, V | string>;
  for (const [name, value] of Object.entries(members)) shown[name] = isHidden(name) ? hidden : value;
  return shown;
}
