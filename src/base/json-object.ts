// Reads JSON that somebody else wrote (RFC 8259): an object, not too deep, without keys that two readers could understand differently.

export interface JsonLimits {
  /** Nesting of objects and arrays. Default 32. */
  readonly maxDepth?: number;
  /** RFC 8259 leaves to each reader which of two equal keys counts; where two readers must agree, there can only be one. */
  readonly refuseDuplicateKeys?: boolean;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export type JsonObjectResult =
  | { readonly ok: true; readonly value: JsonObject }
  /** `problem` completes "the document ..."; it never quotes the document. */
  | { readonly ok: false; readonly problem: string };

const quote = 0x22;
const backslash = 0x5c;

/** Reads a JSON object. A `__proto__` key is refused wherever it is: no honest document has one, and copying it changes prototypes. */
export function readJsonObject(text: string, limits: JsonLimits = {}): JsonObjectResult {
  const problem = scan(text, limits.maxDepth ?? 32, limits.refuseDuplicateKeys ?? false);
  if (problem !== undefined) return { ok: false, problem };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: 'is not JSON' };
  }
  return isJsonObject(value) ? { ok: true, value } : { ok: false, problem: 'is not a JSON object' };
}

/** Whether a value of JSON is an object, not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * One pass over the text before it is parsed. It need not notice that the text is no JSON, the parser does; but of JSON it sees
 * every key: a string that is followed by a colon.
 */
function scan(text: string, maxDepth: number, refuseDuplicateKeys: boolean): string | undefined {
  // Of each object that is open; made with the first key.
  const keysOf: (Set<string> | undefined)[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
      case 0x5b: // [
        depth += 1;
        if (depth > maxDepth) return 'is nested too deeply';
        if (refuseDuplicateKeys) keysOf[depth] = undefined;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1;
        break;
      case quote: {
        const end = findStringEnd(text, at);
        if (end === -1) return 'is not JSON';
        if (isFollowedByColon(text, end)) {
          const key = readString(text, at, end);
          if (key === '__proto__') return 'has a key that is not allowed';
          if (refuseDuplicateKeys) {
            const keys = (keysOf[depth] ??= new Set());
            if (keys.has(key)) return 'has the same key twice';
            keys.add(key);
          }
        }
        at = end;
        break;
      }
    }
  }
  return undefined;
}

function findStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === backslash) at += 1;
    else if (code === quote) return at;
  }
  return -1;
}

function isFollowedByColon(text: string, end: number): boolean {
  for (let at = end + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d) continue;
    return code === 0x3a;
  }
  return false;
}

/** Escapes are resolved: "sub" and "\u0073ub" are the same key. */
function readString(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end);
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return raw;
  }
}
