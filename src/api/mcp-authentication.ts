// MCP authentication: OAuth 2.0 in front of an MCP server, as the MCP authorization specification has it (RFC 9728, RFC 8414, RFC 7591).
import * as z from 'zod';
import { listAlternatives } from '../base/nearest-name.ts';
import { boundedMapSchema } from './bounded-map.ts';
import { type CelRule, withRules } from './cel-rules.ts';
import { claimsToHeadersSchema, requiredClaimsSchema } from './claims.ts';
import { clientRegistrationSchema } from './client-registration.ts';
import {
  findIssuer,
  identityProviders,
  issuesTokens,
  issuesTokensInCel,
  providersWithIssuer,
  providersWithOpaqueTokens,
  providersWithoutOpenId,
  spellNames,
} from './identity-providers.ts';
import { issuedTokensSchema } from './issued-tokens.ts';
import { type Jwks, discoverableJwksSchema } from './json-web-key-set.ts';
import { audiencesSchema, authenticationModeSchema, clockSkewSchema } from './jwt-authentication.ts';
import { scopesSchema } from './mcp-authorization.ts';
import { personIdentitySchema } from './person-identity.ts';
import { allowInsecureHttpSchema, httpUrlSchema, secureMember, secureUrl } from './secure-url.ts';

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

const endpointsSchema = z.object({
  authorization: httpUrlSchema.describe('The authorization endpoint.'),
  token: httpUrlSchema.describe('The token endpoint.'),
  userinfo: httpUrlSchema
    .optional()
    .describe('Where it tells who has logged in. Required without OpenID Connect, that is, without keys in `jwks`.'),
});

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

const keySources = ['url', 'inline', 'file', 'backendRef'] as const;
const hasKeysInCel = keySources.map((source) => `has(self.jwks.${source})`).join(' || ');

function hasKeys(jwks: Jwks | undefined): boolean {
  return keySources.some((source) => jwks?.[source] !== undefined);
}

function onlyWhereIssuing<F extends 'endpoints' | 'identity' | 'tokens'>(
  field: F,
): CelRule<{ readonly [field in F]?: unknown } & Parameters<typeof issuesTokens>[0]> {
  return {
    cel: `!has(self.${field}) || ${issuesTokensInCel}`,
    message: `has no effect without flow: Issuer (Auto chooses it for provider ${listAlternatives(providersWithOpaqueTokens)})`,
    path: [field],
    holds: (value) => value[field] === undefined || issuesTokens(value),
  };
}

/** MCP authentication. */
export const mcpAuthenticationSchema = withRules(
  z.object({
    mode: authenticationModeSchema,
    issuer: httpUrlSchema
      .optional()
      .describe(
        `The identity provider: the \`iss\` of its tokens, exactly. Required unless the provider is ${listAlternatives(providersWithIssuer)}: theirs is known; your own GitLab or GitHub Enterprise Server has another.`,
      ),
    metadataUrl: httpUrlSchema
      .optional()
      .describe('The URL of its metadata; discovered from the issuer when absent (RFC 8414, then OpenID Connect).'),
    audiences: audiencesSchema
      .optional()
      .describe(
        "Accepted audiences: the `aud` of a token must contain one of them. When absent: the server's own URL. Identity providers without RFC 8707 need it. Not with the flow Issuer.",
      ),
    jwks: discoverableJwksSchema
      .optional()
      .describe('The keys of the issuer; from the jwks_uri of its metadata when absent.'),
    provider: z
      .enum(identityProviders)
      .optional()
      .describe('Settings for an identity provider with quirks. A standard one needs none.'),
    flow: z
      .enum(['Auto', 'Facade', 'Broker', 'Direct', 'Issuer'])
      .default('Auto')
      .describe(
        `How clients log in: through the gateway as a Facade or a Broker, or Direct at the identity provider; as an Issuer, the gateway issues the tokens itself, and the identity provider only says who somebody is. Auto chooses: Issuer with provider ${listAlternatives(providersWithOpaqueTokens)}, otherwise Facade or Broker.`,
      ),
    endpoints: endpointsSchema
      .optional()
      .describe('With Issuer: the endpoints of an identity provider that has no metadata.'),
    identity: personIdentitySchema
      .optional()
      .describe('With Issuer: what is taken from the identity provider about a person, and who gets in.'),
    tokens: issuedTokensSchema.optional().describe('With Issuer: the tokens that the gateway issues.'),
    registration: clientRegistrationSchema
      .prefault({})
      .describe('How clients are registered at the identity provider.'),
    authorizationRequest: authorizationRequestSchema
      .optional()
      .describe(
        'With Broker: scopes and parameters to add to the request of the client. With Issuer: to that of the gateway.',
      ),
    clientIdMetadataDocuments: clientIdMetadataDocumentsSchema
      .prefault({})
      .describe('With Broker and Issuer: clients that need no registration.'),
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
    secureMember('endpoints', 'authorization'),
    secureMember('endpoints', 'token'),
    secureMember('endpoints', 'userinfo'),
    {
      cel: `has(self.issuer) || (has(self.provider) && self.provider in ${spellNames(providersWithIssuer)})`,
      message: `required: the URL of the identity provider; only those of ${listAlternatives(providersWithIssuer).replace(' or ', ' and ')} are known`,
      path: ['issuer'],
      required: true,
      holds: (value) => findIssuer(value) !== '',
    },
    {
      cel: '!has(self.endpoints) || has(self.issuer) || !has(self.provider)',
      message: 'required with endpoints: it names the identity provider in tokens',
      path: ['issuer'],
      required: true,
      holds: ({ endpoints, issuer, provider }) =>
        endpoints === undefined || issuer !== undefined || provider === undefined,
    },
    {
      cel: `has(self.endpoints) || !has(self.issuer) || !has(self.provider) || ${providersWithoutOpenId.map((name) => `(self.provider != '${name}' || self.issuer == '${findIssuer({ provider: name })}')`).join(' && ')}`,
      message: `must be ${listAlternatives(providersWithoutOpenId.map((name) => `${findIssuer({ provider: name })} with provider ${name}`))}; another one needs endpoints, because there is no metadata`,
      path: ['issuer'],
      holds: ({ endpoints, issuer, provider }) =>
        endpoints !== undefined ||
        issuer === undefined ||
        provider === undefined ||
        !providersWithoutOpenId.includes(provider) ||
        issuer === findIssuer({ provider }),
    },
    {
      cel: "self.registration.mode != 'Shared' || self.flow in ['Auto', 'Broker', 'Issuer']",
      message: 'must be Auto, Broker or Issuer with registration.mode Shared',
      path: ['flow'],
      holds: ({ flow, registration }) =>
        registration.mode !== 'Shared' || flow === 'Auto' || flow === 'Broker' || flow === 'Issuer',
    },
    {
      cel: `!has(self.provider) || !(self.provider in ${spellNames(providersWithOpaqueTokens)}) || self.flow in ['Auto', 'Issuer']`,
      message: `must be Auto or Issuer with provider ${listAlternatives(providersWithOpaqueTokens)}: nobody else can check their access tokens`,
      path: ['flow'],
      holds: ({ provider, flow }) =>
        provider === undefined || !providersWithOpaqueTokens.includes(provider) || flow === 'Auto' || flow === 'Issuer',
    },
    {
      cel: `self.registration.mode == 'Shared' || !${issuesTokensInCel}`,
      message: `must be Shared, with a clientId, in the flow Issuer (Auto chooses it for ${listAlternatives(providersWithOpaqueTokens)}): the gateway itself is the client of the identity provider`,
      path: ['registration', 'mode'],
      holds: (value) => value.registration.mode === 'Shared' || !issuesTokens(value),
    },
    {
      cel: `!has(self.audiences) || !${issuesTokensInCel}`,
      message: "must be absent in the flow Issuer: the `aud` of issued tokens is the server's own URL",
      path: ['audiences'],
      holds: (value) => value.audiences === undefined || !issuesTokens(value),
    },
    onlyWhereIssuing('endpoints'),
    onlyWhereIssuing('identity'),
    onlyWhereIssuing('tokens'),
    {
      cel: '!has(self.metadataUrl) || !has(self.endpoints)',
      message: 'must be absent beside endpoints, which stand for metadata',
      path: ['metadataUrl'],
      holds: ({ metadataUrl, endpoints }) => metadataUrl === undefined || endpoints === undefined,
    },
    {
      cel: `!has(self.metadataUrl) || !has(self.provider) || !(self.provider in ${spellNames(providersWithoutOpenId)})`,
      message: `must be absent with provider ${listAlternatives(providersWithoutOpenId)}, which has no metadata; use endpoints`,
      path: ['metadataUrl'],
      holds: ({ metadataUrl, provider }) =>
        metadataUrl === undefined || provider === undefined || !providersWithoutOpenId.includes(provider),
    },
    {
      cel: `!has(self.jwks) || !(${hasKeysInCel}) || !has(self.provider) || !(self.provider in ${spellNames(providersWithoutOpenId)})`,
      message: `must have no keys with provider ${listAlternatives(providersWithoutOpenId)}, which signs no tokens`,
      path: ['jwks'],
      holds: ({ jwks, provider }) =>
        !hasKeys(jwks) || provider === undefined || !providersWithoutOpenId.includes(provider),
    },
    {
      cel: `!has(self.endpoints) || has(self.endpoints.userinfo) || (has(self.jwks) && (${hasKeysInCel}))`,
      message: 'required without keys in jwks: without OpenID Connect nothing else tells who has logged in',
      path: ['endpoints', 'userinfo'],
      required: true,
      holds: ({ endpoints, jwks }) => endpoints === undefined || endpoints.userinfo !== undefined || hasKeys(jwks),
    },
  ],
);

/** A parsed MCP authentication. */
export type McpAuthentication = z.output<typeof mcpAuthenticationSchema>;
