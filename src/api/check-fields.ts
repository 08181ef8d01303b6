// Compares a raw resource with its schema field by field: unknown fields, empty values, and known fields that are refused.
// Runs before zod, which then sees only known fields and reports on their values.
import { isMapping } from './mapping.ts';
import { applyFileRule, fileRuleKey } from './file-rules.ts';
import { nullRemovesKey } from './free-form.ts';
import { findNearestName } from '../base/nearest-name.ts';
import { refusalKey } from './not-supported-yet.ts';
import type { Refusal } from './not-supported-yet.ts';
import type { Origin } from './origin.ts';
import type { Problem } from './problem.ts';
import type { SchemaNode } from './schema-description.ts';

type Path = readonly (string | number)[];

/** What is left to parse, and what was wrong already. */
export interface CheckedFields {
  /** A copy with only known fields, none of them null. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Required fields that a misspelled field was probably meant to be: no need to ask for them once more. */
  readonly misspelled: readonly Path[];
}

/** Checks the fields of a raw value against its described schema. */
export function checkFields(node: SchemaNode, raw: unknown, origin: Origin): CheckedFields {
  const problems: Problem[] = [];
  const misspelled: Path[] = [];

  function visit(at: SchemaNode, value: unknown, path: Path): unknown {
    const refusal = at[refusalKey];
    if (refusal !== undefined && applies(refusal, value, origin))
      problems.push({ path, code: refusal.code, message: refusal.message });
    const rule = at[fileRuleKey];
    if (rule !== undefined && origin === 'file')
      for (const problem of applyFileRule(rule, value)) problems.push({ ...problem, path: [...path, ...problem.path] });
    if (Array.isArray(value)) {
      const { items } = at;
      return items === undefined
        ? value
        : value.map((item: unknown, index) => visitItem(items, item, [...path, index]));
    }
    if (isMapping(value) && (at.properties !== undefined || at.additionalProperties !== undefined))
      return visitMapping(at, value, path);
    return value;
  }

  function visitItem(at: SchemaNode, item: unknown, path: Path): unknown {
    if (item === null) problems.push({ path, code: 'invalid', message: 'is empty: give it a value or remove it' });
    return visit(at, item, path);
  }

  function visitMapping(at: SchemaNode, mapping: Readonly<Record<string, unknown>>, path: Path): unknown {
    const copy: Record<string, unknown> = {};
    for (const key of Object.keys(mapping)) {
      const value = mapping[key];
      const field = findField(at, key);
      const here = [...path, key];
      if (field === undefined) {
        if (origin === 'file') reportUnknown(at, key, path);
      } else if (value === null && at[nullRemovesKey] === true && !isDeclared(at, key)) copy[key] = null;
      else if (value === null) {
        // `field:` with nothing behind it is usually an indentation slip, and must not switch a protection off.
        if (origin === 'file' && key !== 'creationTimestamp')
          problems.push({ path: here, code: 'invalid', message: 'is empty: give it a value or remove it' });
      } else if (value !== undefined) copy[key] = visit(field, value, here);
    }
    return copy;
  }

  function reportUnknown(at: SchemaNode, key: string, path: Path): void {
    const valid = Object.keys(at.properties ?? {});
    const nearest = findNearestName(key, valid);
    if (nearest !== undefined) misspelled.push([...path, nearest]);
    problems.push({ path: [...path, key], code: 'unknown_field', message: describeUnknown(valid, nearest) });
  }

  return { value: visit(node, raw, []), problems, misspelled };
}

function describeUnknown(valid: readonly string[], nearest: string | undefined): string {
  if (nearest !== undefined) return `unknown field; did you mean \`${nearest}\`?`;
  return valid.length === 0 ? 'unknown field' : `unknown field; valid here: ${valid.join(', ')}`;
}

/** `__proto__` is never a field: assigning it would change an object's prototype. */
function findField(node: SchemaNode, key: string): SchemaNode | undefined {
  if (key === '__proto__') return undefined;
  if (isDeclared(node, key)) return node.properties![key];
  return node.additionalProperties === false ? undefined : node.additionalProperties;
}

function isDeclared(node: SchemaNode, key: string): boolean {
  return node.properties !== undefined && Object.hasOwn(node.properties, key);
}

function applies(refusal: Refusal, value: unknown, origin: Origin): boolean {
  if (refusal.origin !== undefined && refusal.origin !== origin) return false;
  if (refusal.values !== undefined) return typeof value === 'string' && refusal.values.includes(value);
  if (refusal.itemsBeyond !== undefined) return Array.isArray(value) && value.length > refusal.itemsBeyond;
  if (refusal.above !== undefined) return typeof value === 'number' && value > refusal.above;
  if (refusal.unlessEmpty === true && typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return true;
}
