// The MCP message of a request to explain: what a client would send to use one thing of a server, in the protocol version that is asked about.
import type { RawHeaders } from '../../gateway/http/exchange.ts';

/** Something of a server that a message uses. */
export interface McpItem {
  readonly kind: 'tool' | 'prompt' | 'resource';
  /** The name, or the URI of a resource. */
  readonly name: string;
}

/** What the message is to be. */
interface MessageInput {
  readonly method: string;
  readonly item: McpItem | undefined;
  /** Of a tool or a prompt. */
  readonly arguments: Readonly<Record<string, unknown>> | undefined;
  readonly protocolVersion: string;
}

/** A body, and the headers that go with it. */
interface McpMessage {
  readonly body: string;
  readonly headers: RawHeaders;
}

/** The newest version of the protocol: requests carry all that they need, and their headers repeat method and name (SEP-2243). */
export const latestProtocolVersion = '2026-07-28';

const usualMethods = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const;

/** The method by which an item is used. */
export function findUsualMethod({ kind }: McpItem): string {
  return usualMethods[kind];
}

/** The method that lists items of a kind. */
export function findListMethod(kind: McpItem['kind']): string {
  return `${kind}s/list`;
}

/** Why a method cannot be about an item; undefined when it can. */
export function findMethodMismatch(method: string, { kind }: McpItem): string | undefined {
  const fitting: Readonly<Record<McpItem['kind'], readonly string[]>> = {
    tool: ['tools/call'],
    prompt: ['prompts/get', 'completion/complete'],
    resource: ['resources/read', 'resources/subscribe', 'resources/unsubscribe', 'completion/complete'],
  };
  if (fitting[kind].includes(method)) return undefined;
  return `--method ${method} does not use a ${kind}; with --${kind} it is ${fitting[kind].join(' or ')}`;
}

/** Builds the message. */
export function buildMessage(input: MessageInput): McpMessage {
  const { method, item, protocolVersion } = input;
  const isModern = protocolVersion >= latestProtocolVersion;
  const params = { ...describeParams(input), ...(isModern && { _meta: describeClient(protocolVersion) }) };
  const isNotification = method.startsWith('notifications/');
  const body = JSON.stringify({ jsonrpc: '2.0', ...(!isNotification && { id: 1 }), method, params });
  return { body, headers: listMessageHeaders(method, item, protocolVersion) };
}

/** The headers that a client sends with a message. */
export function listMessageHeaders(method: string, item: McpItem | undefined, protocolVersion: string): RawHeaders {
  const headers = ['content-type', 'application/json', 'accept', 'application/json, text/event-stream'];
  // Before it is negotiated there is no version to name.
  if (method !== 'initialize') headers.push('mcp-protocol-version', protocolVersion);
  if (method !== '' && protocolVersion >= latestProtocolVersion && !method.startsWith('notifications/')) {
    headers.push('mcp-method', method);
    if (item !== undefined && findUsualMethod(item) === method) headers.push('mcp-name', encodeName(item.name));
  }
  return headers;
}

function describeParams(input: MessageInput): Record<string, unknown> {
  const { method, item, protocolVersion, arguments: given } = input;
  if (method === 'initialize')
    return { protocolVersion, capabilities: {}, clientInfo: { name: 'mcp-gatehouse explain', version: '1' } };
  if (item === undefined) return {};
  if (method === 'completion/complete') {
    const ref =
      item.kind === 'prompt' ? { type: 'ref/prompt', name: item.name } : { type: 'ref/resource', uri: item.name };
    return { ref, argument: { name: 'argument', value: '' } };
  }
  if (item.kind === 'resource') return { uri: item.name };
  return { name: item.name, ...(given !== undefined && { arguments: given }) };
}

function describeClient(protocolVersion: string): Record<string, unknown> {
  return {
    'io.modelcontextprotocol/protocolVersion': protocolVersion,
    'io.modelcontextprotocol/clientInfo': { name: 'mcp-gatehouse explain', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
}

/** As SEP-2243 has it: what is no plain header value travels as base64. */
function encodeName(name: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(name) && !/^=\?base64\?.*\?=$/.test(name);
  return isPlain ? name : `=?base64?${Buffer.from(name, 'utf8').toString('base64')}?=`;
}
