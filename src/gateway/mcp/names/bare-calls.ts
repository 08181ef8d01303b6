// Calls of tools by the server's own name, as pages of MCP Apps make them. They get the one form of the name, the prefixed one, before anything judges them: a second
// name for a tool would get around the rules for the first.
import type { FederationConfig } from '../../config/federation-config.ts';
import type { KnownKeys } from '../../config/mcp-authorization-config.ts';
import { encodeFieldValue } from '../read/header-agreement.ts';
import type { Message } from '../read/message.ts';
import { parseBody, type ReadBody } from '../read/parse-message.ts';
import { hasKnownPrefix } from './names.ts';
import { renameItem } from './rename-request.ts';

const none: readonly string[] = [];

/** No server has longer names: nobody is asked for them. */
const maxBareLength = 1_000;

/** The names of tools that are called without the prefix of a target, each once. What begins like a prefix is one. */
export function listBareCalls(federation: FederationConfig | undefined, { messages }: ReadBody): readonly string[] {
  if (federation === undefined || federation.naming === 'never') return none;
  let names: Set<string> | undefined;
  for (const message of messages) {
    const name = readCalledTool(message);
    if (name !== undefined && name.length <= maxBareLength && !hasKnownPrefix(federation, name))
      (names ??= new Set()).add(name);
  }
  return names === undefined ? none : [...names];
}

/** A body whose calls have other names now. */
export interface RenamedBody {
  readonly read: ReadBody;
  readonly bytes: Uint8Array;
  /** Mcp-Name of its one message; undefined: it stays as it is. */
  readonly mcpName: string | undefined;
}

/** Gives tools the names that they have in the map; the rest of the body is byte for byte the same. */
export function renameCalls(read: ReadBody, names: ReadonlyMap<string, string>, argumentKeys: KnownKeys): RenamedBody {
  const text = read.isBatch ? renameEach(read, names) : rename(read.text, read.messages[0], names);
  const bytes = Buffer.from(text);
  const parsed = parseBody(bytes, argumentKeys);
  if (!parsed.ok) throw new Error(`a body whose tools have other names ${parsed.problem}`);
  const name = parsed.isBatch ? undefined : readCalledTool(parsed.messages[0]);
  return { read: parsed, bytes, mcpName: name === undefined ? undefined : encodeFieldValue(name) };
}

function renameEach(
  { text, spans, messages }: Extract<ReadBody, { isBatch: true }>,
  names: ReadonlyMap<string, string>,
): string {
  return `[${spans.map(({ start, end }, index) => rename(text.slice(start, end), messages[index]!, names)).join(',')}]`;
}

function rename(text: string, message: Message, names: ReadonlyMap<string, string>): string {
  const called = readCalledTool(message);
  const name = called === undefined ? undefined : names.get(called);
  return name === undefined ? text : renameItem(text, toolCall, name);
}

const toolCall = 'tools/call';

/** Notifications call nothing. */
function readCalledTool(message: Message): string | undefined {
  if (message.kind !== 'request' || message.method !== toolCall) return undefined;
  const { name } = message.params;
  return typeof name === 'string' ? name : undefined;
}
