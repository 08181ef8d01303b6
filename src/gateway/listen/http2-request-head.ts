// Reads the head of an HTTP/2 request (RFC 9113, 8.3; extended CONNECT: RFC 8441). The parser has already refused malformed
// pseudo-headers and connection-specific fields; this refuses heads whose routing is ambiguous.
import type { Reason } from '../http/reasons.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { noLength, readContentLength } from '../../http1/framing.ts';
import { isUpgradeToken, isValidAuthority } from '../../http1/request-head.ts';

/** The verdict on a head: how to serve it, or why not. */
export type Http2RequestHead =
  | {
      readonly kind: 'accepted';
      /** GET for an extended CONNECT. */
      readonly method: string;
      readonly target: string;
      readonly authority: string;
      /** Without pseudo-headers. */
      readonly headers: RawHeaders;
      readonly expectsContinue: boolean;
      /** Protocol of an extended CONNECT. */
      readonly protocol: string | undefined;
    }
  | { readonly kind: 'refused'; readonly reason: Reason; readonly detail: string };

/** Judges a request head given as node gives it: pseudo-headers first, then the fields in order. */
export function readHttp2RequestHead(
  rawHeaders: RawHeaders,
  limits: { readonly maxHeaderCount: number; readonly maxHeaderBytes: number },
): Http2RequestHead {
  const headers: string[] = [];
  let method = '';
  let path: string | undefined;
  let authority: string | undefined;
  let protocol: string | undefined;
  let host: string | undefined;
  let expectsContinue = false;
  let cookie = -1;
  let bytes = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    const value = rawHeaders[index + 1]!;
    bytes += name.length + value.length + 32;
    if (name.charCodeAt(0) === 0x3a) {
      if (name === ':method') method = value;
      else if (name === ':path') path = value;
      else if (name === ':authority') authority = value;
      else if (name === ':protocol') protocol = value.toLowerCase();
      continue;
    }
    if (name === 'host') {
      if (host !== undefined) return refuse('missing_host', 'several Host headers');
      host = value;
    } else if (name === 'content-length') {
      if (readContentLength(value) === noLength)
        return refuse('bad_request', 'Content-Length is not a number, or too large');
    } else if (name === 'expect') {
      expectsContinue ||= value.toLowerCase() === '100-continue';
    } else if (name === 'cookie') {
      // RFC 9113, 8.2.3: clients may split Cookie into several fields, but HTTP/1 servers expect one.
      if (cookie !== -1) {
        headers[cookie] += `; ${value}`;
        continue;
      }
      cookie = headers.length + 1;
    }
    headers.push(name, value);
  }
  if (headers.length > limits.maxHeaderCount * 2) {
    return refuse('too_many_headers', `more than ${limits.maxHeaderCount} header fields`);
  }
  if (bytes > limits.maxHeaderBytes) return refuse('headers_too_large', `more than ${limits.maxHeaderBytes} bytes`);
  if (authority !== undefined && host !== undefined && authority.toLowerCase() !== host.toLowerCase()) {
    return refuse('missing_host', ':authority and Host differ');
  }
  const chosen = authority ?? host ?? '';
  if (chosen !== '' && !isValidAuthority(chosen)) return refuse('missing_host', 'invalid :authority');

  if (protocol !== undefined && method !== 'CONNECT') return refuse('bad_request', 'a :protocol without CONNECT');
  if (method === 'CONNECT' && protocol === undefined) {
    return { kind: 'accepted', method, target: '', authority: chosen, headers, expectsContinue, protocol };
  }
  if (path === undefined || !(path.startsWith('/') || (path === '*' && method === 'OPTIONS'))) {
    return refuse('bad_target', ':path is not a path');
  }
  if (protocol !== undefined) {
    // An HTTP/2 tunnel to the upstream would bypass every route.
    if (!isUpgradeToken(protocol)) return refuse('bad_request', 'this :protocol is not supported');
    // HTTP/1 asks for the same by GET and Upgrade, and an HTTP/1 upstream gets that: routes must treat both alike.
    method = 'GET';
  }
  return { kind: 'accepted', method, target: path, authority: chosen, headers, expectsContinue, protocol };
}

function refuse(reason: Reason, detail: string): Http2RequestHead {
  return { kind: 'refused', reason, detail };
}
