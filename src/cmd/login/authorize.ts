// The authorization request with PKCE (RFC 6749 4.1.1, RFC 7636), and what the redirect brings back (RFC 9207).
import { createHash, randomBytes } from 'node:crypto';
import { adviseOnIssuer } from './advise-on-issuer.ts';
import type { FoundServer } from './discover-server.ts';
import type { LoopbackListener } from './loopback-listener.ts';
import type { Narrator } from './narration.ts';
import type { OAuthClient } from './obtain-client.ts';
import { adviseOnSilence, probeAuthorization } from './probe-authorization.ts';
import { endSentence, joinSaid } from './sentence.ts';

interface AuthorizeOptions {
  readonly server: FoundServer;
  readonly client: OAuthClient;
  readonly listener: LoopbackListener;
  readonly scope: string | undefined;
  readonly resource: string | undefined;
  readonly timeoutMs: number;
  /** The user brought the client. */
  readonly isGivenClient: boolean;
  /** Shows the URL to the user, in whatever way; resolves when that is done. */
  readonly showUrl: (url: string) => Promise<void>;
}

/** What the token request needs. Never told. */
export interface Grant {
  readonly code: string;
  readonly verifier: string;
}

/** Step 5. Undefined: it failed. */
export async function authorize(narrator: Narrator, options: AuthorizeOptions): Promise<Grant | undefined> {
  const { server, client, listener, scope, resource } = options;
  narrator.begin('Login in the browser', 'RFC 6749 4.1.1, RFC 7636, RFC 8707');
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const url = new URL(server.authorizationEndpoint);
  const parameters: readonly (readonly [string, string | undefined])[] = [
    ['response_type', 'code'],
    ['client_id', client.id],
    ['redirect_uri', listener.redirectUri],
    ['code_challenge', createHash('sha256').update(verifier).digest('base64url')],
    ['code_challenge_method', 'S256'],
    ['state', state],
    ['scope', scope],
    ['resource', resource],
  ];
  for (const [name, value] of parameters) if (value !== undefined) url.searchParams.set(name, value);
  if (scope !== undefined) narrator.show('scope', scope);
  if (resource !== undefined) narrator.show('resource', resource);
  const { redirectUri } = listener;
  if (!(await probeAuthorization(narrator, { url, redirectUri, isGivenClient: options.isGivenClient })))
    return undefined;
  const arrived = listener.wait(state, options.timeoutMs, () =>
    narrator.find('remark', 'Somebody came back with another state: an older window? Still waiting.'),
  );
  await options.showUrl(url.href);
  const redirect = await arrived;
  if (redirect.kind === 'timeout') {
    narrator.find(
      'bad',
      'Nobody came back from the login in time.',
      adviseOnSilence(server.authorizationEndpoint, resource, redirectUri),
    );
    return undefined;
  }
  return readRedirect(narrator, options, redirect.parameters, verifier);
}

function readRedirect(
  narrator: Narrator,
  { server, scope }: AuthorizeOptions,
  parameters: URLSearchParams,
  verifier: string,
): Grant | undefined {
  narrator.begin('Back from the login', 'RFC 6749 4.1.2, RFC 9207');
  narrator.find('good', '`state` is ours.');
  // First of all: an error of somebody else is not worth reading either.
  const iss = parameters.get('iss');
  if (iss !== null && iss !== server.issuer) {
    narrator.find(
      'bad',
      `\`iss\` is ${iss}, not ${server.issuer}: the answer is from another authorization server (RFC 9207 2.4).`,
      'An identity provider that emits `iss` behind a gateway that only rewrites its metadata does this: use flow Broker. Clients built on SDK v1 go on here; newer ones stop.',
    );
    return undefined;
  }
  if (iss !== null) narrator.find('good', '`iss` is the authorization server that was asked.');
  const error = parameters.get('error');
  if (error !== null) {
    const said = joinSaid(error, parameters.get('error_description') ?? undefined);
    narrator.find(
      'bad',
      `The login was refused: ${endSentence(said)}`,
      adviseOnIssuer(said) ?? adviseOnError(error, scope, server),
    );
    return undefined;
  }
  if (iss === null && server.sendsIss) {
    narrator.find(
      'bad',
      '`iss` is missing although the metadata promises it (RFC 9207 2.4).',
      'The authorization server must send it, or not set authorization_response_iss_parameter_supported.',
    );
    return undefined;
  }
  if (iss === null) narrator.find('remark', 'No `iss`: a client that knows several servers cannot tell them apart.');
  const code = parameters.get('code');
  if (code === null) {
    narrator.find('bad', 'There is neither a code nor an error.', 'This is for the authorization server to mend.');
    return undefined;
  }
  narrator.find('good', `A code of ${code.length} characters.`);
  return { code, verifier };
}

function adviseOnError(error: string, scope: string | undefined, { scopesSupported }: FoundServer): string {
  switch (error) {
    case 'access_denied':
      return scope === undefined
        ? 'You, or a rule of the identity provider, said no. No scope was asked for, which some refuse: try --scope openid'
        : 'You, or a rule of the identity provider, said no. May this user use this application?';
    case 'invalid_scope':
      return adviseOnScope(scope, scopesSupported);
    case 'invalid_target':
      return 'The identity provider does not know this `resource` (RFC 8707): it has to be registered there.';
    case 'unauthorized_client':
    case 'unsupported_response_type':
      return 'The client is registered without the authorization code grant.';
    case 'login_required':
    case 'interaction_required':
    case 'consent_required':
      return 'The identity provider wants the user to do something first. Try again in a fresh window.';
    case 'server_error':
    case 'temporarily_unavailable':
      return 'The identity provider is in trouble. Its log may say more.';
    default:
      return 'The log of the authorization server may say more.';
  }
}

function adviseOnScope(scope: string | undefined, listed: readonly string[] | undefined): string {
  if (scope === undefined) return 'No scope was asked for, which some identity providers refuse: try --scope openid';
  const unlisted = listed === undefined ? [] : scope.split(' ').filter((each) => !listed.includes(each));
  const which = unlisted.length === 0 ? `one of ${scope}` : unlisted.join(' ');
  return `The identity provider does not know a scope, or this client may not ask for it: ${which}. Create it there, or take it out of requiredScopes of the policy; --scope asks for others.`;
}
