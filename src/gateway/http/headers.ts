// Header fields on their way through the gateway (RFC 9110 section 7.6): what ends at this hop, what the gateway says itself, and the
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
  /** The peer's own X-Forwarded-* are believed. */
  readonly isTrustedPeer?: boolean;
  /** Lower-case names with '-': dropped in whatever spelling the client sent them. */
  readonly removedFields?: ReadonlySet<string> | undefined;
  /** Fields, by their lower-case names with '-', that go on even when the client's Connection names them: something was decided by them. */
  readonly isEndToEnd?: ((canonicalName: string) => boolean) | undefined;
  /** How often the request has been here (loop-guard.ts). */
  readonly round?: string | undefined;
  /** `te: trailers` goes on: HTTP/2 upstreams, where gRPC insists on it. */
  readonly keepTeTrailers?: boolean;
}

/** The client's header fields as they go upstream, before modifiers and policies add theirs: hop-by-hop, host and framing fields are gone, X-Forwarded-* and X-Request-Id are ours. */
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

/** The upstream's header fields as they go to the client: hop-by-hop ones are gone, the modifiers are applied in order, and what the gateway adds replaces fields of the same name. */
export function prepareResponseHeaders(
  headers: RawHeaders,
  modifiers: readonly HeaderModifier[],
  extra: RawHeaders,
): RawHeaders {
  const named = readConnectionOptions(headers);
  // Without modifiers one pass does it all.
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

/** Vary and Set-Cookie are lists that both sides contribute to; of everything else there can be only one, and it is ours. */
function isReplaced(lowerCaseName: string, extra: RawHeaders): boolean {
  for (let i = 0; i < extra.length; i += 2)
    if (isNamed(extra[i]!, lowerCaseName)) return lowerCaseName !== 'vary' && lowerCaseName !== 'set-cookie';
  return false;
}

/** Trailer fields without those that must not come after a body. */
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
 * The same for requests, where what is set or removed goes in every spelling: an operator who says what X-User is, or that there is
 * none, would be lied to by X_User, which servers that follow CGI take for the same.
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

/** The name of the first field that must not be sent as it is (line breaks and other controls in the value, no token as the name); undefined when all are fine. */
export function findUnsendableHeader(headers: RawHeaders): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (!(isCommonName(name) || validName.test(name)) || !isSendableValue(headers[i + 1]!)) return name;
  }
  return undefined;
}

const sendableModifications = new WeakMap<HeaderModifier, boolean>();

/** Whether all that a modifier writes can be sent: looked at once, as it does not change. */
export function isSendableModification(modifier: HeaderModifier): boolean {
  let isSendable = sendableModifications.get(modifier);
  if (isSendable === undefined) {
    const written = [...modifier.set, ...modifier.add].flatMap(({ name, value }) => [name, value]);
    isSendable = findUnsendableHeader(written) === undefined;
    sendableModifications.set(modifier, isSendable);
  }
  return isSendable;
}

/** Without fields of these lower-case names, in whatever spelling they come: something behind us may read X_User as X-User, as CGI does. */
export function withoutFields(headers: RawHeaders, names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (!names.has(readFieldName(headers[i]!).canonical)) kept.push(headers[i]!, headers[i + 1]!);
  }
  return kept;
}

/** The value of a field that may be there once; of several the first. */
export function findHeader(headers: RawHeaders, lowerCaseName: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (isNamed(headers[i]!, lowerCaseName)) return headers[i + 1]!;
  return undefined;
}

/** Whether an answer with these headers goes on for as long as there is something to say. */
export function isEventStream(headers: RawHeaders): boolean {
  const contentType = findHeader(headers, 'content-type');
  return contentType !== undefined && /^text\/event-stream/i.test(contentType);
}

/** Nearly all names are told apart by their length, and most are in lower case. */
function isNamed(name: string, lowerCaseName: string): boolean {
  return name.length === lowerCaseName.length && (name === lowerCaseName || toLowerCaseName(name) === lowerCaseName);
}

function readConnectionOptions(headers: RawHeaders): Set<string> | undefined {
  let options: Set<string> | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    // What nearly all of them say names a field that ends here anyway.
    if (!isNamed(headers[i]!, 'connection') || headers[i + 1] === 'keep-alive') continue;
    for (const option of headers[i + 1]!.split(',')) (options ??= new Set()).add(option.trim().toLowerCase());
  }
  return options;
}

function hasToken(value: string, token: string): boolean {
  return value.split(',').some((part) => part.split(';', 1)[0]!.trim().toLowerCase() === token);
}

/** Behind a proxy that says what the client spoke, our own port is nobody's but its. */
function findPort(forwardedProto: string, localPort: number): number {
  if (forwardedProto === '') return localPort;
  return forwardedProto === 'https' ? 443 : 80;
}

function readPort(authority: string, localPort: number): string {
  return readNamedPort(authority) || String(localPort);
}

/** The port that an authority names; empty: none. Every request has one, and they are few. */
const readNamedPort = rememberTexts((authority) => {
  const colon = authority.lastIndexOf(':');
  if (colon === -1 || authority.endsWith(']') || isIPv6(authority)) return '';
  const port = authority.slice(colon + 1);
  return /^\d{1,5}$/.test(port) ? copyText(port) : '';
});
