// Authorization server metadata (RFC 8414, OpenID Connect Discovery): the IdP's document with the gateway's own endpoints in it.
import { formatErrorBody } from '../../../request/answer.ts';
import { reasons } from '../../../http/reasons.ts';
import { formatEndpointPath } from '../../../../ir/endpoint-paths.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import { findDocumentEgress } from '../clients/document-egress.ts';
import { answerIdpUnavailable, answerMetadata } from './metadata-answer.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import { formatFacadeIssuer } from '../../read-base.ts';
import type { TokenIssuer } from '../../../config/token-issuer.ts';
import { answerTokenError, describeMissingKey } from './token-answer.ts';
import { findRegistrationEndpoint } from '../idp/registration-endpoint.ts';

/** GET of every form of the metadata URL; all forms have the same content but for `issuer` and the endpoints that go with it. */
export const authorizationServerMetadataEndpoint: OAuthEndpoint = {
  name: 'authorization-server-metadata',
  methods: ['GET'],
  maxBodyBytes: () => 0,
  cors: true,
  handle: serveAuthorizationServerMetadata,
};

/** The same under the names of OpenID Connect Discovery. */
export const openidConfigurationEndpoint: OAuthEndpoint = {
  ...authorizationServerMetadataEndpoint,
  name: 'openid-configuration',
};

async function serveAuthorizationServerMetadata(request: OAuthRequest): Promise<OAuthAnswer> {
  const { idp, issuer } = request.resource.config;
  if (issuer !== undefined) return serveIssuer(request, issuer);
  const state = await idp.getMetadata();
  if (!state.ok) return answerIdpUnavailable(request, state.retryAfterSeconds, state.detail);
  const choice = idp.getFlow();
  if (choice === undefined || choice.flow === 'Direct') {
    const { status, description } = reasons.no_route;
    return {
      status,
      headers: ['content-type', 'application/json', 'cache-control', 'no-store'],
      body: formatErrorBody('no_route', description, request.context.requestId),
      reason: 'no_route',
      detail: 'with the flow Direct the identity provider publishes its own metadata',
    };
  }
  const takesRegistrations = findRegistrationEndpoint(request.resource.config, state.metadata) !== undefined;
  const input = describeInput(request, state.metadata, await offersClientDocuments(request, takesRegistrations));
  return answerMetadata(request.resource, choice.flow === 'Facade' ? describeFacade(input) : describeBroker(input));
}

/** The gateway's own document: nothing in it depends on the IdP, which may be down. */
async function serveIssuer(request: OAuthRequest, issuer: TokenIssuer): Promise<OAuthAnswer> {
  if (issuer.signingKeys === undefined)
    return answerTokenError(request, describeMissingKey('no signing keys are configured'));
  const input = {
    ...describeOwnUrls(request),
    scopes: issuer.scopes,
    hasRefreshTokens: issuer.refreshLifetimeMs > 0,
    canRevoke: issuer.grants.isStored,
    takesClientDocuments: await offersClientDocuments(request, true),
  };
  return answerMetadata(request.resource, describeIssuer(input));
}

/** The identifier and the endpoints of the gateway. */
interface OwnUrls {
  /** Exactly the identifier that the client derived the metadata URL from. */
  readonly issuer: string;
  /** Base of the gateway's own endpoints: {base}/.oauth{P} */
  readonly formatEndpoint: (name: 'register' | 'authorize' | 'token' | 'revoke' | 'jwks') => string;
}

function describeOwnUrls({ base, resource, isRootForm = false }: OAuthRequest): OwnUrls {
  return {
    issuer: formatFacadeIssuer(base, resource, isRootForm),
    // Endpoints of the root form are at the root too, so that the broker knows which issuer its answer must name.
    formatEndpoint: (name) => `${base}${formatEndpointPath(isRootForm ? '' : resource.path, name)}`,
  };
}

/** What the document depends on. */
interface FacadeInput extends OwnUrls {
  readonly metadata: IdpMetadata;
  readonly preset: ProviderPreset;
  /** Clients can register here. */
  readonly takesRegistrations: boolean;
  /** A client_id may be the URL of a metadata document. */
  readonly takesClientDocuments: boolean;
}

function describeInput(request: OAuthRequest, metadata: IdpMetadata, takesClientDocuments: boolean): FacadeInput {
  const { config } = request.resource;
  return {
    ...describeOwnUrls(request),
    metadata,
    preset: config.preset,
    takesRegistrations: findRegistrationEndpoint(config, metadata) !== undefined,
    takesClientDocuments,
  };
}

/** Offered unless clients can register instead and documents cannot be fetched from here at the moment. */
async function offersClientDocuments(request: OAuthRequest, takesRegistrations: boolean): Promise<boolean> {
  const { config } = request.resource;
  const { clientIdMetadataDocuments, clientIdMetadataAlways } = config.message;
  if (!clientIdMetadataDocuments || clientIdMetadataAlways) return clientIdMetadataDocuments;
  if (!takesRegistrations) return true;
  const { shared, fetcher } = config.idp;
  return shared === undefined ? findDocumentEgress(fetcher).isOpen(request.now()) : shared.canFetchDocuments();
}

/** Facade: the IdP's own document; only `issuer` and `registration_endpoint` differ. */
export function describeFacade(input: FacadeInput): Readonly<Record<string, unknown>> {
  const { metadata, preset } = input;
  const document: Record<string, unknown> = { ...metadata, issuer: input.issuer };
  // It describes the unedited document, and clients must prefer it (RFC 8414 2.1).
  delete document['signed_metadata'];
  delete document['registration_endpoint'];
  if (input.takesRegistrations) document['registration_endpoint'] = input.formatEndpoint('register');
  if (metadata.code_challenge_methods_supported === undefined && preset.supportsPkce === true)
    document['code_challenge_methods_supported'] = ['S256'];
  return document;
}

/** Broker: the gateway also serves the authorization and token endpoints, and describes its own capabilities. */
export function describeBroker(input: FacadeInput): Readonly<Record<string, unknown>> {
  const { metadata, preset } = input;
  const document: Record<string, unknown> = { ...metadata, issuer: input.issuer };
  for (const name of notBrokered) delete document[name];
  delete document['registration_endpoint'];
  delete document['code_challenge_methods_supported'];
  delete document['client_id_metadata_document_supported'];
  document['authorization_endpoint'] = input.formatEndpoint('authorize');
  document['token_endpoint'] = input.formatEndpoint('token');
  if (input.takesRegistrations) document['registration_endpoint'] = input.formatEndpoint('register');
  document['response_types_supported'] = ['code'];
  document['response_modes_supported'] = ['query'];
  document['grant_types_supported'] = listGrants(metadata);
  // The gateway's clients are public.
  document['token_endpoint_auth_methods_supported'] = ['none'];
  if (supportsPkce(metadata, preset)) document['code_challenge_methods_supported'] = ['S256'];
  document['authorization_response_iss_parameter_supported'] = true;
  if (input.takesClientDocuments) document['client_id_metadata_document_supported'] = true;
  // OpenID Connect Discovery 3: true when omitted.
  if (metadata['request_uri_parameter_supported'] !== undefined) document['request_uri_parameter_supported'] = false;
  if (metadata['request_parameter_supported'] !== undefined) document['request_parameter_supported'] = false;
  return document;
}

interface IssuerInput extends OwnUrls {
  readonly scopes: readonly string[];
  readonly hasRefreshTokens: boolean;
  /** Sessions are in a store. */
  readonly canRevoke: boolean;
  /** A client_id may be the URL of a metadata document. */
  readonly takesClientDocuments: boolean;
}

/** Issuer: the gateway is the authorization server. No member comes from the IdP. */
export function describeIssuer(input: IssuerInput): Readonly<Record<string, unknown>> {
  const { issuer, formatEndpoint } = input;
  return {
    issuer,
    authorization_endpoint: formatEndpoint('authorize'),
    token_endpoint: formatEndpoint('token'),
    registration_endpoint: formatEndpoint('register'),
    jwks_uri: formatEndpoint('jwks'),
    ...(input.canRevoke && {
      revocation_endpoint: formatEndpoint('revoke'),
      revocation_endpoint_auth_methods_supported: ['none'],
    }),
    ...(input.scopes.length > 0 && { scopes_supported: input.scopes }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', ...(input.hasRefreshTokens ? ['refresh_token'] : [])],
    token_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    ...(input.takesClientDocuments && { client_id_metadata_document_supported: true }),
  };
}

/** Whether PKCE with S256 works at the IdP: it says so, or its preset does. */
export function supportsPkce(metadata: IdpMetadata, preset: ProviderPreset): boolean {
  return metadata.code_challenge_methods_supported?.includes('S256') ?? preset.supportsPkce === true;
}

/**
 * Members about endpoints of the IdP that know nothing of the gateway's client ids, codes and refresh tokens, or that bind a request to
 * the IdP's own URLs. A client that followed them would only fail later.
 */
const notBrokered: readonly string[] = [
  'signed_metadata',
  'mtls_endpoint_aliases',
  'tls_client_certificate_bound_access_tokens',
  'pushed_authorization_request_endpoint',
  'require_pushed_authorization_requests',
  'device_authorization_endpoint',
  'backchannel_authentication_endpoint',
  'introspection_endpoint',
  'introspection_endpoint_auth_methods_supported',
  'introspection_endpoint_auth_signing_alg_values_supported',
  'revocation_endpoint',
  'revocation_endpoint_auth_methods_supported',
  'revocation_endpoint_auth_signing_alg_values_supported',
  'token_endpoint_auth_signing_alg_values_supported',
  'dpop_signing_alg_values_supported',
  'require_signed_request_object',
  'request_object_signing_alg_values_supported',
  'request_object_encryption_alg_values_supported',
  'request_object_encryption_enc_values_supported',
  'authorization_signing_alg_values_supported',
];

/** Only the grants of a login: the token endpoint supports no others. */
function listGrants({ grant_types_supported: listed = [] }: IdpMetadata): readonly string[] {
  return ['authorization_code', ...listed.filter((grant) => grant === 'refresh_token')];
}
