// JSON that two readers cannot understand differently (I-JSON, RFC 7493): UTF-8, no key twice, no half surrogates, no `__proto__`, not too
// deep. The gateway judges what it reads, the server acts on what it reads: both must have read the same.
//
// One pass over the text counts keys and depth; then JSON.parse; then one pass over the values. A key that is there twice is one value but
// two keys of the text, so the counts tell.

/** Where an element of the outermost array stands in the text. */
export interface ElementSpan {
  readonly start: number;
  readonly end: number;
}

export type StrictJson =
  | {
      readonly ok: true;
      readonly value: unknown;
      readonly text: string;
      /** Of the outermost array, in order; empty when the document is none. */
      readonly elements: readonly ElementSpan[];
    }
  /** `isSyntax`: it is no JSON at all. `problem` completes "the body ..."; it never quotes the body. */
  | { readonly ok: false; readonly isSyntax: boolean; readonly problem: string };

const maxDepth = 64;
/** Keys, objects and arrays: what makes a document slow to read, whatever its size. */
const maxParts = 100_000;
/** Of the outermost array: more than any batch may have. */
const maxElements = 1_000;

// With the byte order mark kept: JSON does not begin with one.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a document, or says why two readers could differ about it. */
export function readStrictJson(bytes: Uint8Array): StrictJson {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { ok: false, isSyntax: true, problem: 'is not UTF-8' };
  }
  const scan = scanText(text);
  if (typeof scan === 'string') return { ok: false, isSyntax: false, problem: scan };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, isSyntax: true, problem: 'is not JSON' };
  }
  const seen = { keyCount: 0, problem: undefined as string | undefined };
  inspect(value, seen);
  const problem = seen.problem ?? (seen.keyCount === scan.keyCount ? undefined : 'has the same key twice');
  if (problem !== undefined) return { ok: false, isSyntax: false, problem };
  return { ok: true, value, text, elements: scan.elements };
}

const quote = 0x22;
const backslash = 0x5c;

/** The counts only make sense of valid JSON: whether it is, the parser says. A text: why it is not even given to the parser. */
function scanText(text: string): { readonly keyCount: number; readonly elements: readonly ElementSpan[] } | string {
  const elements: ElementSpan[] = [];
  let depth = 0;
  let keyCount = 0;
  let containerCount = 0;
  let isArray = false;
  let elementStart = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
      case 0x5b: // [
        if (depth === 0) {
          isArray = text.charCodeAt(at) === 0x5b;
          elementStart = at + 1;
        }
        depth += 1;
        if (depth > maxDepth) return 'is nested too deeply';
        containerCount += 1;
        if (keyCount + containerCount > maxParts) return 'has too many parts';
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1;
        if (depth === 0 && isArray) addElement(text, elementStart, at, elements);
        break;
      case 0x2c: // ,
        if (depth === 1 && isArray) {
          addElement(text, elementStart, at, elements);
          if (elements.length > maxElements) return 'has too many parts';
          elementStart = at + 1;
        }
        break;
      case 0x3a: // :
        keyCount += 1;
        if (keyCount + containerCount > maxParts) return 'has too many parts';
        break;
      case quote:
        at = findStringEnd(text, at);
        break;
    }
  }
  return { keyCount, elements };
}

/** Between `[`, `,` and `]`; nothing but white space is the inside of an empty array. */
function addElement(text: string, start: number, end: number, elements: ElementSpan[]): void {
  if (text.slice(start, end).trim() !== '') elements.push({ start, end });
}

/** The index of the closing quote; the end of the text when there is none. */
function findStringEnd(text: string, start: number): number {
  // Most are short: then looking is quicker than calling somebody who looks faster.
  const near = Math.min(start + 32, text.length);
  for (let at = start + 1; at < near; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) break;
  }
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Not deeper than the scan allowed. */
function inspect(value: unknown, seen: { keyCount: number; problem: string | undefined }): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) seen.problem = 'has a text that is not valid Unicode';
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const entry of value as readonly unknown[]) inspect(entry, seen);
    return;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(members)) {
    seen.keyCount += 1;
    if (key === '__proto__') seen.problem = 'has a key that is not allowed';
    else if (!key.isWellFormed()) seen.problem = 'has a key that is not valid Unicode';
    inspect(members[key], seen);
  }
}
