// A policy message with rules over MCP messages -> compiled rules.
import { type McpAuthorization, type Policy, PolicyTargetKind } from '../../ir/gen/config_pb.ts';
import type { MessageRules } from '../mcp/messages/message-rules.ts';
import type { PolicyPlace } from '../policies/policy-level.ts';
import { PolicyError } from './compile-authentication.ts';

/** Compiles the rules, or throws: then the backend is closed. */
export function compileMcpAuthorization(policy: Policy, _message: McpAuthorization, _place: PolicyPlace): MessageRules {
  if (policy.target?.kind !== PolicyTargetKind.PROXY_BACKEND)
    throw new PolicyError('rules over MCP messages can protect a ProxyBackend only');
  throw new PolicyError('rules over MCP messages are not supported yet');
}
