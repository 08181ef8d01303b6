// Tokens of the gateway's own, at the token endpoint of the flow Issuer: a code is redeemed at the IdP, or a session is continued there; the IdP says who it
// is; the gateway signs. Its own tokens never leave the gateway.
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../../../base/json-object.ts';
import type { Grant, PresentedGrant, RefreshTurn } from '../../../config/grants.ts';
import type { IdpClient } from '../../../config/shared-logins.ts';
import type { PersonIdentity, SigningKey, TokenIssuer } from '../../../config/token-issuer.ts';
import { reasons } from '../../../http/reasons.ts';
import { noteStep } from '../flow-recorder.ts';
import { showValue } from '../../token/refusal.ts';
import { formatFacadeIssuer } from '../../read-base.ts';
import { checkRequiredClaims } from '../../token/check-claims.ts';
import { maxTokenLength } from '../../token/read-compact-token.ts';
import { readRequiredClaims } from '../../token/required-claims.ts';
import { findPlace, formatCallbackUrl } from '../broker-urls.ts';
import { isClientUrl } from '../clients/client-id-metadata.ts';
import { type DescribedClient, type KnownClient, recallClient } from '../clients/find-client.ts';
import { findSharedClient } from '../clients/shared-registration.ts';
import { findCredential } from '../identity/refresh-credential.ts';
import { type IdentityOutcome, resolveIdentity } from '../identity/resolve-identity.ts';
import { defaultRetrySeconds, type IdpTokenOutcome, requestIdpTokens } from '../idp/idp-token-request.ts';
import { createClaims, signToken } from '../issuer/sign-token.ts';
import type { OAuthAnswer } from '../oauth-endpoint.ts';
import { joinScopes, splitScope } from '../request-parameters.ts';
import { digestClientId, digestPlace } from '../state/client-envelope.ts';
import {
  answerTokenError,
  answerTokens,
  describeMissingKey,
  describeRefusal,
  describeStoreUnavailable,
  describeUnavailable,
  type TokenError,
} from './token-answer.ts';
import { findOwnClient, openPresentedCode, refuse, refuseGrant, type TokenRequest } from './token-grant.ts';

/** What both grants need. */
interface Issuance extends TokenRequest {
  readonly issuer: TokenIssuer;
  readonly key: SigningKey;
  readonly idpClient: IdpClient;
}

/** Answers a token request. */
export async function issueTokens(call: TokenRequest, issuer: TokenIssuer): Promise<OAuthAnswer> {
  const key = issuer.signingKeys?.active;
  if (key === undefined) {
    const detail = issuer.signingKeys === undefined ? 'no signing keys are configured' : 'no signing key may sign yet';
    return answerTokenError(call.request, describeMissingKey(detail));
  }
  const idpClient = findSharedClient(call.request.resource.config, call.metadata);
  // Compilation requires it.
  if (idpClient === undefined) throw new TypeError('the flow Issuer needs registration.mode Shared');
  const issuance: Issuance = { ...call, issuer, key, idpClient };
  const outcome = await (call.grantType === 'authorization_code' ? redeem(issuance) : refresh(issuance));
  return isError(outcome) ? answerTokenError(call.request, outcome) : answerTokens(outcome);
}

async function redeem(call: Issuance): Promise<JsonObject | TokenError> {
  const { request, issuer, idpClient } = call;
  const client = findOwnClient(call);
  if (isError(client)) return client;
  const opened = openPresentedCode(call);
  if (isError(opened)) return opened;
  const { grant: code, verifier } = opened;
  if (code.nonce === undefined)
    return refuseGrant('The code is not valid any more. Log in again.', 'code: of a login with another flow');
  // The IdP takes its code once: a store that does not answer must be noticed before.
  const wantsGrant = issuer.refreshLifetimeMs > 0;
  const store = wantsGrant ? await issuer.grants.probe() : undefined;
  if (store?.ok === false) return describeStoreUnavailable(store.detail);

  const outcome = await requestIdpTokens(
    request,
    call.metadata,
    {
      grant_type: 'authorization_code',
      code: code.code,
      redirect_uri: formatCallbackUrl(request),
      // The IdP checks it as well: PKCE works end to end.
      code_verifier: verifier,
    },
    idpClient,
  );
  if (outcome.kind !== 'tokens') return describeIdpOutcome(call, outcome);
  const answer = outcome.body;
  const identity = await askWho(call, { answer, nonce: code.nonce });
  if (identity.kind === 'unavailable')
    return describeUnavailable(`${identity.detail}; ${codeIsUsedUp}`, identity.retryAfterSeconds);
  if (identity.kind === 'refused') return describeIdentity(identity);
  const { person } = identity;
  const signed = sign(call, person, splitScope(code.scope));
  if (isError(signed)) return signed;

  const credential = wantsGrant ? findCredential(request.resource.config.preset, answer) : undefined;
  if (credential === undefined) return signed.answer;
  const begun = await issuer.grants.begin({
    ...describeGrant(call, client),
    subject: person.subject,
    userName: person.userName,
    credential,
    scope: code.scope ?? '',
  });
  return begun.ok
    ? { ...signed.answer, refresh_token: begun.refreshToken }
    : describeStoreUnavailable(`${begun.detail}; ${codeIsUsedUp}`);
}

const codeIsUsedUp = 'the code is used up, so a new login is needed';

async function refresh(call: Issuance): Promise<JsonObject | TokenError> {
  const { request, form, issuer, presented } = call;
  const found = findOwnClient(call);
  // Its id was sealed with a key that is gone since; a refresh token that is newer still knows it.
  const isForgotten = isError(found) && found.isForgotten === true;
  const client = isForgotten ? (recallClient(request, presented.clientId, undefined) ?? found) : found;
  if (isError(client)) return client;
  const token = form.get('refresh_token');
  if (token === undefined) return isForgotten ? found : refuse('refresh_token is missing.');
  const grant = await issuer.grants.present(token, {
    clientDigest: client.digest,
    place: digestPlace(findPlace(request)),
  });
  switch (grant.kind) {
    case 'unavailable':
      return describeStoreUnavailable(grant.detail, grant.retryAfterSeconds);
    case 'refused':
      return isForgotten ? found : describeRefusedGrant(grant);
    case 'repeated':
      return grant.answer;
    case 'grant':
      return continueGrant(call, grant.grant, grant.turn);
  }
}

async function continueGrant(call: Issuance, grant: Grant, turn: RefreshTurn): Promise<JsonObject | TokenError> {
  const { request, form, issuer } = call;
  // The policy may have changed since the login.
  if (request.now() >= Math.min(grant.expiresAtMs, grant.startedAtMs + issuer.refreshLifetimeMs)) {
    await turn.release({ revoke: true });
    return describeRefusedGrant({ problem: 'expired' });
  }
  const granted = splitScope(grant.scope);
  const asked = form.get('scope') === undefined ? granted : splitScope(form.get('scope'));
  if (!asked.every((scope) => granted.includes(scope))) {
    await turn.release();
    const description = 'scope must not go beyond what the login was granted.';
    return { error: 'invalid_scope', description, reason: 'token_request_invalid', detail: description };
  }

  const outcome = await askAgain(call, grant);
  if (outcome.kind !== 'tokens') {
    const error = describeIdpOutcome(call, outcome);
    await turn.release({ revoke: error.error === 'invalid_grant' });
    return error;
  }
  const credential = findNextCredential(grant, outcome.body);
  const identity = await askWho(call, { answer: outcome.body, nonce: undefined, expectedSubject: grant.subject });
  if (identity.kind !== 'person') {
    await turn.release(identity.kind === 'refused' ? { revoke: true } : { credential });
    return describeIdentity(identity);
  }
  const signed = sign(call, identity.person, asked);
  if (isError(signed)) {
    await turn.release({ revoke: signed.reason === 'identity_not_allowed', credential });
    return signed;
  }
  const finished = await turn.finish({ ...grant, credential, userName: identity.person.userName }, signed.answer);
  if (finished.ok) return { ...signed.answer, refresh_token: finished.refreshToken };
  return finished.isRevoked === true
    ? describeRefusedGrant({ problem: 'revoked' })
    : describeStoreUnavailable(finished.detail);
}

/** Asks the IdP whether the session goes on: for new tokens; or, with an access token that does not expire, by using it at userinfo. */
function askAgain(
  { request, metadata, idpClient }: Issuance,
  { credential }: Grant,
): Promise<IdpTokenOutcome> | IdpTokenOutcome {
  if (credential.kind === 'access_token') return { kind: 'tokens', body: { access_token: credential.token } };
  const form = { grant_type: 'refresh_token', refresh_token: credential.token };
  return requestIdpTokens(request, metadata, form, idpClient);
}

/** An IdP without refresh token rotation sends none. */
function findNextCredential({ credential }: Grant, { refresh_token: token }: JsonObject): Grant['credential'] {
  const isNew = credential.kind === 'refresh_token' && typeof token === 'string' && token !== '';
  return isNew ? { kind: 'refresh_token', token } : credential;
}

async function askWho(
  { request, metadata, idpClient }: Issuance,
  asked: { readonly answer: JsonObject; readonly nonce: string | undefined; readonly expectedSubject?: string },
): Promise<IdentityOutcome> {
  const { config } = request.resource;
  const outcome = await resolveIdentity({
    config,
    metadata,
    clientId: idpClient.clientId,
    now: request.now,
    ...asked,
  });
  if (outcome.kind === 'person') noteStep(request.context, describePerson(outcome.person));
  return outcome;
}

/** For the inspector, which keeps it in memory: no name and no address. */
function describePerson({ subject, email, organizations }: PersonIdentity): string {
  const vouches = email === undefined ? 'no email that it vouches for' : 'an email that it vouches for';
  return `The identity provider says: subject ${showValue(subject)}, ${vouches}, organizations ${organizations.length}.`;
}

interface SignedTokens {
  readonly answer: JsonObject;
}

/** The answer with an access token for a person, with those of the scopes that the policy grants. */
function sign(call: Issuance, person: PersonIdentity, scopes: readonly string[]): SignedTokens | TokenError {
  const { request, issuer, key, presented } = call;
  const { base, resource, isRootForm = false } = request;
  const { message, idp } = resource.config;
  const { lifetimeMs } = issuer;
  const claims = createClaims({
    issuer: formatFacadeIssuer(base, resource, isRootForm),
    resource: findPlace(request).resource,
    clientId: presented.clientId,
    idp: idp.issuer,
    person,
    claims: issuer.claims,
    issuedAtMs: request.now(),
    lifetimeMs,
  });
  // Every request checks them, too. A token that no request accepts would only start another login.
  const missing = checkRequiredClaims(claims, readRequiredClaims(message.requiredClaims));
  if (missing !== undefined)
    return describeIdentity({
      kind: 'refused',
      reason: 'identity_not_allowed',
      detail: `requiredClaims: ${missing.operatorDetail ?? missing.detail}`,
    });
  const grantable = issuer.grantScopes(claims);
  const scope = joinScopes(scopes.filter((each) => grantable.has(each)));
  // Without any claim about scopes, requests are told that another login would not help.
  const token = signToken(key, grantable.size === 0 ? claims : { ...claims, scope });
  if (token.length > maxTokenLength)
    return describeIdentity({
      kind: 'refused',
      reason: 'identity_invalid',
      detail: `the token would have ${token.length} characters, and at most ${maxTokenLength} are accepted: list fewer in tokens.claims`,
    });
  return {
    answer: {
      access_token: token,
      token_type: 'Bearer',
      expires_in: Math.floor(lifetimeMs / 1_000),
      ...(scope !== '' && { scope }),
    },
  };
}

/** What a login leaves behind, as far as it does not depend on the person. */
function describeGrant({ request, issuer }: Issuance, client: KnownClient) {
  const place = findPlace(request);
  const startedAtMs = request.now();
  return {
    family: randomUUID(),
    idp: place.issuer,
    clientDigest: digestClientId(client.clientId),
    place: digestPlace(place),
    resource: place.resource,
    clientName: findClientName(client),
    startedAtMs,
    expiresAtMs: startedAtMs + issuer.refreshLifetimeMs,
  };
}

/** The name that it registered with, or the host of its document. */
function findClientName(client: KnownClient & Partial<Pick<DescribedClient, 'name'>>): string | undefined {
  return isClientUrl(client.clientId) ? URL.parse(client.clientId)?.host : client.name;
}

/** The IdP did not answer with tokens. What is not clearly about the grant is never a logout. */
function describeIdpOutcome(
  { grantType }: Issuance,
  outcome: Exclude<IdpTokenOutcome, { readonly kind: 'tokens' }>,
): TokenError {
  if (outcome.kind === 'unavailable') return describeUnavailable(outcome.detail, outcome.retryAfterSeconds);
  const { error, status, isForeign = false } = outcome;
  // Without an error of OAuth only an answer in JSON, with the status of a refusal, is one.
  const isRefusal = error === undefined ? !isForeign && refusals.has(status) : !transientErrors.has(error);
  if (!isRefusal)
    return describeUnavailable(
      `the token endpoint of the identity provider answered ${status} ${error ?? 'without an OAuth error'}`,
      defaultRetrySeconds,
    );
  const refused = describeRefusal(outcome, grantType, 'shared');
  // Clients can do nothing about what the IdP objects to in a request of the gateway's; a new login may help.
  return refused.status === undefined ? { ...refused, error: 'invalid_grant' } : refused;
}

/** RFC 6749 5.2, and what identity providers take for it. Others come from a path that is not there, or from maintenance. */
const refusals: ReadonlySet<number> = new Set([400, 401, 403]);

/** Of an endpoint that cannot answer at the moment, whatever status it has. */
const transientErrors: ReadonlySet<string> = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);

function describeIdentity(outcome: Exclude<IdentityOutcome, { readonly kind: 'person' }>): TokenError {
  if (outcome.kind === 'unavailable') return describeUnavailable(outcome.detail, outcome.retryAfterSeconds);
  const { reason, detail } = outcome;
  return { error: 'invalid_grant', description: reasons[reason].description, reason, detail };
}

function describeRefusedGrant({ problem }: Pick<Extract<PresentedGrant, { kind: 'refused' }>, 'problem'>): TokenError {
  if (problem === 'reused' || problem === 'revoked')
    return {
      error: 'invalid_grant',
      description: reasons.grant_revoked.description,
      reason: 'grant_revoked',
      detail:
        problem === 'reused'
          ? 'refresh_token: an older one of its session was used again, so the session is ended'
          : 'refresh_token: its session was ended',
    };
  return problem === 'expired'
    ? refuseGrant('The session has expired. Log in again.', 'refresh_token: expired')
    : refuseGrant('The refresh token is not valid for this client.', `refresh_token: ${problem}`);
}

/** Whether a step ended with a refusal. The tokens of a good answer have no `reason`. */
function isError(outcome: object): outcome is TokenError {
  return 'error' in outcome && 'reason' in outcome;
}
