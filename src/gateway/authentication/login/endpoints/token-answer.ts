// Answers of the token endpoint (RFC 6749 5.1, 5.2): always JSON and never cached, whatever the IdP sent.
import type { JsonObject } from '../../../../base/json-object.ts';
import { formatErrorBody } from '../../../request/answer.ts';
import type { RawHeaders } from '../../../http/exchange.ts';
import { type Reason, reasons } from '../../../http/reasons.ts';
import type { KnownClient } from '../clients/find-client.ts';
import { cleanText } from '../pages/html-page.ts';
import type { IdpTokenOutcome } from '../idp/idp-token-request.ts';
import { formatRetryAfter, type OAuthAnswer, type OAuthRequest, uncachedJson } from '../oauth-endpoint.ts';
import { cleanErrorDescription } from '../request-parameters.ts';

/** A refusal. */
export interface TokenError {
  readonly error: string;
  readonly description: string;
  readonly reason: Reason;
  /** Default 400. */
  readonly status?: number;
  /** For the operator only. */
  readonly detail: string;
  readonly headers?: RawHeaders;
}

/** Answers with tokens. */
export function answerTokens(tokens: JsonObject): OAuthAnswer {
  return { status: 200, headers: uncachedJson, body: `${JSON.stringify(tokens)}\n` };
}

/** Answers with an error. */
export function answerTokenError({ context }: OAuthRequest, error: TokenError): OAuthAnswer {
  return {
    status: error.status ?? 400,
    headers: [...uncachedJson, ...(error.headers ?? [])],
    body: formatErrorBody(error.error, error.description, context.requestId),
    reason: error.reason,
    detail: cleanText(error.detail, 500),
  };
}

/** 401 for an unknown client: clients then register again. Names the Basic scheme only if the client used it (RFC 6749 5.2). */
export function describeUnknownClient(description: string, detail: string, usedHeader: boolean): TokenError {
  return {
    error: 'invalid_client',
    description,
    reason: 'unknown_client',
    status: 401,
    detail,
    ...(usedHeader && { headers: ['www-authenticate', 'Basic realm="token"'] }),
  };
}

/** The state of the grant is unknown; the client may retry with the same grant. */
export function describeUnavailable(detail: string, retryAfterSeconds: number): TokenError {
  return {
    error: 'temporarily_unavailable',
    description: 'The identity provider cannot be reached at the moment. Try again shortly.',
    reason: 'idp_unavailable',
    status: 503,
    detail,
    headers: formatRetryAfter(retryAfterSeconds),
  };
}

/** The store of sessions does not answer; the client may retry with the same grant. */
export function describeStoreUnavailable(detail: string, retryAfterSeconds = 5): TokenError {
  return {
    error: 'temporarily_unavailable',
    description: reasons.store_unavailable.description,
    reason: 'store_unavailable',
    status: reasons.store_unavailable.status,
    detail,
    headers: formatRetryAfter(retryAfterSeconds),
  };
}

/** There is no key to sign with. */
export function describeMissingKey(detail: string): TokenError {
  return {
    error: 'temporarily_unavailable',
    description: reasons.signing_key_missing.description,
    reason: 'signing_key_missing',
    status: reasons.signing_key_missing.status,
    detail,
    headers: formatRetryAfter(10),
  };
}

/** Errors of the IdP that are passed on to the client: RFC 6749 5.2, RFC 8707 2, RFC 8628 3.5. */
const relayedErrors: ReadonlySet<string> = new Set([
  'invalid_grant',
  'invalid_scope',
  'invalid_target',
  'unauthorized_client',
  'unsupported_grant_type',
  'authorization_pending',
  'slow_down',
  'access_denied',
  'expired_token',
]);

/** The RFC 6749 error for the IdP's answer. An unknown error counts as an invalid grant, so that clients start a new login. */
export function describeRefusal(
  refused: Extract<IdpTokenOutcome, { readonly kind: 'refused' }>,
  grantType: string,
  standing: KnownClient['standing']['kind'],
): TokenError {
  const { status, error, description } = refused;
  const answer = `${status} ${error ?? 'without an OAuth error'}${description === undefined ? '' : `: ${description}`}`;
  const detail = `the token endpoint of the identity provider answered ${answer}`;
  if (error === 'invalid_client' || (status === 401 && error === undefined))
    return describeClientRefusal(detail, standing);
  if (error === 'invalid_request' && grantType !== 'refresh_token')
    return refuse('invalid_request', description, detail);
  return refuse(error !== undefined && relayedErrors.has(error) ? error : 'invalid_grant', description, detail);
}

/** The IdP no longer knows the client. The remedy depends on how the client was registered. */
function describeClientRefusal(detail: string, standing: KnownClient['standing']['kind']): TokenError {
  switch (standing) {
    case 'own': // It registers again.
      return {
        error: 'invalid_client',
        description: 'The identity provider does not know this client any more. Register again.',
        reason: 'idp_refused_client',
        status: 401,
        detail,
      };
    case 'document': // The next login registers it again.
      return {
        error: 'invalid_grant',
        description: 'The identity provider does not know this client any more. Log in again.',
        reason: 'idp_refused_client',
        detail,
      };
    case 'shared': // The operator's.
      return {
        error: 'temporarily_unavailable',
        description: "The identity provider does not accept the gateway's client. Its operator can see why.",
        reason: 'idp_refused_client',
        status: 503,
        detail,
        headers: ['retry-after', '60'],
      };
  }
}

function refuse(error: string, description: string | undefined, detail: string): TokenError {
  return {
    error,
    description: cleanErrorDescription(description) ?? 'The identity provider refused the request.',
    reason: 'idp_refused_grant',
    detail,
  };
}
