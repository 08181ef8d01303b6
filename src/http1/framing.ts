// How a message says where its body ends, and whether its connection goes on (RFC 9112 sections 6 and 9.3). The same rules for requests and
// responses, in one place: a difference between the two would be a way to smuggle.
import { Http1Error } from './http1-error.ts';

/** The length of a body in chunks. */
export const chunkedBody = -1;

/** The length of a body that ends with the connection. */
export const bodyUntilClose = -2;

/** True for digits that a number can count exactly: the length goes on as a number, and must be the same there. */
export function isCountableLength(contentLength: string): boolean {
  for (let at = 0; at < contentLength.length; at++) {
    const code = contentLength.charCodeAt(at);
    if (code < 0x30 || code > 0x39) return false;
  }
  return contentLength.length > 0 && Number.isSafeInteger(Number(contentLength));
}

/** The value of a Content-Length header; `before`: of one that came before it. Throws an Http1Error. */
export function takeContentLength(before: string | undefined, value: string): string {
  if (before !== undefined) throw new Http1Error('bad_request', 'several Content-Length headers');
  if (!isCountableLength(value)) throw new Http1Error('bad_request', 'Content-Length is not a number, or too large');
  return value;
}

/** The value of a Transfer-Encoding header; `before`: of one that came before it. Throws an Http1Error. */
export function takeTransferEncoding(before: string | undefined, value: string): string {
  if (before !== undefined) throw new Http1Error('bad_request', 'several Transfer-Encoding headers');
  return value;
}

/** What both say together; undefined when there is neither. Throws an Http1Error. */
export function readBodyLength(
  transferEncoding: string | undefined,
  contentLength: string | undefined,
  httpVersion: '1.0' | '1.1',
): number | undefined {
  if (transferEncoding === undefined) return contentLength === undefined ? undefined : Number(contentLength);
  if (httpVersion === '1.0') throw new Http1Error('bad_request', 'Transfer-Encoding in an HTTP/1.0 message');
  if (contentLength !== undefined) throw new Http1Error('bad_request', 'both Transfer-Encoding and Content-Length');
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
  // Not trim(): that takes away more than spaces and tabs.
  return list.split(',').some((entry) => entry.replace(/^[ \t]+|[ \t]+$/g, '').toLowerCase() === token);
}
