// What the gateway knows about an answer before it comes: the side of the request tells the side of the answer.
import type { ItemKind } from '../read/read-item.ts';
import type { ListMethod } from '../read/list-methods.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';

/** May this caller use the item? Bound to one request: its token, its session, its protocol version. Each item is judged once. */
export type ItemJudge = (kind: ItemKind, name: string) => boolean;

/** What to expect of an answer. */
export interface AnswerExpectation {
  readonly rules: McpAuthorizationConfig;
  /** An item is shown in a list exactly when this says so; a template's uriTemplate stands for the resource's uri. */
  readonly judge: ItemJudge;
  /** The lists that the request asked for, by the JSON text of the message's id; undefined: not known (a GET), a list is recognised by its shape. */
  readonly listRequests: ReadonlyMap<string, ListMethod> | undefined;
  /** Answers of the gateway itself (JSON text of JSON-RPC responses) to the refused messages of a batch, to be merged into the answer. */
  readonly injected: readonly string[];
  /** The client sent an array. */
  readonly isBatch: boolean;
}
