// tokens of an MCP authentication: what the gateway puts into the tokens that it issues.
import { create } from '@bufbuild/protobuf';
import { parseDuration } from '../../api/duration.ts';
import { type IssuedTokens as IssuedTokensSpec, defaultIssuedTokens } from '../../api/issued-tokens.ts';
import { type IssuedTokens, IssuedTokensSchema } from '../../ir/gen/config_pb.ts';
import { convertToMilliseconds } from '../milliseconds.ts';

/** The message. Unless the policy says which scopes there are, everybody can have those that every token needs. */
export function convertIssuedTokens(
  spec: IssuedTokensSpec = defaultIssuedTokens,
  requiredScopes: readonly string[] = [],
): IssuedTokens {
  const usual: IssuedTokensSpec['scopes'] = requiredScopes.length === 0 ? [] : [{ scopes: [...requiredScopes] }];
  return create(IssuedTokensSchema, {
    lifetimeMs: convertToMilliseconds(spec.lifetime),
    // A year does not fit into 32 bits.
    refreshLifetimeMs: BigInt(parseDuration(spec.refreshLifetime)),
    claims: spec.claims ?? [],
    scopes: (spec.scopes ?? usual).map(({ scopes, when = '' }) => ({ scopes, when })),
  });
}
