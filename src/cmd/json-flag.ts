// Flags whose value is JSON: charts hand lists and mappings over this way. A problem names the entry and the field.
import type { z } from 'zod';
import { checkFields } from '../api/check-fields.ts';
import { describeIssue } from '../api/describe-issue.ts';
import { listFields } from '../api/field-tree.ts';
import { formatFieldPath } from '../api/problem.ts';

/** The value, or what is wrong with it, one line each. */
type JsonFlagResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads a flag's text by a schema. `name` is what the user wrote it under: the flag or its variable. */
export function readJsonFlag<S extends z.ZodType>(schema: S, text: string, name: string): JsonFlagResult<z.output<S>> {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    return { ok: false, problems: [`${name} must be JSON: ${error instanceof Error ? error.message : String(error)}`] };
  }
  const checked = checkFields(listFields(schema), raw, 'file');
  const parsed = schema.safeParse(checked.value, { reportInput: true });
  const found = [...checked.problems, ...(parsed.success ? [] : parsed.error.issues.map(describeIssue))];
  const lines = found.map(({ path, message }) => {
    const place = formatFieldPath(path);
    return `${name}${place === '' || place.startsWith('[') ? place : `.${place}`} ${message}`;
  });
  if (parsed.success && lines.length === 0) return { ok: true, value: parsed.data };
  return { ok: false, problems: [...new Set(lines)] };
}
