// Asks a target what it speaks: `server/discover` of 2026-07-28. Anything but a recognised answer means that it is spoken to as servers were before.
import { isJsonObject, type JsonObject } from '../../../base/json-object.ts';
import { askTarget } from './ask-target.ts';
import { addEnvelope, modernVersion, writeModernHeaders } from './modern-request.ts';
import type { TargetParts, Sender } from './target-parts.ts';
import type { TargetFailure, TargetState } from './target.ts';

/** What a server says of itself. */
export interface ServerSelf {
  readonly version: string;
  readonly serverInfo: TargetState['serverInfo'];
  /** JSON. */
  readonly capabilities: string;
  readonly instructions: string | undefined;
}

export type Discovery =
  | { readonly kind: 'modern'; readonly self: ServerSelf }
  | { readonly kind: 'legacy' }
  | { readonly kind: 'failed'; readonly failure: TargetFailure };

const id = '"discover"';
const message = { kind: 'request', id: 'discover', method: 'server/discover', params: {} } as const;

/** The text of the request. */
export function writeDiscover(clientInfo: string | undefined): string {
  return addEnvelope(`{"jsonrpc":"2.0","id":${id},"method":"server/discover"}`, { clientInfo, capabilities: '{}' });
}

export async function discoverEra(
  parts: TargetParts,
  sender: Sender,
  clientInfo: string | undefined,
  timeoutMs: number,
): Promise<Discovery> {
  const asked = await askTarget(
    parts,
    {
      method: 'POST',
      path: parts.config.backend.mcp!.path,
      host: sender.host,
      headers: writeModernHeaders(sender, message, []),
      body: writeDiscover(clientInfo),
      tag: undefined,
    },
    id,
    timeoutMs,
  );
  if (asked.ok) {
    const self = readDiscovered(asked.text);
    return self === undefined ? { kind: 'legacy' } : { kind: 'modern', self };
  }
  const { failure } = asked;
  // What the client may not do it may not do in another version either.
  const isRefused = failure.status === 401 || failure.status === 403 || failure.status === 429;
  return failure.kind === 'down' || isRefused ? { kind: 'failed', failure } : { kind: 'legacy' };
}

function readDiscovered(text: string): ServerSelf | undefined {
  const { result } = JSON.parse(text) as { readonly result?: unknown };
  if (!isJsonObject(result)) return undefined;
  const { supportedVersions, capabilities, instructions, _meta: meta } = result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modernVersion) || !isJsonObject(capabilities))
    return undefined;
  return {
    version: modernVersion,
    serverInfo: readServerInfo(isJsonObject(meta) ? meta['io.modelcontextprotocol/serverInfo'] : undefined),
    capabilities: JSON.stringify(capabilities),
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}

export function readServerInfo(info: unknown): TargetState['serverInfo'] {
  const { name, version }: JsonObject = isJsonObject(info) ? info : {};
  return typeof name === 'string' && typeof version === 'string' ? { name, version } : undefined;
}
