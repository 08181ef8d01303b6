// Where the body of a message ends, and whether its connection is kept (RFC 9112 sections 6 and 9.3). Requests and responses share
// these rules: a difference between the two would allow request smuggling.
import { Http1Error } from './http1-error.ts';

/** The length of a chunked body. */
export const chunkedBody = -1;

/** The length of a body that ends with the connection. */
export const bodyUntilClose = -2;

/** No Content-Length, or an invalid one. */
export const noLength = -1;

/** Parses a Content-Length: only digits, and no larger than a number holds exactly. Otherwise `noLength`. */
export function readContentLength(value: string): number {
  let length = 0;
  for (let at = 0; at < value.length; at++) {
    const digit = value.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9 || length > (Number.MAX_SAFE_INTEGER - digit) / 10) return noLength;
    length = length * 10 + digit;
  }
  return value === '' ? noLength : length;
}

/** Takes the value of a Content-Length header; `before` is the value of an earlier one. Throws an Http1Error. */
export function takeContentLength(before: number, value: string): number {
  if (before !== noLength) throw new Http1Error('bad_request', 'several Content-Length headers');
  const length = readContentLength(value);
  if (length === noLength) throw new Http1Error('bad_request', 'Content-Length is not a number, or too large');
  return length;
}

/** Takes the value of a Transfer-Encoding header; `before` is the value of an earlier one. Throws an Http1Error. */
export function takeTransferEncoding(before: string | undefined, value: string): string {
  if (before !== undefined) throw new Http1Error('bad_request', 'several Transfer-Encoding headers');
  return value;
}

/** The body length by both headers; undefined without either. Throws an Http1Error. */
export function readBodyLength(
  transferEncoding: string | undefined,
  contentLength: number,
  httpVersion: '1.0' | '1.1',
): number | undefined {
  if (transferEncoding === undefined) return contentLength === noLength ? undefined : contentLength;
  if (httpVersion === '1.0') throw new Http1Error('bad_request', 'Transfer-Encoding in an HTTP/1.0 message');
  if (contentLength !== noLength) throw new Http1Error('bad_request', 'both Transfer-Encoding and Content-Length');
  if (transferEncoding.toLowerCase() !== 'chunked')
    throw new Http1Error('bad_request', 'a transfer coding other than chunked');
  return chunkedBody;
}

/** Whether another message may follow, by the version and the Connection header. */
export function keepsConnection(httpVersion: '1.0' | '1.1', connection: string): boolean {
  return (httpVersion === '1.1' || hasToken(connection, 'keep-alive')) && !hasToken(connection, 'close');
}

/** Whether a Connection header lists an option. */
export function hasToken(list: string, token: string): boolean {
  if (!list.includes(',')) return list.length === token.length && list.toLowerCase() === token;
  // Not trim(): that removes more than spaces and tabs.
  return list.split(',').some((entry) => entry.replace(/^[ \t]+|[ \t]+$/g, '').toLowerCase() === token);
}
