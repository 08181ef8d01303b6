// Reads charts/proxy/values.yaml, the one annotated source of the chart's values: what each key is for, what it may be, and its default.
import { parse } from 'yaml';

/** JSON Schema (draft-07) as `@schema` has it. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly [keyword: string]: unknown;
}

/** A key of the values. Groups have no schema of their own. */
export interface ChartValue {
  /** From the root: `controller.image.tag`. */
  readonly path: readonly string[];
  readonly description: string;
  readonly schema: JsonSchema | undefined;
  readonly default: unknown;
}

const keyLine = /^(?<indent> *)(?<key>[\w./-]+):/;
const commentLine = /^(?<indent> *)# ?(?<text>.*)$/;
const schemaMark = '@schema ';

/** The keys in their order. Throws when a comment does not have the form that the file's head describes. */
export function readChartValues(text: string): readonly ChartValue[] {
  const defaults: unknown = parse(text);
  const values: ChartValue[] = [];
  /** The groups around the line, by their depth. */
  const path: string[] = [];
  let comment: string[] = [];
  let insideOf: number | undefined;
  for (const line of text.split('\n')) {
    const noted = commentLine.exec(line)?.groups;
    if (noted !== undefined) {
      comment.push(noted['text']!);
      continue;
    }
    const found = keyLine.exec(line)?.groups;
    if (found === undefined) {
      comment = [];
      continue;
    }
    const depth = found['indent']!.length / 2;
    // The value of a key with a schema is its default.
    if (insideOf !== undefined && depth > insideOf) continue;
    path.splice(depth, path.length, found['key']!);
    const { description, schema } = readComment(comment, path.join('.'));
    insideOf = schema === undefined ? undefined : depth;
    values.push({ path: [...path], description, schema, default: lookUp(defaults, path) });
    comment = [];
  }
  return values;
}

/** The keys that take a value, as people write them. */
export function listLeafKeys(values: readonly ChartValue[]): readonly string[] {
  return values.filter(({ schema }) => schema !== undefined).map(({ path }) => path.join('.'));
}

function readComment(lines: readonly string[], key: string): Pick<ChartValue, 'description' | 'schema'> {
  const at = lines.findIndex((line) => line.startsWith(schemaMark));
  const words = at === -1 ? lines : lines.slice(0, at);
  const description = words.join(' ').trim();
  if (description === '') throw new Error(`${key} has no description above it`);
  if (at === -1) return { description, schema: undefined };
  const [first, ...more] = lines.slice(at);
  if (more.some((line) => !/^\s/.test(line)))
    throw new Error(`${key}: lines after @schema are its continuation, and need more indentation`);
  const schema: unknown = parse([first!.slice(schemaMark.length), ...more].join('\n'));
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema) || !('type' in schema))
    throw new Error(`${key}: @schema must be an object with a type`);
  return { description, schema: schema as JsonSchema };
}

function lookUp(values: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>>)[key], values);
}
