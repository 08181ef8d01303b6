// The text of heads as they are sent (RFC 9112). One string each, with one character for each byte.
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

/** `HTTP/1.1 200 OK` and CRLF. */
export function formatStatusLine(status: number): string {
  const known = statusLines[status];
  if (known !== undefined) return known;
  if (!Number.isInteger(status) || status < 100 || status > 999) throw new UnsendableHeadError(`the status ${status}`);
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  statusLines[status] = line;
  return line;
}

/** `POST /mcp HTTP/1.1` and CRLF. */
export function formatRequestLine(method: string, target: string): string {
  if (method === '' || notToken.test(method)) throw new UnsendableHeadError('the method');
  if (target === '' || notVisible.test(target)) throw new UnsendableHeadError('the target');
  return `${method} ${target} HTTP/1.1\r\n`;
}

/**
 * A field line. Throws an UnsendableHeadError for what would not be read as this one field. Values are not looked at character by character: they
 * come from heads that were read, or were checked where they were made (`isSendableValue`).
 */
export function formatField(name: string, value: string): string {
  if (name === '' || notToken.test(name)) throw new UnsendableHeadError('the name of a header field');
  // These are searched for by the machine's fastest means, which no pattern is.
  if (value.includes('\r') || value.includes('\n') || value.includes('\0') || wide.test(value))
    throw new UnsendableHeadError(`the value of ${name}`);
  return `${name}: ${value}\r\n`;
}

/** All of them. */
export function formatFields(fields: RawHeaders): string {
  let text = '';
  for (let index = 0; index < fields.length; index += 2) text += formatField(fields[index]!, fields[index + 1]!);
  return text;
}

/** True for what may stand in the value of a field (RFC 9110 section 5.5). */
export function isSendableValue(value: string): boolean {
  return !notFieldValue.test(value);
}
