// The presets by the name that a policy gives (`provider`). A standard identity provider needs none.
import { type ProviderPreset, standardPreset } from '../../../config/provider-preset.ts';
import { descope } from './descope.ts';
import { entra } from './entra.ts';
import { github } from './github.ts';
import { google } from './google.ts';
import { appendOpenidConfiguration } from './metadata-urls.ts';

const rows: readonly ProviderPreset[] = [
  // Keycloak: OpenID discovery; no RFC 8707; particular about what a registration may contain.
  {
    name: 'Keycloak',
    metadataUrls: (issuer) => [appendOpenidConfiguration(issuer)],
    // Ignored when it comes once, an error when it comes twice.
    resourceParameter: 'none',
    // As shipped, `openid` in a registration is a client scope that anonymous registration may not ask for: 403.
    omitRegistrationScopes: ['openid'],
    remarks: [
      'Keycloak does not read `resource` (RFC 8707): set audiences, and give the client scope an audience mapper.',
      'Lightweight access tokens carry neither sub nor aud: leave them off, or add mappers for both.',
    ],
    anonymousRemarks: [
      'Without an initial access token, anonymous registration has to be allowed: Clients, Client registration, Trusted Hosts.',
    ],
  },
  // Auth0: names the resource in `audience`, and gives opaque tokens when it is missing.
  {
    name: 'Auth0',
    resourceParameter: 'audience',
    refreshScope: 'offline_access',
    needsBroker: 'Auth0 expects `audience` in place of `resource`, which MCP clients do not send',
    remarks: [
      "The audience of the API in Auth0 has to be the resource's URL, or be listed in audiences. Without an API of that name tokens are opaque.",
    ],
    forwardRemarks: ['Dynamic registration has to be enabled in the tenant, and connections promoted to domain level.'],
  },
  // Okta: names the resource in `audience`; registration needs an API token in a scheme of its own.
  {
    name: 'Okta',
    resourceParameter: 'audience',
    refreshScope: 'offline_access',
    initialAccessTokenScheme: 'SSWS',
    needsBroker: 'Okta expects `audience` in place of `resource`, which MCP clients do not send',
    anonymousRemarks: ['Registration needs an Okta API token: set registration.initialAccessTokenRef.'],
    remarks: [
      'Use a custom authorization server: tokens of the org authorization server cannot be validated by anybody else.',
    ],
  },
  entra,
  descope,
  // authentik: no dynamic registration; the audience of a token is the client's id.
  {
    name: 'Authentik',
    resourceParameter: 'none',
    audienceIsClient: true,
    refreshScope: 'offline_access',
    hasNoRegistration: true,
    needsBroker: 'authentik has no dynamic registration',
    forwardRemarks: ['authentik registers no clients: use registration.mode Shared.'],
    remarks: ['The audience of its tokens is the client id: set audiences to the client id of the shared client.'],
  },
  google,
  github,
  // GitLab: opaque access tokens; groups are in userinfo only; refresh tokens work once. Instances of one's own by their issuer.
  {
    name: 'GitLab',
    metadataUrls: (issuer) => [appendOpenidConfiguration(issuer)],
    resourceParameter: 'none',
    remarks: [
      'The access tokens of GitLab are opaque, so no gateway can validate them: use flow Issuer, with which the gateway issues tokens of its own.',
    ],
  },
  // Dex: no dynamic registration; every login needs `openid`; tokens carry no scopes.
  {
    name: 'Dex',
    resourceParameter: 'none',
    audienceIsClient: true,
    audienceOfScope: (scope) => /^audience:server:client_id:(.+)$/.exec(scope)?.[1],
    requiredLoginScopes: ['openid'],
    refreshScope: 'offline_access',
    hasNoRegistration: true,
    needsBroker: 'Dex has no dynamic registration',
    forwardRemarks: ['Dex registers no clients: use registration.mode Shared.'],
    remarks: [
      'Its tokens carry no scopes: leave requiredScopes empty. Their audience is the client id: set audiences to it.',
      "A second login of the same user ends the first one's refresh token.",
    ],
  },
  // Spring Authorization Server: as shipped, registration refuses any `scope` (the gateway then tries without), and initial access tokens work once.
  {
    name: 'Spring',
    audienceIsClient: true,
    bindsRegisteredScopes: true,
    forwardRemarks: [
      'As shipped, its registration refuses scope, and a client without scopes cannot log in: let registration accept scopes, or use registration.mode Shared.',
    ],
    anonymousRemarks: [
      'Registration needs an initial access token, which works once: use registration.initialAccessTokenFrom.clientCredentials with the scope client.create.',
    ],
    remarks: [
      'Public clients get no refresh token; through the broker, with a confidential client, they do.',
      'The scope of its tokens is a list; the gateway reads both forms.',
    ],
  },
];

const presets: ReadonlyMap<string, ProviderPreset> = new Map(rows.map((preset) => [preset.name, preset]));

/** The preset of this name; the standard one for an empty name; undefined for an unknown name. */
export function findPreset(provider: string): ProviderPreset | undefined {
  return provider === '' ? standardPreset : presets.get(provider);
}

/** All names, as policies spell them. */
export function listPresetNames(): readonly string[] {
  return [...presets.keys()];
}
