// backend.mcp.authentication of a ProxyPolicy: OAuth 2.0 in front of an MCP server.
import { create } from '@bufbuild/protobuf';
import { findIssuer, findPublicAccount, issuesTokens, saysWhoGetsIn } from '../../api/identity-providers.ts';
import { discoveredJwks } from '../../api/json-web-key-set.ts';
import type { McpAuthentication as McpAuthenticationSpec } from '../../api/mcp-authentication.ts';
import {
  type McpAuthentication,
  ClientCredentialsSchema,
  ClientRegistrationSchema,
  IdpEndpointsSchema,
  LoginFlow,
  McpAuthenticationSchema,
  RegistrationMode,
} from '../../ir/gen/config_pb.ts';
import { needsNoHost } from '../../ir/resource-host.ts';
import { convertToMilliseconds } from '../milliseconds.ts';
import { sortEntries } from '../order.ts';
import { convertMode } from './authentication-mode.ts';
import { convertClaimsToHeaders, convertRequiredClaims } from './claims.ts';
import { convertIssuedTokens } from './issued-tokens.ts';
import { createKeySource, listKeyBackends } from './key-source.ts';
import { convertIdentity } from './person-identity.ts';
import { PolicyReferences } from './policy-references.ts';
import { type FieldSurroundings, type PolicyTranslator, listSet } from './policy-translator.ts';
import { convertResourceMetadata } from './resource-metadata.ts';
import { findNamelessRoutes } from './resource-name.ts';

// Auto where the gateway issues tokens is Issuer already: no metadata is needed to know that.
const flows = {
  Auto: LoginFlow.AUTO,
  Facade: LoginFlow.FACADE,
  Broker: LoginFlow.BROKER,
  Direct: LoginFlow.DIRECT,
  Issuer: LoginFlow.ISSUER,
};

const resourcePath = 'spec.backend.mcp.authentication.resourceMetadata.resource';

/** backend.mcp.authentication. */
export const mcpAuthenticationTranslator: PolicyTranslator<'backend.mcp.authentication'> = {
  translate(spec, surroundings) {
    const references = new PolicyReferences('backend.mcp.authentication', surroundings);
    references.checkIssuer('issuer', findIssuer(spec));
    const message = createAuthentication(spec, references);
    const problems = [...references.problems];
    if (message.resource === '')
      problems.push(
        ...findNamelessRoutes(surroundings, !needsNoHost(message)).map((problem) => `${resourcePath}: ${problem}`),
      );
    const owner = message.resource === '' ? undefined : surroundings.findResourceOwner(message.resource);
    if (owner !== undefined)
      problems.push(`${resourcePath}: ProxyPolicy ${owner} already has this URL and takes precedence; use another one`);
    problems.push(...findLostRules(spec, surroundings));
    if (problems.length > 0) return { valid: false, problems };
    const { secrets, backends } = references;
    return { valid: true, message, secrets, backends };
  },
  listReferences({ ca, keys, registration }) {
    const { initialAccessToken, clientSecret, initialAccessTokenFrom } = registration ?? {};
    return {
      secrets: listSet([ca, initialAccessToken, clientSecret, initialAccessTokenFrom?.clientSecret]),
      backends: listKeyBackends(keys),
    };
  },
};

/** Where anybody has an account, and only the rules of the same policy say who gets in, they must be in force: the schema cannot see that. */
function findLostRules(spec: McpAuthenticationSpec, { findFieldOwner }: FieldSurroundings): readonly string[] {
  const account = findPublicAccount(spec);
  const owner = account === undefined || saysWhoGetsIn(spec) ? undefined : findFieldOwner('backend.mcp.authorization');
  if (owner === undefined) return [];
  return [
    `spec.backend.mcp.authentication: anybody with ${account} would get in, because the rules of ProxyPolicy ${owner} take precedence over those of this policy: set identity.allow or requiredClaims`,
  ];
}

function createAuthentication(spec: McpAuthenticationSpec, references: PolicyReferences): McpAuthentication {
  const { resource = '', ...published } = spec.resourceMetadata ?? {};
  const metadata = convertResourceMetadata(published);
  for (const problem of metadata.problems) references.refuse('resourceMetadata', problem);
  const isIssuer = issuesTokens(spec);
  const message = create(McpAuthenticationSchema, {
    mode: convertMode(spec.mode),
    issuer: findIssuer(spec),
    metadataUrl: spec.metadataUrl ?? '',
    audiences: spec.audiences ?? [],
    keys: createKeySource(spec.jwks ?? discoveredJwks, 'jwks', references),
    ca: references.followCa('jwks.caCertificateRef', spec.jwks?.caCertificateRef),
    allowInsecureHttp: spec.allowInsecureHttp,
    provider: spec.provider ?? '',
    flow: flows[isIssuer ? 'Issuer' : spec.flow],
    registration: createRegistration(spec.registration, references),
    extraScopes: spec.authorizationRequest?.extraScopes ?? [],
    extraParameters: sortEntries(spec.authorizationRequest?.extraParameters ?? {}),
    clientIdMetadataDocuments: spec.clientIdMetadataDocuments.enabled !== false,
    clientIdMetadataAlways: spec.clientIdMetadataDocuments.enabled === true,
    clientIdMetadataDomains: spec.clientIdMetadataDocuments.allowedDomains ?? [],
    requiredScopes: spec.requiredScopes ?? [],
    requiredClaims: convertRequiredClaims(spec.requiredClaims),
    clockSkewMs: convertToMilliseconds(spec.clockSkew),
    resource,
    resourceMetadata: metadata.text,
    forwardToken: spec.forwardToken,
    claimsToHeaders: convertClaimsToHeaders(spec.claimsToHeaders),
    sessionBinding: spec.sessionBinding,
  });
  if (spec.endpoints !== undefined) {
    const { authorization, token, userinfo = '' } = spec.endpoints;
    message.endpoints = create(IdpEndpointsSchema, { authorization, token, userinfo });
  }
  if (isIssuer) {
    message.identity = convertIdentity(spec.identity);
    message.issuedTokens = convertIssuedTokens(spec.tokens, spec.requiredScopes);
  }
  return message;
}

function createRegistration(spec: McpAuthenticationSpec['registration'], references: PolicyReferences) {
  const credentials = spec.initialAccessTokenFrom?.clientCredentials;
  const message = create(ClientRegistrationSchema, {
    mode: spec.mode === 'Shared' ? RegistrationMode.SHARED : RegistrationMode.FORWARD,
    endpoint: spec.endpoint ?? '',
    initialAccessToken: references.followEntry('registration.initialAccessTokenRef', spec.initialAccessTokenRef),
    clientId: spec.clientId ?? '',
    clientSecret: references.followEntry('registration.clientSecretRef', spec.clientSecretRef),
    allowedRedirectUris: spec.allowedRedirectUris ?? [],
    trustedRedirectUris: spec.trustedRedirectUris ?? [],
    perMinute: spec.limits.perMinute,
    maxBodyBytes: spec.limits.maxBodyBytes,
    allowInsecureHttp: spec.endpoint !== undefined && spec.allowInsecureHttp,
  });
  if (credentials !== undefined) {
    const field = 'registration.initialAccessTokenFrom.clientCredentials.clientSecretRef';
    message.initialAccessTokenFrom = create(ClientCredentialsSchema, {
      clientId: credentials.clientId,
      clientSecret: references.followEntry(field, credentials.clientSecretRef),
      scope: credentials.scope ?? '',
    });
  }
  return message;
}
