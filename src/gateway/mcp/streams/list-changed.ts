// Open notification streams of MCP servers. When the rules over messages change, clients are notified about lists that may look different,
// and the streams themselves are judged again: from then on the rules in force apply to them.
import type { Log } from '../../../base/log.ts';
import type { RuntimeConfig } from '../../config/runtime-config.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';
import { findChangedLists, type ListName } from './list-changed-rules.ts';

/** An open stream. */
export interface NotificationStream {
  /** Key of the backend that it comes from. */
  readonly backend: string;
  /** The rules that allowed it. */
  readonly rules: McpAuthorizationConfig | undefined;
  /** Called when other rules are in force; these lists may look different. */
  changeRules(rules: McpAuthorizationConfig | undefined, lists: readonly ListName[]): void;
}

interface OpenStream {
  readonly stream: NotificationStream;
  /** The rules that apply to it and that its client was notified about. */
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

  /** Registers a stream; call the result when it ends. The rules may have changed since its request arrived. */
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
    // A removed or closed backend serves no requests. If it comes back, its rules are compared with the last known ones.
    if (!this.#rules.has(stream.backend)) return;
    const rules = this.#rules.get(stream.backend);
    const lists = findChangedLists(open.rules, rules);
    open.rules = rules;
    if (lists.length === 0) return;
    try {
      stream.changeRules(rules, lists);
    } catch (error) {
      this.#log.error({ err: error, backend: stream.backend }, 'the new rules could not be applied to an open stream');
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
