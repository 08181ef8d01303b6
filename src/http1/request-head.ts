// The head of a request (RFC 9112 sections 3 to 6): request line, target, authority and framing. Heads that two implementations could read
// differently are refused, so that no request can be smuggled past this gateway.
import { toLowerCaseName } from './common-names.ts';
import {
  hasToken,
  keepsConnection,
  noLength,
  readBodyLength,
  takeContentLength,
  takeTransferEncoding,
} from './framing.ts';
import { Http1Error } from './http1-error.ts';
import { KnownHead } from './known-head.ts';
import type { RawHeaders } from './raw-headers.ts';

/** A complete request head. */
export interface RequestHead {
  readonly method: string;
  /** In origin form, '*' for a server-wide OPTIONS, empty for a CONNECT. */
  readonly target: string;
  /** Of an absolute-form target, of a CONNECT, or the Host header; empty when there is none. */
  readonly authority: string;
  readonly httpVersion: '1.0' | '1.1';
  readonly headers: RawHeaders;
  /** Bytes of the body; `chunkedBody` for a chunked one. */
  readonly bodyLength: number;
  /** The client may send another request on this connection. */
  readonly keepsAlive: boolean;
  /** The client waits for 100 (Continue) before it sends the body. */
  readonly expectsContinue: boolean;
  /** Protocol named by Upgrade; only for a bodyless 1.1 request whose Connection header lists it. */
  readonly upgradeProtocol: string | undefined;
}

/** Valid texts of the previous request on the same connection. A repeated text becomes the same string, which makes map lookups fast. */
interface TextsBefore {
  url: string;
  authority: string;
}

// An unknown method could change the framing in an unknown way.
const methods: ReadonlySet<string> = new Set(
  (
    'ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST ' +
    'PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE'
  ).split(' '),
);

const authorityPattern = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;
const absoluteFormPattern = /^https?:\/\/([^/?#]*)([^#]*)$/i;
const slash = 0x2f;

/** True for `host` or `host:port` without user information, spaces or anything else that is ambiguous. */
export function isValidAuthority(authority: string): boolean {
  return authorityPattern.test(authority);
}

/** True for a single protocol that the gateway switches to. Not h2c: its upgrade is deprecated (RFC 9113, 3.1), and the request is served as HTTP/1. */
export function isUpgradeToken(value: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z/-]+$/.test(value) && !/^(?:h2c?|http\/.*|tls\/.*)$/i.test(value);
}

/** Reads a head from its first character to the empty line, which is the end of the text. `known` was compared with it. Throws an Http1Error. */
export function readRequestHead(
  text: string,
  maxHeaderCount: number,
  before: TextsBefore,
  known = new KnownHead<RequestHead>(),
): RequestHead {
  const lineEnd = text.indexOf('\r\n');
  const methodEnd = text.indexOf(' ');
  const targetEnd = lineEnd - 9;
  if (methodEnd < 0 || methodEnd >= targetEnd || !text.startsWith(' HTTP/', targetEnd))
    throw new Http1Error('bad_request', 'a malformed request line');
  const httpVersion = takeVersion(text, targetEnd + 6);
  const method = takeMethod(text, methodEnd);
  for (let at = methodEnd + 1; at < targetEnd; at++) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code >= 0x7f)
      throw new Http1Error('bad_request', 'a character in the target that is not allowed');
  }
  const url = text.slice(methodEnd + 1, targetEnd);
  const headers = known.readFields(text, lineEnd + 2, maxHeaderCount);
  if (url !== before.url) before.url = url;
  const head = judgeRequest(method, before.url, httpVersion, headers, before.authority);
  before.authority = head.authority;
  return head;
}

function takeVersion(text: string, at: number): '1.0' | '1.1' {
  if (text.startsWith('1.1', at)) return '1.1';
  if (text.startsWith('1.0', at)) return '1.0';
  throw new Http1Error('bad_request', 'an HTTP version other than 1.1 and 1.0');
}

/** Common methods are constants and not cut out of the text, which makes map lookups fast. */
function takeMethod(text: string, end: number): string {
  if (end === 4 && text.startsWith('POST')) return 'POST';
  if (end === 3 && text.startsWith('GET')) return 'GET';
  const method = text.slice(0, end);
  if (!methods.has(method)) throw new Http1Error('bad_request', 'an unknown method');
  return method;
}

/** Validates the request line and the fields. Throws an Http1Error. */
export function judgeRequest(
  method: string,
  url: string,
  httpVersion: '1.0' | '1.1',
  headers: RawHeaders,
  authorityBefore = '',
): RequestHead {
  let host: string | undefined;
  let transferEncoding: string | undefined;
  let contentLength = noLength;
  let upgrade: string | undefined;
  let connection = '';
  let expectsContinue = false;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    // The length first: most names match none of these, and then no lower-cased copy is made.
    switch (name.length) {
      case 4:
        if (toLowerCaseName(name) !== 'host') break;
        if (host !== undefined) throw new Http1Error('missing_host', 'several Host headers');
        host = value === authorityBefore ? authorityBefore : value;
        break;
      case 6:
        if (toLowerCaseName(name) === 'expect' && value.toLowerCase() === '100-continue')
          expectsContinue = httpVersion === '1.1';
        break;
      case 7:
        if (toLowerCaseName(name) === 'upgrade') upgrade = upgrade === undefined ? value : `${upgrade}, ${value}`;
        break;
      case 10:
        if (toLowerCaseName(name) === 'connection') connection = connection === '' ? value : `${connection},${value}`;
        break;
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

  const bodyLength = readBodyLength(transferEncoding, contentLength, httpVersion) ?? 0;
  // Some implementations read the bytes after a CONNECT as a tunnel, others as a body (RFC 9110 section 9.3.6).
  if (method === 'CONNECT' && bodyLength !== 0) throw new Http1Error('bad_request', 'a CONNECT request with a body');

  if (host === undefined && httpVersion === '1.1') throw new Http1Error('missing_host', 'no Host header');
  if (host !== undefined && host !== '' && host !== authorityBefore && !isValidAuthority(host))
    throw new Http1Error('missing_host', 'invalid Host header');

  const asksForUpgrade =
    upgrade !== undefined &&
    httpVersion === '1.1' &&
    bodyLength === 0 &&
    hasToken(connection, 'upgrade') &&
    isUpgradeToken(upgrade);
  const { target, authority } = readTarget(method, url, host ?? '');
  return {
    method,
    target,
    authority,
    httpVersion,
    headers,
    bodyLength,
    keepsAlive: keepsConnection(httpVersion, connection),
    expectsContinue: expectsContinue && bodyLength !== 0,
    upgradeProtocol: asksForUpgrade && target !== '' && target !== '*' ? upgrade!.toLowerCase() : undefined,
  };
}

function readTarget(method: string, url: string, host: string): { target: string; authority: string } {
  if (url.charCodeAt(0) === slash) return { target: url, authority: host };
  if (method === 'CONNECT') {
    if (!isValidAuthority(url)) throw new Http1Error('bad_target', 'the target of CONNECT is not an authority');
    return { target: '', authority: url };
  }
  if (url === '*' && method === 'OPTIONS') return { target: '*', authority: host };
  const absolute = absoluteFormPattern.exec(url);
  if (absolute === null) throw new Http1Error('bad_target', 'the target is neither a path nor an http URL');
  const authority = absolute[1]!;
  if (!isValidAuthority(authority)) throw new Http1Error('bad_target', 'the target has no valid authority');
  const rest = absolute[2]!;
  if (rest === '' && method === 'OPTIONS') return { target: '*', authority };
  return { target: rest.startsWith('/') ? rest : `/${rest}`, authority };
}
