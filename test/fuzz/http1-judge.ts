// The property: whatever the reader of src/http1 accepts, the referee reads as the same messages. It may refuse more.
import type { OwnReading } from './http1-own-reader.ts';
import type { Reading, ReadMessage, StreamKind } from './http1-reading.ts';

/** How the reader may differ from itself, when the same bytes arrive in other pieces: undefined when it does not. */
export function findSplitDifference(whole: OwnReading, pieces: OwnReading): string | undefined {
  if (whole.outcome !== pieces.outcome) return `at once it is ${whole.outcome}, in pieces ${pieces.outcome}`;
  // Only how large a head is can be known before or after the rest of it.
  const isSizeError = whole.code === 'headers_too_large' || pieces.code === 'headers_too_large';
  if (whole.code !== pieces.code && !isSizeError) return `at once it is ${whole.code}, in pieces ${pieces.code}`;
  if (whole.messages.length !== pieces.messages.length)
    return `at once it has ${whole.messages.length} messages, in pieces ${pieces.messages.length}`;
  for (const [index, message] of whole.messages.entries()) {
    const difference = findMessageDifference(message, pieces.messages[index]!, false);
    if (difference !== undefined) return `in pieces, message ${index}: ${difference}`;
  }
  if ((whole.unfinished === undefined) !== (pieces.unfinished === undefined))
    return 'an unfinished message, in one way only';
  if (whole.unfinished === undefined || pieces.unfinished === undefined) return undefined;
  return findMessageDifference(whole.unfinished, pieces.unfinished, true);
}

/** Where a valid stream was not read to its end, or the connection is said to end too early: undefined when all was. */
export function findRefusal(own: OwnReading, referee: Reading): string | undefined {
  if (own.outcome !== 'complete') return `a valid stream is ${own.outcome}: ${own.error ?? ''}`;
  if (referee.outcome !== 'complete')
    return `the referee has a valid stream ${referee.outcome}: ${referee.error ?? ''}`;
  if (own.messages.length !== referee.messages.length)
    return `${referee.messages.length} valid messages, ${own.messages.length} accepted`;
  const early = own.messages.findIndex(
    ({ closes }, index) => closes === true && referee.messages[index]!.closes === false,
  );
  return early === -1 ? undefined : `the connection ends after message ${early} for the reader only`;
}

/** Where the reader took something for a message that the referee does not, or not like this: undefined when it is all the same. */
export function findAcceptedDifference(kind: StreamKind, own: OwnReading, referee: Reading): string | undefined {
  for (const [index, message] of own.messages.entries()) {
    const other = referee.messages[index];
    if (other === undefined) return `message ${index} is none for the referee (${referee.error ?? referee.outcome})`;
    const difference = findRefereeDifference(kind, message, other, false);
    if (difference !== undefined) return `message ${index}: ${difference}`;
  }
  if (own.unfinished === undefined) return undefined;
  const other = referee.messages[own.messages.length] ?? referee.unfinished;
  if (other === undefined) return `the last head is none for the referee (${referee.error ?? referee.outcome})`;
  const difference = findRefereeDifference(kind, own.unfinished, other, true);
  return difference === undefined ? undefined : `the last head: ${difference}`;
}

function findRefereeDifference(
  kind: StreamKind,
  own: ReadMessage,
  referee: ReadMessage,
  isPart: boolean,
): string | undefined {
  if (own.switches && !referee.switches) return 'only the reader has another protocol follow';
  const startLine = kind === 'request' ? splitTarget(referee) : referee.startLine.split(' ', 2).join(' ');
  return findMessageDifference(own, { ...referee, startLine }, isPart);
}

/** `isPart`: the first one may lack the end of its body. */
function findMessageDifference(one: ReadMessage, other: ReadMessage, isPart: boolean): string | undefined {
  if (one.startLine !== other.startLine) return `start lines ${quote(one.startLine)} and ${quote(other.startLine)}`;
  if (!isSameList(one.headers, other.headers)) return `headers ${quote(one.headers)} and ${quote(other.headers)}`;
  // To close more often than the other side expects is safe.
  if (other.closes === true && one.closes === false) return 'the connection goes on, though it ends for the other';
  if (isPart) return other.body.startsWith(one.body) ? undefined : `bodies ${quote(one.body)} and ${quote(other.body)}`;
  if (one.body !== other.body) return `bodies ${quote(one.body)} and ${quote(other.body)}`;
  if (!isSameList(one.trailers, other.trailers)) return `trailers ${quote(one.trailers)} and ${quote(other.trailers)}`;
  if (one.end !== undefined && other.end !== undefined && one.end !== other.end)
    return `they end at ${one.end} and ${other.end}`;
  return undefined;
}

/** The reader splits targets into path and authority. The referee leaves that to others: here, by other means than the reader's. */
function splitTarget({ startLine, headers }: ReadMessage): string {
  const [method = '', url = '', version = ''] = startLine.split(' ');
  const hostAt = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  const host = hostAt === -1 ? '' : headers[hostAt + 1]!;
  if (url.startsWith('/') || url === '*') return `${method} ${url} ${host} ${version}`;
  if (method === 'CONNECT') return `${method}  ${url} ${version}`;
  const [scheme = '', , authority = '', ...path] = url.split('/');
  if (!['http:', 'https:'].includes(scheme.toLowerCase())) return startLine;
  const queryAt = authority.search(/[?#]/);
  const bare = queryAt === -1 ? authority : authority.slice(0, queryAt);
  const rest = url.slice(`${scheme}//${bare}`.length);
  const target = path.length > 0 && queryAt === -1 ? rest : rest === '' && method === 'OPTIONS' ? '*' : `/${rest}`;
  return `${method} ${target} ${bare} ${version}`;
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index += 1) if (one[index] !== other[index]) return false;
  return true;
}

function quote(value: string | readonly string[]): string {
  return JSON.stringify(value);
}
