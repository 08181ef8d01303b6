// Scopes that single messages need (MCP authorization, "Scope Challenge Handling"): 403 tells the client which ones to ask for.
import type { RequestContext } from '../../request/request-context.ts';
import { checkScopes } from '../../authentication/token/check-claims.ts';
import type { VerifiedToken } from '../../authentication/token/verified-token.ts';
import { createDenial } from '../../authentication/deny-token.ts';
import type { BearerChallenge } from '../../authentication/challenge.ts';
import type { ProtectedResource } from '../../config/protected-resource.ts';
import type { Denial } from '../../request/verdict.ts';
import type { ScopeRule } from '../../config/mcp-authorization-config.ts';

/** A method and perhaps a tool. Undefined: a request without a message, to which only entries without conditions apply. */
export interface ScopedUse {
  readonly method: string;
  readonly tool: string | undefined;
}

/** All scopes that these uses need together, each once, in the order of the policy. */
export function listNeededScopes(rules: readonly ScopeRule[], uses: readonly (ScopedUse | undefined)[]): string[] {
  const needed = new Set<string>();
  for (const rule of rules) {
    if (!uses.some((use) => fits(rule, use))) continue;
    for (const scope of rule.scopes) needed.add(scope);
  }
  return [...needed];
}

function fits({ methods, matchesTool }: ScopeRule, use: ScopedUse | undefined): boolean {
  if (use === undefined) return methods === undefined && matchesTool === undefined;
  if (methods?.has(use.method) === false) return false;
  return matchesTool === undefined || (use.tool !== undefined && matchesTool(use.tool));
}

/** The token whose scopes are checked, and the resource that a challenge names. */
export interface ScopeCheck {
  readonly context: RequestContext;
  readonly token: VerifiedToken | undefined;
  /** Undefined: the backend has no MCP authentication, and a client cannot begin a login here. */
  readonly resource: ProtectedResource | undefined;
}

/** The denial of a token that lacks some of the scopes; undefined when it has them all. */
export function findMissingScopes(check: ScopeCheck, needed: readonly string[]): Denial | undefined {
  if (needed.length === 0) return undefined;
  const { context, resource, token } = check;
  if (token === undefined)
    return createDenial(
      context,
      resource,
      'missing_token',
      { scopes: listAll(check, needed) },
      'the message needs scopes, but the request has no token',
    );
  const refusal = checkScopes(token, needed);
  if (refusal === undefined) return undefined;
  // A token without any scopes gets no challenge: a step-up would yield another token without scopes, in a loop.
  const isStepUp = refusal.reason === 'insufficient_scope';
  const challenge: BearerChallenge = { error: 'insufficient_scope', scopes: listAll(check, needed) };
  return createDenial(
    context,
    resource,
    refusal.reason,
    isStepUp ? challenge : undefined,
    refusal.operatorDetail ?? refusal.detail,
  );
}

/** The next token replaces this one, so the challenge includes the scopes that every request needs. */
function listAll({ resource }: ScopeCheck, needed: readonly string[]): readonly string[] {
  return [...new Set([...(resource?.config.message.requiredScopes ?? []), ...needed])];
}
