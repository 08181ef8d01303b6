// The one scanner of JSON texts (RFC 8259): where values, members and elements begin and end, how deep they are nested, how many keys there are.
// It takes one look at each character and makes no objects for them. The grammar is left to JSON.parse: what the scanner says of a text that
// JSON.parse refuses has no meaning, except that it comes to an end.

/** A part of a text. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** What may be in a text before it is worth parsing. */
export interface ScanLimits {
  /** Nesting of objects and arrays. */
  readonly maxDepth: number;
  /** Keys, objects and arrays: what makes a document slow to read, whatever its size. */
  readonly maxParts: number;
  /** Elements of the outermost array. */
  readonly maxElements: number;
}

/** Counts what the scanner passes in one text, and notes the keys that need care. */
export class ScanTally {
  readonly #limits: ScanLimits;
  /** By depth: is the container that is open there an object? */
  readonly #isObject: boolean[] = [];
  /** The first backslash behind the key that was looked at last. */
  #backslashAt = -1;
  /** Members of all objects: a key that is there twice counts twice. */
  keyCount = 0;
  /** Objects and arrays. */
  containerCount = 0;
  /** A member is called `__proto__`, in whatever spelling. */
  hasProtoKey = false;
  /** A key has an escape in it. */
  hasEscapedKey = false;
  /** Where the commas between the elements of the outermost array stand; empty when the text is no array. */
  readonly commas: number[] = [];
  /** Why the scan ended before the text did; completes "the document ...". */
  problem: string | undefined;
  /** The problem is that the text is no JSON. */
  isSyntax = false;

  constructor(limits: ScanLimits) {
    this.#limits = limits;
  }

  /** Whether a key comes after a comma at this depth. */
  isInObject(depth: number): boolean {
    return this.#isObject[depth]!;
  }

  /** An object or array begins. This and the next two say whether the scan goes on. */
  addContainer(depth: number, isObject: boolean): boolean {
    this.containerCount += 1;
    this.#isObject[depth] = isObject;
    if (depth > this.#limits.maxDepth) return this.#stop('is nested too deeply');
    return this.keyCount + this.containerCount <= this.#limits.maxParts || this.#stop('has too many parts');
  }

  /** A string in the place of a key; `start` and `end` are its quotes. */
  addKey(text: string, start: number, end: number): boolean {
    this.keyCount += 1;
    if (text.charCodeAt(skipSpace(text, end + 1)) !== colon) {
      this.isSyntax = true;
      return this.#stop('is not JSON');
    }
    if (this.#hasBackslash(text, start, end)) {
      this.hasEscapedKey = true;
      if (isEscapedProto(text, start, end)) this.hasProtoKey = true;
    } else if (end - start === protoKey.length + 1 && text.startsWith(protoKey, start + 1)) {
      this.hasProtoKey = true;
    }
    return this.keyCount + this.containerCount <= this.#limits.maxParts || this.#stop('has too many parts');
  }

  /** An element of the outermost array has ended. */
  addComma(at: number): boolean {
    this.commas.push(at);
    return this.commas.length <= this.#limits.maxElements || this.#stop('has too many parts');
  }

  /** Looks for each backslash only once. */
  #hasBackslash(text: string, start: number, end: number): boolean {
    if (this.#backslashAt < start) {
      const next = text.indexOf('\\', start);
      this.#backslashAt = next === -1 ? text.length : next;
    }
    return this.#backslashAt < end;
  }

  #stop(problem: string): false {
    this.problem = problem;
    return false;
  }
}

/** Walks over the value that begins here and says where it ends. What is in it is counted in the tally, which can end the walk earlier. */
export function walkValue(text: string, start: number, tally?: ScanTally): number {
  let depth = 0;
  let isKeyNext = false;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    switch (code) {
      case quote: {
        const end = findStringEnd(text, at);
        if (depth === 0) return Math.min(end + 1, text.length);
        if (tally !== undefined && isKeyNext) {
          if (!tally.addKey(text, at, end)) return at;
          isKeyNext = false;
        }
        at = end;
        break;
      }
      case openBrace:
      case openBracket:
        depth += 1;
        isKeyNext = code === openBrace;
        if (tally !== undefined && !tally.addContainer(depth, isKeyNext)) return at;
        break;
      case closeBrace:
      case closeBracket:
        // Of what the value is in: a number or a word ends here.
        if (depth === 0) return at;
        depth -= 1;
        if (depth === 0) return at + 1;
        isKeyNext = false;
        break;
      case comma:
        if (depth === 0) return at;
        if (tally === undefined) break;
        isKeyNext = tally.isInObject(depth);
        if (depth === 1 && !isKeyNext && !tally.addComma(at)) return at;
        break;
      case space:
      case lineFeed:
      case carriageReturn:
      case tab:
        if (depth === 0) return at;
        break;
    }
  }
  return text.length;
}

/** Visits a value: where it begins, and where it ends if the visitor knows. Otherwise it is passed over. */
type VisitValue = (at: number) => number | undefined;

/** Visits the members of the object that begins here, in order, and says where it ends. A key that is there twice is visited twice. */
export function walkMembers(
  text: string,
  start: number,
  visit: (key: string, at: number) => number | undefined,
): number {
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = findStringEnd(text, at) + 1;
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = visit(readString(text, at, keyEnd), value) ?? walkValue(text, value);
    at = skipSeparator(text, end);
  }
  return at + 1;
}

/** Whether arrays and objects stand in each other more than so many times. The text is JSON. */
export function isNestedDeeper(text: string, maxDepth: number): boolean {
  // Each begins and ends.
  if (text.length <= 2 * maxDepth) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = findStringEnd(text, at);
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
  }
  return false;
}

/** Visits the elements of the array that begins here, and says where it ends. */
export function walkElements(text: string, start: number, visit: VisitValue): number {
  let at = skipSpace(text, start + 1);
  while (at < text.length && !isClosing(text.charCodeAt(at)))
    at = skipSeparator(text, visit(at) ?? walkValue(text, at));
  return at + 1;
}

/** The first place from here that is not white space. */
export function skipSpace(text: string, at: number): number {
  for (let next = at; ; next += 1) {
    const code = text.charCodeAt(next);
    if (code !== space && code !== lineFeed && code !== carriageReturn && code !== tab) return next;
  }
}

/** The string that stands here, quotes included, without its escapes: `"sub"` and `"\u0073ub"` are the same. */
export function readString(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : inner;
}

/** The text with parts of it replaced; the parts in order, none within another. */
export function replaceParts(text: string, parts: readonly (TextSpan & { readonly text: string })[]): string {
  let replaced = '';
  let at = 0;
  for (const part of parts) {
    replaced += text.slice(at, part.start) + part.text;
    at = part.end;
  }
  return replaced + text.slice(at);
}

/** Only a bracket closes an array; but a brace is no value either, and would never be passed. */
function isClosing(code: number): boolean {
  return code === closeBracket || code === closeBrace;
}

function skipSeparator(text: string, at: number): number {
  const next = skipSpace(text, at);
  return text.charCodeAt(next) === comma ? skipSpace(text, next + 1) : next;
}

/** The index of the closing quote; the end of the text when there is none. */
function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

const protoKey = '__proto__';
/** Every character as `\uXXXX`. */
const longestProtoKey = protoKey.length * 6;

function isEscapedProto(text: string, start: number, end: number): boolean {
  if (end - start - 1 > longestProtoKey) return false;
  try {
    return readString(text, start, end + 1) === protoKey;
  } catch {
    // An escape that does not exist: the text is no JSON.
    return false;
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const colon = 0x3a;
const comma = 0x2c;
const space = 0x20;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const tab = 0x09;
