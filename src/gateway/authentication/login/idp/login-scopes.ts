// The scopes that the gateway asks for on behalf of clients.
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';

/** The scopes that every login gets: those of the policy, and those that the provider needs. Without metadata nothing is known to be refused. */
export function listAddedScopes(
  { message, preset }: Pick<McpAuthenticationConfig, 'message' | 'preset'>,
  metadata: IdpMetadata | undefined,
): readonly string[] {
  const { requiredLoginScopes = [], refreshScope } = preset;
  const isRefused = refreshScope !== undefined && metadata?.scopes_supported?.includes(refreshScope) === false;
  return [
    ...message.extraScopes,
    ...requiredLoginScopes,
    ...(refreshScope === undefined || isRefused ? [] : [refreshScope]),
  ];
}

/**
 * With `openid`, where at most a refresh token is asked for: some providers refuse a login without any scope, and offline_access alone means nothing (OpenID
 * Connect Core 11).
 */
export function completeScopes(
  { preset }: Pick<McpAuthenticationConfig, 'preset'>,
  scopes: readonly string[],
  metadata: IdpMetadata | undefined,
): readonly string[] {
  const asksForNothing = scopes.every((scope) => scope === preset.refreshScope || scope === 'offline_access');
  return asksForNothing && metadata?.scopes_supported?.includes('openid') === true ? ['openid', ...scopes] : scopes;
}
