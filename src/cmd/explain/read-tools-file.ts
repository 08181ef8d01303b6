// The names of tools from a file: what somebody saved of a tools/list, or wrote down.
import { isJsonObject } from '../../base/json-object.ts';
import { readText } from '../../sources/files/read-text.ts';
import type { McpItem } from './mcp-message.ts';

const maxFileBytes = 16 * 1024 * 1024;

type ReadTools =
  | { readonly ok: true; readonly items: readonly McpItem[] }
  | { readonly ok: false; readonly problem: string };

/** A JSON-RPC answer, its result, a list of tools, or a list of names. */
export async function readToolsFile(path: string): Promise<ReadTools> {
  const read = await readText(path, maxFileBytes);
  if (!read.ok) return { ok: false, problem: read.message };
  let value: unknown;
  try {
    value = JSON.parse(read.value);
  } catch {
    return { ok: false, problem: 'is not JSON; it should be the answer to a tools/list' };
  }
  const result = isJsonObject(value) && isJsonObject(value['result']) ? value['result'] : value;
  const list = isJsonObject(result) ? result['tools'] : result;
  if (!Array.isArray(list)) return { ok: false, problem: 'has no list of tools in it' };
  const names = (list as readonly unknown[]).map((entry) => (isJsonObject(entry) ? entry['name'] : entry));
  if (!names.every((name): name is string => typeof name === 'string'))
    return { ok: false, problem: 'has a tool without a name in it' };
  if (names.length === 0) return { ok: false, problem: 'has no tools in it' };
  return { ok: true, items: [...new Set(names)].map((name): McpItem => ({ kind: 'tool', name })) };
}
