// Headers that repeat the body (MCP 2026-07-28, "Request Metadata"): a proxy that routes or limits by them must see the same as the server.
// `Mcp-Param-*` repeat arguments according to the schema of a tool, which the gateway does not know: they are forwarded unchanged, as the
// specification requires of intermediaries.
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

/** Requests for which the version requires Mcp-Name. */
const namedRequests: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** How headers and body disagree, as a sentence that quotes neither; undefined when they agree. */
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
  if (methods.length > 1) return 'The Mcp-Method header was sent more than once.';
  if (names.length > 1) return 'The Mcp-Name header was sent more than once.';
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
  // The gateway uses this header to recognise streams that it judges again when the rules change.
  if (header === undefined)
    return isDemanded || method === 'subscriptions/listen' ? 'The Mcp-Method header is missing.' : undefined;
  return header === method ? undefined : 'The Mcp-Method header does not match the method of the message.';
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
  // For other methods, the specification does not say which parameter it repeats.
  const candidates = source === undefined ? ['name', 'uri', 'taskId'] : [source];
  return candidates.some((key) => params[key] === decoded)
    ? undefined
    : 'The Mcp-Name header does not match the name in the message.';
}

/** What Mcp-Name repeats of this message; undefined: nothing. */
export function readRepeatedName({ method, params }: MethodMessage): string | undefined {
  const source = nameSources.get(method);
  const name = source === undefined ? undefined : params[source];
  return typeof name === 'string' ? name : undefined;
}

/** A text as the value of such a header: as it is, or as Base64 of its UTF-8 between the marks where a field could not carry it or would be read differently. */
export function encodeFieldValue(text: string): string {
  const isPlain = /^[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?$/.test(text);
  if (isPlain && !(text.startsWith(prefix) && text.endsWith(suffix))) return text;
  return `${prefix}${Buffer.from(text).toString('base64')}${suffix}`;
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
