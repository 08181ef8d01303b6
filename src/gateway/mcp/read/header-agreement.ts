// Headers that repeat the body (MCP 2026-07-28, "Request Metadata"): whoever routes or limits by them must have seen what the server does.
// `Mcp-Param-*` repeat arguments as the schema of a tool says, which the gateway does not know: they go on as they are, as the
// specification says of intermediaries.
import type { RawHeaders } from '../../http/exchange.ts';
import { readFieldValues } from './field-values.ts';
import type { Message, MethodMessage } from './message.ts';
import { isModernVersion, readClaimedVersion } from './protocol-version.ts';

const prefix = '=?base64?';
const suffix = '?=';
const canonicalBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Which parameter Mcp-Name repeats; the last ones by the extension for tasks. */
const nameSources: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['resources/subscribe', 'uri'],
  ['resources/unsubscribe', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/result', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** Of these the version demands it. */
const namedRequests: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** What the headers say that the body does not; undefined when they agree. A sentence; it quotes neither. */
export function findDisagreement(
  headers: RawHeaders,
  versionHeader: string | undefined,
  messages: readonly Message[],
  isBatch: boolean,
): string | undefined {
  for (const message of messages) {
    const claimed = readClaimedVersion(message);
    if (claimed === undefined) continue;
    if (versionHeader === undefined) return 'The MCP-Protocol-Version header is missing.';
    if (claimed !== versionHeader) return 'The MCP-Protocol-Version header and the message name different versions.';
  }
  const methods = readFieldValues(headers, 'mcp-method');
  const names = readFieldValues(headers, 'mcp-name');
  if (methods.length > 1) return 'The Mcp-Method header is there several times.';
  if (names.length > 1) return 'The Mcp-Name header is there several times.';
  const [method] = methods;
  const [name] = names;
  const message = messages[0]!;
  if (isBatch || message.kind === 'response') {
    if (method === undefined && name === undefined) return undefined;
    return `A ${isBatch ? 'batch' : 'response'} has no method that Mcp-Method or Mcp-Name could repeat.`;
  }
  const isDemanded = versionHeader !== undefined && isModernVersion(versionHeader) && message.kind === 'request';
  return compareMethod(method, message, isDemanded) ?? compareName(name, message, isDemanded);
}

function compareMethod(header: string | undefined, { method }: MethodMessage, isDemanded: boolean): string | undefined {
  // By this header the gateway knows the streams that are judged again when the rules change.
  if (header === undefined)
    return isDemanded || method === 'subscriptions/listen' ? 'The Mcp-Method header is missing.' : undefined;
  return header === method ? undefined : 'The Mcp-Method header does not name the method of the message.';
}

function compareName(
  header: string | undefined,
  { method, params }: MethodMessage,
  isDemanded: boolean,
): string | undefined {
  if (header === undefined)
    return isDemanded && namedRequests.has(method) ? 'The Mcp-Name header is missing.' : undefined;
  const decoded = decodeFieldValue(header);
  if (decoded === undefined) return 'The Mcp-Name header cannot be decoded.';
  const source = nameSources.get(method);
  // Of other methods nothing says which parameter it is.
  const candidates = source === undefined ? ['name', 'uri', 'taskId'] : [source];
  return candidates.some((key) => params[key] === decoded)
    ? undefined
    : 'The Mcp-Name header does not name what the message names.';
}

/** Plain ASCII, or Base64 of UTF-8 between the marks. Undefined: neither. */
export function decodeFieldValue(value: string): string | undefined {
  if (!/^[\t\x20-\x7E]*$/.test(value)) return undefined;
  if (!value.startsWith(prefix) || !value.endsWith(suffix)) return value;
  const encoded = value.slice(prefix.length, -suffix.length);
  if (!canonicalBase64.test(encoded)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}
