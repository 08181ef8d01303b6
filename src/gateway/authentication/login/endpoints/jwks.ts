// The keys of issued tokens (RFC 7517), at the jwks_uri of the flow Issuer: for servers that check tokens themselves. The gateway never fetches them.
import { formatJwks } from '../../token/format-jwks.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import { answerTokenError, describeMissingKey } from './token-answer.ts';

/** GET /.oauth{P}/jwks */
export const jwksEndpoint: OAuthEndpoint = {
  name: 'jwks',
  methods: ['GET'],
  maxBodyBytes: () => 0,
  cors: true,
  handle: serveKeys,
};

function serveKeys(request: OAuthRequest): OAuthAnswer {
  const signingKeys = request.resource.config.issuer?.signingKeys;
  if (signingKeys === undefined) return answerTokenError(request, describeMissingKey('no signing keys are configured'));
  return {
    status: 200,
    // A key is published well before it signs.
    headers: ['content-type', 'application/json', 'cache-control', 'public, max-age=60'],
    body: `${JSON.stringify(formatJwks(signingKeys), undefined, 2)}\n`,
  };
}
