// What the head of an HTTP/1 request says about target, authority and framing (RFC 9112), stricter than the parser:
// whatever two implementations could read in two ways is refused, so that nothing can be smuggled past this gateway.
import type { Reason } from '../reasons.ts';
import type { RawHeaders } from './exchange.ts';

/** The parts of a parsed head that this module judges. */
export interface Http1HeadLines {
  readonly method: string;
  readonly url: string;
  readonly httpVersion: string;
  readonly rawHeaders: RawHeaders;
}

/** The verdict on a head: how to serve it, or why not. */
export type Http1RequestHead =
  | {
      readonly kind: 'accepted';
      readonly target: string;
      readonly authority: string;
      readonly hasBody: boolean;
      /** Protocol named by Upgrade; only for a bodyless 1.1 request whose Connection header lists it. */
      readonly upgradeProtocol: string | undefined;
    }
  | { readonly kind: 'refused'; readonly reason: Reason; readonly detail: string };

const authorityPattern = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;
const absoluteFormPattern = /^https?:\/\/([^/?#]*)(.*)$/i;

/** True for `host` or `host:port` without user information, spaces or anything else that could be read in two ways. */
export function isValidAuthority(authority: string): boolean {
  return authorityPattern.test(authority);
}

/** True for digits that a number can count exactly: the length goes upstream as a number, and must be the same there. */
export function isCountableLength(contentLength: string): boolean {
  return /^[0-9]+$/.test(contentLength) && Number.isSafeInteger(Number(contentLength));
}

/** One protocol that is worth switching to. h2c is not: its upgrade is deprecated (RFC 9113, 3.1), and the request is simply served. */
export function isUpgradeToken(value: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z/-]+$/.test(value) && !/^(?:h2c?|http\/.*|tls\/.*)$/i.test(value);
}

/** Judges a request head of at most `maxHeaderCount` fields. */
export function readHttp1RequestHead(lines: Http1HeadLines, maxHeaderCount: number): Http1RequestHead {
  const { method, url, httpVersion, rawHeaders } = lines;
  if (rawHeaders.length > maxHeaderCount * 2) {
    return refuse('too_many_headers', `more than ${maxHeaderCount} header fields`);
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return refuse('bad_request', `HTTP version ${httpVersion}`);

  let host: string | undefined;
  let transferEncoding: string | undefined;
  let contentLength: string | undefined;
  let upgrade: string | undefined;
  let connectionHasUpgrade = false;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    const value = rawHeaders[index + 1]!;
    // The length first: most names are none of these, and no lower-cased copy is made for them.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() !== 'host') break;
        if (host !== undefined) return refuse('missing_host', 'several Host headers');
        host = value;
        break;
      case 7:
        if (name.toLowerCase() === 'upgrade') upgrade = upgrade === undefined ? value : `${upgrade}, ${value}`;
        break;
      case 10:
        if (name.toLowerCase() === 'connection' && hasToken(value, 'upgrade')) connectionHasUpgrade = true;
        break;
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (contentLength !== undefined) return refuse('bad_request', 'several Content-Length headers');
        if (!isCountableLength(value)) return refuse('bad_request', 'Content-Length is not a number, or too large');
        contentLength = value;
        break;
      case 17:
        if (name.toLowerCase() !== 'transfer-encoding') break;
        if (transferEncoding !== undefined) return refuse('bad_request', 'several Transfer-Encoding headers');
        transferEncoding = value;
        break;
      default:
    }
  }

  if (transferEncoding !== undefined) {
    if (httpVersion === '1.0') return refuse('bad_request', 'Transfer-Encoding in an HTTP/1.0 request');
    if (contentLength !== undefined) return refuse('bad_request', 'both Transfer-Encoding and Content-Length');
    if (transferEncoding.toLowerCase() !== 'chunked') {
      return refuse('bad_request', 'a transfer coding other than chunked');
    }
  }
  const hasBody = transferEncoding !== undefined || (contentLength !== undefined && !/^0+$/.test(contentLength));

  if (host === undefined && httpVersion === '1.1') return refuse('missing_host', 'no Host header');
  if (host !== undefined && host !== '' && !isValidAuthority(host))
    return refuse('missing_host', 'invalid Host header');

  const upgradeProtocol =
    upgrade !== undefined && connectionHasUpgrade && httpVersion === '1.1' && !hasBody && isUpgradeToken(upgrade)
      ? upgrade.toLowerCase()
      : undefined;

  if (url.charCodeAt(0) === 0x2f) {
    return { kind: 'accepted', target: url, authority: host ?? '', hasBody, upgradeProtocol };
  }
  if (method === 'CONNECT') {
    if (!isValidAuthority(url)) return refuse('bad_target', 'the target of CONNECT is not an authority');
    return { kind: 'accepted', target: '', authority: url, hasBody, upgradeProtocol: undefined };
  }
  if (url === '*' && method === 'OPTIONS') {
    return { kind: 'accepted', target: '*', authority: host ?? '', hasBody, upgradeProtocol: undefined };
  }
  const absolute = absoluteFormPattern.exec(url);
  if (absolute === null) return refuse('bad_target', 'the target is neither a path nor an http URL');
  const authority = absolute[1]!;
  if (!isValidAuthority(authority)) return refuse('bad_target', 'the target has no valid authority');
  const rest = absolute[2]!;
  let target = rest.startsWith('/') ? rest : `/${rest}`;
  if (rest === '' && method === 'OPTIONS') target = '*';
  return { kind: 'accepted', target, authority, hasBody, upgradeProtocol };
}

function hasToken(list: string, token: string): boolean {
  return list.split(',').some((entry) => entry.trim().toLowerCase() === token);
}

function refuse(reason: Reason, detail: string): Http1RequestHead {
  return { kind: 'refused', reason, detail };
}
