// Reads a JSON object that somebody else wrote (RFC 8259): not too deep, without keys that two readers could understand differently.
import { readJson } from './read-json.ts';

interface JsonLimits {
  /** Nesting of objects and arrays. Default 32. */
  readonly maxDepth?: number;
  /** RFC 8259 leaves to each reader which of two equal keys counts; where two readers must agree, there can only be one. */
  readonly refuseDuplicateKeys?: boolean;
}

export type JsonObject = Readonly<Record<string, unknown>>;

type JsonObjectResult =
  | { readonly ok: true; readonly value: JsonObject }
  /** `problem` completes "the document ..."; it never quotes the document. */
  | { readonly ok: false; readonly problem: string };

/** Reads a JSON object; one with a `__proto__` key in it is refused. */
export function readJsonObject(
  text: string,
  { maxDepth = 32, refuseDuplicateKeys = false }: JsonLimits = {},
): JsonObjectResult {
  const read = readJson(text, {
    maxDepth,
    // The caller bounds the length of the text.
    maxParts: Infinity,
    maxElements: Infinity,
    refuseDoubledKeys: refuseDuplicateKeys,
    refuseHalfCharacters: false,
  });
  if (!read.ok) return { ok: false, problem: read.problem };
  return isJsonObject(read.value) ? { ok: true, value: read.value } : { ok: false, problem: 'is not a JSON object' };
}

/** Whether a value of JSON is an object, not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
