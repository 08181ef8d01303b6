// The authorization endpoint of the broker (RFC 6749 3.1, 4.1.1; RFC 7636; RFC 8707; RFC 9207): checks what the client asks for, seals the
// login into `state`, binds it to the browser, and redirects the browser to the IdP. The user has to consent first: anyone may register a client,
// and the IdP may log in a user with an existing session without asking.
import type { Sealer } from '../../../../base/sealed.ts';
import type { Reason } from '../../../http/reasons.ts';
import { readAuthorizationRequest } from './authorization-request.ts';
import { findPlace } from '../broker-urls.ts';
import { type ClientDocuments, createClientDocuments } from '../clients/client-id-metadata.ts';
import { askForConsent } from './consent.ts';
import { remembersClient, remembersConsent } from '../state/consent-memory.ts';
import { type DocumentRegistrations, documentRegistrations } from '../clients/document-registration.ts';
import { answerErrorPage, answerReturnPage } from '../pages/error-page.ts';
import { type DescribedClient, findDescribedClient } from '../clients/find-client.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import { startLogin } from '../state/login-cookie.ts';
import {
  type AuthorizationFailure,
  createNonce,
  findAuthorizationEndpoint,
  findResourceParameter,
  redirectToClient,
  redirectToIdp,
} from '../pages/login-redirect.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import { findRedirectUriProblem, matchesRedirectUri } from '../redirect-uri.ts';
import { readRequestParameters, type RequestParameters, splitScope } from '../request-parameters.ts';
import { findSharedClient } from '../clients/shared-registration.ts';
import { type LoginTransaction, sealLoginState } from '../state/transaction-state.ts';

/** The caches of the endpoint; other replicas do not depend on them. */
interface AuthorizeParts {
  readonly documents: ClientDocuments;
  readonly registrations: DocumentRegistrations;
}

/** Makes the endpoint. */
export function createAuthorizeEndpoint(parts: AuthorizeParts): OAuthEndpoint {
  return {
    name: 'authorize',
    methods: ['GET'],
    maxBodyBytes: () => 0,
    cors: false,
    handle: (request) => authorize(request, parts),
  };
}

/** The endpoint of this process. */
export const authorizeEndpoint: OAuthEndpoint = createAuthorizeEndpoint({
  documents: createClientDocuments(),
  registrations: documentRegistrations,
});

const askOperator = 'Nothing is wrong with your account. Please tell the operator of this gateway.';

async function authorize(request: OAuthRequest, parts: AuthorizeParts): Promise<OAuthAnswer> {
  const { config } = request.resource;
  const { sealer } = config;
  if (sealer === undefined)
    return answerErrorPage(request, {
      reason: 'seal_key_missing',
      advice: askOperator,
      detail: 'no seal key is configured',
    });
  if (config.issuer !== undefined && config.issuer.signingKeys === undefined)
    return answerErrorPage(request, {
      reason: 'signing_key_missing',
      advice: askOperator,
      detail: 'no signing keys are configured',
    });
  const parameters = readRequestParameters(request.query);

  // 1. The client. Until it is known, nothing is redirected.
  const found = await findClient(request, sealer, parts, parameters);
  if (!found.ok) return found.answer;
  const { client } = found;

  // 2. The redirect URI. It has to be one of the client's own.
  const target = findRedirectUri(request, client, parameters);
  if (!target.ok) return target.answer;
  const { redirectUri } = target;
  const back = {
    redirectUri,
    clientState: parameters.get('state'),
    isRoot: request.isRootForm === true,
  };

  // From here on errors are reported to the client by redirect, unless the user has not consented to it yet: then a page shows where it would lead.
  const place = findPlace(request);
  const isTrusted = config.message.registration?.trustedRedirectUris.includes(redirectUri) === true;
  const isSeen = isTrusted || remembersClient(request, sealer, place, { clientDigest: client.digest, redirectUri });
  const tellClient = (error: AuthorizationFailure, options: { readonly reason: Reason; readonly detail: string }) =>
    isSeen ? redirectToClient(request, back, error, options) : answerReturnPage(request, back, error, options);

  // 3. The rest of the request.
  const state = await config.idp.getMetadata();
  const known = state.ok ? state.metadata : undefined;
  const checked = readAuthorizationRequest(config, place.resource, client.scope, known, parameters);
  if (!checked.ok) {
    const { error, description, reason } = checked.error;
    return tellClient({ error, error_description: description }, { reason, detail: `${error}: ${description}` });
  }
  const { asked } = checked;

  // 4. The IdP, and the client there.
  const endpoint = state.ok ? findAuthorizationEndpoint(state.metadata) : undefined;
  if (!state.ok || endpoint === undefined) {
    const detail = state.ok ? 'the metadata of the IdP has no usable authorization_endpoint' : state.detail;
    return tellClient(unavailable, { reason: 'idp_unavailable', detail });
  }
  const { metadata } = state;
  const identity = await findIdpClient(request, parts, client, metadata);
  if (!identity.ok) return tellClient(unavailable, identity);
  const { idpClient } = identity;

  // 5. The login, bound to this browser.
  const { binding, headers } = startLogin(request);
  const login: LoginTransaction = {
    ...back,
    clientDigest: client.digest,
    challenge: asked.challenge,
    scope: asked.scope,
    isScopeAsAsked: asked.isScopeAsAsked,
    resource: findResourceParameter(request),
    binding,
    expectsIssuer: metadata.authorization_response_iss_parameter_supported === true,
    idpClient: config.issuer === undefined && client.standing.kind === 'document' ? idpClient : undefined,
    // The client never sees the ID token, so its own nonce could not be checked by anybody.
    nonce: config.issuer === undefined ? undefined : createNonce(),
  };

  // 6. The user's consent.
  if (!isTrusted) {
    const prompts = splitScope(asked.passedOn['prompt']);
    const isRemembered = !prompts.includes('consent') && remembersConsent(request, sealer, place, login);
    if (!isRemembered && prompts.includes('none'))
      return tellClient(
        { error: 'consent_required', error_description: 'the user has to agree first' },
        { reason: 'consent_needed', detail: 'prompt=none without a remembered consent' },
      );
    if (!isRemembered) {
      const consentClient = config.issuer === undefined && client.standing.kind === 'own' ? idpClient : undefined;
      const consent = { ...login, passedOn: asked.passedOn, consentClient };
      return askForConsent(request, sealer, place, consent, client, headers);
    }
  }
  const sealed = sealLoginState(sealer, place, login, request.now());
  return redirectToIdp(request, { endpoint, metadata }, login, idpClient, asked.passedOn, sealed, headers);
}

const unavailable = {
  error: 'temporarily_unavailable',
  error_description: 'the identity provider cannot be used at the moment',
};

type ClientOutcome =
  | { readonly ok: true; readonly client: DescribedClient }
  | { readonly ok: false; readonly answer: OAuthAnswer };

async function findClient(
  request: OAuthRequest,
  sealer: Sealer,
  { documents }: AuthorizeParts,
  parameters: RequestParameters,
): Promise<ClientOutcome> {
  const advice =
    'Go back to the application and connect again. If that does not help, remove the connection there and add it anew.';
  const clientId = parameters.get('client_id');
  if (clientId === undefined) {
    const message = 'The application did not send its client_id.';
    const detail = parameters.repeated.has('client_id') ? 'client_id is repeated' : 'client_id is missing';
    return { ok: false, answer: answerErrorPage(request, { reason: 'unknown_client', message, advice, detail }) };
  }
  const found = await findDescribedClient(request, sealer, documents, clientId);
  if (found.ok) return found;
  const { reason, problem, detail, advice: ownAdvice = advice } = found;
  const message = problem === undefined ? {} : { message: problem };
  return { ok: false, answer: answerErrorPage(request, { reason, ...message, advice: ownAdvice, detail }) };
}

type RedirectOutcome =
  | { readonly ok: true; readonly redirectUri: string }
  | { readonly ok: false; readonly answer: OAuthAnswer };

/** RFC 6749 3.1.2.3: optional when only one is registered. The operator's list may have changed since registration. */
function findRedirectUri(
  request: OAuthRequest,
  client: DescribedClient,
  parameters: RequestParameters,
): RedirectOutcome {
  const named = parameters.get('redirect_uri');
  const isNamed = parameters.names.has('redirect_uri');
  const uri = isNamed ? named : client.redirectUris.length === 1 ? client.redirectUris[0] : undefined;
  const { registration } = request.resource.config.message;
  let detail: string | undefined;
  if (uri === undefined) detail = isNamed ? 'redirect_uri is repeated' : 'redirect_uri is missing';
  else if (!matchesRedirectUri(client.redirectUris, uri)) detail = 'redirect_uri is not registered for this client';
  else detail = findRedirectUriProblem(uri, registration?.allowedRedirectUris ?? [], registration?.trustedRedirectUris);
  if (uri !== undefined && detail === undefined) return { ok: true, redirectUri: uri };
  const advice =
    'If you came here from a link in a message or on a web page, do not trust it. Otherwise remove the connection in your application and add it anew.';
  return {
    ok: false,
    answer: answerErrorPage(request, { reason: 'redirect_uri_not_registered', advice, detail: detail ?? '' }),
  };
}

type IdentityOutcome = Awaited<ReturnType<DocumentRegistrations['find']>>;

function findIdpClient(
  request: OAuthRequest,
  { registrations }: AuthorizeParts,
  client: DescribedClient,
  metadata: IdpMetadata,
): IdentityOutcome | Promise<IdentityOutcome> {
  const { issuer } = request.resource.config;
  // With the flow Issuer the gateway itself is the only client of the IdP.
  const standing = issuer === undefined ? client.standing : ({ kind: 'shared' } as const);
  if (standing.kind === 'own') return { ok: true, idpClient: standing.idpClient };
  if (standing.kind === 'document') return registrations.find(request, client, metadata);
  const idpClient = findSharedClient(request.resource.config, metadata);
  if (idpClient === undefined)
    return { ok: false, reason: 'idp_refused_client', detail: 'no shared client is configured' };
  return { ok: true, idpClient };
}
