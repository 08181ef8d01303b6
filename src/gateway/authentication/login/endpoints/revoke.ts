// The revocation endpoint of the flow Issuer (RFC 7009): ends a session at once. Access tokens of it live out their short life. Only with a store: without one
// nothing remembers what was revoked.
import { findPlace } from '../broker-urls.ts';
import { type OAuthAnswer, type OAuthEndpoint, type OAuthRequest, uncachedJson } from '../oauth-endpoint.ts';
import { readRequestParameters } from '../request-parameters.ts';
import { digestClientId, digestPlace } from '../state/client-envelope.ts';
import { answerTokenError, describeStoreUnavailable, type TokenError } from './token-answer.ts';
import { readPresentedClient } from './token-client.ts';
import { findOwnClient, refuse } from './token-grant.ts';
import { takeTokenTurn } from './token-limit.ts';

/** POST /.oauth{P}/revoke */
export const revokeEndpoint: OAuthEndpoint = {
  name: 'revoke',
  methods: ['POST'],
  maxBodyBytes: () => 131_072,
  cors: true,
  handle: async (request) => {
    const error = await revoke(request);
    return error === undefined ? revoked : answerTokenError(request, error);
  },
};

/** Also for a token that is not known: the client wants it gone, and it is (RFC 7009 2.2). */
const revoked: OAuthAnswer = { status: 200, headers: uncachedJson, body: '{}\n' };

async function revoke(request: OAuthRequest): Promise<TokenError | undefined> {
  const { sealer, issuer } = request.resource.config;
  if (sealer === undefined || issuer === undefined)
    return {
      error: 'server_error',
      description: 'This gateway has no seal key and cannot open refresh tokens. Its operator has to configure one.',
      reason: 'seal_key_missing',
      status: 500,
      detail: 'no seal key is configured',
    };
  const tooMany = takeTokenTurn(request);
  if (tooMany !== undefined) return tooMany;
  if (request.contentType !== 'application/x-www-form-urlencoded')
    return refuse('The body must be application/x-www-form-urlencoded.');
  const form = readRequestParameters(new URLSearchParams(request.body));
  if (form.repeated.size > 0) return refuse('A parameter is repeated.');
  const presented = readPresentedClient(request, form);
  if (!presented.ok) return presented.error;
  const { clientId } = presented.client;
  const client = findOwnClient({ request, sealer, presented: presented.client });
  // One whose id was sealed with a key that is gone may still end its session: the refresh token names it.
  if ('error' in client && client.isForgotten !== true) return client;
  const token = form.get('token');
  if (token === undefined) return refuse('token is missing.');
  if (isAccessToken(token))
    return {
      error: 'unsupported_token_type',
      description: 'Access tokens cannot be revoked; they end soon by themselves. Send the refresh token.',
      reason: 'token_request_invalid',
      detail: 'the token to revoke is an access token',
    };
  const place = digestPlace(findPlace(request));
  const outcome = await issuer.grants.revoke(token, { clientDigest: digestClientId(clientId), place });
  return outcome.ok ? undefined : describeStoreUnavailable(outcome.detail);
}

/** A JSON Web Token; refresh tokens have no dots. */
function isAccessToken(token: string): boolean {
  return token.split('.', 4).length === 3;
}
