// Well-known identity providers as the design describes them: which quirks they have, and what an operator writes for them.
import type { Quirks } from './quirks.ts';

/** One of them. */
export interface IdpProfile {
  readonly name: string;
  readonly quirks: Partial<Quirks>;
  /** Members of the policy's `authentication`; the client is pre-registered where registration is Shared. */
  readonly authentication: Readonly<Record<string, unknown>>;
  readonly registration: 'Forward' | 'Shared';
  /** The flow that Auto must choose. */
  readonly flow: 'Facade' | 'Broker';
  /** Why no MCP client can ever get through with it. */
  readonly impossible?: string;
}

const audience = 'api://tickets';

/** The profiles. */
export const idpProfiles: readonly IdpProfile[] = [
  {
    // v2 issuer below a tenant, `resource` refused outright, PKCE not in the metadata, no registration.
    name: 'Entra',
    quirks: {
      issuerPath: '/0f5c8a1e-tenant/v2.0',
      metadataDocuments: ['openid-configuration'],
      hidesPkce: true,
      registration: 'none',
      resource: 'refused',
      audience: [audience],
      scopeClaim: 'scp-string',
      refreshTokens: 'with-offline_access',
      rotatesRefreshTokens: false,
      tokenEndpointAuthMethods: ['client_secret_post', 'private_key_jwt'],
    },
    authentication: {
      provider: 'Entra',
      audiences: [audience],
      authorizationRequest: { extraScopes: ['offline_access'] },
    },
    registration: 'Shared',
    flow: 'Broker',
  },
  {
    // A token is a JWT for an API only when `audience` names it; `resource` is ignored.
    name: 'Auth0',
    quirks: {
      resource: 'ignored',
      takesAudienceParameter: true,
      accessTokenFormat: 'opaque-without-resource',
      audience: 'none',
      refreshTokens: 'with-offline_access',
      deadRefreshToken: '403 invalid_code',
      issuerPath: '/',
    },
    authentication: { provider: 'Auth0', authorizationRequest: { extraScopes: ['offline_access'] } },
    registration: 'Forward',
    flow: 'Broker',
  },
  {
    // Registration needs an API token in a scheme of its own.
    name: 'Okta',
    quirks: {
      issuerPath: '/oauth2/default',
      registration: 'token',
      registrationScheme: 'SSWS',
      resource: 'ignored',
      takesAudienceParameter: true,
      audience: [audience],
      scopeClaim: 'scp-array',
      refreshTokens: 'with-offline_access',
    },
    authentication: {
      provider: 'Okta',
      audiences: [audience],
      authorizationRequest: { extraScopes: ['offline_access'] },
    },
    registration: 'Forward',
    flow: 'Broker',
  },
  {
    name: 'Google',
    quirks: {
      metadataDocuments: ['openid-configuration'],
      registration: 'none',
      resource: 'ignored',
      accessTokenFormat: 'opaque',
      audience: 'client-id',
      tokenEndpointAuthMethods: ['client_secret_post', 'client_secret_basic'],
    },
    authentication: { provider: 'Google' },
    registration: 'Shared',
    flow: 'Broker',
    impossible: 'its access tokens are opaque: nobody but Google can check them',
  },
  {
    // Needs `openid`, puts no scopes into tokens, the audience is the client's id.
    name: 'Dex',
    quirks: {
      issuerPath: '/dex',
      metadataDocuments: ['openid-configuration'],
      registration: 'none',
      requiresOpenid: true,
      resource: 'ignored',
      audience: 'client-id',
      scopeClaim: 'none',
      secondLoginEndsFirst: true,
      refreshTokens: 'with-offline_access',
      deadRefreshToken: 'invalid_request',
      tokenEndpointAuthMethods: ['client_secret_basic', 'client_secret_post'],
    },
    authentication: {
      provider: 'Dex',
      audiences: ['gateway'],
      authorizationRequest: { extraScopes: ['offline_access'] },
    },
    registration: 'Shared',
    flow: 'Broker',
  },
  {
    // As shipped: no `scope` in registrations, scopes as an array, no refresh token for public clients, one-use initial tokens.
    name: 'Spring',
    quirks: {
      registration: 'one-use-token',
      registrationRefusesScope: 'any',
      scopeClaim: 'array',
      refreshTokens: 'confidential-clients',
      resource: 'ignored',
      audience: 'client-id',
      tokenEndpointAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      tokenClaims: { aud: audience },
    },
    authentication: { provider: 'Spring', audiences: [audience] },
    registration: 'Forward',
    flow: 'Broker',
  },
  {
    name: 'Keycloak',
    quirks: {
      issuerPath: '/realms/mcp',
      advertisesIss: true,
      emitsIss: 'always',
      resource: 'one-only',
      audience: [audience],
      registration: 'token',
      registrationRefusesScope: 'openid',
      registrationScopeError: '403',
      registrationRefusesUnknownMembers: true,
      tokenEndpointAuthMethods: ['private_key_jwt', 'client_secret_basic', 'client_secret_post'],
      encryptionKeysMixedIn: true,
    },
    authentication: { provider: 'Keycloak', audiences: [audience] },
    registration: 'Forward',
    flow: 'Broker',
  },
  {
    name: 'Authentik',
    quirks: {
      issuerPath: '/application/o/mcp/',
      metadataDocuments: ['openid-configuration'],
      registration: 'none',
      resource: 'ignored',
      audience: 'client-id',
      refreshTokens: 'with-offline_access',
    },
    authentication: {
      provider: 'Authentik',
      audiences: ['gateway'],
      authorizationRequest: { extraScopes: ['offline_access'] },
    },
    registration: 'Shared',
    flow: 'Broker',
  },
  {
    name: 'Descope',
    quirks: { issuerPath: '/v1/apps/agentic/P1/M1', audience: 'resource' },
    authentication: { provider: 'Descope' },
    registration: 'Forward',
    flow: 'Facade',
  },
];
