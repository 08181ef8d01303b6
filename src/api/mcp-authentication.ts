// MCP authentication: OAuth 2.0 in front of an MCP server, as the MCP authorization specification has it (RFC 9728, RFC 8414, RFC 7591).
import * as z from 'zod';
import { boundedMapSchema } from './bounded-map.ts';
import { withRules } from './cel-rules.ts';
import { claimsToHeadersSchema, requiredClaimsSchema } from './claims.ts';
import { clientRegistrationSchema } from './client-registration.ts';
import { discoverableJwksSchema } from './json-web-key-set.ts';
import { audiencesSchema, authenticationModeSchema, clockSkewSchema } from './jwt-authentication.ts';
import { scopesSchema } from './mcp-authorization.ts';
import { allowInsecureHttpSchema, httpUrlSchema, secureUrl } from './secure-url.ts';

// Parameters that protect the login: only the gateway sets them.
const ownParameters = [
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'request',
  'request_uri',
  'resource',
  'response_mode',
  'response_type',
  'scope',
  'state',
];

const authorizationRequestSchema = withRules(
  z.object({
    extraScopes: scopesSchema.optional().describe('Scopes to request in addition to those of the client.'),
    extraParameters: boundedMapSchema(z.string().min(1).max(128), z.string().max(1024), 32)
      .optional()
      .describe('Parameters to add to the authorization request, such as `audience` or `prompt`.'),
  }),
  [
    {
      cel: `!has(self.extraParameters) || !self.extraParameters.exists(p, p in ['${ownParameters.join("', '")}'])`,
      message: `must not have ${ownParameters.slice(0, -1).join(', ')} or ${ownParameters.at(-1)}, which the gateway sets itself`,
      path: ['extraParameters'],
      holds: ({ extraParameters = {} }) => !Object.keys(extraParameters).some((name) => ownParameters.includes(name)),
    },
  ],
);

/** Identity providers with presets. */
export const identityProviders = [
  'Keycloak',
  'Auth0',
  'Okta',
  'Entra',
  'Descope',
  'Authentik',
  'Google',
  'Dex',
  'Spring',
] as const;

const clientIdMetadataDocumentsSchema = z.object({
  enabled: z
    .boolean()
    .optional()
    .describe(
      'Whether a client_id may be the https URL of a metadata document. When absent it may, and this is offered to clients while the gateway can fetch such documents, or when they cannot register instead; true offers it always.',
    ),
  allowedDomains: z
    .array(z.string().min(1).max(253))
    .max(64)
    .optional()
    .describe('The domains of such URLs; any when absent or empty.'),
});

const resourceMetadataSchema = z
  .looseObject({
    resource: httpUrlSchema
      .optional()
      .describe(
        'The public URL of the MCP server. When absent, it follows from the exact hostname of the route or its listener, or from a loopback address; required where there is neither.',
      ),
    resourceName: z.string().min(1).max(256).optional().describe('A name for people.'),
    scopesSupported: scopesSchema.optional().describe('The scopes that clients may ask for.'),
    bearerMethodsSupported: z
      .array(z.enum(['header']))
      .max(1)
      .optional()
      .describe('How a token may be sent: only in the Authorization header.'),
    resourceDocumentation: httpUrlSchema.optional().describe('The URL of a page for developers.'),
  })
  .meta({ 'x-kubernetes-preserve-unknown-fields': true });

/** MCP authentication. */
export const mcpAuthenticationSchema = withRules(
  z.object({
    mode: authenticationModeSchema,
    issuer: httpUrlSchema.describe('The identity provider: the `iss` of its tokens, exactly.'),
    metadataUrl: httpUrlSchema
      .optional()
      .describe('The URL of its metadata; discovered from the issuer when absent (RFC 8414, then OpenID Connect).'),
    audiences: audiencesSchema
      .optional()
      .describe(
        "Accepted audiences: the `aud` of a token must contain one of them. When absent: the server's own URL. Identity providers without RFC 8707 need it.",
      ),
    jwks: discoverableJwksSchema
      .optional()
      .describe('The keys of the issuer; from the jwks_uri of its metadata when absent.'),
    provider: z
      .enum(identityProviders)
      .optional()
      .describe('Settings for an identity provider with quirks. A standard one needs none.'),
    flow: z
      .enum(['Auto', 'Facade', 'Broker', 'Direct'])
      .default('Auto')
      .describe(
        'How clients log in: through the gateway as a Facade or a Broker, or Direct at the identity provider. Auto chooses.',
      ),
    registration: clientRegistrationSchema
      .prefault({})
      .describe('How clients are registered at the identity provider.'),
    authorizationRequest: authorizationRequestSchema
      .optional()
      .describe('With Broker: scopes and parameters to add to the request of the client.'),
    clientIdMetadataDocuments: clientIdMetadataDocumentsSchema
      .prefault({})
      .describe('With Broker: clients that need no registration.'),
    requiredScopes: scopesSchema
      .optional()
      .describe('Scopes that every token needs; also the `scope` of the 401 challenge.'),
    requiredClaims: requiredClaimsSchema.optional(),
    clockSkew: clockSkewSchema,
    resourceMetadata: resourceMetadataSchema
      .optional()
      .describe(
        'What is published about the resource (RFC 9728). Names become snake_case; other members pass through.',
      ),
    forwardToken: z
      .boolean()
      .default(false)
      .describe('Pass the token on to the MCP server. MCP forbids it; off unless set.'),
    claimsToHeaders: claimsToHeadersSchema.optional(),
    sessionBinding: z.boolean().default(true).describe('Bind Mcp-Session-Id to issuer, subject and backend.'),
    allowInsecureHttp: allowInsecureHttpSchema,
  }),
  [
    secureUrl('issuer'),
    secureUrl('metadataUrl'),
    {
      cel: "self.registration.mode != 'Shared' || self.flow in ['Auto', 'Broker']",
      message: 'must be Auto or Broker with registration.mode Shared',
      path: ['flow'],
      holds: ({ flow, registration }) => registration.mode !== 'Shared' || flow === 'Auto' || flow === 'Broker',
    },
  ],
);

/** A parsed MCP authentication. */
export type McpAuthentication = z.output<typeof mcpAuthenticationSchema>;
