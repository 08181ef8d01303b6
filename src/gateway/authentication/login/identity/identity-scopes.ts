// The scopes that the identity provider is asked for: those that tell who somebody is, and what the policy adds. Never those that a client asks for.
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';
import type { IdentityRules } from '../../../config/token-issuer.ts';
import { listAddedScopes } from '../idp/login-scopes.ts';
import { findWanted } from './identity-rules.ts';

/** Without duplicates. */
export function listIdentityScopes(
  config: Pick<McpAuthenticationConfig, 'message' | 'preset'>,
  rules: IdentityRules,
  metadata: IdpMetadata | undefined,
): readonly string[] {
  const { message, preset } = config;
  const { scopes = listUsualScopes(message.endpoints !== undefined, metadata), organizationScopes = [] } =
    preset.identity ?? {};
  const more = findWanted({ preset, issuer: message.issuer }, rules).organizations ? organizationScopes : [];
  return [...new Set([...scopes, ...more, ...listAddedScopes(config, metadata)])];
}

/** OpenID Connect Core 5.4. Of an identity provider without metadata nothing is known: extraScopes names its scopes. */
function listUsualScopes(isFixed: boolean, metadata: IdpMetadata | undefined): readonly string[] {
  if (isFixed) return [];
  const known = metadata?.scopes_supported;
  return ['openid', 'email', 'profile'].filter((scope) => scope === 'openid' || known?.includes(scope) !== false);
}
