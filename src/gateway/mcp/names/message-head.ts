// What a message of a server says of itself, without parsing the rest of it: an answer, a request or a notification, its id and its method.
import { readString, replaceParts, skipSpace, type TextSpan, walkMembers, walkValue } from '../../../base/json-text.ts';
import { foldKey } from '../read/known-keys.ts';

export interface MessageHead {
  readonly kind: 'response' | 'request' | 'notification';
  /** JSON of the id, in the one form that JSON.stringify gives it: a server may write the same id in another one. Undefined when it has none, as an error may. */
  readonly id: string | undefined;
  /** Undefined for a response. */
  readonly method: string | undefined;
  /** A response that is an error. */
  readonly isError: boolean;
}

const headKeys: ReadonlySet<string> = new Set(['id', 'method', 'result', 'error']);
/** Nobody takes a longer key for one of them. */
const maxLookalikeLength = 24;

/** Whether some reader takes the key for one that counts. */
function isLookalike(key: string): boolean {
  return key !== 'jsonrpc' && key.length <= maxLookalikeLength && headKeys.has(foldKey(key));
}

/** No value begins there. */
const absent = -1;

/** Reads the head of one message; undefined: it is none, or two readers could differ about it. The grammar of the rest is not checked. */
export function readMessageHead(text: string): MessageHead | undefined {
  const start = skipSpace(text, 0);
  if (text[start] !== '{') return undefined;
  // Where the values begin.
  const places = { id: absent, method: absent, result: absent, error: absent };
  let isClear = true;
  const end = walkMembers(text, start, (key, at) => {
    if (key === 'id' || key === 'method' || key === 'result' || key === 'error') {
      if (places[key] !== absent) isClear = false;
      places[key] = at;
    } else if (isLookalike(key)) isClear = false;
    return undefined;
  });
  if (!isClear || text[end - 1] !== '}' || skipSpace(text, end) !== text.length) return undefined;
  const id = places.id === absent ? undefined : readId(text, places.id);
  if (places.id !== absent && id === undefined) return undefined;
  const hasResult = places.result !== absent;
  const hasError = places.error !== absent;
  const isAnswer = hasResult || hasError;
  if (places.method === absent) {
    if (!isAnswer || (hasResult && (hasError || id === undefined || id === 'null'))) return undefined;
    return { kind: 'response', id: id === 'null' ? undefined : id, method: undefined, isError: hasError };
  }
  if (isAnswer || text[places.method] !== '"' || id === 'null') return undefined;
  const method = readString(text, places.method, walkValue(text, places.method));
  return { kind: id === undefined ? 'notification' : 'request', id, method, isError: false };
}

/** The same message under another id (JSON). */
export function replaceId(text: string, id: string): string {
  return replaceMember(text, skipSpace(text, 0), ['id'], id);
}

/** The same `notifications/cancelled` about another id (JSON). */
export function replaceCancelledId(text: string, id: string): string {
  return replaceMember(text, skipSpace(text, 0), ['params', 'requestId'], id);
}

/** The same message with another progress token (JSON): in `_meta` of a request, or as the one that a notification of progress is about. */
export function replaceProgressToken(text: string, token: string): string {
  const start = skipSpace(text, 0);
  const renamed = replaceMember(text, start, ['params', '_meta', 'progressToken'], token);
  return replaceMember(renamed, start, ['params', 'progressToken'], token);
}

/** JSON of a value in a message; undefined when there is none. */
export function readMember(text: string, path: readonly string[]): string | undefined {
  const place = findMember(text, skipSpace(text, 0), path);
  return place === undefined ? undefined : text.slice(place.start, place.end);
}

/** The text with another value at this path, where there is one. */
function replaceMember(text: string, start: number, path: readonly string[], json: string): string {
  const place = findMember(text, start, path);
  return place === undefined ? text : replaceParts(text, [{ ...place, text: json }]);
}

/** Of members that are there twice the last one counts, as for JSON.parse. */
function findMember(text: string, start: number, path: readonly string[]): TextSpan | undefined {
  const [wanted, ...rest] = path;
  if (wanted === undefined) return { start, end: walkValue(text, start) };
  if (text[start] !== '{') return undefined;
  let found: TextSpan | undefined;
  walkMembers(text, start, (key, at) => {
    if (key === wanted) found = findMember(text, at, rest);
    return undefined;
  });
  return found;
}

/** A string or an integer; or null, which only an error may have. */
function readId(text: string, at: number): string | undefined {
  const json = text.slice(at, walkValue(text, at));
  if (json === 'null') return json;
  if (json.startsWith('"')) return json.includes('\\') ? JSON.stringify(readString(json, 0, json.length)) : json;
  return /^-?(?:0|[1-9][0-9]*)$/.test(json) ? json : undefined;
}
