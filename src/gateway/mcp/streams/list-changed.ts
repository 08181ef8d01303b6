// Open streams on which MCP servers send notifications. When the rules over messages change, their clients are told which lists look
// different now, and the streams themselves are judged again: what passes on them from then on passes under the rules in force.
import type { Log } from '../../../base/log.ts';
import type { RuntimeConfig } from '../../config/runtime-config.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';
import { findChangedLists, type ListName } from './list-changed-rules.ts';

/** An open stream. */
export interface NotificationStream {
  /** Key of the backend that it comes from. */
  readonly backend: string;
  /** Those by which it was let in. */
  readonly rules: McpAuthorizationConfig | undefined;
  /** Other rules are in force now, and these lists are the ones that may look different. */
  changeRules(rules: McpAuthorizationConfig | undefined, lists: readonly ListName[]): void;
}

interface OpenStream {
  readonly stream: NotificationStream;
  /** Those that it goes by, and that its client knows of. */
  rules: McpAuthorizationConfig | undefined;
}

/** All open streams of a gateway process. */
export class NotificationStreams {
  readonly #log: Log;
  readonly #open = new Set<OpenStream>();
  #config: RuntimeConfig | undefined;
  #rules: ReadonlyMap<string, McpAuthorizationConfig | undefined> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** A stream begins; the result is called when it ends. The rules may have changed since its request came. */
  open(stream: NotificationStream): () => void {
    const open: OpenStream = { stream, rules: stream.rules };
    this.#open.add(open);
    this.#bringUpToDate(open);
    return () => void this.#open.delete(open);
  }

  /** Another configuration is in force. */
  reconcile(config: RuntimeConfig): void {
    this.#config = config;
    this.#rules = undefined;
    for (const open of this.#open) this.#bringUpToDate(open);
  }

  #bringUpToDate(open: OpenStream): void {
    if (this.#config === undefined) return;
    this.#rules ??= collectRules(this.#config);
    const { stream } = open;
    // A backend that is gone or closed lets nobody ask anything. Should it come back, its rules are compared with those known now.
    if (!this.#rules.has(stream.backend)) return;
    const rules = this.#rules.get(stream.backend);
    const lists = findChangedLists(open.rules, rules);
    open.rules = rules;
    if (lists.length === 0) return;
    try {
      stream.changeRules(rules, lists);
    } catch (error) {
      this.#log.error({ err: error, backend: stream.backend }, 'a stream could not be brought under the new rules');
    }
  }
}

/** The rules of every backend that can be reached. */
function collectRules(config: RuntimeConfig): Map<string, McpAuthorizationConfig | undefined> {
  const rules = new Map<string, McpAuthorizationConfig | undefined>();
  for (const port of config.ports.values())
    for (const [, listener] of port.listeners.entries())
      for (const [, table] of listener.routes.entries())
        for (const { route } of table.entries)
          for (const { backend, failure, policies } of route.backends.entries)
            if (failure === undefined && policies.failure === undefined)
              rules.set(backend, policies['backend.mcp.authorization']);
  return rules;
}
