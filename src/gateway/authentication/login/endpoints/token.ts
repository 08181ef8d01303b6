// The token endpoint of the broker (RFC 6749 3.2, 4.1.3, 6; RFC 7636 4.6; RFC 8707 2.2). It opens sealed codes and refresh tokens, sends the
// request to the IdP with the credentials of its client there, and returns the answer with a sealed refresh token. Other grants are refused:
// with them anyone could use the gateway to talk to the IdP.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Sealer } from '../../../../base/sealed.ts';
import { findPlace, formatCallbackUrl } from '../broker-urls.ts';
import type { IdpClient } from '../../../config/shared-logins.ts';
import { openCode, openRefreshToken, sealRefreshToken } from '../state/code-envelope.ts';
import { type DocumentRegistrations, documentRegistrations } from '../clients/document-registration.ts';
import { findKnownClient, type KnownClient, recallClient } from '../clients/find-client.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import { type IdpTokenOutcome, requestIdpTokens } from '../idp/idp-token-request.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import { createLimiters } from '../clients/address-limiter.ts';
import { isScope, namesOnlyResource, readRequestParameters, type RequestParameters } from '../request-parameters.ts';
import { findSharedClient } from '../clients/shared-registration.ts';
import {
  answerTokenError,
  answerTokens,
  describeRefusal,
  describeUnavailable,
  describeUnknownClient,
  type TokenError,
} from './token-answer.ts';
import { type PresentedClient, readPresentedClient } from './token-client.ts';

/** Makes the endpoint. */
export function createTokenEndpoint(registrations: DocumentRegistrations): OAuthEndpoint {
  return {
    name: 'token',
    methods: ['POST'],
    maxBodyBytes: () => 131_072,
    cors: true,
    handle: (request) => serveToken(request, registrations),
  };
}

/** The endpoint of this process. */
export const tokenEndpoint: OAuthEndpoint = createTokenEndpoint(documentRegistrations);

/** Everything that is needed to answer a grant. */
interface TokenRequest {
  readonly request: OAuthRequest;
  readonly sealer: Sealer;
  readonly form: RequestParameters;
  readonly grantType: string;
  readonly presented: PresentedClient;
  readonly metadata: IdpMetadata;
  readonly registrations: DocumentRegistrations;
}

/** Token requests per allowed registration: a registered client requests tokens repeatedly. Default for registrations per address: 60 a minute. */
const tokensPerRegistration = 10;
/** One per connection to an IdP, in each process. */
const findLimiter = createLimiters();

/** Takes a token from the rate limit. 0: taken; otherwise the seconds to wait. */
function takeTurn({ context, resource: { config }, now }: OAuthRequest, perMinute: number): number {
  return findLimiter(config.idp).take(context.client.address, perMinute, now());
}

async function serveToken(request: OAuthRequest, registrations: DocumentRegistrations): Promise<OAuthAnswer> {
  const { config } = request.resource;
  const { sealer } = config;
  if (sealer === undefined)
    return answerTokenError(request, {
      error: 'server_error',
      description: 'This gateway has no seal key and cannot open codes. Its operator has to configure one.',
      reason: 'seal_key_missing',
      status: 500,
      detail: 'no seal key is configured',
    });
  const perMinute = config.message.registration!.perMinute * tokensPerRegistration;
  const waitSeconds = takeTurn(request, perMinute);
  if (waitSeconds > 0)
    return answerTokenError(request, {
      error: 'temporarily_unavailable',
      description: 'Too many requests. Try again later.',
      reason: 'token_limited',
      status: 429,
      detail: `more than ${perMinute} token requests a minute from ${request.context.client.address}`,
      headers: ['retry-after', String(waitSeconds)],
    });
  if (request.contentType !== 'application/x-www-form-urlencoded')
    return answerTokenError(request, refuse('The body must be application/x-www-form-urlencoded.'));
  const form = readRequestParameters(new URLSearchParams(request.body));
  const error = findFormError(request, form);
  if (error !== undefined) return answerTokenError(request, error);
  const presented = readPresentedClient(request, form);
  if (!presented.ok) return answerTokenError(request, presented.error);

  const state = await config.idp.getMetadata();
  if (!state.ok) return answerTokenError(request, describeUnavailable(state.detail, state.retryAfterSeconds));
  const { metadata } = state;
  const grantType = form.get('grant_type')!;
  const call: TokenRequest = { request, sealer, form, grantType, presented: presented.client, metadata, registrations };
  return grantType === 'authorization_code' ? redeemCode(call) : refresh(call);
}

function findFormError(request: OAuthRequest, form: RequestParameters): TokenError | undefined {
  if (form.repeated.size > 0) return refuse('A parameter is repeated.');
  const grantType = form.get('grant_type');
  if (grantType === undefined) return refuse('grant_type is missing.');
  if (grantType !== 'authorization_code' && grantType !== 'refresh_token')
    return {
      error: 'unsupported_grant_type',
      description: 'grant_type must be authorization_code or refresh_token.',
      reason: 'grant_unsupported',
      detail: 'grant_type is neither authorization_code nor refresh_token',
    };
  const scope = form.get('scope');
  if (scope !== undefined && !isScope(scope)) return { ...refuse('scope is malformed.'), error: 'invalid_scope' };
  if (!namesOnlyResource(form.getAll('resource'), findPlace(request).resource))
    return {
      error: 'invalid_target',
      description: 'resource must be the URL of the protected resource that this authorization server is for.',
      reason: 'wrong_resource',
      detail: 'resource names something else',
    };
  return undefined;
}

function refuse(description: string): TokenError {
  return { error: 'invalid_request', description, reason: 'token_request_invalid', detail: description };
}

function refuseGrant(description: string, detail: string): TokenError {
  return { error: 'invalid_grant', description, reason: 'grant_invalid', detail };
}

async function redeemCode(call: TokenRequest): Promise<OAuthAnswer> {
  const { request, sealer, form, presented } = call;
  const known = findOwnClient(call);
  if ('error' in known) return answerTokenError(request, known);
  const code = form.get('code');
  if (code === undefined) return answerTokenError(request, refuse('code is missing.'));
  const opened = openCode(sealer, findPlace(request), presented.clientId, code);
  if (!opened.ok)
    return answerTokenError(request, refuseGrant('The code is not valid for this client.', `code: ${opened.problem}`));
  const { grant } = opened;
  // RFC 6749 4.1.3 requires it again; OAuth 2.1 omits it and relies on PKCE, which is mandatory here.
  const redirectUri = form.get('redirect_uri');
  if (redirectUri !== undefined && redirectUri !== grant.redirectUri)
    return answerTokenError(
      request,
      refuseGrant('redirect_uri is not the one of the authorization request.', 'redirect_uri differs'),
    );
  const verifier = form.get('code_verifier');
  if (verifier === undefined)
    return answerTokenError(request, refuseGrant('code_verifier is missing.', 'PKCE: no code_verifier'));
  if (!matchesChallenge(verifier, grant.challenge))
    return answerTokenError(
      request,
      refuseGrant('code_verifier does not match the code_challenge.', 'PKCE: wrong code_verifier'),
    );
  const idpClient = findIdpClient(call, known, grant.idpClient);
  if (idpClient === undefined) return answerTokenError(request, refuseStanding(presented));
  const outcome = await requestIdpTokens(
    request,
    call.metadata,
    {
      grant_type: 'authorization_code',
      code: grant.code,
      redirect_uri: formatCallbackUrl(request),
      // The IdP checks it as well: PKCE works end to end.
      code_verifier: verifier,
      resource: grant.resource,
    },
    idpClient,
  );
  return answerOutcome(call, known, outcome, {
    resource: grant.resource,
    idpClient,
    // RFC 6749 5.1: the answer must name the scope when it differs from the requested one.
    ...(grant.scope !== undefined && { scope: grant.scope }),
  });
}

async function refresh(call: TokenRequest): Promise<OAuthAnswer> {
  const { request, sealer, form, presented } = call;
  const token = form.get('refresh_token');
  const opened = openRefreshToken(sealer, findPlace(request), presented.clientId, token ?? '');
  const found = findOwnClient(call);
  const recalled =
    'error' in found && found.isForgotten === true && opened.ok
      ? recallClient(request, presented.clientId, opened.grant.idpClient)
      : undefined;
  const client = recalled ?? found;
  if ('error' in client) return answerTokenError(request, client);
  if (token === undefined) return answerTokenError(request, refuse('refresh_token is missing.'));
  if (!opened.ok)
    return answerTokenError(
      request,
      refuseGrant('The refresh token is not valid for this client.', `refresh_token: ${opened.problem}`),
    );
  const { grant } = opened;
  const idpClient = findIdpClient(call, client, grant.idpClient);
  if (idpClient === undefined) return answerTokenError(request, refuseStanding(presented));
  const outcome = await requestIdpTokens(
    request,
    call.metadata,
    {
      grant_type: 'refresh_token',
      refresh_token: grant.token,
      scope: form.get('scope'),
      resource: grant.resource,
    },
    idpClient,
  );
  // Only the refresh token still identified this client: its id is no longer valid, so it has to register again.
  if (recalled !== undefined && outcome.kind === 'refused' && 'error' in found) return answerTokenError(request, found);
  return answerOutcome(call, client, outcome, {
    resource: grant.resource,
    idpClient,
    // An IdP without refresh token rotation sends none. Sealing the old one again lets it survive the next rotation of seal keys.
    previousToken: grant.token,
  });
}

/** Finds a client that registered here or has a metadata document. */
function findOwnClient({ request, sealer, presented }: TokenRequest): KnownClient | UnknownClient {
  if (presented.hasSecret) return refuseStanding(presented);
  const found = findKnownClient(request, sealer, presented.clientId);
  if (found.ok) return found.client;
  const description = found.problem ?? 'The client is not known here. It has to register again.';
  return {
    ...describeUnknownClient(description, found.detail, presented.authorization !== undefined),
    isForgotten: found.isForgotten === true,
  };
}

interface UnknownClient extends TokenError {
  readonly isForgotten?: boolean;
}

function refuseStanding({ hasSecret, authorization }: PresentedClient): TokenError {
  return hasSecret
    ? describeUnknownClient(
        'This client has no secret: send client_id alone (token_endpoint_auth_method none).',
        'the client sent a secret that it was never given',
        authorization !== undefined,
      )
    : describeUnknownClient(
        'The client is not known at the identity provider. It has to register again.',
        'no client at the IdP belongs to this client_id',
        authorization !== undefined,
      );
}

/** The client at the IdP. `sealed`: the one in the code or refresh token, for clients with a metadata document. */
function findIdpClient(
  { request, metadata }: TokenRequest,
  { standing }: KnownClient,
  sealed: IdpClient | undefined,
): IdpClient | undefined {
  switch (standing.kind) {
    case 'own':
      return standing.idpClient;
    case 'document':
      return sealed;
    case 'shared':
      return findSharedClient(request.resource.config, metadata);
  }
}

/** RFC 7636 4.6. */
function matchesChallenge(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9\-._~]{43,128}$/.test(verifier)) return false;
  const computed = createHash('sha256').update(verifier).digest('base64url');
  return computed.length === challenge.length && timingSafeEqual(Buffer.from(computed), Buffer.from(challenge));
}

interface AnswerExtras {
  readonly resource: string | undefined;
  readonly idpClient: IdpClient | undefined;
  readonly scope?: string;
  readonly previousToken?: string;
}

function answerOutcome(
  { request, sealer, grantType, presented, registrations }: TokenRequest,
  client: KnownClient,
  outcome: IdpTokenOutcome,
  { resource, idpClient, scope, previousToken }: AnswerExtras,
): OAuthAnswer {
  if (outcome.kind === 'unavailable')
    return answerTokenError(request, describeUnavailable(outcome.detail, outcome.retryAfterSeconds));
  if (outcome.kind === 'refused') {
    const error = describeRefusal(outcome, grantType, client.standing.kind);
    if (error.reason === 'idp_refused_client' && client.standing.kind === 'document')
      registrations.forget(request, client.clientId);
    return answerTokenError(request, error);
  }
  const { refresh_token: issued, ...rest } = outcome.body;
  const tokens: Record<string, unknown> = { ...rest, token_type: rest['token_type'] ?? 'Bearer' };
  if (scope !== undefined && rest['scope'] === undefined) tokens['scope'] = scope;
  const token = typeof issued === 'string' && issued !== '' ? issued : previousToken;
  if (token !== undefined)
    tokens['refresh_token'] = sealRefreshToken(sealer, findPlace(request), presented.clientId, {
      token,
      resource,
      idpClient: client.standing.kind === 'shared' ? undefined : idpClient,
    });
  return answerTokens(tokens);
}
