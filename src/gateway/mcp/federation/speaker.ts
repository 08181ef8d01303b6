// The client in whose name targets are asked: what it says of itself, who it is, and what each of its requests carries.
import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../../base/json-object.ts';
import type { VerifiedToken } from '../../authentication/token/verified-token.ts';
import { readFieldName } from '../../http/field-name.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { MethodMessage } from '../read/message.ts';
import type { ClientSession } from './client-session.ts';
import type { Speaker } from './target.ts';

/** What all speakers of one request have in common. */
export interface SpeakerBase {
  readonly headers: RawHeaders;
  readonly host: string;
  readonly owner: string | undefined;
}

/** A client up to 2025-11-25, in its session. */
export function speakInSession(base: SpeakerBase, session: ClientSession): Speaker {
  const { version, clientInfo, capabilities } = session;
  return { ...base, era: 'legacy', version, clientInfo, capabilities, sessions: session };
}

const infoKey = 'io.modelcontextprotocol/clientInfo';
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';

/** A client from 2026-07-28 on, by what its message says. */
export function speakForItself(base: SpeakerBase, version: string, message: MethodMessage): Speaker {
  const meta = readMeta(message);
  const info = meta?.[infoKey];
  const capabilities = meta?.[capabilitiesKey];
  return {
    ...base,
    era: 'modern',
    version,
    clientInfo: isJsonObject(info) ? JSON.stringify(info) : undefined,
    capabilities: isJsonObject(capabilities) ? JSON.stringify(capabilities) : '{}',
    sessions: undefined,
  };
}

/** What every request of this version has to say; undefined: it says so. Completes "the message ...". */
export function findMissingMeta(message: MethodMessage): string | undefined {
  if (message.kind === 'notification') return undefined;
  const meta = readMeta(message);
  if (typeof meta?.['io.modelcontextprotocol/protocolVersion'] !== 'string')
    return 'has no io.modelcontextprotocol/protocolVersion in its _meta';
  return isJsonObject(meta[capabilitiesKey]) ? undefined : `has no ${capabilitiesKey} in its _meta`;
}

function readMeta({ params }: MethodMessage): JsonObject | undefined {
  const { _meta: meta } = params;
  return isJsonObject(meta) ? meta : undefined;
}

/** A digest of the caller; undefined: nobody knows who it is. */
export function findOwner({ mcp, caller }: RequestContext): string | undefined {
  const bound = mcp?.session;
  // An identity that is nobody's: those who have it are not one caller.
  if (bound?.subject === '') return undefined;
  if (caller === undefined) return bound && digest([bound.issuer, bound.subject]);
  const known = owners.get(caller);
  if (known !== undefined && known.issuer === bound?.issuer && known.subject === bound?.subject) return known.owner;
  const owner = bound === undefined ? findOwnerOfToken(caller) : digest([bound.issuer, bound.subject]);
  owners.set(caller, { issuer: bound?.issuer, subject: bound?.subject, owner });
  return owner;
}

interface KnownOwner {
  /** Of the identity to which sessions are bound. */
  readonly issuer: string | undefined;
  readonly subject: string | undefined;
  readonly owner: string | undefined;
}

/** A token is the same object for every request that comes with it, and a digest costs as much as sending a message. */
const owners = new WeakMap<VerifiedToken, KnownOwner>();

function findOwnerOfToken({ issuer, subject, claims }: VerifiedToken): string | undefined {
  if (subject !== undefined) return digest([issuer, subject]);
  // A program without a user. Tokens that name neither could be anybody's.
  const client = claims['client_id'] ?? claims['azp'];
  return typeof client === 'string' ? digest([issuer, 'client', client]) : undefined;
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}

/** Fields about the message, the body, the connection or the form of the answer: those of the gateway's own requests take their place. */
const ownFields: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-charset',
  'last-event-id',
  'expect',
  'range',
  'cache-control',
  'pragma',
  'trailer',
  'te',
]);

/** What every request for this client carries, and `Mcp-Param-*`, which belong to this one. */
export function splitHeaders(headers: RawHeaders): { readonly kept: RawHeaders; readonly parameters: RawHeaders } {
  const kept: string[] = [];
  const parameters: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const { canonical } = readFieldName(headers[i]!);
    if (canonical.startsWith('mcp-')) {
      if (canonical.startsWith('mcp-param-')) parameters.push(headers[i]!, headers[i + 1]!);
      continue;
    }
    if (canonical.startsWith('content-') || canonical.startsWith('if-') || ownFields.has(canonical)) continue;
    kept.push(headers[i]!, headers[i + 1]!);
  }
  return { kept, parameters };
}
