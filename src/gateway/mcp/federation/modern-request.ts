// A request as a server of 2026-07-28 expects it, and a modern client's request as an older server does: the envelope in `_meta`, and the headers that
// repeat the body.
import type { RawHeaders } from '../../http/exchange.ts';
import { encodeFieldValue, readRepeatedName } from '../read/header-agreement.ts';
import type { MethodMessage } from '../read/message.ts';
import { changeMembers } from './json-members.ts';
import { logLevelKey } from './log-levels.ts';
import type { Sender } from './target-parts.ts';

/** The version in which servers without sessions are spoken to. */
export const modernVersion = '2026-07-28';

const versionKey = 'io.modelcontextprotocol/protocolVersion';
const infoKey = 'io.modelcontextprotocol/clientInfo';
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const envelopeKeys: ReadonlySet<string> = new Set([versionKey, infoKey, capabilitiesKey]);

/** With `_meta` that says who asks, in which version. */
export function addEnvelope(
  text: string,
  client: {
    readonly clientInfo: string | undefined;
    readonly capabilities: string;
    /** Undefined: the client wants no log messages, or says so itself. */
    readonly logLevel?: string | undefined;
  },
): string {
  return changeMembers(text, ['params', '_meta'], {
    add: {
      [versionKey]: JSON.stringify(modernVersion),
      ...(client.clientInfo === undefined ? {} : { [infoKey]: client.clientInfo }),
      [capabilitiesKey]: client.capabilities,
      ...(client.logLevel === undefined ? {} : { [logLevelKey]: JSON.stringify(client.logLevel) }),
    },
  });
}

/** Without it: towards a server with sessions it would claim another version than the one that was agreed on. */
export function removeEnvelope(text: string): string {
  return changeMembers(text, ['params', '_meta'], { remove: envelopeKeys });
}

/** What lets a server ask its client. Servers of the other era cannot: what is not advertised is not asked. */
const askingCapabilities: ReadonlySet<string> = new Set(['sampling', 'elicitation', 'roots', 'tasks']);

let lastReduced: { readonly from: string; readonly to: string } | undefined;

/** The capabilities (JSON) that a server of the other era is told about. */
export function reduceCapabilities(capabilities: string): string {
  if (lastReduced?.from !== capabilities) {
    const kept = Object.entries(JSON.parse(capabilities) as object).filter(([key]) => !askingCapabilities.has(key));
    lastReduced = { from: capabilities, to: JSON.stringify(Object.fromEntries(kept)) };
  }
  return lastReduced.to;
}

/** The header fields of every POST to a target, but for those of its version. */
export function writePostHeaders({ headers }: Sender): string[] {
  const kept = [...headers];
  kept.push('content-type', 'application/json', 'accept', 'application/json, text/event-stream');
  kept.push('accept-encoding', 'identity');
  return kept;
}

/** Of a GET that opens a stream. */
export function writeGetHeaders({ headers }: Sender): string[] {
  return [...headers, 'accept', 'text/event-stream', 'accept-encoding', 'identity'];
}

/** Of a request to a server of 2026-07-28. */
export function writeModernHeaders(sender: Sender, message: MethodMessage, parameters: RawHeaders): string[] {
  const headers = writePostHeaders(sender);
  headers.push('mcp-protocol-version', modernVersion, 'mcp-method', message.method);
  const name = readRepeatedName(message);
  if (name !== undefined) headers.push('mcp-name', encodeFieldValue(name));
  headers.push(...parameters);
  return headers;
}
