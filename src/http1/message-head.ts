// The text of heads as they are sent (RFC 9112). One string each, with one character for each byte. A line is written together with the CRLF
// before it, so that a field is two pieces: what is known of its name, and its value.
import { commonNames } from './common-names.ts';
import type { RawHeaders } from './raw-headers.ts';

/** A head that cannot be written down: always a mistake on our side of the wire. */
export class UnsendableHeadError extends Error {
  readonly code = 'ERR_INVALID_CHAR';

  constructor(what: string) {
    super(`${what} cannot be sent`);
    this.name = 'UnsendableHeadError';
  }
}

// Not imported: that would load the classes of fetch, too, with a whole HTTP client behind them.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

// Patterns and not loops: a string that was cut out of another one is slow to walk through.
const notToken = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/;
const notVisible = /[^\x21-\x7e]/;
const notFieldValue = /[^\t\x20-\x7e\x80-\xff]/;
/** More than one byte, of which only the last would be sent. */
const wide = /[^\0-\xff]/;

const statusLines: string[] = [];

/** What stands before the value, of names that need no look any more. */
const linesOfNames: ReadonlyMap<string, string> = new Map(commonNames.map((name) => [name, `\r\n${name}: `]));

/** `HTTP/1.1 200 OK`. */
export function formatStatusLine(status: number): string {
  const known = statusLines[status];
  if (known !== undefined) return known;
  if (!Number.isInteger(status) || status < 100 || status > 999) throw new UnsendableHeadError(`the status ${status}`);
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`;
  statusLines[status] = line;
  return line;
}

/** `POST /mcp HTTP/1.1`. */
export function formatRequestLine(method: string, target: string): string {
  if (method === '' || notToken.test(method)) throw new UnsendableHeadError('the method');
  if (target === '' || notVisible.test(target)) throw new UnsendableHeadError('the target');
  return `${method} ${target} HTTP/1.1`;
}

/**
 * The head with one more field line. Throws an UnsendableHeadError for what would not be read as this one field. Values are not looked at
 * character by character: they come from heads that were read, or were checked where they were made (`isSendableValue`).
 */
export function appendField(head: string, name: string, value: string): string {
  // These are searched for by the machine's fastest means, which no pattern is.
  if (value.includes('\r') || value.includes('\n') || value.includes('\0'))
    throw new UnsendableHeadError(`the value of ${name}`);
  return head + (linesOfNames.get(name) ?? beginLine(name)) + value;
}

function beginLine(name: string): string {
  if (name === '' || notToken.test(name)) throw new UnsendableHeadError('the name of a header field');
  return `\r\n${name}: `;
}

/** The head with all of them. */
export function appendFields(head: string, fields: RawHeaders): string {
  let text = head;
  for (let index = 0; index < fields.length; index += 2) text = appendField(text, fields[index]!, fields[index + 1]!);
  return text;
}

/** The whole head. Throws an UnsendableHeadError for one with characters of more than one byte. */
export function finishHead(head: string): string {
  const text = `${head}\r\n\r\n`;
  if (wide.test(text)) throw new UnsendableHeadError('a character of more than one byte');
  return text;
}

/**
 * True for what may stand in the value of a field (RFC 9110 section 5.5): CR, LF and NUL are never allowed, the other controls but the tab neither; above 0xFF there is
 * no byte to send.
 */
export function isSendableValue(value: string): boolean {
  return !notFieldValue.test(value);
}
