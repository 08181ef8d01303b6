// Keycloak: OpenID discovery; no RFC 8707; particular about what a registration may contain.
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import { appendOpenidConfiguration } from './metadata-urls.ts';

export const keycloak: ProviderPreset = {
  name: 'Keycloak',
  metadataUrls: (issuer) => [appendOpenidConfiguration(issuer)],
  // Ignored when it comes once, an error when it comes twice.
  resourceParameter: 'none',
  // As shipped, `openid` in a registration is a client scope that anonymous registration may not ask for: 403.
  omitRegistrationScopes: ['openid'],
  remarks: [
    'Keycloak does not read `resource` (RFC 8707): set audiences, and give the client scope an audience mapper.',
    'Without an initial access token, anonymous registration has to be allowed: Clients, Client registration, Trusted Hosts.',
    'Lightweight access tokens carry neither sub nor aud: leave them off, or add mappers for both.',
  ],
};
