// Filters the lists of a buffered answer, and adds the gateway's own answers to it.
import { filterLists, type ListExpectation, mayHoldItems } from './filter-list.ts';
import type { FilteredBody } from '../../http/answer-filter.ts';

const unchanged: FilteredBody = { ok: true, changed: undefined, note: undefined };

// A byte order mark at the beginning is no part of the text.
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A body that says that it is JSON. `injected`: JSON texts of messages to be added to the answer of a batch. */
export function filterJson(body: Uint8Array, expectation: ListExpectation, injected: readonly string[]): FilteredBody {
  if (body.length === 0) return injected.length === 0 ? unchanged : answerBatch(injected);
  // Some parsers detect UTF-16 and UTF-32 by zero bytes; UTF-8 JSON has none.
  if (body.includes(0)) return { ok: false, detail: 'the upstream sent a list that is not UTF-8' };
  if (injected.length === 0 && !mayHoldItems(toLatin1(body))) return unchanged;
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    return { ok: false, detail: 'the upstream sent a list that is not UTF-8' };
  }
  const filtered = filterLists(text, expectation);
  if (filtered.kind === 'unreadable') return { ok: false, detail: filtered.problem };
  const message = (filtered.kind === 'changed' ? filtered.text : text).trim();
  const problem = filtered.kind === 'changed' ? filtered.problem : undefined;
  const isBatch = message.startsWith('[');
  // In a batch, the readable messages pass. A single message that cannot be read is reported as an error of the server.
  if (problem !== undefined && !isBatch) return { ok: false, detail: problem };
  if (injected.length === 0) return filtered.kind === 'changed' ? change(message, problem) : unchanged;
  if (isBatch) {
    const own = message.slice(1, -1).trim();
    return change(joinMessages(own === '' ? injected : [own, ...injected]), problem);
  }
  if (message.startsWith('{')) return change(joinMessages([message, ...injected]), undefined);
  return { ok: false, detail: 'the upstream answered a batch with something that is not a message' };
}

/** A body that is not declared as JSON. It passes only when no client could take it for a list. */
export function filterOpaque(
  body: Uint8Array,
  expectation: ListExpectation,
  injected: readonly string[],
  status: number,
): FilteredBody {
  if (body.length === 0) return injected.length === 0 ? unchanged : answerBatch(injected);
  // Also when nothing but white space is there to be seen.
  const looksLikeJson = /^(?:\xef\xbb\xbf)?\s*(?:[[{]|$)/.test(toLatin1(body.subarray(0, 1024)));
  // On a GET it may be anything. Servers of the older SSE transport answer `202 Accepted` with a word.
  const isExpected = expectation.listRequests === undefined || status === 202;
  if (isExpected && !looksLikeJson && injected.length === 0) return unchanged;
  if (isExpected && looksLikeJson) return filterJson(body, expectation, injected);
  return { ok: false, detail: 'the upstream answered with a content type that cannot be filtered' };
}

/** An answer that consists of these messages alone. */
export function answerBatch(messages: readonly string[]): FilteredBody {
  return { ok: true, changed: { body: Buffer.from(joinMessages(messages)), isNew: true }, note: undefined };
}

function change(text: string, note: string | undefined): FilteredBody {
  return { ok: true, changed: { body: Buffer.from(text), isNew: false }, note };
}

function joinMessages(messages: readonly string[]): string {
  return `[${messages.join(',')}]`;
}

function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
