// Where clients are registered at the IdP (RFC 7591 3): what the policy says, else what the metadata says.
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';

/** How a client becomes known: here alone (Shared), at this URL of the IdP, or not at all (undefined). */
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
