// Registration mode Shared: all clients use one client that the operator registered at the IdP. A client's own registration is only its
// sealed client_id; the IdP is not involved.
import type { Sealer } from '../../../../base/sealed.ts';
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import { type RegisteredClient, sealClient } from '../state/client-envelope.ts';
import type { ClientPlace } from '../broker-urls.ts';
import type { ClientAuthMethod, IdpClient } from '../../../config/shared-logins.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';

/** Registers a client whose metadata was validated: its client_id. */
export function registerShared(
  sealer: Sealer,
  place: ClientPlace,
  client: Omit<RegisteredClient, 'idpClient'>,
  expiresAtMs?: number,
): string {
  return sealClient(sealer, place, { ...client, idpClient: undefined }, expiresAtMs);
}

/** The shared client; undefined in other registration modes. */
export function findSharedClient(
  config: Pick<McpAuthenticationConfig, 'message' | 'sharedClientSecret'>,
  metadata: IdpMetadata,
): IdpClient | undefined {
  const { registration } = config.message;
  if (registration?.mode !== RegistrationMode.SHARED) return undefined;
  const secret = config.sharedClientSecret;
  return {
    clientId: registration.clientId,
    secret,
    authMethod: secret === undefined ? 'none' : chooseAuthMethod(metadata.token_endpoint_auth_methods_supported),
  };
}

/** The shared client was not registered through the gateway, so the IdP's metadata decides (RFC 8414 2: absent means Basic). */
function chooseAuthMethod(listed: readonly string[] | undefined): ClientAuthMethod {
  if (listed === undefined || listed.includes('client_secret_basic')) return 'client_secret_basic';
  if (listed.includes('client_secret_post')) return 'client_secret_post';
  return listed.includes('client_secret_jwt') ? 'client_secret_jwt' : 'client_secret_basic';
}
