// The client that stands for all (registration.mode Shared), asked about at the identity provider as far as that tells without a login: its secret at the
// token endpoint with a code that does not exist, its redirect URI at the authorization endpoint.
import { randomBytes } from 'node:crypto';
import { isLoopbackHost } from '../../base/local-names.ts';
import { findChoice } from '../../gateway/authentication/login/idp/chosen-by.ts';
import { listIdentityScopes } from '../../gateway/authentication/login/identity/identity-scopes.ts';
import { completeScopes, listAddedScopes } from '../../gateway/authentication/login/idp/login-scopes.ts';
import { findSharedClient } from '../../gateway/authentication/login/clients/shared-registration.ts';
import type { IdpMetadata } from '../../gateway/config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import { isAboutRedirectUri } from '../redirect-refusal.ts';
import type { Findings } from './online-report.ts';
import { tryClient } from './try-client.ts';

/** Asks, and reports. `callbackUrls` are the gateway's own. */
export async function checkSharedClient(
  findings: Findings,
  config: McpAuthenticationConfig,
  metadata: IdpMetadata,
  callbackUrls: readonly string[],
): Promise<void> {
  const clientId = config.message.registration?.clientId ?? '';
  findings.good('registration', `Shared: the client ${clientId} stands for all`);
  const [callback] = callbackUrls;
  if (callback === undefined) return;
  await checkSecret(findings, config, metadata, callback);
  await checkCallbacks(findings, config, metadata, callbackUrls);
}

async function checkSecret(
  findings: Findings,
  config: McpAuthenticationConfig,
  metadata: IdpMetadata,
  callback: string,
): Promise<void> {
  const client = findSharedClient(config, metadata);
  if (client === undefined) return;
  const tried = await tryClient(config, metadata, client, callback);
  const hasSecret = client.secret !== undefined;
  if (tried.kind === 'unknown')
    findings.bad(
      'client',
      `the identity provider does not accept the client ${client.clientId}${hasSecret ? ' with this secret' : ' without a secret'}: ${tried.said}`,
      hasSecret
        ? 'Compare clientId and the secret of clientSecretRef with what the identity provider has.'
        : 'Set registration.clientSecretRef, or make it a public client there.',
    );
  else if (tried.kind === 'known')
    findings.good(
      'client',
      `${client.clientId} is known${hasSecret ? ', and its secret is right' : ', without a secret'}`,
    );
  else if (tried.kind === 'may-not-log-in')
    findings.bad(
      'client',
      `the client ${client.clientId} may not log people in: unauthorized_client`,
      'Allow the authorization code grant for it at the identity provider.',
    );
  else
    findings.remark(
      'client',
      `whether ${client.clientId} and its secret are right cannot be told without a login`,
      'mcp-gatehouse login URL tries it.',
    );
}

/** Of the names of this machine, one is enough: people use the one that was entered. */
async function checkCallbacks(
  findings: Findings,
  config: McpAuthenticationConfig,
  metadata: IdpMetadata,
  callbackUrls: readonly string[],
): Promise<void> {
  const refused = new Set<string>();
  for (const each of callbackUrls) if (await isCallbackRefused(config, metadata, each)) refused.add(each);
  const local = callbackUrls.filter((each) => isLoopbackHost(new URL(each).hostname));
  const isLocalKnown = local.some((each) => !refused.has(each));
  for (const each of callbackUrls)
    if (!refused.has(each))
      findings.remark('callback', `${each} has to be a redirect URI of the client at the identity provider`);
    else if (isLocalKnown && local.includes(each))
      findings.remark('callback', `the identity provider does not know ${each}: open the server by another name`);
    else
      findings.bad(
        'callback',
        `the identity provider does not know ${each}`,
        'Enter it there as a redirect URI of the client, exactly as it is.',
      );
}

/** Where the gateway issues tokens, the scopes of clients are no business of the identity provider. */
function listAskedScopes(config: McpAuthenticationConfig, metadata: IdpMetadata): readonly string[] {
  if (config.issuer !== undefined) return listIdentityScopes(config, config.issuer.identity, metadata);
  return completeScopes(config, [...config.message.requiredScopes, ...listAddedScopes(config, metadata)], metadata);
}

/** A page about the redirect URI is the only sign that all identity providers agree on: they must not redirect to it. */
async function isCallbackRefused(
  config: McpAuthenticationConfig,
  metadata: IdpMetadata,
  callback: string,
): Promise<boolean> {
  const endpoint = metadata.authorization_endpoint;
  const url = endpoint === undefined ? null : URL.parse(endpoint);
  if (url === null) return false;
  const scope = listAskedScopes(config, metadata).join(' ');
  const parameters = {
    response_type: 'code',
    client_id: config.message.registration?.clientId ?? '',
    redirect_uri: callback,
    state: 'mcp-gatehouse-check',
    nonce: 'mcp-gatehouse-check',
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
    ...(scope !== '' && { scope }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const answer = await config.idp.fetcher.fetch({
    url: url.href,
    chosenBy: findChoice(url.href, config.message),
    ca: config.ca,
    allowInsecureHttp: config.message.allowInsecureHttp,
    headers: { accept: 'text/html' },
  });
  return answer.ok && isAboutRedirectUri(answer.status, answer.body);
}
