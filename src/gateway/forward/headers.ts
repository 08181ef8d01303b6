// Header fields on their way through the gateway (RFC 9110 section 7.6): what ends at this hop, what the gateway says itself, and the
// header modifiers of Gateway API. Flat lists in wire order, one pass each.
import { isIPv6 } from 'node:net';
import type { HeaderModifier } from '../../ir/gen/config_pb.ts';
import type { RawHeaders } from '../listen/exchange.ts';

// Ends at this hop whether Connection names it or not. Host and the framing fields are here as well: each side writes its own.
const requestHopFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'host',
  'content-length',
  // The listener has answered it by the time the body flows.
  'expect',
]);

const responseHopFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
]);

// Who asked, and for what, as the gateway itself knows it: written anew, or dropped.
const ownFields = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-request-id',
]);

// What proxies say about the client, in all its variants.
function isForwardingField(canonicalName: string): boolean {
  return canonicalName.startsWith('x-forwarded-') || canonicalName === 'x-real-ip';
}

// RFC 9110 section 6.5.1: fields that would change framing, routing or authentication have no place after the body.
const forbiddenTrailers = new Set([
  ...requestHopFields,
  ...ownFields,
  'trailer',
  'authorization',
  'cookie',
  'set-cookie',
  'content-encoding',
  'content-type',
  'content-range',
  'cache-control',
  'max-forwards',
  'mcp-session-id',
]);

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
  /** `te: trailers` goes on: HTTP/2 upstreams, where gRPC insists on it. */
  readonly keepTeTrailers?: boolean;
}

/** The client's header fields as they go upstream, before modifiers and policies add theirs: hop-by-hop, host and framing fields are gone, X-Forwarded-* and X-Request-Id are ours. */
export function prepareRequestHeaders(input: RequestHeadersInput): string[] {
  const { headers, remoteAddress, authority } = input;
  const named = readConnectionOptions(headers);
  const trusted = input.isTrustedPeer === true;
  const prepared: string[] = [];
  let forwardedFor = '';
  let forwardedProto = '';
  let forwardedHost = '';
  let forwardedPort = '';
  let wantsTrailers = false;

  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    const value = headers[i + 1]!;
    if (requestHopFields.has(name)) {
      if (name === 'te' && input.keepTeTrailers === true && hasToken(value, 'trailers')) wantsTrailers = true;
      continue;
    }
    // Something behind us may read X_Forwarded_For as X-Forwarded-For, as CGI does.
    const canonical = foldName(name);
    if (input.removedFields?.has(canonical) === true) continue;
    if (!trusted && isForwardingField(canonical)) continue;
    if (ownFields.has(canonical)) {
      if (name === 'x-forwarded-for') forwardedFor = forwardedFor === '' ? value : `${forwardedFor}, ${value}`;
      else if (name === 'x-forwarded-proto') forwardedProto = value;
      else if (name === 'x-forwarded-host') forwardedHost = value;
      else if (name === 'x-forwarded-port') forwardedPort = value;
      continue;
    }
    if (named?.has(name) === true && input.isEndToEnd?.(canonical) !== true) continue;
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
  return prepared;
}

/** The upstream's header fields as they go to the client: hop-by-hop ones are gone, the modifiers are applied in order, and what the gateway adds replaces fields of the same name. */
export function prepareResponseHeaders(
  headers: RawHeaders,
  modifiers: readonly HeaderModifier[],
  extra: RawHeaders,
): RawHeaders {
  const named = readConnectionOptions(headers);
  let prepared: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (responseHopFields.has(name) || named?.has(name) === true) continue;
    prepared.push(headers[i]!, headers[i + 1]!);
  }
  for (const modifier of modifiers) prepared = applyHeaderModifier(prepared, modifier);
  if (extra.length === 0) return prepared;

  // Vary and Set-Cookie are lists that both sides contribute to; of everything else there can be only one, and it is ours.
  const replaced = new Set<string>();
  for (let i = 0; i < extra.length; i += 2) replaced.add(extra[i]!.toLowerCase());
  replaced.delete('vary');
  replaced.delete('set-cookie');
  const merged: string[] = [];
  for (let i = 0; i < prepared.length; i += 2) {
    if (!replaced.has(prepared[i]!.toLowerCase())) merged.push(prepared[i]!, prepared[i + 1]!);
  }
  merged.push(...extra);
  return merged;
}

/** Trailer fields without those that must not come after a body. */
export function prepareTrailers(trailers: RawHeaders): RawHeaders {
  if (trailers.length === 0) return trailers;
  const prepared: string[] = [];
  for (let i = 0; i < trailers.length; i += 2) {
    const canonical = foldName(trailers[i]!.toLowerCase());
    if (!forbiddenTrailers.has(canonical) && !isForwardingField(canonical))
      prepared.push(trailers[i]!, trailers[i + 1]!);
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

/** What CGI makes of a name: one for all spellings. */
function foldName(lowerCaseName: string): string {
  return lowerCaseName.includes('_') ? lowerCaseName.replaceAll('_', '-') : lowerCaseName;
}

// RFC 9110 section 5.5: CR, LF and NUL are never allowed, the other controls but the tab neither; above 0xFF there is no byte to send.
// eslint-disable-next-line no-control-regex
const unsendableValue = /[\0-\x08\x0A-\x1F\x7F]|[^\0-\xFF]/;
const validName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The name of the first field that must not be sent as it is (line breaks and other controls in the value, no token as the name); undefined when all are fine. */
export function findUnsendableHeader(headers: RawHeaders): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    if (!validName.test(headers[i]!) || unsendableValue.test(headers[i + 1]!)) return headers[i]!;
  }
  return undefined;
}

/** Without fields of these lower-case names, in whatever spelling they come: something behind us may read X_User as X-User, as CGI does. */
export function withoutFields(headers: RawHeaders, names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (!names.has(foldName(headers[i]!.toLowerCase()))) kept.push(headers[i]!, headers[i + 1]!);
  }
  return kept;
}

/** The value of a field that may be there once; of several the first. */
export function findHeader(headers: RawHeaders, lowerCaseName: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) return headers[i + 1]!;
  }
  return undefined;
}

function readConnectionOptions(headers: RawHeaders): Set<string> | undefined {
  let options: Set<string> | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
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
  const colon = authority.lastIndexOf(':');
  if (colon === -1 || authority.endsWith(']') || isIPv6(authority)) return String(localPort);
  const port = authority.slice(colon + 1);
  return /^\d{1,5}$/.test(port) ? port : String(localPort);
}
