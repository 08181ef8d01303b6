// A target that has lists and nothing else, without a socket: pages, notices before the answer, and every way not to answer.
import type { FederatedSelection } from '../../../config/federation-config.ts';
import type { ListMethod } from '../../read/list-methods.ts';
import { listForms } from '../read-list-page.ts';
import type { Speaker, Target, TargetEvents, TargetState } from '../target.ts';

export interface ListingOptions {
  readonly name: string;
  readonly prefix?: string;
  readonly failsClosed?: boolean;
  readonly selects?: Partial<FederatedSelection>;
  /** JSON; undefined: not known yet. */
  readonly capabilities?: string | undefined;
  /** Default: up. */
  readonly health?: () => TargetState['health'];
  /** Pages of own names. */
  readonly pages?: readonly (readonly string[])[];
  /** Members of every result. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** In place of all that: what it does with a request, by number. */
  readonly answer?: (id: string, cursor: string | undefined, events: TargetEvents) => void;
}

export interface ListingTarget extends Target {
  /** The cursors that it was asked with. */
  readonly asked: readonly (string | undefined)[];
  /** Calls that were broken off. */
  readonly aborted: number;
}

const all = (): boolean => true;

/** Makes one. */
export function createListingTarget(method: ListMethod, options: ListingOptions): ListingTarget {
  const { name, pages = [[]] } = options;
  const asked: (string | undefined)[] = [];
  let aborted = 0;
  const respond = (id: string, cursor: string | undefined, events: TargetEvents): void => {
    const page = cursor === undefined ? 0 : Number(cursor.slice(1));
    const { member, key } = listForms[method];
    const result = {
      [member]: (pages[page] ?? []).map((own) => ({ [key]: own, title: `${own} of ${name}` })),
      ...(page + 1 < pages.length && { nextCursor: `p${page + 1}` }),
      ...options.members,
    };
    const text = JSON.stringify({ jsonrpc: '2.0', id, result });
    events.onMessage({ text, kind: 'response', id: JSON.stringify(id), method: undefined, eventId: undefined });
    events.onEnd();
  };
  const unused = (): never => {
    throw new Error('only lists are asked for here');
  };
  return {
    config: {
      name,
      prefix: options.prefix ?? name,
      failsClosed: options.failsClosed ?? false,
      backend: undefined as never,
      selects: { tool: all, prompt: all, resource: all, ...options.selects },
    },
    asked,
    get aborted() {
      return aborted;
    },
    describe: () => ({
      name,
      health: options.health?.() ?? 'up',
      version: undefined,
      serverInfo: undefined,
      capabilities: options.capabilities,
      instructions: undefined,
      lastFailure: undefined,
      tools: undefined,
    }),
    request(_speaker, { message }, events) {
      const id = (message as { readonly id: string }).id;
      const cursor = message.params['cursor'] as string | undefined;
      asked.push(cursor);
      queueMicrotask(() => (options.answer ?? respond)(id, cursor, events));
      return { resume() {}, abort: () => void (aborted += 1) };
    },
    introduce: unused,
    resumeCall: unused,
    notify: unused,
    listen: unused,
    endSession: unused,
    onHealthChange: () => () => {},
    close() {},
  };
}

/** Somebody who asks. */
export function createSpeaker(era: Speaker['era'], owner?: string): Speaker {
  return {
    era,
    version: era === 'modern' ? '2026-07-28' : '2025-11-25',
    clientInfo: undefined,
    capabilities: '{}',
    headers: [],
    host: 'gateway',
    owner,
    sessions: undefined,
  };
}
