// An identity provider like GitHub: OAuth 2.0 without OpenID Connect and with habits of its own, and the three requests of its REST API that say who somebody is.
// It answers at the paths of GitHub Enterprise Server, where both are on one host. What it does was compared with GitHub's documentation; it is not GitHub.
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerApi, githubApi } from './github-api.ts';
import {
  answerForm,
  type GithubAnswer,
  type GithubApp,
  type GithubCall,
  type GithubGrant,
  type GithubState,
  type GithubSwitches,
  createAccounts,
  githubPaths,
} from './github-state.ts';
import type { WrongAnswer } from './quirks.ts';
import { readWholeBody, startSwitchableServer, type SwitchableServer } from './switchable-server.ts';
import { findUser, renderLoginPage } from './test-users.ts';

/** It runs. */
export interface GithubIdp {
  /** What a policy calls it: its address. */
  readonly issuer: string;
  /** `endpoints` of a policy. */
  readonly endpoints: { readonly authorization: string; readonly token: string; readonly userinfo: string };
  readonly server: SwitchableServer;
  readonly switches: GithubSwitches;
  readonly state: GithubState;
  /** The person takes the authorization back, or an owner of the application does. */
  revokeTokens(): void;
  close(): Promise<void>;
}

/** Starts one with one application. */
export async function startGithubIdp(app: GithubApp): Promise<GithubIdp> {
  const switches: GithubSwitches = {
    authorizeAnswer: undefined,
    tokenAnswer: undefined,
    refreshAnswer: undefined,
    userAnswer: undefined,
    emailsAnswer: undefined,
    organizationsAnswer: undefined,
  };
  let state: GithubState | undefined;
  const server = await startSwitchableServer((origin) => {
    state = {
      origin,
      app,
      switches,
      accounts: createAccounts(),
      codes: new Map(),
      tokens: new Map(),
      refresh: new Map(),
    };
    return (request, response) => serve(state!, request, response);
  });
  const own = state!;
  return {
    issuer: own.origin,
    endpoints: {
      authorization: own.origin + githubPaths.authorize,
      token: own.origin + githubPaths.token,
      userinfo: own.origin + githubApi.user,
    },
    server,
    switches,
    state: own,
    revokeTokens() {
      own.tokens.clear();
      own.refresh.clear();
    },
    close: () => server.close(),
  };
}

async function serve(state: GithubState, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', state.origin);
  const call: GithubCall = {
    method: request.method ?? '',
    path: pathname,
    query: searchParams,
    headers: request.headers,
    body: await readWholeBody(request),
  };
  const answer = route(state, call);
  if (answer === 'never') return;
  if (answer === 'cut') {
    response.destroy();
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
}

function route(state: GithubState, call: GithubCall): GithubAnswer {
  switch (`${call.method} ${call.path}`) {
    case `GET ${githubPaths.authorize}`:
      return authorize(state, call);
    case `POST ${githubPaths.session}`:
      return logIn(state, call);
    case `POST ${githubPaths.token}`:
      return redeem(state, call);
    default:
      return answerApi(state, call) ?? notFound;
  }
}

const notFound: GithubAnswer = { status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>Not Found</h1>' };

function authorize({ app, switches }: GithubState, { query }: GithubCall): GithubAnswer {
  if (switches.authorizeAnswer !== undefined) return switches.authorizeAnswer;
  if (query.get('client_id') !== app.clientId) return notFound;
  const redirectUri = query.get('redirect_uri') ?? app.callback;
  if (!isBelow(app.callback, redirectUri)) {
    // It says so to the application it knows, not at the address that was asked for.
    return redirect(app.callback, {
      error: 'redirect_uri_mismatch',
      error_description: 'The redirect_uri MUST match the registered callback URL for this application.',
      state: query.get('state'),
    });
  }
  return showLogin(query, 200);
}

/** Hosts are equal, and the path is the registered one or below it. */
function isBelow(registered: string, asked: string): boolean {
  const [own, other] = [URL.parse(registered)!, URL.parse(asked)];
  if (other === null || own.origin !== other.origin) return false;
  return other.pathname === own.pathname || other.pathname.startsWith(`${own.pathname.replace(/\/$/, '')}/`);
}

function showLogin(query: URLSearchParams, status: number, problem?: string): GithubAnswer {
  const body = renderLoginPage(`${githubPaths.session}?${query.toString()}`, problem);
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body };
}

function logIn(state: GithubState, { query, body }: GithubCall): GithubAnswer {
  const form = new URLSearchParams(body);
  const redirectUri = query.get('redirect_uri') ?? state.app.callback;
  const common = { state: query.get('state'), iss: `${state.origin}/login/oauth` };
  if (form.get('decision') === 'cancel') {
    const description = 'The user has denied your application access.';
    return redirect(redirectUri, { error: 'access_denied', error_description: description, ...common });
  }
  const user = findUser(form.get('username'), form.get('password'))?.id;
  if (user === undefined || !state.accounts.has(user)) return showLogin(query, 401, 'Incorrect username or password.');
  const code = randomBytes(10).toString('hex');
  state.codes.set(code, {
    user,
    // Scopes are a matter of OAuth apps; those of Apps are permissions, and `scope` is not read.
    scopes: state.app.kind === 'App' ? [] : (query.get('scope') ?? '').split(/[ ,]/).filter((scope) => scope !== ''),
    redirectUri: query.get('redirect_uri') ?? undefined,
    challenge: query.get('code_challenge') ?? undefined,
  });
  return redirect(redirectUri, { code, ...common });
}

function redirect(target: string, parameters: Readonly<Record<string, string | null>>): GithubAnswer {
  const url = new URL(target);
  for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value);
  return { status: 302, headers: { location: url.href } };
}

/** Errors are answered with 200, and everything as a form unless JSON is asked for. */
function redeem(state: GithubState, call: GithubCall): GithubAnswer {
  const form = new URLSearchParams(call.body);
  const isRefresh = form.get('grant_type') === 'refresh_token';
  const wrong: WrongAnswer | undefined = isRefresh ? state.switches.refreshAnswer : state.switches.tokenAnswer;
  if (wrong !== undefined) return wrong;
  const basic = /^Basic (.+)$/.exec(call.headers.authorization ?? '')?.[1];
  const [id, secret] =
    basic === undefined
      ? [form.get('client_id'), form.get('client_secret')]
      : Buffer.from(basic, 'base64').toString('utf8').split(':').map(decodeURIComponent);
  if (id !== state.app.clientId || secret !== state.app.clientSecret) {
    return answerForm(call, {
      error: 'incorrect_client_credentials',
      error_description: 'The client_id and/or client_secret passed are incorrect.',
    });
  }
  return isRefresh ? refresh(state, call, form) : redeemCode(state, call, form);
}

function redeemCode(state: GithubState, call: GithubCall, form: URLSearchParams): GithubAnswer {
  const code = form.get('code') ?? '';
  const issued = state.codes.get(code);
  state.codes.delete(code);
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  if (issued === undefined || (issued.challenge !== undefined && issued.challenge !== challenge)) {
    const description = 'The code passed is incorrect or expired.';
    return answerForm(call, { error: 'bad_verification_code', error_description: description });
  }
  if (issued.redirectUri !== undefined && form.has('redirect_uri') && form.get('redirect_uri') !== issued.redirectUri) {
    const description = 'The redirect_uri MUST match the registered callback URL for this application.';
    return answerForm(call, { error: 'redirect_uri_mismatch', error_description: description });
  }
  return issue(state, call, issued);
}

function refresh(state: GithubState, call: GithubCall, form: URLSearchParams): GithubAnswer {
  const token = form.get('refresh_token') ?? '';
  const grant = state.refresh.get(token);
  if (grant === undefined || !state.accounts.has(grant.user)) {
    const description = 'The refresh token passed is incorrect or expired.';
    return answerForm(call, { error: 'bad_refresh_token', error_description: description });
  }
  // Both tokens of before end.
  state.refresh.delete(token);
  for (const [each, { family }] of state.tokens) if (family === grant.family) state.tokens.delete(each);
  return issue(state, call, grant);
}

const maxTokens = 10;

function issue(state: GithubState, call: GithubCall, { user, scopes, family }: GithubGrant): GithubAnswer {
  const grant = { user, scopes, family: family ?? randomBytes(8).toString('hex') };
  const token = (prefix: string): string => `${prefix}_${randomBytes(18).toString('hex')}`;
  if (state.app.kind === 'OAuth app') {
    // More than ten tokens of a person for the same scopes: the oldest one ends.
    const isSame = (each: GithubGrant): boolean => each.user === user && each.scopes.join() === scopes.join();
    const older = [...state.tokens].filter(([, each]) => isSame(each)).map(([each]) => each);
    for (const each of older.slice(0, Math.max(0, older.length - maxTokens + 1))) state.tokens.delete(each);
    const accessToken = token('gho');
    state.tokens.set(accessToken, grant);
    return answerForm(call, { access_token: accessToken, token_type: 'bearer', scope: scopes.join(',') });
  }
  const [accessToken, refreshToken] = [token('ghu'), token('ghr')];
  state.tokens.set(accessToken, grant);
  state.refresh.set(refreshToken, grant);
  return answerForm(call, {
    access_token: accessToken,
    expires_in: 28_800,
    refresh_token: refreshToken,
    refresh_token_expires_in: 15_897_600,
    token_type: 'bearer',
    scope: '',
  });
}
