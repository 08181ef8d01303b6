// Rules over MCP messages (`spec.backend.mcp.authorization`): reads the body once, judges what it asks for, and says how the answer is filtered.
import type { BackendConfig } from '../../config/runtime-config.ts';
import type { AuthenticatedRequest } from '../../policies/mcp-authentication/authentication-verdict.ts';
import type { ProtectedResource } from '../../policies/mcp-authentication/protected-resource.ts';
import type { RequestContext } from '../../request-context.ts';
import type { VerifiedToken } from '../../token/verified-token.ts';
import type { MessageRules } from './message-rules.ts';
import type { MessageVerdict } from './message-verdict.ts';

/** A request to an MCP backend with rules, after authentication and the rules over requests. */
export interface MessageRequest {
  readonly context: RequestContext;
  readonly rules: MessageRules;
  readonly backend: BackendConfig;
  /** Of the backend's MCP authentication, else of the route's JWT authentication. */
  readonly token: VerifiedToken | undefined;
  /** Set when the backend has MCP authentication. */
  readonly authenticated: AuthenticatedRequest | undefined;
  /** Where a challenge points to; set when the backend has MCP authentication. */
  readonly resource: ProtectedResource | undefined;
}

/** Judges a request. */
export function judgeMessages({ rules }: MessageRequest): MessageVerdict | Promise<MessageVerdict> {
  return { kind: 'deny', reason: 'policy_invalid', detail: `${rules.source}: not supported yet`, responseHeaders: [] };
}
