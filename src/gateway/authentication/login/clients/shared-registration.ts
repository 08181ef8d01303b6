// Registration mode Shared: one client, registered at the IdP by its operator, stands for all. A client's own registration is its sealed
// client_id and nothing else; the IdP is not asked.
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

/** The client that stands for all; undefined without Shared. */
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

/** Nobody registered this client through the gateway, so what the IdP lists has to do (RFC 8414 2: absent means Basic). */
function chooseAuthMethod(listed: readonly string[] | undefined): ClientAuthMethod {
  if (listed === undefined || listed.includes('client_secret_basic')) return 'client_secret_basic';
  if (listed.includes('client_secret_post')) return 'client_secret_post';
  return listed.includes('client_secret_jwt') ? 'client_secret_jwt' : 'client_secret_basic';
}
