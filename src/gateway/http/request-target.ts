// Brings a request target (RFC 9112 3.2, RFC 3986 6.2.2) into the one form that router, policies and upstream see.
// If each of them read the path in its own way, a spelling such as /%6dcp or /x/../mcp could pass a policy and still reach
// what it protects. So there is one reader, and a target that is ambiguous is refused.

/** A target in normal form, or why it is refused. */
type RequestTarget =
  | {
      readonly ok: true;
      /** Starts with '/', or is '*' (OPTIONS only). */
      readonly path: string;
      /** Including '?', exactly as received; empty when there is none. */
      readonly query: string;
    }
  | {
      readonly ok: false;
      /** For the log. */
      readonly detail: string;
    };

const refused = 0;
const plain = 1;
/** Not allowed in a path by RFC 3986, but sent raw by browsers: gets its percent-encoded spelling. */
const toEncode = 2;
const percent = 3;
const dot = 4;

const pathCharacters = buildPathCharacters();

function buildPathCharacters(): Uint8Array {
  const kinds = new Uint8Array(128).fill(refused);
  for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~!$&'()*+,;=:@/") {
    kinds[character.charCodeAt(0)] = plain;
  }
  for (const character of '"<>[]^`{|}') kinds[character.charCodeAt(0)] = toEncode;
  kinds['%'.charCodeAt(0)] = percent;
  kinds['.'.charCodeAt(0)] = dot;
  return kinds;
}

const slashCode = 0x2f;
const questionMarkCode = 0x3f;
const numberSignCode = 0x23;

/**
 * Reads a request target in origin form.
 *
 * Percent-encoded unreserved characters are decoded, the other escapes get upper-case digits, dot segments (also encoded ones)
 * are resolved. `%2F` stays encoded, `//` is not merged, `;parameters` and upper and lower case are kept. The query is not
 * interpreted here and keeps its bytes. `*` is a target only of OPTIONS.
 */
export function readTarget(target: string, method?: string): RequestTarget {
  if (target === '*' && method === 'OPTIONS') return { ok: true, path: '*', query: '' };
  if (target.charCodeAt(0) !== slashCode) return { ok: false, detail: 'the target does not start with a slash' };

  let isNormal = true;
  let end = 1;
  let previous = slashCode;
  for (; end < target.length; end += 1) {
    const code = target.charCodeAt(end);
    if (code === questionMarkCode) break;
    const kind = code < 128 ? pathCharacters[code] : refused;
    if (kind === refused) return { ok: false, detail: `the path has the character ${describeCharacter(code)}` };
    // ';' matters only behind a dot segment, which starts with a dot.
    if (kind === toEncode || kind === percent || (kind === dot && previous === slashCode)) isNormal = false;
    previous = code;
  }
  for (let index = end + 1; index < target.length; index += 1) {
    const code = target.charCodeAt(index);
    if (code < 0x21 || code > 0x7e || code === numberSignCode) {
      return { ok: false, detail: `the query has the character ${describeCharacter(code)}` };
    }
  }

  const query = target.slice(end);
  const path = target.slice(0, end);
  if (isNormal) return { ok: true, path, query };
  const unescaped = normalizeEscapes(path);
  if (!unescaped.ok) return unescaped;
  const resolved = resolveDotSegments(unescaped.path);
  if (resolved === undefined)
    return { ok: false, detail: 'the path hides a dot segment behind an encoded slash, a backslash or a parameter' };
  return { ok: true, path: resolved, query };
}

function normalizeEscapes(
  path: string,
): { readonly ok: true; readonly path: string } | { readonly ok: false; readonly detail: string } {
  let result = '';
  for (let index = 0; index < path.length; index += 1) {
    const character = path.charAt(index);
    if (character !== '%') {
      result += pathCharacters[path.charCodeAt(index)] === toEncode ? encodeByte(path.charCodeAt(index)) : character;
      continue;
    }
    const digits = path.slice(index + 1, index + 3);
    if (!/^[0-9A-Fa-f]{2}$/.test(digits)) return { ok: false, detail: 'the path has an incomplete percent escape' };
    const byte = Number.parseInt(digits, 16);
    if (byte === 0) return { ok: false, detail: 'the path has an encoded NUL' };
    const decoded = String.fromCharCode(byte);
    result += /^[A-Za-z0-9\-._~]$/.test(decoded) ? decoded : encodeByte(byte);
    index += 2;
  }
  return { ok: true, path: result };
}

function encodeByte(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

/** remove_dot_segments of RFC 3986 5.2.4; undefined when a segment becomes a dot segment for servers that decode or strip more than we do. */
function resolveDotSegments(path: string): string | undefined {
  const kept: string[] = [];
  const segments = path.split('/');
  for (let index = 1; index < segments.length; index += 1) {
    const segment = segments[index]!;
    const isLast = index === segments.length - 1;
    if (segment === '.' || segment === '..') {
      if (segment === '..') kept.pop();
      if (isLast) kept.push('');
    } else {
      if (hidesDotSegment(segment)) return undefined;
      kept.push(segment);
    }
  }
  return `/${kept.join('/')}`;
}

function hidesDotSegment(segment: string): boolean {
  return /(?:^|%2F|%5C)\.{1,2}(?:;|%2F|%5C|$)/.test(segment);
}

function describeCharacter(code: number): string {
  return code > 0x20 && code < 0x7f
    ? String.fromCharCode(code)
    : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
