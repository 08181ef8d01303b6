// Which items the caller may use: every tool, prompt or resource is used and listed once, through the request path, and its answers are read.
import type { RawHeaders } from '../../gateway/http/exchange.ts';
import type { AnswerTreatment } from '../../gateway/http/answer-filter.ts';
import type { ExplainedItem } from './explain-report.ts';
import { findVerdict } from './build-report.ts';
import { findListMethod, type McpItem } from './mcp-message.ts';
import type { RequestOutcome } from './run-request.ts';

/** Runs requests for items. */
interface ItemRuns {
  /** The request that uses an item. */
  readonly use: (item: McpItem) => Promise<RequestOutcome>;
  /** The request that lists items. */
  readonly list: (method: string) => Promise<RequestOutcome>;
}

/** Judges all items. */
export async function explainItems(items: readonly McpItem[], { use, list }: ItemRuns): Promise<ExplainedItem[]> {
  const listed = new Set<string>();
  for (const kind of new Set(items.map((item) => item.kind))) {
    const names = items.filter((item) => item.kind === kind).map(({ name }) => name);
    for (const name of readListed(kind, names, await list(findListMethod(kind)))) listed.add(`${kind} ${name}`);
  }
  const explained: ExplainedItem[] = [];
  for (const item of items) {
    const verdict = findVerdict(await use(item));
    explained.push({
      ...item,
      allowed: verdict.outcome === 'forwarded',
      listed: listed.has(`${item.kind} ${item.name}`),
      reason: verdict.reason,
      detail: verdict.detail,
    });
  }
  return explained;
}

const listAnswerHeaders: RawHeaders = ['content-type', 'application/json'];

/** Puts an answer with all names through the filter of the real one, and reads which are left. */
function readListed(kind: McpItem['kind'], names: readonly string[], { forwarded }: RequestOutcome): readonly string[] {
  if (forwarded === undefined) return [];
  const key = kind === 'resource' ? 'uri' : 'name';
  const entries = names.map((name) => ({ ...describeEntry(kind), [key]: name }));
  const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { [`${kind}s`]: entries } });
  const filtered = filterText(answer, forwarded.plan.filterAnswer?.(200, listAnswerHeaders) ?? { kind: 'pass' });
  if (filtered === undefined) return [];
  const { result } = JSON.parse(filtered) as ListAnswer;
  return (result[`${kind}s`] ?? []).map((entry) => String(entry[key]));
}

interface ListAnswer {
  readonly result: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
}

/** Undefined: the answer does not get through. */
function filterText(text: string, treatment: AnswerTreatment): string | undefined {
  switch (treatment.kind) {
    case 'pass':
      return text;
    case 'collect': {
      const filtered = treatment.filter(Buffer.from(text));
      if (!filtered.ok) return undefined;
      return filtered.changed === undefined ? text : Buffer.from(filtered.changed.body).toString('utf8');
    }
    case 'stream': {
      const { filter } = treatment;
      const parts = [filter.begin()];
      for (const step of [() => filter.push(Buffer.from(text)), () => filter.flush()]) {
        const filtered = step();
        if (!filtered.ok) return undefined;
        parts.push(filtered.bytes);
      }
      return Buffer.concat(parts).toString('utf8');
    }
    case 'refuse':
      return undefined;
  }
}

/** What the protocol demands of an entry beside its name. */
function describeEntry(kind: McpItem['kind']): Readonly<Record<string, unknown>> {
  if (kind === 'tool') return { inputSchema: { type: 'object' } };
  return kind === 'resource' ? { name: 'resource' } : {};
}
