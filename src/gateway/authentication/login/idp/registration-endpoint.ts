// The IdP's registration endpoint (RFC 7591 3): from the policy, else from the metadata.
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';

/** Where a client is registered: only at the gateway (Shared), at this URL of the IdP, or nowhere (undefined). */
export function findRegistrationEndpoint(
  config: Pick<McpAuthenticationConfig, 'message' | 'preset'>,
  metadata: IdpMetadata,
): 'shared' | URL | undefined {
  const { registration } = config.message;
  if (registration?.mode === RegistrationMode.SHARED) return 'shared';
  const configured = registration?.endpoint ?? '';
  if (configured !== '') return URL.parse(configured) ?? undefined;
  const discovered = config.preset.hasNoRegistration === true ? undefined : metadata.registration_endpoint;
  return discovered === undefined ? undefined : (URL.parse(discovered) ?? undefined);
}
