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

/** For a client that asks for nothing, where nothing else says what to ask for: some providers refuse a login without any scope. */
export function listLastScopes(metadata: IdpMetadata | undefined): readonly string[] {
  return metadata?.scopes_supported?.includes('openid') === true ? ['openid'] : [];
}
