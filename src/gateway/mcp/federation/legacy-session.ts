// Sessions at servers up to 2025-11-25: `initialize`, what every request of a session carries, and DELETE.
import { isJsonObject } from '../../../base/json-object.ts';
import { findHeader } from '../../http/headers.ts';
import { askTarget, tellTarget } from './ask-target.ts';
import { readServerInfo, type ServerSelf } from './discover-era.ts';
import type { Refusal } from './message-source.ts';
import { isModernVersion } from '../read/protocol-version.ts';
import { writeGetHeaders, writePostHeaders } from './modern-request.ts';
import type { MessageRequest } from './message-source.ts';
import { fail, type Sender, type TargetParts } from './target-parts.ts';
import type { TargetFailure, TargetSession } from './target.ts';

/** The newest version with sessions. */
export const newestLegacyVersion = '2025-11-25';

/** What `initialize` says of the client. */
export interface LegacyClient {
  readonly version: string;
  /** JSON. */
  readonly clientInfo: string | undefined;
  /** JSON. */
  readonly capabilities: string;
}

export type BegunSession =
  | {
      readonly ok: true;
      readonly session: TargetSession;
      /** Undefined: another request has heard it. */ readonly self: ServerSelf | undefined;
    }
  | { readonly ok: false; readonly failure: TargetFailure };

const id = '"initialize"';
const unknownClient = '{"name":"mcp-gatehouse","version":"1"}';
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
/** Of a session id, which is sent back with every request. */
const maxSessionIdLength = 1_024;

export function writeInitialize({ version, clientInfo = unknownClient, capabilities }: LegacyClient): string {
  const params = `{"protocolVersion":${JSON.stringify(version)},"capabilities":${capabilities},"clientInfo":${clientInfo}}`;
  return `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":${params}}`;
}

/** Begins a session, `notifications/initialized` included. */
export async function beginSession(
  parts: TargetParts,
  sender: Sender,
  client: LegacyClient,
  timeoutMs: number,
): Promise<BegunSession> {
  const { path, sessionRouting } = parts.config.backend.mcp!;
  const connected = await parts.channels?.connect(sender, timeoutMs);
  if (connected?.ok === false) return { ok: false, failure: connected.failure };
  const channel = connected?.channel;
  const request: MessageRequest = {
    method: 'POST',
    path: channel?.path ?? path,
    host: sender.host,
    headers: writePostHeaders(sender),
    body: writeInitialize(client),
    tag: channel?.tag,
    channel,
  };
  const asked = await askTarget(parts, request, id, timeoutMs);
  if (!asked.ok) return asked;
  const self = readInitialized(asked.text);
  if (self === undefined) {
    const isError = isRpcError(asked.text);
    const detail = isError ? 'it answered initialize with an error' : 'its answer to initialize cannot be understood';
    return { ok: false, failure: fail('garbage', detail) };
  }
  const sessionId = channel?.id ?? findHeader(asked.headers, 'mcp-session-id');
  if (sessionId !== undefined && (sessionId.length > maxSessionIdLength || !/^[\x21-\x7e]+$/.test(sessionId)))
    return { ok: false, failure: fail('garbage', 'its session id cannot be used') };
  const session: TargetSession = {
    id: sessionId,
    tag:
      sessionId !== undefined && channel === undefined && sessionRouting === 'stateful'
        ? asked.endpoint?.tag
        : undefined,
    version: self.version,
  };
  const told = await tellTarget(parts, writeSessionPost(parts, sender, session, initialized), timeoutMs);
  if (told !== undefined) return { ok: false, failure: told.failure };
  return { ok: true, session, self };
}

function readInitialized(text: string): ServerSelf | undefined {
  const { result } = JSON.parse(text) as { readonly result?: unknown };
  if (!isJsonObject(result)) return undefined;
  const { protocolVersion: version, capabilities, serverInfo, instructions } = result;
  if (typeof version !== 'string' || !/^[\x21-\x7e]{1,32}$/.test(version) || isModernVersion(version)) return undefined;
  return {
    version,
    serverInfo: readServerInfo(serverInfo),
    capabilities: JSON.stringify(isJsonObject(capabilities) ? capabilities : {}),
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}

function isRpcError(text: string): boolean {
  return isJsonObject((JSON.parse(text) as { readonly error?: unknown }).error);
}

/** A message of a session. */
export function writeSessionPost(
  parts: TargetParts,
  sender: Sender,
  session: TargetSession,
  text: string,
): MessageRequest {
  return { method: 'POST', body: text, ...writeSession(parts, sender, session, writePostHeaders(sender)) };
}

/** The stream of a session, or of one of its calls that broke off after this event. */
export function writeSessionGet(
  parts: TargetParts,
  sender: Sender,
  session: TargetSession,
  lastEventId: string | undefined,
): MessageRequest {
  const headers = writeGetHeaders(sender);
  if (lastEventId !== undefined) headers.push('last-event-id', lastEventId);
  return { method: 'GET', body: undefined, ...writeSession(parts, sender, session, headers) };
}

/** Where the session is. */
function writeSession(
  { config, channels }: TargetParts,
  { host }: Sender,
  { id: sessionId, tag, version }: TargetSession,
  headers: string[],
): Omit<MessageRequest, 'method' | 'body'> {
  headers.push('mcp-protocol-version', version);
  const channel = channels?.find(sessionId ?? '');
  if (channel !== undefined) return { host, headers, path: channel.path, tag: channel.tag, channel };
  if (sessionId !== undefined) headers.push('mcp-session-id', sessionId);
  return { host, headers, path: config.backend.mcp!.path, tag };
}

/** Ends a session; servers may refuse that, or have forgotten it. */
export async function endSession(
  parts: TargetParts,
  sender: Sender,
  session: TargetSession,
  timeoutMs: number,
): Promise<void> {
  if (session.id === undefined) return;
  const request = { ...writeSessionGet(parts, sender, session, undefined), method: 'DELETE' as const };
  const told = await tellTarget(parts, request, timeoutMs);
  if (told !== undefined)
    parts.log.debug({ target: parts.config.name, detail: told.failure.detail }, 'a target did not end a session');
}

/** The client goes on and sees nothing of it, but whatever the server kept in the lost session is gone. */
export function logBegunAgain({ log, config }: TargetParts): void {
  log.info({ target: config.name }, 'a server of a federation has lost a session; it was begun again');
}

/** Whether the server has lost the session of the request that it refuses. */
export function isSessionLost({ status, code }: Refusal, session: TargetSession): boolean {
  return session.id !== undefined && (status === 404 || (status === 400 && code === -32_000));
}
