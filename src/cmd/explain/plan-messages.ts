// Which messages the flags ask about: one that is explained in full, or several things that go into a table.
import { isJsonObject, readJsonObject } from '../../base/json-object.ts';
import type { RawHeaders } from '../../gateway/http/exchange.ts';
import { readText } from '../../sources/files/read-text.ts';
import type { ExplainValues } from './explain-flags.ts';
import {
  buildMessage,
  findListMethod,
  findMethodMismatch,
  findUsualMethod,
  listMessageHeaders,
  type McpItem,
} from './mcp-message.ts';
import { readToolsFile } from './read-tools-file.ts';

/** A body with its headers, and what it is about. */
export interface PlannedMessage {
  readonly method: string;
  readonly item: McpItem | undefined;
  /** Undefined: no body. */
  readonly body: string | undefined;
  readonly headers: RawHeaders;
  readonly protocolVersion: string;
}

/** What to send. */
export type MessagePlan =
  /** `message` undefined: the flags name none. */
  | { readonly kind: 'one'; readonly message: PlannedMessage | undefined }
  | { readonly kind: 'table'; readonly items: readonly McpItem[] };

type ReadPlan = { readonly ok: true; readonly plan: MessagePlan } | { readonly ok: false; readonly problem: string };

const maxFileBytes = 16 * 1024 * 1024;

/** Reads --tool, --prompt, --resource, --tools-from, --method, --arguments and --body. */
export async function planMessages(values: ExplainValues): Promise<ReadPlan> {
  const { method, body, toolsFrom, protocolVersion } = values;
  const given = values.arguments === undefined ? undefined : readJsonObject(values.arguments);
  if (given?.ok === false) return fail(`--arguments ${given.problem}; write it as '{"name": "value"}'`);
  const named = listItems(values);
  if (body !== undefined) {
    if (named.length > 0 || method !== undefined || toolsFrom !== undefined || given !== undefined)
      return fail(
        '--body is the whole body; --tool, --prompt, --resource, --method and --arguments would build another',
      );
    return readBody(body, protocolVersion);
  }
  const listed = toolsFrom === undefined ? { ok: true as const, items: [] } : await readToolsFile(toolsFrom);
  if (!listed.ok) return fail(`--tools-from: ${toolsFrom} ${listed.problem}`);
  const items = [...named, ...listed.items];
  if (given !== undefined && !items.some(({ kind }) => kind !== 'resource'))
    return fail('--arguments goes with --tool or --prompt');
  const isList = method !== undefined && items.some(({ kind }) => method === findListMethod(kind));
  if (items.length > 1 || toolsFrom !== undefined || isList) {
    if (method !== undefined && !isList)
      return fail('--method goes with one --tool, --prompt or --resource, not with several');
    return { ok: true, plan: { kind: 'table', items } };
  }
  const [item] = items;
  const mismatch = item === undefined || method === undefined ? undefined : findMethodMismatch(method, item);
  if (mismatch !== undefined) return fail(mismatch);
  const used = method ?? (item === undefined ? undefined : findUsualMethod(item));
  if (used === undefined) return { ok: true, plan: { kind: 'one', message: undefined } };
  return { ok: true, plan: { kind: 'one', message: planMessage(used, item, values) } };
}

/** One message. */
export function planMessage(method: string, item: McpItem | undefined, values: ExplainValues): PlannedMessage {
  const { protocolVersion } = values;
  const read = values.arguments === undefined ? undefined : readJsonObject(values.arguments);
  const given = read?.ok === true ? read.value : undefined;
  return { method, item, protocolVersion, ...buildMessage({ method, item, arguments: given, protocolVersion }) };
}

function listItems({ tool, prompt, resource }: ExplainValues): McpItem[] {
  return [
    ...tool.map((name): McpItem => ({ kind: 'tool', name })),
    ...prompt.map((name): McpItem => ({ kind: 'prompt', name })),
    ...resource.map((name): McpItem => ({ kind: 'resource', name })),
  ];
}

/** As it is; what it says about itself is only for the report. */
async function readBody(path: string, protocolVersion: string): Promise<ReadPlan> {
  const read = await readText(path, maxFileBytes);
  if (!read.ok) return fail(`--body: ${path} ${read.message}`);
  const object = readJsonObject(read.value);
  const { method: named, params } = object.ok ? object.value : {};
  const method = typeof named === 'string' ? named : '';
  const item = findItem(method, params);
  const headers = listMessageHeaders(method, item, protocolVersion);
  const message: PlannedMessage = { method, item, body: read.value, headers, protocolVersion };
  return { ok: true, plan: { kind: 'one', message } };
}

function findItem(method: string, params: unknown): McpItem | undefined {
  if (!isJsonObject(params)) return undefined;
  for (const kind of ['tool', 'prompt', 'resource'] as const) {
    const name = kind === 'resource' ? params['uri'] : params['name'];
    if (typeof name === 'string' && findUsualMethod({ kind, name }) === method) return { kind, name };
  }
  return undefined;
}

function fail(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
