// JSON that is judged: parsed only within limits, and accepted only when no other reader can understand it differently (I-JSON, RFC 7493).
//
// The rule for doubled keys: a key must not be in one object twice, where keys are compared without their escapes. The scanner counts the keys
// of the text; of all keys of an object that are the same the parser makes one member. So where the value has fewer members than the text has
// keys, one of them was there twice.
import { parseEscapedKeys } from './parse-escaped-keys.ts';
import { type ScanLimits, ScanTally, skipSpace, type TextSpan, walkValue } from './json-text.ts';

export interface JsonRules extends ScanLimits {
  /** RFC 8259 leaves to each reader which of two equal keys counts; where two readers must agree, there can only be one. */
  readonly refuseDoubledKeys: boolean;
  /** Such as the escape `\ud800` alone. */
  readonly refuseHalfCharacters: boolean;
}

type JsonReading =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** Of the outermost array, in order, with the white space around them; empty when the text is no array. */
      readonly elements: readonly TextSpan[];
    }
  /** `isSyntax`: it is no JSON at all. `problem` completes "the document ..."; it never quotes the document. */
  | { readonly ok: false; readonly isSyntax: boolean; readonly problem: string };

/** Reads a text. A `__proto__` key is refused wherever it is: no honest document has one, and copying it changes prototypes. */
export function readJson(text: string, rules: JsonRules): JsonReading {
  const start = skipSpace(text, 0);
  const tally = new ScanTally(rules);
  const end = walkValue(text, start, tally);
  if (tally.problem !== undefined) return { ok: false, isSyntax: tally.isSyntax, problem: tally.problem };
  let value: unknown;
  try {
    value = tally.hasEscapedKey ? parseEscapedKeys(text) : JSON.parse(text);
  } catch {
    return { ok: false, isSyntax: true, problem: 'is not JSON' };
  }
  if (tally.hasProtoKey) return refuse('has a key that is not allowed');
  const half = rules.refuseHalfCharacters ? findHalfCharacter(text, value) : undefined;
  if (half !== undefined) return refuse(`has a ${half} that is not valid Unicode`);
  if (rules.refuseDoubledKeys && countKeys(value) !== tally.keyCount) return refuse('has the same key twice');
  return { ok: true, value, elements: Array.isArray(value) ? listElements(value, start, end, tally.commas) : none };
}

function refuse(problem: string): JsonReading {
  return { ok: false, isSyntax: false, problem };
}

const none: readonly TextSpan[] = [];

/** Between the brackets and the commas; nothing is between those of an empty array. */
function listElements(value: readonly unknown[], start: number, end: number, commas: readonly number[]): TextSpan[] {
  let from = start + 1;
  return value.map((_, index) => {
    const element = { start: from, end: commas[index] ?? end - 1 };
    from = element.end + 1;
    return element;
  });
}

/** The members of all objects in a value. Not deeper than the scan allowed, as below. */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const children = listChildren(value);
  let count = Array.isArray(value) ? 0 : children.length;
  for (const child of children) count += countKeys(child);
  return count;
}

/**
 * Where in a value half of a surrogate pair is, which is no character: written as UTF-8, two different texts could become the same one. `text`
 * is what the value was parsed from: such a half is in it as it is, or as an escape.
 */
export function findHalfCharacter(text: string, value: unknown): 'key' | 'text' | undefined {
  return text.includes('\\u') || !text.isWellFormed() ? findHalf(value) : undefined;
}

function findHalf(value: unknown): 'key' | 'text' | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : 'text';
  if (typeof value !== 'object' || value === null) return undefined;
  const keys = Array.isArray(value) ? noKeys : Object.keys(value);
  if (!keys.every((key) => key.isWellFormed())) return 'key';
  for (const child of listChildren(value)) {
    const place = findHalf(child);
    if (place !== undefined) return place;
  }
  return undefined;
}

function listChildren(value: object): readonly unknown[] {
  return Array.isArray(value) ? value : Object.values(value);
}

const noKeys: readonly string[] = [];
