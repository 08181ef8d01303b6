// Turns what zod found into words for a person: what is wrong, and what would be right.
import type { z } from 'zod';
import { findNearestName, listAlternatives } from '../base/nearest-name.ts';
import type { Problem, ProblemCode } from './problem.ts';

type Issue = z.core.$ZodIssue;

const expectedTypes: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a whole number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
};

/** The problem that an issue stands for. Issues must carry their input (`reportInput`). */
export function describeIssue(issue: Issue): Problem {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  if (issue.code === 'custom') {
    const code: unknown = issue.params?.['code'];
    return { path, code: code === 'required' ? ('required' satisfies ProblemCode) : 'invalid', message: issue.message };
  }
  if (issue.input === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value'))
    return {
      path,
      code: 'required',
      message: issue.message.startsWith('required: ') ? issue.message : `required: ${describeExpected(issue)}`,
    };
  return { path, code: 'invalid', message: describeInvalid(issue) };
}

/** Whether an issue is about a value's own shape, rather than about a rule that spans fields. */
export function isShapeIssue(issue: Issue): boolean {
  return issue.code !== 'custom';
}

function describeExpected(issue: Extract<Issue, { code: 'invalid_type' | 'invalid_value' }>): string {
  if (issue.code === 'invalid_type') return expectedTypes[issue.expected] ?? issue.expected;
  const values = issue.values.map(String);
  return values.length === 1 ? values[0]! : `one of ${listAlternatives(values)}`;
}

function describeInvalid(issue: Exclude<Issue, { code: 'custom' }>): string {
  switch (issue.code) {
    case 'invalid_type':
      return describeWrongType(issue);
    case 'invalid_value':
      return describeWrongValue(issue);
    case 'too_small':
      return describeTooSmall(issue);
    case 'too_big':
      return describeTooBig(issue);
    case 'invalid_key': {
      const inner = issue.issues[0];
      return inner === undefined ? 'the key is not valid' : describeKey(inner);
    }
    default:
      // Patterns and unions always bring their own sentence.
      return issue.message;
  }
}

function describeKey(inner: Issue): string {
  if (inner.code === 'too_small') return 'the key must not be empty';
  if (inner.code === 'too_big') return `the key must have at most ${inner.maximum} characters`;
  return inner.message;
}

function describeWrongType(issue: Extract<Issue, { code: 'invalid_type' }>): string {
  const { input } = issue;
  const expected = expectedTypes[issue.expected] ?? issue.expected;
  if (issue.expected === 'int' && typeof input === 'number') return 'must be a whole number';
  if (
    typeof input === 'string' &&
    ['number', 'int'].includes(issue.expected) &&
    input.trim() !== '' &&
    Number.isFinite(Number(input))
  )
    return `must be ${expected}, not a string: remove the quotes`;
  if (typeof input === 'string' && issue.expected === 'boolean') return 'must be true or false, without quotes';
  if (issue.expected === 'string' && (typeof input === 'number' || typeof input === 'boolean'))
    return `must be a string, not ${nameType(input)}: put it in quotes`;
  return `must be ${expected}, not ${nameType(input)}`;
}

function describeWrongValue(issue: Extract<Issue, { code: 'invalid_value' }>): string {
  const values = issue.values.map(String);
  if (values.length === 1) return `must be ${values[0] === '' ? 'empty ("")' : values[0]}`;
  const nearest = typeof issue.input === 'string' ? findNearestName(issue.input, values) : undefined;
  const advice = nearest === undefined ? '' : `; did you mean ${nearest}?`;
  return `must be one of ${listAlternatives(values)}${advice}`;
}

function describeTooSmall(issue: Extract<Issue, { code: 'too_small' }>): string {
  const { minimum, origin, input } = issue;
  if (origin === 'string') return minimum === 1 ? 'must not be empty' : `must have at least ${minimum} characters`;
  if (origin === 'array')
    return `must have at least ${countEntries(minimum)}, has ${(input as readonly unknown[]).length}`;
  return `must be at least ${minimum}`;
}

function describeTooBig(issue: Extract<Issue, { code: 'too_big' }>): string {
  const { maximum, origin, input } = issue;
  if (origin === 'string') return `must have at most ${maximum} characters, has ${(input as string).length}`;
  if (origin === 'array')
    return `must have at most ${countEntries(maximum)}, has ${(input as readonly unknown[]).length}`;
  return `must be at most ${maximum}`;
}

function countEntries(count: number | bigint): string {
  return Number(count) === 1 ? '1 entry' : `${count} entries`;
}

function nameType(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'boolean') return `${value}`;
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'number' || typeof value === 'bigint') return 'a number';
  return `a ${typeof value}`;
}
