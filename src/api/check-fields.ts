// Compares a raw resource with its schema field by field: unknown fields, empty values, and known fields that are refused.
// Runs before zod, which then sees only known fields and reports on their values.
import { isMapping } from './mapping.ts';
import type { FieldNode } from './field-tree.ts';
import { applyFileRule } from './file-rules.ts';
import { findNearestName } from '../base/nearest-name.ts';
import type { Refusal } from './not-supported-yet.ts';
import type { Origin } from './origin.ts';
import { formatFieldPath, type Problem } from './problem.ts';

type Path = readonly (string | number)[];

/** What is left to parse, and what was wrong already. */
interface CheckedFields {
  /** A copy with only known fields, none of them null. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Required fields that a misspelled field was probably meant to be: no need to ask for them once more. */
  readonly misspelled: readonly Path[];
}

/** Checks the fields of a raw value against those of its schema. */
export function checkFields(node: FieldNode, raw: unknown, origin: Origin): CheckedFields {
  const problems: Problem[] = [];
  const misspelled: Path[] = [];

  /** The mappings around the one that is looked at. */
  const around: { readonly at: FieldNode; readonly mapping: object; readonly path: Path }[] = [];

  function visit(at: FieldNode, value: unknown, path: Path): unknown {
    const { refusal, fileRule } = at;
    if (refusal !== undefined && applies(refusal, value, origin))
      problems.push({ path, code: refusal.code, message: refusal.message });
    if (fileRule !== undefined && origin === 'file')
      for (const problem of applyFileRule(fileRule, value))
        problems.push({ ...problem, path: [...path, ...problem.path] });
    if (Array.isArray(value)) {
      const { items } = at;
      return items === undefined
        ? value
        : value.map((item: unknown, index) => visitItem(items, item, [...path, index]));
    }
    if (isMapping(value) && at.names !== undefined) return visitMapping(at, value, path);
    return value;
  }

  function visitItem(at: FieldNode, item: unknown, path: Path): unknown {
    if (item === null) problems.push({ path, code: 'invalid', message: 'is empty: give it a value or remove it' });
    return visit(at, item, path);
  }

  function visitMapping(at: FieldNode, mapping: Readonly<Record<string, unknown>>, path: Path): unknown {
    const copy: Record<string, unknown> = {};
    around.push({ at, mapping, path });
    for (const key of Object.keys(mapping)) {
      const value = mapping[key];
      const field = findField(at, key);
      const here = [...path, key];
      if (field === undefined) {
        if (origin === 'file') reportUnknown(at, key, path);
      } else if (value === null && at.nullRemoves && at.find(key) === undefined) copy[key] = null;
      else if (value === null) {
        // `field:` with nothing behind it is usually an indentation slip, and must not switch a protection off.
        if (origin === 'file' && key !== 'creationTimestamp')
          problems.push({ path: here, code: 'invalid', message: 'is empty: give it a value or remove it' });
      } else if (value !== undefined) copy[key] = visit(field, value, here);
    }
    around.pop();
    return copy;
  }

  function reportUnknown(at: FieldNode, key: string, path: Path): void {
    const valid = at.names ?? [];
    const home = findHome(at, key, path);
    if (home !== undefined) {
      misspelled.push([...home, key]);
      const place = home.length === 0 ? 'the resource itself' : formatFieldPath(home);
      const message = `unknown field here; it belongs in ${place}: check its indentation`;
      problems.push({ path: [...path, key], code: 'unknown_field', message });
      return;
    }
    const nearest = findNearestName(key, valid);
    if (nearest !== undefined) misspelled.push([...path, nearest]);
    problems.push({ path: [...path, key], code: 'unknown_field', message: describeUnknown(valid, nearest) });
  }

  /** Where a field was probably meant to be: in a mapping around that does not have it, or, when it is in the resource itself, in its spec or metadata. */
  function findHome(at: FieldNode, key: string, path: Path): Path | undefined {
    const outer = around.findLast(
      (each) => each.at !== at && !Object.hasOwn(each.mapping, key) && each.at.names?.includes(key) === true,
    );
    if (outer !== undefined || path.length > 0) return outer?.path;
    const part = ['spec', 'metadata'].find((each) => at.find(each)?.names?.includes(key) === true);
    return part === undefined ? undefined : [part];
  }

  return { value: visit(node, raw, []), problems, misspelled };
}

function describeUnknown(valid: readonly string[], nearest: string | undefined): string {
  if (nearest !== undefined) return `unknown field; did you mean \`${nearest}\`?`;
  return valid.length === 0 ? 'unknown field' : `unknown field; valid here: ${valid.join(', ')}`;
}

/** `__proto__` is never a field: assigning it would change an object's prototype. */
function findField(node: FieldNode, key: string): FieldNode | undefined {
  return key === '__proto__' ? undefined : (node.find(key) ?? node.others);
}

function applies(refusal: Refusal, value: unknown, origin: Origin): boolean {
  if (refusal.origin !== undefined && refusal.origin !== origin) return false;
  if (refusal.values !== undefined) return typeof value === 'string' && refusal.values.includes(value);
  if (refusal.unlessEmpty === true && typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return true;
}
