// The head of a response (RFC 9112 sections 4 to 6). The length of its body also depends on the request.
import { toLowerCaseName } from './common-names.ts';
import {
  bodyUntilClose,
  keepsConnection,
  noLength,
  readBodyLength,
  takeContentLength,
  takeTransferEncoding,
} from './framing.ts';
import { Http1Error } from './http1-error.ts';
import type { KnownHead } from './known-head.ts';
import type { RawHeaders } from './raw-headers.ts';

/** A complete response head. */
export interface ResponseHead {
  readonly status: number;
  readonly httpVersion: '1.0' | '1.1';
  readonly headers: RawHeaders;
  /** Bytes of the body; `chunkedBody` for a chunked one, `bodyUntilClose` for one that ends with the connection. */
  readonly bodyLength: number;
  /** The server accepts another request on this connection. */
  readonly keepsAlive: boolean;
  /** Seconds of silence after which the server closes the connection, when it said so (Keep-Alive: timeout). */
  readonly keepAliveSeconds: number | undefined;
}

const zero = 0x30;
const space = 0x20;

/**
 * Reads a head from its first character to the empty line, which is the end of the text; `isHead`: of an answer to HEAD; `known` was compared with it.
 * Throws an Http1Error.
 */
export function readResponseHead(
  text: string,
  isHead: boolean,
  maxHeaderCount: number,
  known: KnownHead<ResponseHead>,
): ResponseHead {
  // `HTTP/1.1 200 OK`; some servers leave out the phrase, and some also the space before it.
  const lineEnd = text.indexOf('\r\n');
  const status = readStatus(text);
  const minor = text.charCodeAt(7) - zero;
  const hasPhrase = lineEnd > 12;
  if (!text.startsWith('HTTP/1.') || (minor !== 0 && minor !== 1) || text.charCodeAt(8) !== space || status < 100)
    throw new Http1Error('bad_request', 'a malformed status line');
  if (lineEnd < 12 || (hasPhrase && text.charCodeAt(12) !== space))
    throw new Http1Error('bad_request', 'a malformed status line');
  const httpVersion = minor === 1 ? '1.1' : '1.0';
  const headers = known.readFields(text, lineEnd + 2, maxHeaderCount);

  let transferEncoding: string | undefined;
  let contentLength = noLength;
  let connection = '';
  let keepAliveSeconds: number | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    switch (name.length) {
      case 10: {
        const lower = toLowerCaseName(name);
        if (lower === 'connection') connection = connection === '' ? value : `${connection},${value}`;
        else if (lower === 'keep-alive') keepAliveSeconds = readTimeout(value);
        break;
      }
      case 14:
        if (toLowerCaseName(name) !== 'content-length') break;
        contentLength = takeContentLength(contentLength, value);
        break;
      case 17:
        if (toLowerCaseName(name) !== 'transfer-encoding') break;
        transferEncoding = takeTransferEncoding(transferEncoding, value);
        break;
      default:
    }
  }
  const announced = readBodyLength(transferEncoding, contentLength, httpVersion) ?? bodyUntilClose;
  // These have no body and must not announce one (RFC 9110 section 8.6). Some servers send a length of 0, which is tolerated.
  if ((status < 200 || status === 204) && announced !== bodyUntilClose && announced !== 0)
    throw new Http1Error('bad_request', `a body announced by a response with status ${status}`);
  const hasNoBody = isHead || status < 200 || status === 204 || status === 304;
  const bodyLength = hasNoBody ? 0 : announced;
  return {
    status,
    httpVersion,
    headers,
    bodyLength,
    keepsAlive: bodyLength !== bodyUntilClose && keepsConnection(httpVersion, connection),
    keepAliveSeconds,
  };
}

/** The three digits after the version; 0 if they are not three digits. */
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
