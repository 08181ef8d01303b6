// Rules for files only: what the API server lets through although it has no effect. A person at an editor wants to know;
// an object that Kubernetes has accepted must still be served.
import type { z } from 'zod';
import type { Problem } from './problem.ts';

/** Finds mistakes in a raw value of any shape. Paths are from the value on. */
type FileRule = (value: unknown) => readonly Problem[];

const rules = new Map<string, FileRule>();

/** The metadata key that names the rule of a schema. */
export const fileRuleKey = 'x-file-rule';

/** A schema with a rule for files. Names are unique. */
export function withFileRule<S extends z.ZodType>(schema: S, name: string, rule: FileRule): S {
  rules.set(name, rule);
  return schema.meta({ [fileRuleKey]: name });
}

/** What the named rule finds. */
export function applyFileRule(name: string, value: unknown): readonly Problem[] {
  return rules.get(name)?.(value) ?? [];
}
