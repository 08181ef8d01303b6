// What every grant at the token endpoint begins with: the client, and the code that it presents (RFC 6749 4.1.3; RFC 7636 4.6).
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Sealer } from '../../../../base/sealed.ts';
import { findPlace } from '../broker-urls.ts';
import type { DocumentRegistrations } from '../clients/document-registration.ts';
import { findKnownClient, type KnownClient } from '../clients/find-client.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import type { RequestParameters } from '../request-parameters.ts';
import { type IssuedCode, openCode } from '../state/code-envelope.ts';
import { describeUnknownClient, type TokenError } from './token-answer.ts';
import type { PresentedClient } from './token-client.ts';

/** Everything that is needed to answer a grant. */
export interface TokenRequest {
  readonly request: OAuthRequest;
  readonly sealer: Sealer;
  readonly form: RequestParameters;
  readonly grantType: string;
  readonly presented: PresentedClient;
  readonly metadata: IdpMetadata;
  readonly registrations: DocumentRegistrations;
}

/** A code that may be redeemed, and the verifier that proves it. */
interface PresentedCode {
  readonly grant: IssuedCode;
  readonly verifier: string;
}

/** Opens the code of a request and checks that this client may redeem it. */
export function openPresentedCode({ request, sealer, form, presented }: TokenRequest): PresentedCode | TokenError {
  const code = form.get('code');
  if (code === undefined) return refuse('code is missing.');
  const opened = openCode(sealer, findPlace(request), presented.clientId, code);
  if (!opened.ok) return refuseGrant('The code is not valid for this client.', `code: ${opened.problem}`);
  const { grant } = opened;
  // RFC 6749 4.1.3 requires it again; OAuth 2.1 omits it and relies on PKCE, which is mandatory here.
  const redirectUri = form.get('redirect_uri');
  if (redirectUri !== undefined && redirectUri !== grant.redirectUri)
    return refuseGrant('redirect_uri is not the one of the authorization request.', 'redirect_uri differs');
  const verifier = form.get('code_verifier');
  if (verifier === undefined) return refuseGrant('code_verifier is missing.', 'PKCE: no code_verifier');
  if (!matchesChallenge(verifier, grant.challenge))
    return refuseGrant('code_verifier does not match the code_challenge.', 'PKCE: wrong code_verifier');
  return { grant, verifier };
}

/** Finds a client that registered here or has a metadata document. */
export function findOwnClient({
  request,
  sealer,
  presented,
}: Pick<TokenRequest, 'request' | 'sealer' | 'presented'>): KnownClient | UnknownClient {
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

export function refuseStanding({ hasSecret, authorization }: PresentedClient): TokenError {
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

/** A request that is malformed. */
export function refuse(description: string): TokenError {
  return { error: 'invalid_request', description, reason: 'token_request_invalid', detail: description };
}

/** A code or refresh token that is not valid. */
export function refuseGrant(description: string, detail: string): TokenError {
  return { error: 'invalid_grant', description, reason: 'grant_invalid', detail };
}

/** RFC 7636 4.6. */
function matchesChallenge(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9\-._~]{43,128}$/.test(verifier)) return false;
  const computed = createHash('sha256').update(verifier).digest('base64url');
  return computed.length === challenge.length && timingSafeEqual(Buffer.from(computed), Buffer.from(challenge));
}
