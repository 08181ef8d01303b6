// The head of a response (RFC 9112 sections 4 to 6). How long its body is depends on the request, too.
import { readFieldLines } from './field-lines.ts';
import { Http1Error } from './http1-error.ts';
import type { RawHeaders } from './raw-headers.ts';
import { chunkedBody, hasToken, isCountableLength } from './request-head.ts';

/** A complete response head. */
export interface ResponseHead {
  readonly status: number;
  readonly httpVersion: '1.0' | '1.1';
  readonly headers: RawHeaders;
  /** Bytes of the body; `chunkedBody` when its chunks tell, `bodyUntilClose` when the end of the connection does. */
  readonly bodyLength: number;
  /** The server takes another request on this connection. */
  readonly keepsAlive: boolean;
  /** Seconds of silence after which the server closes the connection, when it said so (Keep-Alive: timeout). */
  readonly keepAliveSeconds: number | undefined;
}

/** The length of a body that ends with the connection. */
export const bodyUntilClose = -2;

const zero = 0x30;
const space = 0x20;

/**
 * Reads a head from its first character to the empty line, which is the end of the text; `isHead`: of an answer to HEAD.
 * Throws an Http1Error.
 */
export function readResponseHead(text: string, isHead: boolean, maxHeaderCount: number): ResponseHead {
  // `HTTP/1.1 200 OK`; servers leave out the phrase, and some of them the space before it.
  const lineEnd = text.indexOf('\r\n');
  const status = readStatus(text);
  const minor = text.charCodeAt(7) - zero;
  const hasPhrase = lineEnd > 12;
  if (!text.startsWith('HTTP/1.') || (minor !== 0 && minor !== 1) || text.charCodeAt(8) !== space || status < 100)
    throw new Http1Error('bad_request', 'a malformed status line');
  if (lineEnd < 12 || (hasPhrase && text.charCodeAt(12) !== space))
    throw new Http1Error('bad_request', 'a malformed status line');
  const httpVersion = minor === 1 ? '1.1' : '1.0';
  const headers = readFieldLines(text, lineEnd + 2, maxHeaderCount);

  let transferEncoding: string | undefined;
  let contentLength: string | undefined;
  let connection = '';
  let keepAliveSeconds: number | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    switch (name.length) {
      case 10: {
        const lower = name.toLowerCase();
        if (lower === 'connection') connection = connection === '' ? value : `${connection},${value}`;
        else if (lower === 'keep-alive') keepAliveSeconds = readTimeout(value);
        break;
      }
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (contentLength !== undefined) throw new Http1Error('bad_request', 'several Content-Length headers');
        if (!isCountableLength(value))
          throw new Http1Error('bad_request', 'Content-Length is not a number, or too large');
        contentLength = value;
        break;
      case 17:
        if (name.toLowerCase() !== 'transfer-encoding') break;
        if (transferEncoding !== undefined) throw new Http1Error('bad_request', 'several Transfer-Encoding headers');
        transferEncoding = value;
        break;
      default:
    }
  }
  if (transferEncoding !== undefined) {
    if (httpVersion === '1.0') throw new Http1Error('bad_request', 'Transfer-Encoding in an HTTP/1.0 response');
    if (contentLength !== undefined) throw new Http1Error('bad_request', 'both Transfer-Encoding and Content-Length');
    if (transferEncoding.toLowerCase() !== 'chunked')
      throw new Http1Error('bad_request', 'a transfer coding other than chunked');
  }
  // They have no body, and must not say anything about one (RFC 9110 section 8.6). A length of 0 is a habit of some servers.
  if ((status < 200 || status === 204) && (transferEncoding !== undefined || Number(contentLength ?? 0) !== 0))
    throw new Http1Error('bad_request', `a body announced by a response with status ${status}`);

  let bodyLength = bodyUntilClose;
  if (isHead || status < 200 || status === 204 || status === 304) bodyLength = 0;
  else if (transferEncoding !== undefined) bodyLength = chunkedBody;
  else if (contentLength !== undefined) bodyLength = Number(contentLength);
  const wantsMore =
    httpVersion === '1.1'
      ? !hasToken(connection, 'close')
      : hasToken(connection, 'keep-alive') && !hasToken(connection, 'close');
  return {
    status,
    httpVersion,
    headers,
    bodyLength,
    keepsAlive: wantsMore && bodyLength !== bodyUntilClose,
    keepAliveSeconds,
  };
}

/** The three digits after the version; 0 when they are not. */
function readStatus(text: string): number {
  const hundreds = text.charCodeAt(9) - zero;
  const tens = text.charCodeAt(10) - zero;
  const ones = text.charCodeAt(11) - zero;
  if (!(hundreds >= 1 && hundreds <= 9 && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9)) return 0;
  return hundreds * 100 + tens * 10 + ones;
}

function readTimeout(value: string): number | undefined {
  const found = /(?:^|[,\s])timeout=([0-9]{1,6})(?:$|[,\s;])/i.exec(value);
  return found === null ? undefined : Number(found[1]);
}
