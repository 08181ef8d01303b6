// Whether an identity provider knows a client with its secret: its token endpoint, asked with a code that does not exist, refuses either the client or the code.
import { randomBytes } from 'node:crypto';
import { requestIdpTokens } from '../../gateway/authentication/login/idp/idp-token-request.ts';
import type { IdpMetadata } from '../../gateway/config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import type { IdpClient } from '../../gateway/config/shared-logins.ts';

/** `untold`: the answer says nothing about the client. */
export type TriedClient =
  | { readonly kind: 'known' | 'may-not-log-in' | 'untold' }
  | { readonly kind: 'unknown'; readonly said: string };

/** Tries it. Nothing comes of it at the identity provider. */
export async function tryClient(
  config: McpAuthenticationConfig,
  metadata: IdpMetadata,
  client: IdpClient,
  redirectUri: string,
): Promise<TriedClient> {
  const outcome = await requestIdpTokens(
    { resource: { config }, now: () => Date.now() },
    metadata,
    {
      grant_type: 'authorization_code',
      code: `mcp-gatehouse-check-${randomBytes(8).toString('hex')}`,
      redirect_uri: redirectUri,
      client_id: client.authMethod === 'none' ? client.clientId : undefined,
      code_verifier: randomBytes(32).toString('base64url'),
    },
    client,
  );
  if (outcome.kind !== 'refused') return { kind: 'untold' };
  const { status, error } = outcome;
  if (error === 'invalid_client' || (status === 401 && error === undefined))
    return { kind: 'unknown', said: error ?? String(status) };
  if (error === 'invalid_grant') return { kind: 'known' };
  return { kind: error === 'unauthorized_client' ? 'may-not-log-in' : 'untold' };
}
