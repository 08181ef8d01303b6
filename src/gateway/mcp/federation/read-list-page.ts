// One page of a list, as a target answered it: its entries as texts of their own, and how the list goes on. What could be read in two ways is no list.
import { isJsonObject, type JsonObject } from '../../../base/json-object.ts';
import { readString, skipSpace, walkElements, walkMembers, walkValue } from '../../../base/json-text.ts';
import { foldKey } from '../read/known-keys.ts';
import type { ListMethod } from '../read/list-methods.ts';

/** The member of a result that is the list, and the key by which an entry is used. */
export const listForms: Readonly<Record<ListMethod, { readonly member: string; readonly key: string }>> = {
  'tools/list': { member: 'tools', key: 'name' },
  'prompts/list': { member: 'prompts', key: 'name' },
  'resources/list': { member: 'resources', key: 'uri' },
  'resources/templates/list': { member: 'resourceTemplates', key: 'uriTemplate' },
};

/** An entry of a list. */
export interface ListItem {
  /** By which the server knows it. */
  readonly own: string;
  /** As the server wrote it. */
  readonly text: string;
}

/** One page. */
export interface ListPage {
  readonly items: readonly ListItem[];
  readonly nextCursor: string | undefined;
  /** For how long it may be kept; undefined: the server did not say. */
  readonly ttlMs: number | undefined;
  /** The server says that all callers get the same. */
  readonly isPublic: boolean;
}

type PageReading =
  | { readonly ok: true; readonly page: ListPage }
  /** `isUnknown`: the server does not have this method. */
  | { readonly ok: false; readonly isUnknown: boolean; readonly problem: string };

/** Reads the answer to a list request. The text is JSON. */
export function readListPage(text: string, method: ListMethod): PageReading {
  const { error } = JSON.parse(text) as { readonly error?: unknown };
  if (error !== undefined) {
    const { code, message: words }: JsonObject = isJsonObject(error) ? error : {};
    const number = typeof code === 'number' ? ` ${code}` : '';
    return {
      ok: false,
      isUnknown: code === methodNotFound,
      problem: `it answered with the error${number}${typeof words === 'string' ? `: ${words.slice(0, 200)}` : ''}`,
    };
  }
  const results: number[] = [];
  walkMembers(text, skipSpace(text, 0), (key, at) => {
    if (foldKey(key) === 'result') results.push(key === 'result' && text[at] === '{' ? at : -1);
    return undefined;
  });
  const [at] = results;
  if (results.length !== 1 || at === undefined || at < 0) return refuse('its answer has no result');
  return readResult(text, at, method);
}

const methodNotFound = -32_601;

function readResult(text: string, start: number, method: ListMethod): PageReading {
  const { member, key } = listForms[method];
  const known = new Map<string, string>([[foldKey(member), member], ...otherMembers]);
  const seen = new Map<string, number>();
  let problem: string | undefined;
  walkMembers(text, start, (found, at) => {
    const meant = known.get(foldKey(found));
    if (meant === undefined) return undefined;
    if (found !== meant || seen.has(meant)) problem = `its list has ${meant} in two ways`;
    seen.set(meant, at);
    return undefined;
  });
  const listAt = seen.get(member);
  if (problem === undefined && (listAt === undefined || text[listAt] !== '['))
    problem = `its answer has no list of ${member}`;
  if (problem !== undefined) return refuse(problem);

  const items: ListItem[] = [];
  walkElements(text, listAt!, (at) => {
    const end = walkValue(text, at);
    const own = text[at] === '{' ? readKey(text, at, key) : undefined;
    // Whoever has no name, or two, cannot be used.
    if (own !== undefined) items.push({ own, text: text.slice(at, end) });
    return end;
  });
  const cursor = readValue(text, seen.get('nextCursor'));
  if (cursor !== undefined && cursor !== null && typeof cursor !== 'string')
    return refuse('its list goes on at a cursor that is no text');
  const ttlMs = readValue(text, seen.get('ttlMs'));
  return {
    ok: true,
    page: {
      items,
      nextCursor: cursor ?? undefined,
      ttlMs: typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : undefined,
      isPublic: readValue(text, seen.get('cacheScope')) === 'public',
    },
  };
}

const otherMembers: readonly (readonly [string, string])[] = ['nextCursor', 'ttlMs', 'cacheScope'].map((name) => [
  foldKey(name),
  name,
]);

function readKey(text: string, start: number, key: string): string | undefined {
  const folded = foldKey(key);
  let own: string | undefined;
  let count = 0;
  walkMembers(text, start, (found, at) => {
    if (found !== key && foldKey(found) !== folded) return undefined;
    count += 1;
    const end = walkValue(text, at);
    if (found === key && text[at] === '"') own = readString(text, at, end);
    return end;
  });
  return count === 1 && own !== '' ? own : undefined;
}

function readValue(text: string, at: number | undefined): unknown {
  return at === undefined ? undefined : JSON.parse(text.slice(at, walkValue(text, at)));
}

function refuse(problem: string): PageReading {
  return { ok: false, isUnknown: false, problem };
}
