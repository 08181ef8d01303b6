// What the gateway knows about an answer before it arrives: passed from the request side to the answer side.
import type { ItemKind } from '../read/read-item.ts';
import type { ListMethod } from '../read/list-methods.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';

/** May this caller use the item? Bound to one request: its token, its session, its protocol version. Each item is judged once. */
export type ItemJudge = (kind: ItemKind, name: string) => boolean;

/** What to expect of an answer. */
export interface AnswerExpectation {
  readonly rules: McpAuthorizationConfig;
  /** Decides which items a list shows; a template is judged by its uriTemplate. */
  readonly judge: ItemJudge;
  /** The lists that the request asked for, by the JSON text of the message's id; undefined: not known (a GET), a list is recognised by its shape. */
  readonly listRequests: ReadonlyMap<string, ListMethod> | undefined;
  /** Answers of the gateway itself (JSON text of JSON-RPC responses) to the refused messages of a batch, to be merged into the answer. */
  readonly injected: readonly string[];
  /** The client sent an array. */
  readonly isBatch: boolean;
}
