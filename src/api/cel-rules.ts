// Rules that span several fields, written once: as a check here, and as a CEL rule (x-kubernetes-validations) in the CRD.
import type { z } from 'zod';

/** One rule over the value of a schema. */
export interface CelRule<T> {
  /** The rule for the API server; `self` is the value. */
  readonly cel: string;
  /** The same rule for files and for objects that an older CRD let through. */
  readonly holds: (value: T) => boolean;
  /** What is wrong and what would be right. */
  readonly message: string;
  /** Where to report it, from the value on; the value itself when absent. */
  readonly path?: readonly string[];
  /** A broken rule means that a field is missing. */
  readonly required?: boolean;
}

/** The metadata key of CEL rules, as the CRD spells it. */
export const celRulesKey = 'x-kubernetes-validations';

/** A schema with rules that are checked once its own shape is right. */
export function withRules<S extends z.ZodType>(schema: S, rules: readonly CelRule<z.output<S>>[]): S {
  const inherited = (schema.meta()?.[celRulesKey] ?? []) as readonly unknown[];
  return schema
    .superRefine((value, context) => {
      for (const { holds, message, path, required } of rules) {
        if (holds(value)) continue;
        context.addIssue({
          code: 'custom',
          message,
          path: [...(path ?? [])],
          params: { code: required === true ? 'required' : 'invalid' },
        });
      }
    })
    .meta({ [celRulesKey]: [...inherited, ...rules.map(toCrdRule)] });
}

function toCrdRule<T>({ cel, message, path, required }: CelRule<T>) {
  return {
    rule: cel,
    message,
    ...(path !== undefined && { fieldPath: path.map((step) => `.${step}`).join('') }),
    ...(required === true && { reason: 'FieldValueRequired' }),
  };
}

/** Exactly one of the members (or, with `optional`, at most one) is set. */
export function oneOf<T extends object>(
  members: readonly (keyof T & string)[],
  options: { readonly optional?: boolean } = {},
): CelRule<T> {
  const count = members.map((member) => `(has(self.${member}) ? 1 : 0)`).join(' + ');
  const list = `${members.slice(0, -1).join(', ')} and ${members.at(-1)}`;
  const optional = options.optional === true;
  return {
    cel: optional ? `${count} <= 1` : `${count} == 1`,
    message: optional ? `must have at most one of ${list}` : `must have exactly one of ${list}`,
    holds: (value) => {
      const present = members.filter((member) => value[member] !== undefined).length;
      return optional ? present <= 1 : present === 1;
    },
  };
}

/** At least one of the members is set. */
export function someOf<T extends object>(members: readonly (keyof T & string)[]): CelRule<T> {
  return {
    cel: members.map((member) => `has(self.${member})`).join(' || '),
    message: members.length === 1 ? `must have ${members[0]}` : `must have at least one of ${members.join(', ')}`,
    holds: (value) => members.some((member) => value[member] !== undefined),
  };
}
