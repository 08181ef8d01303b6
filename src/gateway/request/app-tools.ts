// Tools that a page of an MCP App calls by the server's own name: what is asked of the servers' lists before rules judge the call.
import type { Message } from '../mcp/read/message.ts';

/** Whose tools bare names mean. Names in neither map are unknown. */
export interface AppTools {
  /** The prefixed name, by the bare one. */
  readonly prefixed: ReadonlyMap<string, string>;
  /** The error of a call, by the bare name. */
  readonly refused: RefusedNames;
}

/** Errors for names that cannot be told apart or not be found at the moment. */
export type RefusedNames = ReadonlyMap<string, { readonly code: number; readonly message: string }>;

/** Finds out whose tools the names are. `isListed`: whether the caller sees a tool, by its prefixed name, in lists. A tool that it does not see does not exist. */
export type FindAppTools = (
  names: readonly string[],
  message: Message,
  isListed: (prefixed: string) => boolean,
) => Promise<AppTools>;

/** The same for any request to a federation. */
export type FindAppToolsOf<R> = (request: R, ...rest: Parameters<FindAppTools>) => ReturnType<FindAppTools>;
