// Well-known identity providers as the design describes them: which quirks they have, and what an operator writes for them.
import type { Quirks } from './quirks.ts';

/** One of them. */
export interface IdpProfile {
  readonly name: string;
  readonly quirks: Partial<Quirks>;
  /** Members of the policy's `authentication`; the client is pre-registered where registration is Shared. */
  readonly authentication: Readonly<Record<string, unknown>>;
  readonly registration: 'Forward' | 'Shared';
  /** The flow that must be in force: Auto chooses it unless `authentication` names it. */
  readonly flow: 'Facade' | 'Broker' | 'Issuer';
  /** There is no metadata: the policy has `endpoints`. */
  readonly lacksMetadata?: true;
}

const audience = 'api://tickets';

/** The profiles. What the presets ask for by themselves, offline_access above all, is not in `authentication`. */
export const idpProfiles: readonly IdpProfile[] = [
  {
    // v2 issuer below a tenant, `resource` refused outright, PKCE not in the metadata, no registration.
    name: 'Entra',
    quirks: {
      issuerPath: '/0f5c8a1e-0000-4000-8000-000000000000/v2.0',
      metadataDocuments: ['openid-configuration'],
      metadataMembers: { scopes_supported: ['openid', 'profile', 'email', 'offline_access'] },
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
    authentication: { provider: 'Auth0' },
    registration: 'Forward',
    flow: 'Broker',
  },
  {
    // Registration needs an API token in a scheme of its own.
    name: 'Okta',
    quirks: {
      issuerPath: '/oauth2/default',
      metadataDocuments: ['openid-configuration'],
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
    },
    registration: 'Forward',
    flow: 'Broker',
  },
  {
    // Opaque access tokens, no registration; unknown parameters and scopes are errors. A refresh token comes once, and only to whoever asks in Google's own words.
    name: 'Google',
    quirks: {
      metadataDocuments: ['openid-configuration'],
      endpointPaths: { authorize: '/o/oauth2/v2/auth', jwks: '/oauth2/v3/certs', userinfo: '/v1/userinfo' },
      hasSecondOrigin: true,
      metadataMembers: {
        scopes_supported: ['openid', 'email', 'profile'],
        code_challenge_methods_supported: ['plain', 'S256'],
        claims_supported: 'aud email email_verified exp family_name given_name iat iss name picture sub'.split(' '),
      },
      emitsIss: 'always',
      callbackParameters: { scope: 'email profile openid', authuser: '0', hd: 'example.com', prompt: 'consent' },
      registration: 'none',
      resource: 'refused',
      knownScopes: ['openid', 'email', 'profile'],
      accessTokenFormat: 'opaque',
      accessTokenSeconds: 3_599,
      tokenEndpointAuthMethods: ['client_secret_post', 'client_secret_basic'],
      refreshTokens: 'with-access_type',
      rotatesRefreshTokens: false,
      keepsRefreshTokenToItself: true,
      numericSubjects: true,
      idTokenHash: 'at_hash',
      idTokenHasAzp: true,
      idTokenMembers: ['hd', 'email', 'email_verified', 'name', 'picture', 'given_name', 'family_name'],
      userinfoMembers: ['hd', 'email', 'email_verified', 'name', 'picture', 'given_name', 'family_name'],
    },
    authentication: { provider: 'Google', identity: { allow: { domains: ['example.com'] } } },
    registration: 'Shared',
    flow: 'Issuer',
  },
  {
    // Opaque access tokens; groups are in userinfo only; refresh tokens work once.
    name: 'GitLab',
    quirks: {
      endpointPaths: {
        authorize: '/oauth/authorize',
        token: '/oauth/token',
        jwks: '/oauth/discovery/keys',
        userinfo: '/oauth/userinfo',
      },
      metadataMembers: {
        scopes_supported: ['api', 'read_api', 'read_user', 'openid', 'profile', 'email'],
        code_challenge_methods_supported: ['plain', 'S256'],
      },
      registration: 'none',
      resource: 'ignored',
      knownScopes: ['api', 'read_api', 'read_user', 'openid', 'profile', 'email'],
      accessTokenFormat: 'opaque',
      accessTokenSeconds: 7_200,
      tokenEndpointAuthMethods: ['client_secret_basic', 'client_secret_post'],
      numericSubjects: true,
      idTokenHash: 'none',
      idTokenMembers: ['name', 'nickname', 'preferred_username', 'email', 'email_verified', 'picture'],
      userinfoMembers: ['name', 'nickname', 'preferred_username', 'email', 'email_verified', 'picture', 'groups'],
    },
    authentication: { provider: 'GitLab', identity: { allow: { organizations: ['support'] } } },
    registration: 'Shared',
    flow: 'Issuer',
  },
  {
    // No scope of an API: access tokens are for Microsoft Graph, and only Graph can check them.
    name: 'Entra, Issuer',
    quirks: {
      issuerPath: '/0f5c8a1e-0000-4000-8000-000000000000/v2.0',
      metadataDocuments: ['openid-configuration'],
      metadataMembers: { scopes_supported: ['openid', 'profile', 'email', 'offline_access'] },
      hidesPkce: true,
      registration: 'none',
      resource: 'refused',
      accessTokenFormat: 'opaque',
      refreshTokens: 'with-offline_access',
      tokenEndpointAuthMethods: ['client_secret_post', 'private_key_jwt'],
      idTokenHash: 'none',
      idTokenMembers: ['oid', 'tid', 'name', 'preferred_username', 'email', 'xms_edov'],
      userinfoMembers: ['name', 'given_name', 'family_name', 'picture', 'email'],
    },
    authentication: { provider: 'Entra', flow: 'Issuer', identity: { allow: { domains: ['example.com'] } } },
    registration: 'Shared',
    flow: 'Issuer',
  },
  {
    // Neither metadata nor OpenID Connect: a token, and an address that says whose it is.
    name: 'generic OAuth 2.0',
    quirks: {
      metadataDocuments: [],
      registration: 'none',
      resource: 'ignored',
      accessTokenFormat: 'opaque',
      omitsIdToken: true,
      numericSubjects: true,
      userinfoSubject: 'id',
      userinfoMembers: ['name', 'email', 'email_verified'],
    },
    authentication: { flow: 'Issuer', identity: { subject: 'id' } },
    registration: 'Shared',
    flow: 'Issuer',
    lacksMetadata: true,
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
