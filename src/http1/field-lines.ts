// Field lines (RFC 9112 section 5, RFC 9110 section 5.5): `name: value` and CRLF, nothing else. No folding, no space before the colon, no
// control characters.
import { addToHash, takeName } from './common-names.ts';
import { Http1Error } from './http1-error.ts';
import type { RawHeaders } from './raw-headers.ts';

/** 1 for the characters of a token (RFC 9110 section 5.6.2). */
export const isTokenCharacter = new Uint8Array(256);
for (const character of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  isTokenCharacter[character.charCodeAt(0)] = 1;

const tab = 0x09;
const space = 0x20;
const colon = 0x3a;

/**
 * Reads field lines from `start` on up to the empty line, which is the end of the text. The text has one character for each byte, and
 * its lines are clean (line-characters.ts). Throws an Http1Error.
 */
export function readFieldLines(text: string, start: number, maxCount: number): RawHeaders {
  const fields: string[] = [];
  readFieldLinesUpTo(fields, text, start, text.length - 2, maxCount);
  return fields;
}

/** Appends the field lines from `start` to `end` (the end of a line) to `fields`. `maxCount` limits all of them. Throws an Http1Error. */
export function readFieldLinesUpTo(fields: string[], text: string, start: number, end: number, maxCount: number): void {
  let at = start;
  while (at < end) {
    const nameAt = at;
    let code = text.charCodeAt(at);
    let hash = 0;
    while (isTokenCharacter[code] === 1) {
      hash = addToHash(hash, code);
      code = text.charCodeAt(++at);
    }
    if (code !== colon || at === nameAt) throw refuseName(code, at === nameAt);
    const name = takeName(text, nameAt, at, hash);
    do code = text.charCodeAt(++at);
    while (code === space || code === tab);
    const valueAt = at;
    at = text.indexOf('\r', at);
    let valueEnd = at;
    while (valueEnd > valueAt && isBlank(text.charCodeAt(valueEnd - 1))) valueEnd -= 1;
    // Some parsers, llhttp among them, do not read `chunked` followed by a tab as chunked.
    if (valueEnd < at && name.length === 17 && isTransferEncoding(name) && text.slice(valueEnd, at).includes('\t'))
      throw new Http1Error('bad_request', 'a tab after the transfer coding');
    fields.push(name, text.slice(valueAt, valueEnd));
    at += 2;
  }
  // The last line must end exactly where the empty line begins.
  if (at !== end) throw new Http1Error('bad_request', 'a malformed end of the header fields');
  checkFieldCount(fields, maxCount);
}

/** Throws an Http1Error when there are too many. */
export function checkFieldCount(fields: RawHeaders, maxCount: number): void {
  if (fields.length > maxCount * 2) throw new Http1Error('too_many_headers', `more than ${maxCount} header fields`);
}

function isTransferEncoding(name: string): boolean {
  return name.toLowerCase() === 'transfer-encoding';
}

function isBlank(code: number): boolean {
  return code === space || code === tab;
}

function refuseName(code: number, isEmpty: boolean): Http1Error {
  if (isEmpty && isBlank(code)) return new Http1Error('bad_request', 'a folded header line');
  if (isEmpty) return new Http1Error('bad_request', 'a header field without a name');
  if (isBlank(code)) return new Http1Error('bad_request', 'a space before the colon of a header field');
  return new Http1Error('bad_request', 'a header field name with a character that is not allowed');
}
