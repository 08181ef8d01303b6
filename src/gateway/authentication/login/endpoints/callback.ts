// The callback that the IdP redirects to (RFC 6749 4.1.2, RFC 9207): opens the state, checks that this browser started the login and that the
// answer is from the IdP, and redirects to the client with the sealed code. It makes no request to the IdP.
import { findPlace } from '../broker-urls.ts';
import { sealCode } from '../state/code-envelope.ts';
import { answerErrorPage } from '../pages/error-page.ts';
import { endLogin, isSameBrowser } from '../state/login-cookie.ts';
import { redirectToClient } from '../pages/login-redirect.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import { cleanErrorDescription, readRequestParameters, type RequestParameters } from '../request-parameters.ts';
import { type LoginTransaction, openLoginState } from '../state/transaction-state.ts';

/** GET by the browser, on the IdP's behalf. */
export const callbackEndpoint: OAuthEndpoint = {
  name: 'callback',
  methods: ['GET'],
  maxBodyBytes: () => 0,
  cors: false,
  handle: takeLogin,
};

const startAgain = 'Go back to the application and start the login again.';

function takeLogin(request: OAuthRequest): OAuthAnswer {
  const { sealer } = request.resource.config;
  if (sealer === undefined)
    return answerErrorPage(request, {
      reason: 'seal_key_missing',
      advice: startAgain,
      detail: 'no seal key is configured',
    });
  const parameters = readRequestParameters(request.query);
  const place = findPlace(request);
  const opened = openLoginState(sealer, place, parameters.get('state') ?? '');
  if (!opened.ok)
    return answerErrorPage(request, {
      reason: 'login_state_invalid',
      advice: startAgain,
      detail: `state: ${parameters.get('state') === undefined ? 'missing or repeated' : opened.problem}`,
    });
  const login = opened.transaction;
  if (!isSameBrowser(request, login.binding))
    return answerErrorPage(request, {
      reason: 'login_other_browser',
      advice: startAgain,
      detail: 'the callback came without the cookie of its login',
    });

  // The login ends here; the client gets the outcome by redirect.
  const headers = endLogin(request, login.binding);
  const problem = findProblem(request, login, parameters);
  if (problem !== undefined) {
    const { error, description, reason, detail } = problem;
    return redirectToClient(request, login, { error, error_description: description }, { headers, reason, detail });
  }
  const code = sealCode(
    sealer,
    place,
    login.clientDigest,
    {
      code: parameters.get('code')!,
      redirectUri: login.redirectUri,
      challenge: login.challenge,
      resource: login.resource,
      scope: login.isScopeAsAsked || login.scope === '' ? undefined : login.scope,
      idpClient: login.idpClient,
      nonce: login.nonce,
    },
    request.now(),
  );
  return redirectToClient(request, login, { code }, { headers });
}

interface LoginProblem {
  readonly error: string;
  readonly description: string | undefined;
  readonly reason: 'idp_wrong_issuer' | 'idp_login_refused';
  readonly detail: string;
}

function findProblem(
  { resource: { config } }: OAuthRequest,
  login: LoginTransaction,
  parameters: RequestParameters,
): LoginProblem | undefined {
  const [repeated] = parameters.repeated;
  if (repeated !== undefined) return brokenAnswer('a parameter of the callback is repeated');
  const issuer = parameters.get('iss');
  const error = parameters.get('error');
  if (
    issuer !== undefined &&
    issuer !== config.idp.issuer &&
    config.preset.acceptsIssuer?.(config.idp.issuer, issuer) !== true
  )
    return wrongIssuer('iss of the callback is not the issuer of this identity provider');
  if (issuer === undefined && login.expectsIssuer && error === undefined)
    return wrongIssuer('iss is missing in the callback, and the identity provider announces it');
  if (error !== undefined) {
    const description = cleanErrorDescription(parameters.get('error_description'));
    return {
      // RFC 6749 4.1.2.1: an invalid error code is replaced, because clients could not handle it.
      error: /^[\x21\x23-\x5B\x5D-\x7E]{1,100}$/.test(error) ? error : 'server_error',
      description,
      reason: 'idp_login_refused',
      detail: `the identity provider answered ${error}${description === undefined ? '' : `: ${description}`}`,
    };
  }
  if (parameters.get('code') === undefined) return brokenAnswer('the callback has neither code nor error');
  return undefined;
}

function wrongIssuer(detail: string): LoginProblem {
  const description = 'the answer to the login does not come from the identity provider';
  return { error: 'server_error', description, reason: 'idp_wrong_issuer', detail };
}

function brokenAnswer(detail: string): LoginProblem {
  const description = 'the identity provider sent an answer that cannot be used';
  return { error: 'server_error', description, reason: 'idp_login_refused', detail };
}
