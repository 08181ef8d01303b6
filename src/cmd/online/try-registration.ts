// Registers a client at the identity provider with the gateway's own code (RFC 7591), and removes it again where that is offered (RFC 7592).
import type { StepHolder } from '../../gateway/authentication/login/flow-recorder.ts';
import type { IdpMetadata } from '../../gateway/config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import { findChoice } from '../../gateway/authentication/login/idp/chosen-by.ts';
import { registerOwnClient } from '../../gateway/authentication/login/clients/register-at-idp.ts';
import type { RegistrationFailure } from '../../gateway/authentication/login/idp/registration-attempt.ts';
import type { Findings } from './online-report.ts';

/** So that an operator who finds it knows where it comes from. */
const clientName = 'mcp-gatehouse check (may be deleted)';
/** A port on which nothing listens: no login comes back here. */
export const unusedRedirectUri = 'http://127.0.0.1:9/callback';

/** Tries, and reports. */
export async function tryRegistration(
  findings: Findings,
  config: McpAuthenticationConfig,
  endpoint: URL,
  metadata: IdpMetadata,
): Promise<void> {
  const context: StepHolder = { flowStep: undefined };
  const listed = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = listed.includes('none') ? 'none' : 'client_secret_basic';
  const outcome = await registerOwnClient({ context, resource: { config, messageScopes: [] } }, endpoint, metadata, {
    redirectUris: [unusedRedirectUri],
    name: clientName,
    scope: config.message.requiredScopes.length > 0 ? config.message.requiredScopes.join(' ') : undefined,
    members: {
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: method,
      application_type: 'native',
    },
  });
  const { notes = [] } = context.flowStep ?? {};
  for (const note of notes) findings.remark('registration', note);
  if (!outcome.ok) {
    findings.bad('registration', `${endpoint.href}: ${outcome.detail}`, adviseOnFailure(outcome, config));
    return;
  }
  const hasCredential =
    config.initialAccessToken !== undefined || config.message.registration?.initialAccessTokenFrom !== undefined;
  findings.good(
    'registration',
    `${endpoint.href} took a registration ${hasCredential ? 'with the initial access token' : 'from anybody'}`,
  );
  const { registration_client_uri: uri, registration_access_token: token, client_id: id } = outcome.answer;
  const removal = await removeClient(config, endpoint, uri, token);
  if (removal === 'removed') {
    findings.good('registration', 'and removed it again (RFC 7592)');
  } else {
    findings.remark(
      'registration',
      `the client ${id} ("${clientName}") stays there: ${removal}`,
      'Delete it at the identity provider.',
    );
  }
}

async function removeClient(
  config: McpAuthenticationConfig,
  endpoint: URL,
  uri: unknown,
  token: unknown,
): Promise<string> {
  const url = typeof uri === 'string' ? URL.parse(uri) : null;
  // The token goes to the identity provider, and not to other hosts that its metadata may name.
  if (url === null || url.origin !== endpoint.origin || typeof token !== 'string' || !/^[\x21-\x7E]+$/.test(token))
    return 'the identity provider offers no way to remove it';
  const outcome = await config.idp.fetcher.fetch({
    url: url.href,
    method: 'DELETE',
    chosenBy: findChoice(url.href, config.message),
    ca: config.ca,
    allowInsecureHttp: config.message.allowInsecureHttp,
    headers: { authorization: `Bearer ${token}` },
  });
  if (!outcome.ok) return `removing it failed: ${outcome.message}`;
  return outcome.status >= 200 && outcome.status < 300
    ? 'removed'
    : `removing it failed, the identity provider answered ${outcome.status}`;
}

function adviseOnFailure({ kind, error }: RegistrationFailure, config: McpAuthenticationConfig): string {
  if (kind === 'unavailable') return 'Is the registration endpoint up? Its log may say more.';
  if (error === 'invalid_redirect_uri') return 'Allow loopback redirect URIs for registered clients, or use Shared.';
  if (kind === 'refused')
    return 'The identity provider does not accept such clients. Its registration policies say which.';
  if (config.message.registration?.initialAccessTokenFrom !== undefined)
    return 'Are clientId, secret and scope of initialAccessTokenFrom.clientCredentials those of a client that may register others?';
  return config.initialAccessToken === undefined
    ? 'Allow anonymous registration there, or set registration.initialAccessTokenRef, or use registration.mode Shared.'
    : 'The initial access token is not accepted: expired, used up, or of another realm?';
}
