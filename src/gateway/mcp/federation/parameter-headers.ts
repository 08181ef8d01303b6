// `Mcp-Param-*` for clients that do not know them: arguments of a tool that its server wants repeated in header fields, as its listed schema says.
import { isJsonObject } from '../../../base/json-object.ts';
import { encodeFieldValue } from '../read/header-agreement.ts';

/** One argument to repeat. */
interface RepeatedArgument {
  readonly path: readonly string[];
  readonly field: string;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Of a schema; deeper arguments are not repeated. */
const maxDepth = 16;
const maxFields = 100;

/** What the schema of a tool wants repeated. */
export function readRepeatedArguments(inputSchema: unknown): readonly RepeatedArgument[] {
  const found: RepeatedArgument[] = [];
  const visit = (schema: unknown, path: readonly string[]): void => {
    if (!isJsonObject(schema) || path.length > maxDepth) return;
    const { 'x-mcp-header': field, properties } = schema;
    if (typeof field === 'string' && token.test(field) && path.length > 0 && found.length < maxFields)
      found.push({ path, field });
    if (isJsonObject(properties))
      for (const [key, property] of Object.entries(properties)) visit(property, [...path, key]);
  };
  visit(inputSchema, []);
  return found;
}

/** The fields for a call with these arguments: name, value, name, value. */
export function writeParameterHeaders(repeated: readonly RepeatedArgument[], args: unknown): string[] {
  const headers: string[] = [];
  for (const { path, field } of repeated) {
    const text = writeValue(readPath(args, path));
    if (text !== undefined) headers.push(`mcp-param-${field}`, encodeFieldValue(text));
  }
  return headers;
}

function readPath(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

function writeValue(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  const isExact = typeof value === 'number' && Number.isFinite(value);
  return isExact && (!Number.isInteger(value) || Number.isSafeInteger(value)) ? String(value) : undefined;
}
