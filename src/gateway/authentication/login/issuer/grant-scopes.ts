// The scopes that issued tokens may have: some always, others under a condition over the claims (CEL).
import { compileExpression } from '../../../../cel/compile-expression.ts';
import type { Expression, ExpressionVariables } from '../../../../cel/expression.ts';
import type { ScopeGrant } from '../../../../ir/gen/config_pb.ts';
import type { TokenIssuer } from '../../../config/token-issuer.ts';

/** A condition that cannot be used. */
export class ScopeGrantError extends Error {
  readonly code = 'invalid_scope_grant';
}

interface CompiledGrant {
  readonly scopes: readonly string[];
  /** Undefined: always. */
  readonly when: Expression | undefined;
}

/** Compiles the grants of a policy, or throws: then its target is closed. */
export function compileScopeGrants(
  grants: readonly Pick<ScopeGrant, 'scopes' | 'when'>[],
): Pick<TokenIssuer, 'grantScopes' | 'scopes'> {
  const compiled = grants.map(compileGrant);
  return {
    scopes: [...new Set(compiled.flatMap(({ scopes }) => scopes))],
    grantScopes(claims) {
      const granted = compiled.filter(({ when }) => when === undefined || holds(when, claims));
      return new Set(granted.flatMap(({ scopes }) => scopes));
    },
  };
}

function compileGrant({ scopes, when }: Pick<ScopeGrant, 'scopes' | 'when'>, index: number): CompiledGrant {
  if (scopes.length === 0) throw new ScopeGrantError(`tokens.scopes[${index}] names no scopes`);
  if (when === '') return { scopes, when: undefined };
  const compilation = compileExpression(when, 'claims');
  if (compilation.ok) return { scopes, when: compilation.expression };
  const { message, line, column } = compilation.problem;
  throw new ScopeGrantError(`tokens.scopes[${index}].when, line ${line}, column ${column}: ${message}`);
}

/** A condition that cannot be evaluated grants nothing. */
function holds(when: Expression, jwt: Readonly<Record<string, unknown>>): boolean {
  const outcome = when.evaluate({ ...noRequest, jwt });
  return outcome.ok && outcome.value;
}

/** Expressions in scope `claims` see only `jwt`. */
const noRequest: Omit<ExpressionVariables, 'jwt'> = {
  request: { method: '', path: '', host: '', scheme: '', headers: {}, query: {}, time: 0 },
  source: { address: '' },
};
