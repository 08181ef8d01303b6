// What rules over MCP messages say about a request.
import type { McpAuthorizationConfig } from '../config/mcp-authorization-config.ts';
import type { FilterAnswer } from '../http/answer-filter.ts';
import type { Continuation, Denial, Response } from './verdict.ts';

/** The messages may go on, in this form. */
export interface JudgedMessages extends Continuation {
  /** The body as it goes upstream, already read; undefined: it was not read and streams. */
  readonly body: Uint8Array | undefined;
  /** Mcp-Name as it goes upstream, when it is not what the client sent. */
  readonly mcpName?: string | undefined;
  /** Says that the body is needed no more: others may have its room. */
  readonly releaseBody?: (() => void) | undefined;
  /** What the answer must pass; undefined: it streams as it is. */
  readonly filterAnswer: FilterAnswer | undefined;
}

/** `respond`: the gateway answers in the server's place, e.g. with the error of an unknown tool. */
export type MessageVerdict = JudgedMessages | Response | Denial;

/** What other rules say about the same request, while its answer, a stream, is still open. */
export type JudgeAgain = (rules: McpAuthorizationConfig | undefined) => MessageVerdict | Promise<MessageVerdict>;
