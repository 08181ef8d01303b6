// The verdict of rules over MCP messages about a request.
import type { McpAuthorizationConfig } from '../config/mcp-authorization-config.ts';
import type { FilterAnswer } from '../http/answer-filter.ts';
import type { ReadBody } from '../mcp/read/parse-message.ts';
import type { RefusedNames } from './app-tools.ts';
import type { Continuation, Denial, GatewayAnswer } from './verdict.ts';

/** The messages may go on, in this form. */
export interface JudgedMessages extends Continuation {
  /** The body as it goes upstream, already read; undefined: it was not read and streams. */
  readonly body: Uint8Array | undefined;
  /** The messages of that body; undefined: they would have to be read again. */
  readonly read?: ReadBody | undefined;
  /** Tools that are called by names that cannot be told apart, or not yet. */
  readonly refused?: RefusedNames | undefined;
  /** Of the one message: the name as the client sent it, and the seed of the one that the server gets instead, because the rules hide the item. */
  readonly hidden?: { readonly name: string; readonly seed: string } | undefined;
  /** Mcp-Name as it goes upstream, when it is not what the client sent. */
  readonly mcpName?: string | undefined;
  /** Releases the body's memory budget once the body is no longer needed. */
  readonly releaseBody?: (() => void) | undefined;
  /** Filters the answer; undefined: it streams unchanged. */
  readonly filterAnswer: FilterAnswer | undefined;
}

/** `respond`: the gateway answers in the server's place, e.g. with the error of an unknown tool. */
export type MessageVerdict = JudgedMessages | GatewayAnswer | Denial;

/** Judges the same request by changed rules while its answer, a stream, is still open. */
export type JudgeAgain = (rules: McpAuthorizationConfig | undefined) => MessageVerdict | Promise<MessageVerdict>;
