// Session affinity: keeps an MCP session on the endpoint that opened it. The `Mcp-Session-Id` that a client sees is the upstream's own with a
// short name of the endpoint appended: `ID~TAG`. The gateway keeps no state, so every replica can serve every session, also after a restart.
//
// - The tag is added for every stateful backend, also while it has one endpoint: sessions survive when a second one is added.
// - An id without a tag (opened before the gateway was there, or while routing was stateless) is routed by its hash: to the same endpoint
//   while the list is unchanged, and to the right one when there is only one.
// - A tag is looked up among the endpoints of the request's own backend, so a forged one reaches nothing that the client could not reach anyway.
// - A tag names host and port. When that endpoint is gone so is the session: 404, and the client initializes a new one.
// - Where sessions are bound to a user, the whole id is sealed, tag included (session-binding.ts). Then only ids that can be opened are valid.
import { createHash } from 'node:crypto';
import type { RawHeaders } from '../../http/exchange.ts';
import type { SessionIdentity } from '../../request/admission.ts';
import { type BoundSession, openSession, sealSession } from './session-binding.ts';

const separator = '~';
const tagLength = 6;
const tagged = /~[A-Za-z0-9_-]{6}$/;

/** The header, in lower case. */
const sessionHeader = 'mcp-session-id';

/** The short name of an endpoint: 36 bits of a hash, so that internal addresses are not readable from session ids. */
export function tagEndpoint(backendKey: string, host: string, port: number): string {
  return createHash('sha256').update(`${backendKey}\0${host}\0${port}`).digest('base64url').slice(0, tagLength);
}

/** The session id that the client gets to see. */
export function addTag(sessionId: string, tag: string): string {
  return sessionId + separator + tag;
}

/** Takes a session id apart; the tag is undefined when it has none. */
export function splitTag(sessionId: string): { readonly sessionId: string; readonly tag: string | undefined } {
  if (!tagged.test(sessionId)) return { sessionId, tag: undefined };
  const end = sessionId.length - tagLength - separator.length;
  return { sessionId: sessionId.slice(0, end), tag: sessionId.slice(end + separator.length) };
}

/** An endpoint that can be chosen for a session. */
interface TaggedEndpoint {
  readonly tag: string;
}

/** A session id that a client sent, sealed and opened. */
export interface KnownSession extends BoundSession {
  readonly sealed: string;
}

type SessionRoute<T> =
  /** No session yet: any endpoint, the headers as they are. */
  | { readonly kind: 'none' }
  /** `endpoint` is undefined when any will do (stateless). */
  | {
      readonly kind: 'session';
      readonly endpoint: T | undefined;
      readonly headers: RawHeaders;
      /** A bound session, and the id by which the client knows it. */
      readonly known?: KnownSession;
    }
  | { readonly kind: 'gone' }
  /** More than one session id. */
  | { readonly kind: 'invalid' };

/** Finds the endpoint of the session that these request headers name, and the headers as the upstream must see them. */
export function routeSession<T extends TaggedEndpoint>(
  headers: RawHeaders,
  endpoints: readonly T[],
  routing: 'stateful' | 'stateless',
  identity?: SessionIdentity,
): SessionRoute<T> {
  let index = -1;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length !== sessionHeader.length || headers[i]!.toLowerCase() !== sessionHeader) continue;
    if (index !== -1) return { kind: 'invalid' };
    index = i;
  }
  if (index === -1) return { kind: 'none' };

  const value = headers[index + 1]!;
  if (identity !== undefined) {
    const opened = openSession(identity, value);
    if (opened === undefined) return { kind: 'gone' };
    return routeBound(withValue(headers, index, opened.sessionId), { ...opened, sealed: value }, endpoints, routing);
  }
  const { sessionId, tag } = splitTag(value);
  const named = tag === undefined ? undefined : endpoints.find((endpoint) => endpoint.tag === tag);
  if (routing === 'stateless') {
    // Opened while routing was stateful: the gateway still has to remove its tag.
    return {
      kind: 'session',
      endpoint: undefined,
      headers: named === undefined ? headers : withValue(headers, index, sessionId),
    };
  }
  if (tag === undefined) return { kind: 'session', endpoint: chooseByHash(sessionId, endpoints), headers };
  if (named === undefined) return { kind: 'gone' };
  return { kind: 'session', endpoint: named, headers: withValue(headers, index, sessionId) };
}

function routeBound<T extends TaggedEndpoint>(
  headers: RawHeaders,
  known: KnownSession,
  endpoints: readonly T[],
  routing: 'stateful' | 'stateless',
): SessionRoute<T> {
  if (routing === 'stateless') return { kind: 'session', endpoint: undefined, headers, known };
  const endpoint =
    known.tag === undefined ? chooseByHash(known.sessionId, endpoints) : endpoints.find(({ tag }) => tag === known.tag);
  return endpoint === undefined ? { kind: 'gone' } : { kind: 'session', endpoint, headers, known };
}

/**
 * The response headers of a bound session: every id is sealed. Servers that repeat the id in every answer get the same one repeated to the
 * client, since a client may take another one for another session.
 */
export function sealResponse(
  headers: RawHeaders,
  tag: string | undefined,
  identity: SessionIdentity,
  known: KnownSession | undefined,
): RawHeaders {
  let changed = headers;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length !== sessionHeader.length || headers[i]!.toLowerCase() !== sessionHeader) continue;
    const sessionId = headers[i + 1]!;
    const isKnown = known?.sessionId === sessionId && known.tag === tag;
    changed = withValue(changed, i, isKnown ? known.sealed : sealSession(identity, { sessionId, tag }));
  }
  return changed;
}

/** The response headers as the client must see them: every session id gets the tag of the endpoint that answered. */
export function tagResponse(headers: RawHeaders, tag: string): RawHeaders {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length === sessionHeader.length && headers[i]!.toLowerCase() === sessionHeader) {
      return withValue(headers, i, addTag(headers[i + 1]!, tag));
    }
  }
  return headers;
}

function withValue(headers: RawHeaders, index: number, value: string): RawHeaders {
  const changed = [...headers];
  changed[index + 1] = value;
  return changed;
}

// Rendezvous hashing: when the list changes only the sessions of the endpoints that left move.
function chooseByHash<T extends TaggedEndpoint>(sessionId: string, endpoints: readonly T[]): T | undefined {
  if (endpoints.length <= 1) return endpoints[0];
  let chosen: T | undefined;
  let highest = '';
  for (const endpoint of endpoints) {
    const weight = createHash('sha256').update(`${endpoint.tag}\0${sessionId}`).digest('hex');
    if (weight > highest) [chosen, highest] = [endpoint, weight];
  }
  return chosen;
}
