// Formats heads for sending (RFC 9112): one string each, with one character for each byte. A line is written together with the CRLF
// before it, so that a field consists of two pieces: the prepared name and the value.
import { commonNames } from './common-names.ts';
import type { RawHeaders } from './raw-headers.ts';

/** A head that cannot be sent: always a bug of the gateway. */
export class UnsendableHeadError extends Error {
  readonly code = 'ERR_INVALID_CHAR';

  constructor(what: string) {
    super(`${what} cannot be sent`);
    this.name = 'UnsendableHeadError';
  }
}

// Not imported: that would also load the classes of fetch, with a whole HTTP client.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

// Patterns instead of loops: iterating over a string that was cut out of another one is slow.
const notToken = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/;
const notVisible = /[^\x21-\x7e]/;
const notFieldValue = /[^\t\x20-\x7e\x80-\xff]/;
/** A character of more than one byte: only its last byte would be sent. */
const wide = /[^\0-\xff]/;

const statusLines: string[] = [];

/** The text before the value, for names that are known to be valid. */
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
 * The head with one more field line. Throws an UnsendableHeadError for text that would not be read as exactly this field. Values are not checked
 * character by character: they come from parsed heads, or were checked where they were made (`isSendableValue`).
 */
export function appendField(head: string, name: string, value: string): string {
  // includes() uses the fastest search of the machine; a pattern does not.
  if (value.includes('\r') || value.includes('\n') || value.includes('\0'))
    throw new UnsendableHeadError(`the value of ${name}`);
  return head + (linesOfNames.get(name) ?? beginLine(name)) + value;
}

function beginLine(name: string): string {
  if (name === '' || notToken.test(name)) throw new UnsendableHeadError('the name of a header field');
  return `\r\n${name}: `;
}

/** The head with all these field lines. */
export function appendFields(head: string, fields: RawHeaders): string {
  let text = head;
  for (let index = 0; index < fields.length; index += 2) text = appendField(text, fields[index]!, fields[index + 1]!);
  return text;
}

/** Completes the head with its empty line. Throws an UnsendableHeadError if it has characters of more than one byte. */
export function finishHead(head: string): string {
  const text = `${head}\r\n\r\n`;
  if (wide.test(text)) throw new UnsendableHeadError('a character of more than one byte');
  return text;
}

/**
 * True for a valid field value (RFC 9110 section 5.5): no control characters except the tab, and nothing above 0xFF, which does not fit
 * into one byte.
 */
export function isSendableValue(value: string): boolean {
  return !notFieldValue.test(value);
}
