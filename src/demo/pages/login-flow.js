// What an MCP client does to get in: from the 401 over discovery, registration and login to a token, and then MCP. Each step is told to `tell`.
import { createMcpClient, readText } from './mcp-client.js';

/** Where the identity provider's answer arrives. */
export const callbackPath = '/demo/callback';

/** The user, or the identity provider for the user, said no: nothing is broken. */
export class LoginDeniedError extends Error {}

async function ask(url, options) {
  const response = await fetch(url, options);
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} from ${url}: ${text}`);
  return { request: describeRequest(options?.method ?? 'GET', url, response.status), json: JSON.parse(text) };
}

function describeRequest(method, url, status) {
  const { origin, pathname } = new URL(url, location.href);
  return `${method} ${origin === location.origin ? '' : origin}${pathname}${status === undefined ? '' : ` → ${status}`}`;
}

function encode(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** The claims of a token, for showing. Only the gateway judges it. */
function readClaims(token) {
  const part = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (character) => character.charCodeAt(0))));
}

function insertWellKnown(issuer, name) {
  const url = new URL(issuer);
  return `${url.origin}/.well-known/${name}${url.pathname === '/' ? '' : url.pathname}`;
}

function shorten(text) {
  return `${text.slice(0, 24)}... (${text.length} characters)`;
}

/**
 * Up to the login page. `user` is who wants to log in; `isOther`: somebody else is logged in at the identity provider. Returns where the page is, and
 * what has to be remembered until the answer comes.
 */
export async function beginLogin(endpoint, { user, isOther }, tell) {
  const refused = await createMcpClient(endpoint).tryInitialize();
  const refusal = await refused.text();
  const challenge = refused.headers.get('www-authenticate') ?? '';
  const request = describeRequest('POST', endpoint, refused.status);
  if (refused.status !== 401) throw new Error(`${request}: a protected server answers 401 here. ${refusal}`);
  tell({
    title: 'Refused without a token',
    request,
    note: 'The answer names the address of the next step.',
    detail: `WWW-Authenticate: ${challenge}`,
  });

  const resource = await ask(/resource_metadata="([^"]+)"/.exec(challenge)?.[1]);
  tell({
    title: 'Asked what is protected',
    spec: 'RFC 9728',
    request: resource.request,
    note: 'It names who issues tokens for it: for MCP clients that is the gateway.',
    detail: resource.json,
  });

  const issuer = resource.json.authorization_servers[0];
  const server = await ask(insertWellKnown(issuer, 'oauth-authorization-server'));
  if (server.json.issuer !== issuer) throw new Error(`The issuer ${server.json.issuer} is not ${issuer}.`);
  const { authorization_endpoint, token_endpoint, registration_endpoint } = server.json;
  tell({
    title: 'Asked how to log in',
    spec: 'RFC 8414',
    request: server.request,
    detail: { issuer, authorization_endpoint, token_endpoint, registration_endpoint },
  });

  const redirectUri = new URL(callbackPath, location.href).href;
  const client = await ask(registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Demo page',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }),
  });
  const clientId = client.json.client_id;
  tell({
    title: 'Registered as a client',
    spec: 'RFC 7591',
    request: client.request,
    note: 'The gateway registered this page at the identity provider. What it has to remember is sealed into the client_id.',
    detail: `client_id ${shorten(clientId)}`,
  });

  const verifier = encode(crypto.getRandomValues(new Uint8Array(32)));
  const state = encode(crypto.getRandomValues(new Uint8Array(16)));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const url = new URL(authorization_endpoint);
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: encode(digest),
    code_challenge_method: 'S256',
    state,
    resource: resource.json.resource,
    ...(resource.json.scopes_supported ? { scope: resource.json.scopes_supported.join(' ') } : {}),
    login_hint: user,
    ...(isOther ? { prompt: 'login' } : {}),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  tell({
    title: 'Went to the login page, with PKCE',
    spec: 'RFC 7636',
    request: describeRequest('GET', url.href),
    note: 'The gateway sends the browser on to the identity provider.',
    detail: { ...parameters, client_id: shorten(clientId) },
  });
  const login = {
    verifier,
    state,
    issuer,
    redirectUri,
    clientId,
    tokenEndpoint: token_endpoint,
    resource: resource.json.resource,
    usesIss: server.json.authorization_response_iss_parameter_supported === true,
  };
  return { url: url.href, login };
}

/** The tokens of a login. `save` is called when they are renewed. */
export function createAuthorization(account, save) {
  let renewing;
  const renew = async () => {
    if (!account.refreshToken) return false;
    const parameters = { grant_type: 'refresh_token', refresh_token: account.refreshToken };
    const renewed = await askForToken(account, parameters).catch((error) => {
      // Nobody answered: this says nothing about the login.
      if (error instanceof TypeError) throw error;
      return undefined;
    });
    if (renewed) save();
    return renewed !== undefined;
  };
  return {
    get token() {
      return account.accessToken;
    },
    /** Of several requests that find the token expired, one renews it. */
    renew: () => (renewing ??= renew().finally(() => (renewing = undefined))),
  };
}

/** Asks the token endpoint and keeps what it gives out. */
async function askForToken(account, parameters) {
  const { clientId, resource, tokenEndpoint } = account;
  const answer = await ask(tokenEndpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ client_id: clientId, resource, ...parameters }),
  });
  account.accessToken = answer.json.access_token;
  account.refreshToken = answer.json.refresh_token ?? account.refreshToken;
  return answer;
}

/** From the identity provider's answer to a tool call. Returns the account with its tokens, and a sentence that sums it up. */
export async function finishLogin(endpoint, login, query, exampleCall, tell) {
  const account = await redeemCode(login, query, tell);
  const mcp = createMcpClient(
    endpoint,
    createAuthorization(account, () => {}),
  );
  const { status, result } = await mcp.initialize();
  tell({
    title: 'Talked MCP with the token: initialize',
    request: describeRequest('POST', endpoint, status),
    detail: result.serverInfo,
  });
  const list = await mcp.call('tools/list', {});
  tell({
    title: `Listed ${list.result.tools.length} tools: tools/list`,
    request: describeRequest('POST', endpoint, list.status),
    note: 'The gateway filtered the answer: these are the tools that the rule allows this person.',
    detail: list.result.tools.map((tool) => `${tool.name}: ${tool.description ?? ''}`).join('\n'),
  });
  const call = await mcp.call('tools/call', exampleCall);
  tell({
    title: `Called ${exampleCall.name}: tools/call`,
    request: describeRequest('POST', endpoint, call.status),
    detail: { arguments: exampleCall.arguments, result: call.result },
  });
  tell({ title: 'Ended the MCP session', request: describeRequest('DELETE', endpoint, await mcp.end()) });
  const text = readText(call.result);
  return { account, sentence: `${account.name} called ${exampleCall.name} through the gateway: ${text}` };
}

async function redeemCode(login, query, tell) {
  if (!login || query.get('state') !== login.state)
    throw new Error('This login was not begun in this tab, or it is finished already.');
  if (query.get('error') === 'access_denied')
    throw new LoginDeniedError(
      `You chose Cancel, so the answer was access_denied and no token was given out. (${query.get('error_description') ?? 'no description'})`,
    );
  if (query.has('error')) throw new Error(`${query.get('error')}: ${query.get('error_description') ?? ''}`);
  if (login.usesIss && query.get('iss') !== login.issuer)
    throw new Error('The answer is not from the issuer that was asked (RFC 9207).');
  const code = query.get('code') ?? '';
  tell({
    title: 'Came back with a code',
    spec: 'RFC 9207',
    request: describeRequest('GET', login.redirectUri),
    note: 'The answer names its issuer, and it is the one that the client asked.',
    detail: { iss: query.get('iss') ?? 'not sent', code: shorten(code) },
  });

  const { clientId, resource, tokenEndpoint } = login;
  const account = { clientId, resource, tokenEndpoint };
  let token = await askForToken(account, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: login.redirectUri,
    code_verifier: login.verifier,
  });
  const claims = readClaims(token.json.access_token);
  tell({
    title: `Got a token for ${claims.name ?? claims.sub}`,
    spec: 'RFC 6749',
    request: token.request,
    note: "It is the identity provider's own token. This page only shows what is in it; the gateway verifies it at every request.",
    detail: claims,
  });
  if (account.refreshToken) {
    token = await askForToken(account, { grant_type: 'refresh_token', refresh_token: account.refreshToken });
    tell({
      title: 'Refreshed it once, to show that this works',
      spec: 'RFC 6749',
      request: token.request,
      detail: `expires in ${token.json.expires_in} seconds`,
    });
  }
  return Object.assign(account, { user: claims.sub, name: claims.name ?? claims.sub });
}
