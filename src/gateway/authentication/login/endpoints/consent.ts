// Consent: the page, and the endpoint that takes its answer. The form carries the sealed login, which is bound to
// a cookie of this browser, so no other site can submit the form (CSRF).
import type { Sealer } from '../../../../base/sealed.ts';
import { readJsonObject } from '../../../../base/json-object.ts';
import type { RawHeaders } from '../../../http/exchange.ts';
import { findPlace, type ClientPlace } from '../broker-urls.ts';
import { rememberConsent } from '../state/consent-memory.ts';
import { renderConsentPage } from '../pages/consent-page.ts';
import { formatEndpointPath } from '../../../../ir/endpoint-paths.ts';
import { answerErrorPage } from '../pages/error-page.ts';
import type { DescribedClient } from '../clients/find-client.ts';
import { endLogin, isSameBrowser } from '../state/login-cookie.ts';
import { findAuthorizationEndpoint, redirectToClient, redirectToIdp } from '../pages/login-redirect.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';
import { readRequestParameters, splitScope } from '../request-parameters.ts';
import { findSharedClient } from '../clients/shared-registration.ts';
import { type ConsentTransaction, openConsent, sealConsent, sealLoginState } from '../state/transaction-state.ts';

/** POST of the consent page's form. */
export const consentEndpoint: OAuthEndpoint = {
  name: 'consent',
  methods: ['POST'],
  maxBodyBytes: () => 65_536,
  cors: false,
  handle: takeAnswer,
};

/** Shows the page. `headers` set the cookie that the login is bound to. */
export function askForConsent(
  request: OAuthRequest,
  sealer: Sealer,
  place: ClientPlace,
  consent: ConsentTransaction,
  client: Pick<DescribedClient, 'name' | 'host'>,
  headers: RawHeaders,
): OAuthAnswer {
  const page = renderConsentPage({
    clientName: client.name,
    clientHost: client.host,
    redirectUri: consent.redirectUri,
    scopes: splitScope(consent.scope),
    resourceName: findResourceName(request.resource.config),
    resource: place.resource,
    action: formatEndpointPath(request.resource.path, 'consent'),
    transaction: sealConsent(sealer, place, consent, request.now()),
  });
  return { status: 200, headers: [...page.headers, ...headers], body: page.body };
}

const startAgain = 'Go back to the application and start the login again.';

async function takeAnswer(request: OAuthRequest): Promise<OAuthAnswer> {
  const { config } = request.resource;
  const { sealer } = config;
  if (sealer === undefined)
    return answerErrorPage(request, {
      reason: 'seal_key_missing',
      advice: startAgain,
      detail: 'no seal key is configured',
    });
  const place = findPlace(request);
  const form = readRequestParameters(
    new URLSearchParams(request.contentType === 'application/x-www-form-urlencoded' ? request.body : ''),
  );
  const opened = openConsent(sealer, place, form.get('transaction') ?? '');
  if (!opened.ok)
    return answerErrorPage(request, {
      reason: 'login_state_invalid',
      advice: startAgain,
      detail: `consent: ${opened.problem}`,
    });
  const { transaction } = opened;
  if (!isSameBrowser(request, transaction.binding))
    return answerErrorPage(request, {
      reason: 'login_other_browser',
      advice: startAgain,
      detail: 'the consent form was sent without the cookie of its page',
    });
  const decision = form.get('decision');
  if (decision !== 'approve' && decision !== 'deny')
    return answerErrorPage(request, {
      reason: 'authorization_request_invalid',
      advice: startAgain,
      detail: 'the consent form says neither approve nor deny',
    });
  if (decision === 'deny')
    return redirectToClient(
      request,
      transaction,
      { error: 'access_denied', error_description: 'the user denied access' },
      { headers: endLogin(request, transaction.binding), reason: 'consent_denied', detail: 'the user chose Cancel' },
    );

  const state = await config.idp.getMetadata();
  const endpoint = state.ok ? findAuthorizationEndpoint(state.metadata) : undefined;
  const idpClient = state.ok
    ? (transaction.idpClient ?? transaction.consentClient ?? findSharedClient(config, state.metadata))
    : undefined;
  if (!state.ok || endpoint === undefined || idpClient === undefined)
    return redirectToClient(
      request,
      transaction,
      {
        error: 'temporarily_unavailable',
        error_description: 'the identity provider cannot be used at the moment',
      },
      {
        headers: endLogin(request, transaction.binding),
        reason: 'idp_unavailable',
        detail: state.ok ? 'no authorization_endpoint, or registration is no longer Shared' : state.detail,
      },
    );
  const sealed = sealLoginState(sealer, place, transaction, request.now());
  const headers = rememberConsent(request, sealer, place, transaction);
  const idp = { endpoint, metadata: state.metadata };
  return redirectToIdp(request, idp, transaction, idpClient, transaction.passedOn, sealed, headers);
}

function findResourceName({ message }: McpAuthenticationConfig): string | undefined {
  const metadata = message.resourceMetadata === '' ? undefined : readJsonObject(message.resourceMetadata);
  const name = metadata?.ok === true ? metadata.value['resource_name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}
