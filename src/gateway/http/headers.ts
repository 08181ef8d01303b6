// Header fields on their way through the gateway (RFC 9110 section 7.6): removes hop-by-hop fields, adds the gateway's own, and applies the
// header modifiers of Gateway API. Flat lists in wire order, one pass each.
import { isIPv6 } from 'node:net';
import { copyText } from '../../base/cut-text.ts';
import { rememberTexts } from '../../base/text-memory.ts';
import { toLowerCaseName } from '../../http1/common-names.ts';
import { isSendableValue } from '../../http1/message-head.ts';
import type { HeaderModifier } from '../../ir/gen/config_pb.ts';
import type { RawHeaders } from './exchange.ts';
import { dropOwnCookies } from './own-cookies.ts';
import { roundField, foldName, isCommonName, readFieldName } from './field-name.ts';

export interface RequestHeadersInput {
  /** As the client sent them. */
  readonly headers: RawHeaders;
  readonly remoteAddress: string;
  readonly scheme: 'http' | 'https';
  /** Host or :authority as received. */
  readonly authority: string;
  readonly localPort: number;
  readonly requestId: string;
  /** The peer's X-Forwarded-* headers are trusted. */
  readonly isTrustedPeer?: boolean;
  /** Lower-case names with '-': dropped in every spelling. */
  readonly removedFields?: ReadonlySet<string> | undefined;
  /** True for fields (lower-case names with '-') that are forwarded even if the client's Connection names them, because a decision depends on them. */
  readonly isEndToEnd?: ((canonicalName: string) => boolean) | undefined;
  /** How often the request has passed this gateway (loop-guard.ts). */
  readonly round?: string | undefined;
  /** Forwards `te: trailers`: for HTTP/2 upstreams, because gRPC requires it. */
  readonly keepTeTrailers?: boolean;
}

/** The client's header fields for the upstream, before modifiers and policies: without hop-by-hop, host and framing fields, and with the gateway's X-Forwarded-* and X-Request-Id. */
export function prepareRequestHeaders(input: RequestHeadersInput): string[] {
  const { headers, remoteAddress, authority, removedFields } = input;
  const named = readConnectionOptions(headers);
  const trusted = input.isTrustedPeer === true;
  const prepared: string[] = [];
  let forwardedFor = '';
  let forwardedProto = '';
  let forwardedHost = '';
  let forwardedPort = '';
  let wantsTrailers = false;

  for (let i = 0; i < headers.length; i += 2) {
    const field = readFieldName(headers[i]!);
    const value = headers[i + 1]!;
    const { lowerCase: name, canonical } = field;
    if (field.endsWithRequest) {
      if (name === 'te' && input.keepTeTrailers === true && hasToken(value, 'trailers')) wantsTrailers = true;
      continue;
    }
    if (removedFields?.has(canonical) === true) continue;
    if (!trusted && field.isForwarding) continue;
    if (field.isOwn) {
      if (name === 'x-forwarded-for') forwardedFor = forwardedFor === '' ? value : `${forwardedFor}, ${value}`;
      else if (name === 'x-forwarded-proto') forwardedProto = value;
      else if (name === 'x-forwarded-host') forwardedHost = value;
      else if (name === 'x-forwarded-port') forwardedPort = value;
      continue;
    }
    if (named?.has(name) === true && input.isEndToEnd?.(canonical) !== true) continue;
    if (name === 'cookie') {
      const cookies = dropOwnCookies(value);
      if (cookies !== undefined) prepared.push(headers[i]!, cookies);
      continue;
    }
    prepared.push(headers[i]!, value);
  }

  if (wantsTrailers) prepared.push('te', 'trailers');
  prepared.push('x-forwarded-for', forwardedFor === '' ? remoteAddress : `${forwardedFor}, ${remoteAddress}`);
  prepared.push('x-forwarded-proto', forwardedProto === '' ? input.scheme : forwardedProto);
  prepared.push('x-forwarded-host', forwardedHost === '' ? authority : forwardedHost);
  prepared.push(
    'x-forwarded-port',
    forwardedPort === ''
      ? readPort(forwardedHost || authority, findPort(forwardedProto, input.localPort))
      : forwardedPort,
  );
  prepared.push('x-request-id', input.requestId);
  if (input.round !== undefined) prepared.push(roundField, input.round);
  return prepared;
}

/** The upstream's header fields for the client: without hop-by-hop fields, with the modifiers applied in order; the gateway's own fields replace those of the same name. */
export function prepareResponseHeaders(
  headers: RawHeaders,
  modifiers: readonly HeaderModifier[],
  extra: RawHeaders,
): RawHeaders {
  const named = readConnectionOptions(headers);
  // Without modifiers one pass is enough.
  const replaced = modifiers.length === 0 ? extra : nothing;
  let prepared: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const { lowerCase, endsWithAnswer } = readFieldName(headers[i]!);
    if (endsWithAnswer || named?.has(lowerCase) === true || isReplaced(lowerCase, replaced)) continue;
    prepared.push(headers[i]!, headers[i + 1]!);
  }
  if (modifiers.length > 0) {
    for (const modifier of modifiers) prepared = applyHeaderModifier(prepared, modifier);
    prepared = prepared.filter((_, i, all) => !isReplaced(all[i - (i % 2)]!.toLowerCase(), extra));
  }
  for (let i = 0; i < extra.length; i += 1) prepared.push(extra[i]!);
  return prepared;
}

const nothing: RawHeaders = [];

/** Upstream and gateway both add to Vary and Set-Cookie; any other field of the gateway replaces the upstream's. */
function isReplaced(lowerCaseName: string, extra: RawHeaders): boolean {
  for (let i = 0; i < extra.length; i += 2)
    if (isNamed(extra[i]!, lowerCaseName)) return lowerCaseName !== 'vary' && lowerCaseName !== 'set-cookie';
  return false;
}

/** Trailer fields without those that are not allowed in trailers. */
export function prepareTrailers(trailers: RawHeaders): RawHeaders {
  if (trailers.length === 0) return trailers;
  const prepared: string[] = [];
  for (let i = 0; i < trailers.length; i += 2) {
    if (!readFieldName(trailers[i]!).isForbiddenTrailer) prepared.push(trailers[i]!, trailers[i + 1]!);
  }
  return prepared;
}

/**
 * HTTPHeaderFilter of Gateway API: `set` overwrites (all fields of that name become one, in the place of the first), `add` appends to what is there,
 * `remove` removes. Names without regard to case; the order of everything else is kept.
 */
export function applyHeaderModifier(headers: RawHeaders, modifier: HeaderModifier): string[] {
  return modifyHeaders(headers, modifier, false);
}

/**
 * The same for requests, where a set or removed field replaces every spelling of its name: otherwise a client could send X_User past a rule
 * for X-User, and servers that follow CGI take both for the same field.
 */
export function applyRequestHeaderModifier(headers: RawHeaders, modifier: HeaderModifier): string[] {
  return modifyHeaders(headers, modifier, true);
}

function modifyHeaders(headers: RawHeaders, modifier: HeaderModifier, inEverySpelling: boolean): string[] {
  const removed = new Set<string>();
  for (const name of modifier.remove) removed.add(name.toLowerCase());
  const pending = new Map<string, { readonly name: string; readonly value: string }>();
  // "If the filter specifies the same name more than once, only the first entry counts."
  for (const header of modifier.set)
    if (!pending.has(header.name.toLowerCase())) pending.set(header.name.toLowerCase(), header);
  const overwritten = new Set(pending.keys());
  const spellings = inEverySpelling ? new Set([...overwritten, ...removed].map(foldName)) : undefined;

  const changed: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (overwritten.has(name)) {
      const header = pending.get(name);
      if (header === undefined) continue;
      pending.delete(name);
      changed.push(header.name, header.value);
    } else if (!removed.has(name) && spellings?.has(foldName(name)) !== true) {
      changed.push(headers[i]!, headers[i + 1]!);
    }
  }
  for (const header of pending.values()) changed.push(header.name, header.value);
  const added = new Set<string>();
  for (const header of modifier.add) {
    const name = header.name.toLowerCase();
    if (added.has(name)) continue;
    added.add(name);
    changed.push(header.name, header.value);
  }
  return changed;
}

const validName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The name of the first field that must not be sent (control characters in the value, or a name that is not a token); undefined when all are fine. */
export function findUnsendableHeader(headers: RawHeaders): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (!(isCommonName(name) || validName.test(name)) || !isSendableValue(headers[i + 1]!)) return name;
  }
  return undefined;
}

const sendableModifications = new WeakMap<HeaderModifier, boolean>();

/** Whether every field that a modifier writes can be sent. Checked once, because a modifier does not change. */
export function isSendableModification(modifier: HeaderModifier): boolean {
  let isSendable = sendableModifications.get(modifier);
  if (isSendable === undefined) {
    const written = [...modifier.set, ...modifier.add].flatMap(({ name, value }) => [name, value]);
    isSendable = findUnsendableHeader(written) === undefined;
    sendableModifications.set(modifier, isSendable);
  }
  return isSendable;
}

/** The headers without fields of these lower-case names, in every spelling: a server behind the gateway may read X_User as X-User, as CGI does. */
export function withoutFields(headers: RawHeaders, names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (!names.has(readFieldName(headers[i]!).canonical)) kept.push(headers[i]!, headers[i + 1]!);
  }
  return kept;
}

/** The value of the first field of this name. */
export function findHeader(headers: RawHeaders, lowerCaseName: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (isNamed(headers[i]!, lowerCaseName)) return headers[i + 1]!;
  return undefined;
}

/** Whether an answer with these headers is an event stream, which may stay open indefinitely. */
export function isEventStream(headers: RawHeaders): boolean {
  const contentType = findHeader(headers, 'content-type');
  return contentType !== undefined && /^text\/event-stream/i.test(contentType);
}

/** Compares the length first: it tells nearly all names apart, and most names are in lower case. */
function isNamed(name: string, lowerCaseName: string): boolean {
  return name.length === lowerCaseName.length && (name === lowerCaseName || toLowerCaseName(name) === lowerCaseName);
}

function readConnectionOptions(headers: RawHeaders): Set<string> | undefined {
  let options: Set<string> | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    // The usual `keep-alive` names a field that ends here anyway.
    if (!isNamed(headers[i]!, 'connection') || headers[i + 1] === 'keep-alive') continue;
    for (const option of headers[i + 1]!.split(',')) (options ??= new Set()).add(option.trim().toLowerCase());
  }
  return options;
}

function hasToken(value: string, token: string): boolean {
  return value.split(',').some((part) => part.split(';', 1)[0]!.trim().toLowerCase() === token);
}

/** Behind a proxy that forwards the client's scheme, the gateway's own port means nothing to the client. */
function findPort(forwardedProto: string, localPort: number): number {
  if (forwardedProto === '') return localPort;
  return forwardedProto === 'https' ? 443 : 80;
}

function readPort(authority: string, localPort: number): string {
  return readNamedPort(authority) || String(localPort);
}

/** The port in an authority; empty: none. Remembered, because few authorities serve all requests. */
const readNamedPort = rememberTexts((authority) => {
  const colon = authority.lastIndexOf(':');
  if (colon === -1 || authority.endsWith(']') || isIPv6(authority)) return '';
  const port = authority.slice(colon + 1);
  return /^\d{1,5}$/.test(port) ? copyText(port) : '';
});
