// Lists of a federation: all pages of all targets as one page, in the order of the configuration. A target that is down is left out and named, or makes the whole
// list fail, as it is configured.
import { isJsonObject } from '../../../../base/json-object.ts';
import { walkElements, walkValue } from '../../../../base/json-text.ts';
import type { FederationConfig } from '../../../config/federation-config.ts';
import type { ListMethod } from '../../read/list-methods.ts';
import { type RequestMessage, rpcCodes } from '../../read/message.ts';
import type { Item, ItemKind } from '../../read/read-item.ts';
import { readMember } from '../../names/message-head.ts';
import { renameListItem } from '../../names/rename-answer.ts';
import type { Federation, Member } from '../federation.ts';
import type { Speaker, TargetFailure } from '../target.ts';
import { askTarget } from './ask-target.ts';
import { describeFailure, internalError, noteFailure } from './failures.ts';
import type { Note } from './federated-request.ts';

/** What a list is made of. */
export interface ListParts {
  readonly federation: Federation;
  readonly config: FederationConfig;
  readonly speaker: Speaker;
  readonly method: ListMethod;
  /** Of the client. */
  readonly params: RequestMessage['params'];
  readonly note: Note;
  readonly signal: AbortSignal;
}

export type ListOutcome =
  | { readonly ok: true; readonly resultJson: string }
  | { readonly ok: false; readonly code: number; readonly message: string; readonly data: object | undefined };

interface ListForm {
  readonly member: string;
  readonly kind: ItemKind;
  readonly key: string;
}

const forms: Readonly<Record<ListMethod, ListForm>> = {
  'tools/list': { member: 'tools', kind: 'tool', key: 'name' },
  'prompts/list': { member: 'prompts', kind: 'prompt', key: 'name' },
  'resources/list': { member: 'resources', kind: 'resource', key: 'uri' },
  'resources/templates/list': { member: 'resourceTemplates', kind: 'resource', key: 'uriTemplate' },
};

/** A longer list counts as one that cannot be had: cutting it would hide items without a word. */
const maxItems = 1_000;
const maxListBytes = 16 * 1024 * 1024;

/** In `_meta` of a list: the names of the targets that it lacks. */
export const unavailableKey = 'gateway.proxy/unavailable';

/** The list of all targets. */
export async function listMerged(parts: ListParts): Promise<ListOutcome> {
  const { federation, config, method, params, speaker, note } = parts;
  if (params['cursor'] !== undefined)
    return { ok: false, code: rpcCodes.invalidParams, message: 'Invalid cursor', data: undefined };
  const members = [...federation.members];
  const lists = await Promise.all(members.map((member) => collect(parts, member)));
  const items: string[] = [];
  const missing: string[] = [];
  for (const [index, list] of lists.entries()) {
    const { name, failsClosed } = members[index]!.config;
    if (list.ok) {
      for (const { text } of list.items) {
        const renamed = renameListItem(text, method, members[index]!.config, config.naming);
        items.push(renamed);
      }
      continue;
    }
    noteFailure(name, list.failure, note);
    if (failsClosed) return { ok: false, code: internalError, ...describeFailure(name, list.failure) };
    missing.push(name);
  }
  if (missing.length === members.length)
    return { ok: false, code: internalError, message: describeAllDown(missing), data: { targets: missing } };
  const result: string[] = [`${JSON.stringify(forms[method].member)}:[${items.join(',')}]`];
  if (speaker.era === 'modern') result.push('"resultType":"complete","ttlMs":0,"cacheScope":"private"');
  if (missing.length > 0) result.push(`"_meta":${JSON.stringify({ [unavailableKey]: missing })}`);
  return { ok: true, resultJson: `{${result.join(',')}}` };
}

/** No target can serve a request that any could. */
export function describeAllDown(names: readonly string[]): string {
  return `No server behind this endpoint can be reached: ${names.join(', ')}.`;
}

const ownerLists: Readonly<Record<ItemKind, ListMethod>> = {
  tool: 'tools/list',
  prompt: 'prompts/list',
  resource: 'resources/list',
};

/** Without prefixes: the one target that lists the item. A name that two targets claim is served by neither. */
export async function findOwner(
  parts: Omit<ListParts, 'method' | 'params' | 'signal'>,
  { kind, name }: Item,
): Promise<Member['config'] | undefined> {
  const members = [...parts.federation.members];
  const signal = new AbortController().signal;
  const all = { ...parts, method: ownerLists[kind], params: {}, signal };
  const lists = await Promise.all(members.map((member) => collect(all, member)));
  const owners = members.filter((_, index) => {
    const list = lists[index]!;
    return list.ok && list.items.some(({ own }) => own === name);
  });
  return owners.length === 1 ? owners[0]!.config : undefined;
}

type CollectedList =
  | { readonly ok: true; readonly items: readonly { readonly own: string; readonly text: string }[] }
  | { readonly ok: false; readonly failure: TargetFailure };

/** All pages of one target, as far as they are served. */
async function collect(parts: ListParts, { config, target }: Member): Promise<CollectedList> {
  const { speaker, method, signal } = parts;
  const { member, kind, key } = forms[method];
  const items: { own: string; text: string }[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let count = 0;
  let bytes = 0;
  for (;;) {
    const message = writeRequest(parts, cursor);
    const { jsonrpc: _, ...rest } = message;
    // eslint-disable-next-line no-await-in-loop -- each page says where the next one begins
    const answer = await askTarget(target, speaker, JSON.stringify(message), { kind: 'request', ...rest }, signal);
    if (!answer.ok) return answer;
    bytes += answer.text.length;
    if (bytes > maxListBytes) return garbage(`its list is longer than ${maxListBytes} bytes`);
    const page = readPage(answer.text, member);
    if (page === undefined) return garbage('its list cannot be read');
    if (page.kind === 'none') return { ok: true, items };
    count += page.entries.length;
    if (count > maxItems) return garbage(`its list has more than ${maxItems} entries`);
    for (const { value, text } of page.entries) {
      const own = isJsonObject(value) ? value[key] : undefined;
      if (typeof own === 'string' && config.selects[kind](own)) items.push({ own, text });
    }
    cursor = page.nextCursor;
    if (cursor === undefined) return { ok: true, items };
    if (seen.has(cursor)) return garbage('its list goes in a circle');
    seen.add(cursor);
  }
}

function writeRequest({ method, params }: ListParts, cursor: string | undefined) {
  const { cursor: _, _meta: meta, ...others } = params;
  // Progress is not asked for: the client could not tell whose it is.
  const { progressToken: __, ...kept } = isJsonObject(meta) ? meta : {};
  const sent = {
    ...others,
    ...(isJsonObject(meta) && { _meta: kept }),
    ...(cursor !== undefined && { cursor }),
  };
  return { jsonrpc: '2.0', id: 'list', method, params: sent };
}

type ListPage =
  /** The server does not have this list. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'entries';
      readonly entries: readonly { readonly value: unknown; readonly text: string }[];
      readonly nextCursor: string | undefined;
    };

function readPage(text: string, member: string): ListPage | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(message)) return undefined;
  const { result, error } = message;
  if (isJsonObject(error)) return error['code'] === rpcCodes.methodNotFound ? { kind: 'none' } : undefined;
  const values = isJsonObject(result) ? result[member] : undefined;
  const list = readMember(text, ['result', member]);
  if (!isJsonObject(result) || !Array.isArray(values) || list === undefined) return undefined;
  const entries: { value: unknown; text: string }[] = [];
  walkElements(list, 0, (at) => {
    const end = walkValue(list, at);
    entries.push({ value: values[entries.length], text: list.slice(at, end) });
    return end;
  });
  const { nextCursor } = result;
  return { kind: 'entries', entries, nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined };
}

function garbage(detail: string): CollectedList {
  return { ok: false, failure: { kind: 'garbage', status: undefined, headers: [], detail } };
}
