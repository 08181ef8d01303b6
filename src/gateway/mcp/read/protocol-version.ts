// Which version of MCP a message speaks. A header says so since 2025-06-18, the message itself since 2026-07-28.
import { isJsonObject } from '../../../base/json-object.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import { readFieldValues } from './field-values.ts';
import type { Message } from './message.ts';

/** The first version without sessions, in which every request carries its version and headers that repeat the body. */
const firstModern = '2026-07-28';

const versionHeader = 'mcp-protocol-version';
const versionKey = 'io.modelcontextprotocol/protocolVersion';

type VersionHeader =
  /** Undefined: there is none. */
  { readonly ok: true; readonly version: string | undefined } | { readonly ok: false };

/** The header, which can be there once. */
export function readVersionHeader(headers: RawHeaders): VersionHeader {
  const values = readFieldValues(headers, versionHeader);
  return values.length > 1 ? { ok: false } : { ok: true, version: values[0] };
}

/** The version that a message claims for itself. */
export function readClaimedVersion(message: Message): string | undefined {
  if (message.kind === 'response') return undefined;
  const { _meta: meta } = message.params;
  const version = isJsonObject(meta) && Object.hasOwn(meta, versionKey) ? meta[versionKey] : undefined;
  return typeof version === 'string' ? version : undefined;
}

/** What expressions see as `mcp.protocolVersion`. An `initialize` asks for the version that it names. */
export function chooseVersion(
  header: string | undefined,
  message: Message | undefined,
  transport: 'streamable-http' | 'sse',
): string {
  if (header !== undefined) return header;
  if (message !== undefined && message.kind !== 'response') {
    const claimed = readClaimedVersion(message);
    if (claimed !== undefined) return claimed;
    const { protocolVersion } = message.params;
    if (message.method === 'initialize' && typeof protocolVersion === 'string') return protocolVersion;
  }
  // "If the server does not receive an MCP-Protocol-Version header ... the server SHOULD assume protocol version 2025-03-26."
  return transport === 'sse' ? '2024-11-05' : '2025-03-26';
}

/** Whether the version is 2026-07-28 or a later one. */
export function isModernVersion(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= firstModern;
}

/** Arrays of messages are a part of 2025-03-26 and of no other version. Without a header that is the version. */
export function hasBatches(header: string | undefined, transport: 'streamable-http' | 'sse'): boolean {
  return transport === 'streamable-http' && (header ?? '2025-03-26') === '2025-03-26';
}
