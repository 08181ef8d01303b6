// The token endpoint of the flows Broker and Issuer (RFC 6749 3.2, 4.1.3, 6; RFC 7636 4.6; RFC 8707 2.2). For the broker it opens sealed codes and refresh
// tokens, sends the request to the IdP with the credentials of its client there, and returns the answer with a sealed refresh token; tokens of the gateway's
// own are in issue-tokens.ts. Other grants are refused: with them anyone could use the gateway to talk to the IdP.
import { findPlace, formatCallbackUrl } from '../broker-urls.ts';
import type { IdpClient } from '../../../config/shared-logins.ts';
import { openRefreshToken, sealRefreshToken } from '../state/code-envelope.ts';
import { type DocumentRegistrations, documentRegistrations } from '../clients/document-registration.ts';
import { type KnownClient, recallClient } from '../clients/find-client.ts';
import { type IdpTokenOutcome, requestIdpTokens } from '../idp/idp-token-request.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import { issueTokens } from './issue-tokens.ts';
import { isScope, namesOnlyResource, readRequestParameters, type RequestParameters } from '../request-parameters.ts';
import { findSharedClient } from '../clients/shared-registration.ts';
import {
  answerTokenError,
  answerTokens,
  describeRefusal,
  describeUnavailable,
  type TokenError,
} from './token-answer.ts';
import { readPresentedClient } from './token-client.ts';
import { takeTokenTurn } from './token-limit.ts';
import {
  findOwnClient,
  openPresentedCode,
  refuse,
  refuseGrant,
  refuseStanding,
  type TokenRequest,
} from './token-grant.ts';

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
  const tooMany = takeTokenTurn(request);
  if (tooMany !== undefined) return answerTokenError(request, tooMany);
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
  if (config.issuer !== undefined) return issueTokens(call, config.issuer);
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

async function redeemCode(call: TokenRequest): Promise<OAuthAnswer> {
  const { request, presented } = call;
  const known = findOwnClient(call);
  if ('error' in known) return answerTokenError(request, known);
  const opened = openPresentedCode(call);
  if ('error' in opened) return answerTokenError(request, opened);
  const { grant, verifier } = opened;
  if (grant.nonce !== undefined)
    return answerTokenError(
      request,
      refuseGrant('The code is not valid any more. Log in again.', 'code: of a login with the flow Issuer'),
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
