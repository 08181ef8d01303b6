// Lists in the answers of an MCP server: what the caller may not use is cut out, everything else stays as the server wrote it.
//
// An answer is a list when it answers a list request, and whenever it looks like one: streams also carry answers to other requests. What
// looks like a list but could be read in two ways (a key twice, `"Tools"`) is not passed on: the client might see what was not judged.
// A doubled key elsewhere, such as in the schema of a tool, reveals nothing that is hidden, and passes.
import { foldKey } from '../read/known-keys.ts';
import type { AnswerExpectation } from './answer-expectation.ts';
import type { ListMethod } from '../read/list-methods.ts';
import type { ItemKind } from '../read/read-item.ts';
import {
  readString,
  replaceParts,
  skipSpace,
  walkValue,
  type TextSpan,
  walkElements,
  walkMembers,
} from '../../../base/json-text.ts';
import { mayHoldUpdate, UpdateReading } from './resource-update.ts';

/** What is known about the lists in an answer. */
export type ListExpectation = Pick<AnswerExpectation, 'judge' | 'listRequests'>;

type FilteredText =
  | { readonly kind: 'unchanged' }
  /** `problem`: a message could not be read and an error stands in its place, or nothing. An empty text: nothing is left. */
  | { readonly kind: 'changed'; readonly text: string; readonly problem: string | undefined }
  /** No JSON at all. */
  | { readonly kind: 'unreadable'; readonly problem: string };

/** The member of a result that is a list, what its entries are, and the key by which an entry is used. */
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

const formsByFoldedMember: ReadonlyMap<string, ListForm> = new Map(
  Object.values(forms).map((form) => [foldKey(form.member), form]),
);

/** The names of the members in the spelling of any reader that ignores case: of their letters only `s` has a form outside of ASCII, `ſ`. Or a letter that is written as an escape. */
const trace = /"(?:tool|prompt|re(?:s|\xc5\xbf)ource)|\\u/i;

/**
 * Could there be a list in these bytes of JSON (as latin1), or a notice about a resource? Never no when there is one: a key begins with a
 * quote and goes on with the name, unless a letter is escaped, and the only escape that can stand for a letter is `\u`.
 */
export function mayHoldItems(bytes: string): boolean {
  return trace.test(bytes) || mayHoldUpdate(bytes);
}

/** Judges all lists and notices about resources in a text: one JSON-RPC message, or an array of them. */
export function filterLists(text: string, expectation: ListExpectation): FilteredText {
  try {
    JSON.parse(text);
  } catch {
    return { kind: 'unreadable', problem: 'the upstream sent a list that is not JSON' };
  }
  const start = skipSpace(text, 0);
  if (text[start] === '[') return filterBatch(text, start, expectation);
  const changed = text[start] === '{' ? filterMessage(text, start, expectation).changed : undefined;
  if (changed === undefined) return unchanged;
  return { kind: 'changed', ...changed };
}

/** The id (as JSON) of the one list that was asked for; undefined when that is not known, or there are several. */
export function findOnlyId({ listRequests }: ListExpectation): string | undefined {
  return listRequests?.size === 1 ? listRequests.keys().next().value : undefined;
}

/** The error that stands in place of a list that could not be read. */
export function formatUnreadable(id: string): string {
  const error = { code: -32_603, message: 'The gateway could not read this list, so it does not pass it on.' };
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;
}

const unchanged: FilteredText = { kind: 'unchanged' };
const unclearUpdate = 'the upstream sent a notice about a resource that can be read in two ways, or names none';

interface FilteredMessage {
  /** Where it ends in the text. */
  readonly end: number;
  /** Undefined: it stays as it is. An empty text: it is left out. */
  readonly changed: { readonly text: string; readonly problem: string | undefined } | undefined;
}

function filterBatch(text: string, start: number, expectation: ListExpectation): FilteredText {
  const kept: string[] = [];
  let isChanged = false;
  let problem: string | undefined;
  walkElements(text, start, (at) => {
    const { end, changed } =
      text[at] === '{' ? filterMessage(text, at, expectation) : { end: walkValue(text, at), changed: undefined };
    isChanged ||= changed !== undefined;
    problem ??= changed?.problem;
    if (changed?.text !== '') kept.push(changed?.text ?? text.slice(at, end));
    return end;
  });
  return isChanged ? { kind: 'changed', text: `[${kept.join(',')}]`, problem } : unchanged;
}

function filterMessage(text: string, start: number, expectation: ListExpectation): FilteredMessage {
  const results: { readonly key: string; readonly lists: ListsOfResult | undefined }[] = [];
  const ids: { readonly key: string; readonly at: number }[] = [];
  const update = new UpdateReading(text);
  let hasMethod = false;
  const end = walkMembers(text, start, (key, at) => {
    const folded = foldKey(key);
    if (folded === 'id') ids.push({ key, at });
    else if (folded === 'method') hasMethod = true;
    update.visit(key, folded, at);
    if (folded !== 'result') return undefined;
    const lists = text[at] === '{' ? filterResult(text, at, expectation) : undefined;
    results.push({ key, lists });
    return lists?.end;
  });
  if (update.isUpdate) {
    const { uri } = update;
    if (uri === undefined) return { end, changed: { text: '', problem: unclearUpdate } };
    if (!expectation.judge('resource', uri)) return { end, changed: { text: '', problem: undefined } };
  }
  const [result] = results;
  // A request, a notification, an error: whatever else it says, it answers nothing.
  if (result === undefined) return { end, changed: undefined };

  const id = ids.length === 1 && ids[0]!.key === 'id' && !hasMethod ? readId(text, ids[0]!.at) : undefined;
  const reject = (problem: string): FilteredMessage => {
    const known = id ?? findOnlyId(expectation);
    const replacement = known === undefined ? '' : formatUnreadable(known);
    return { end, changed: { text: replacement, problem: `the upstream sent ${problem}` } };
  };
  if (results.length > 1 || result.key !== 'result') return reject('an answer whose result can be read in two ways');
  const { lists } = result;
  if (lists === undefined) return { end, changed: undefined };
  const method = id === undefined ? undefined : expectation.listRequests?.get(id);
  const unclear =
    lists.unclear ?? (method !== undefined && lists.others.has(forms[method]) ? forms[method] : undefined);
  if (unclear !== undefined) return reject(`a list of ${unclear.member} that can be read in two ways`);
  if (lists.parts.length === 0) return { end, changed: undefined };
  // A list under an id that the client may read as another one would be the answer to another request.
  if (id === undefined) return reject('a list whose id can be read in two ways, or is none');
  const parts = lists.parts.map((part) => ({ ...part, start: part.start - start, end: part.end - start }));
  return { end, changed: { text: replaceParts(text.slice(start, end), parts), problem: undefined } };
}

/** As JSON.stringify writes it; undefined for what is no id. */
function readId(text: string, at: number): string | undefined {
  const id: unknown = JSON.parse(text.slice(at, walkValue(text, at)));
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : undefined;
}

interface ListsOfResult {
  readonly end: number;
  /** What changes in it, in order. */
  readonly parts: readonly (TextSpan & { readonly text: string })[];
  /** A list that can be read in two ways. */
  readonly unclear: ListForm | undefined;
  /** Has the name of these, but is no list. */
  readonly others: ReadonlySet<ListForm>;
}

function filterResult(text: string, start: number, expectation: ListExpectation): ListsOfResult {
  const parts: (TextSpan & { readonly text: string })[] = [];
  const seen = new Set<ListForm>();
  const others = new Set<ListForm>();
  let unclear: ListForm | undefined;
  let scope: TextSpan | undefined;
  const end = walkMembers(text, start, (key, at) => {
    if (key === 'cacheScope') scope = { start: at, end: walkValue(text, at) };
    const form = formsByFoldedMember.get(foldKey(key));
    if (form === undefined) return undefined;
    const isList = text[at] === '[';
    if (!isList) others.add(form);
    if (seen.has(form) || (isList && key !== form.member)) unclear ??= form;
    if (!isList) return undefined;
    seen.add(form);
    const filtered = filterEntries(text, at, form, expectation);
    if (filtered.kept !== undefined) parts.push({ start: at, end: filtered.end, text: filtered.kept });
    return filtered.end;
  });
  // What this caller sees is not what everybody sees (2026-07-28, "Caching").
  if (seen.size > 0 && scope !== undefined && text.slice(scope.start, scope.end) !== '"private"')
    parts.push({ ...scope, text: '"private"' });
  return { end, parts: parts.toSorted((left, right) => left.start - right.start), unclear, others };
}

/** Where the array ends, and what of it the caller may use; undefined when that is all. */
function filterEntries(
  text: string,
  start: number,
  { kind, key }: ListForm,
  { judge }: ListExpectation,
): { readonly end: number; readonly kept: string | undefined } {
  const kept: string[] = [];
  let count = 0;
  const end = walkElements(text, start, (at) => {
    count += 1;
    if (text[at] !== '{') return undefined;
    const { end: entryEnd, name } = readEntry(text, at, key);
    if (name !== undefined && judge(kind, name)) kept.push(text.slice(at, entryEnd));
    return entryEnd;
  });
  return { end, kept: kept.length === count ? undefined : `[${kept.join(',')}]` };
}

/** Where an entry ends, and its name; undefined when it has none, or could be taken for another. */
function readEntry(
  text: string,
  start: number,
  key: string,
): { readonly end: number; readonly name: string | undefined } {
  const folded = foldKey(key);
  let name: string | undefined;
  let isClear = true;
  let count = 0;
  const end = walkMembers(text, start, (found, at) => {
    if (found !== key && foldKey(found) !== folded) return undefined;
    count += 1;
    if (count > 1 || found !== key || text[at] !== '"') {
      isClear = false;
      return undefined;
    }
    const valueEnd = walkValue(text, at);
    name = readString(text, at, valueEnd);
    return valueEnd;
  });
  return { end, name: isClear ? name : undefined };
}
