// The quirky identity provider's authorization endpoint and its login page (RFC 6749, RFC 7636, RFC 8707, RFC 9207).
import { randomBytes } from 'node:crypto';
import { answerError, type IdpAnswer, type IdpCall, type IdpState, listEndpoints } from './quirky-state.ts';
import { findUser, renderLoginPage } from './test-users.ts';

/** Shows the login page for an authorization request unless the user is known, or refuses it. */
export function authorize(state: IdpState, call: IdpCall): IdpAnswer {
  const { query } = call;
  if (state.quirks.authorizeAnswer !== undefined) return state.quirks.authorizeAnswer;
  const repeated = [...new Set(query.keys())].find((name) => name !== 'resource' && query.getAll(name).length > 1);
  if (repeated !== undefined) return answerError(400, 'invalid_request', `${repeated} is repeated.`);
  const client = state.clients.get(query.get('client_id') ?? '');
  if (client === undefined) return answerError(400, 'invalid_client', 'There is no such client.');
  const redirectUri = query.get('redirect_uri') ?? '';
  if (!client.redirectUris.includes(redirectUri)) {
    return answerError(400, 'invalid_request', `redirect_uri ${redirectUri} is not registered.`);
  }
  const problem = findProblem(state, query);
  if (problem !== undefined) return redirectWithError(state, redirectUri, query, problem);
  if (state.quirks.loginError !== undefined)
    return redirectWithError(state, redirectUri, query, state.quirks.loginError);
  const { knownUser } = state.quirks;
  return knownUser === undefined ? showLogin(state, query, 200) : issueCode(state, query, knownUser);
}

/** Takes the name and the password. */
export function logIn(state: IdpState, call: IdpCall): IdpAnswer {
  const query = call.query;
  const form = new URLSearchParams(call.body);
  const redirectUri = query.get('redirect_uri')!;
  if (form.get('decision') === 'cancel') return redirectWithError(state, redirectUri, query, 'access_denied');
  const user = findUser(form.get('username'), form.get('password'));
  if (user === undefined || state.removedUsers.has(user.id))
    return showLogin(state, query, 401, 'Wrong name or password.');
  return issueCode(state, query, user.id);
}

function issueCode(state: IdpState, query: URLSearchParams, user: string): IdpAnswer {
  const redirectUri = query.get('redirect_uri')!;
  const code = `code-${randomBytes(16).toString('hex')}`;
  const resources = query.getAll('resource');
  const clientId = query.get('client_id')!;
  const consent = `${clientId} ${user}`;
  const isConsentNew = !state.consents.has(consent) || (query.get('prompt') ?? '').split(' ').includes('consent');
  state.consents.add(consent);
  state.codes.set(code, {
    clientId,
    user,
    isOffline: isConsentNew && query.get('access_type') === 'offline',
    scope: query.get('scope') ?? '',
    resource: state.quirks.resource === 'ignored' ? undefined : resources[0],
    audience: query.get('audience') ?? undefined,
    nonce: query.get('nonce') ?? undefined,
    redirectUri,
    challenge: query.get('code_challenge') ?? undefined,
  });
  const parameters = { ...state.quirks.callbackParameters, code };
  return redirect(state, redirectUri, query, parameters, state.quirks.emitsIss !== 'never');
}

function findProblem({ quirks }: IdpState, query: URLSearchParams): string | undefined {
  if (query.get('response_type') !== 'code') return 'unsupported_response_type';
  if (query.get('code_challenge_method') !== 'S256' || (query.get('code_challenge') ?? '').length !== 43) {
    return 'invalid_request';
  }
  const scopes = (query.get('scope') ?? '').split(' ');
  const isKnown = (scope: string): boolean => scope === '' || quirks.knownScopes?.includes(scope) !== false;
  if (!scopes.every(isKnown)) return 'invalid_scope';
  if (quirks.requiresOpenid && !scopes.includes('openid')) return 'invalid_scope';
  if (quirks.requiresNonce && scopes.includes('openid') && !query.has('nonce')) return 'invalid_request';
  const resources = query.getAll('resource').length;
  if (quirks.resource === 'refused' && resources > 0) return 'invalid_target';
  if (quirks.resource === 'one-only' && resources > 1) return 'invalid_request';
  return undefined;
}

function showLogin(state: IdpState, query: URLSearchParams, status: number, problem?: string): IdpAnswer {
  const page = renderLoginPage(`${listEndpoints(state).login}?${query.toString()}`, problem);
  return { status, headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }, body: page };
}

function redirectWithError(state: IdpState, redirectUri: string, query: URLSearchParams, error: string): IdpAnswer {
  const description = 'The identity provider says no.';
  return redirect(
    state,
    redirectUri,
    query,
    { error, error_description: description },
    state.quirks.emitsIss === 'always',
  );
}

function redirect(
  state: IdpState,
  redirectUri: string,
  query: URLSearchParams,
  parameters: Record<string, string>,
  withIss: boolean,
): IdpAnswer {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const clientState = query.get('state');
  if (clientState !== null) url.searchParams.set('state', clientState);
  if (withIss) url.searchParams.set('iss', state.quirks.issValue ?? state.issuer);
  return { status: 302, headers: { location: url.href } };
}
