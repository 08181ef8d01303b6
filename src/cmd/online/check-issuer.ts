// Asks an identity provider that only says who somebody is (flow: Issuer): the gateway issues the tokens, so neither their audience nor their keys matter here.
// What matters: its endpoints, the gateway's own client there, the keys of ID tokens, userinfo, and who gets in.
import { identityProviders, providersWithOpaqueTokens } from '../../api/identity-providers.ts';
import { findChoice } from '../../gateway/authentication/login/idp/chosen-by.ts';
import { discoverMetadata } from '../../gateway/authentication/login/idp/discover-metadata.ts';
import { findOrganizationsMember, findWanted } from '../../gateway/authentication/login/identity/identity-rules.ts';
import { listIdentityScopes } from '../../gateway/authentication/login/identity/identity-scopes.ts';
import type { FlowChoice, IdpMetadata } from '../../gateway/config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import type { TokenIssuer } from '../../gateway/config/token-issuer.ts';
import { describeWhoGetsIn } from '../../gateway/admin/describe-who-gets-in.ts';
import { describeDistance } from '../token/describe-distance.ts';
import type { CheckIdpOptions } from './check-idp-options.ts';
import { checkKeys } from './check-keys.ts';
import { checkSharedClient } from './check-shared-client.ts';
import { forecastClients } from './forecast-clients.ts';
import { suggestProvider } from './guess-provider.ts';
import { type ClientForecast, Findings, type OnlineReport } from './online-report.ts';
import { reportClock, reportDiscovery } from './report-discovery.ts';

/** Looks at everything, in the order in which a login needs it. Never throws on what an identity provider answers. */
export async function checkIssuer(
  config: McpAuthenticationConfig,
  issuer: TokenIssuer,
  options: CheckIdpOptions,
): Promise<OnlineReport> {
  const findings = new Findings();
  const { message, preset } = config;
  const discovery = await discoverMetadata({
    issuer: message.issuer,
    metadataUrl: message.metadataUrl,
    endpoints: message.endpoints,
    preset,
    flow: 'Issuer',
    ca: config.ca,
    allowInsecureHttp: message.allowInsecureHttp,
    fetcher: options.fetcher,
  });
  const isFixed = message.endpoints !== undefined || preset.fixedMetadata !== undefined;
  if (isFixed && discovery.ok)
    findings.good(
      'metadata',
      `none is needed: the ${message.endpoints === undefined ? `preset ${preset.name}` : 'policy'} has the endpoints`,
    );
  else reportDiscovery(findings, discovery, config);
  if (discovery.ok) {
    const { metadata } = discovery;
    reportClock(findings, discovery.clockOffsetMs);
    reportPkce(findings, metadata, config);
    reportEndpoints(findings, metadata);
    await checkSharedClient(findings, config, metadata, options.callbackUrls);
  }
  const hasIdTokens = !isFixed || message.keys?.source.case !== undefined;
  if (hasIdTokens) await checkKeys(findings, config, discovery, options.fetcher, 'nobody can log in');
  if (discovery.ok) {
    await reportIdentity(findings, config, issuer, discovery.metadata, hasIdTokens);
    reportScopes(findings, config, issuer, discovery.metadata);
  }
  reportAccess(findings, config);
  reportTokens(findings, issuer);
  const flow: FlowChoice = { flow: 'Issuer', reason: describeReason(config) };
  findings.good('flow', `${flow.flow}: ${flow.reason}`);
  suggestProvider(findings, config);
  return {
    policy: config.source,
    provider: null,
    issuer: message.issuer,
    ok: findings.list.every(({ mark }) => mark !== 'bad'),
    findings: findings.list,
    flow,
    clients: discovery.ok
      ? forecastClients(config, flow, discovery).map((forecast) => correctForecast(forecast, findings))
      : [],
  };
}

/** Whatever is broken, it is the login that ends there. */
function correctForecast(forecast: ClientForecast, { list }: Findings): ClientForecast {
  const broken = list.find(({ mark }) => mark === 'bad');
  return broken === undefined
    ? forecast
    : { ...forecast, mark: 'bad', text: `cannot log in: see ${broken.check} above` };
}

/** The gateway checks the verifier of clients itself, and passes it on. */
function reportPkce(findings: Findings, metadata: IdpMetadata, { preset }: McpAuthenticationConfig): void {
  const methods = metadata.code_challenge_methods_supported;
  if (methods?.includes('S256') === true || preset.supportsPkce === true) findings.good('PKCE', 'S256, end to end');
  else
    findings.remark(
      'PKCE',
      `${methods === undefined ? 'not mentioned in the metadata' : `only ${methods.join(', ') || 'nothing'} in the metadata`}; between clients and the gateway it is S256 all the same`,
    );
}

function reportEndpoints(findings: Findings, metadata: IdpMetadata): void {
  for (const name of ['authorization_endpoint', 'token_endpoint'] as const)
    if (metadata[name] === undefined)
      findings.bad('endpoints', `the metadata has no ${name}`, 'Set endpoints: {authorization, token, userinfo}.');
}

/** What tells who somebody is. */
async function reportIdentity(
  findings: Findings,
  config: McpAuthenticationConfig,
  { identity }: TokenIssuer,
  metadata: IdpMetadata,
  hasIdTokens: boolean,
): Promise<void> {
  const { preset, message } = config;
  const url = preset.identity?.hasUserinfo === false ? undefined : metadata.userinfo_endpoint;
  const problem = url === undefined ? undefined : await findUserinfoProblem(config, url);
  if (problem !== undefined) findings.bad('identity', `userinfo: ${problem.text}`, problem.advice);
  else if (url === undefined && !hasIdTokens)
    findings.bad('identity', 'there is neither an ID token nor userinfo', 'Set endpoints.userinfo, or jwks.');
  else
    findings.good(
      'identity',
      [...(hasIdTokens ? ['ID tokens'] : []), ...(url === undefined ? [] : [`userinfo at ${url}`])].join(', and '),
    );
  const listed = metadata['claims_supported'];
  if (!Array.isArray(listed)) return;
  const provider = { preset, issuer: message.issuer };
  const wanted = findWanted(provider, identity);
  const members = [
    ...wanted.members,
    ...(wanted.email ? ['email'] : []),
    ...(wanted.organizations ? [findOrganizationsMember(provider, identity)] : []),
    ...(identity.subject === undefined ? [] : [identity.subject]),
  ];
  const unlisted = [...new Set(members)].filter((member) => !listed.includes(member));
  if (unlisted.length > 0)
    findings.remark(
      'identity',
      `not in the metadata's claims_supported: ${unlisted.join(', ')}`,
      'Does the identity provider tell them, perhaps with another scope (authorizationRequest.extraScopes) or under another name (identity.claims)?',
    );
}

/** Without a token it has to refuse: any answer at all says that it is there. */
async function findUserinfoProblem(
  { message, idp, ca }: McpAuthenticationConfig,
  url: string,
): Promise<{ readonly text: string; readonly advice: string } | undefined> {
  const answer = await idp.fetcher.fetch({
    url,
    chosenBy: findChoice(url, message),
    ca,
    allowInsecureHttp: message.allowInsecureHttp,
    headers: { accept: 'application/json' },
  });
  if (!answer.ok && answer.code !== 'redirect')
    return { text: answer.message, advice: 'Is it up, and reachable from this machine? Logins ask it.' };
  if (answer.ok && answer.status === 404)
    return {
      text: `${url} answers 404`,
      advice: 'Is it the right URL? endpoints.userinfo of the policy sets another.',
    };
  if (answer.ok && answer.status >= 500)
    return { text: `${url} answers ${answer.status}`, advice: 'The identity provider is in trouble. Logins fail.' };
  return undefined;
}

/** Only what says who somebody is goes there; requiredScopes are the gateway's own. */
function reportScopes(
  findings: Findings,
  config: McpAuthenticationConfig,
  { identity }: TokenIssuer,
  metadata: IdpMetadata,
): void {
  const asked = listIdentityScopes(config, identity, metadata);
  const listed = metadata.scopes_supported;
  const unlisted = asked.filter((scope) => listed !== undefined && !listed.includes(scope));
  if (unlisted.length > 0)
    findings.remark(
      'scopes',
      `not in the metadata's scopes_supported: ${unlisted.join(' ')}`,
      'Do they exist at the identity provider, and may the client ask for them?',
    );
  else if (asked.length > 0) findings.good('scopes', asked.join(' '));
  else
    findings.remark(
      'scopes',
      'none are asked for',
      'If the identity provider wants some, name them in authorizationRequest.extraScopes.',
    );
}

/** Who gets in, in words. A remark where only requiredClaims and rules keep anybody out: they are not looked at here. */
function reportAccess(findings: Findings, { message, issuer }: McpAuthenticationConfig): void {
  const whom = describeWhoGetsIn(message) ?? '';
  if (issuer?.identity.allow === undefined) findings.remark('lets in', whom);
  else findings.good('lets in', whom);
}

function reportTokens(findings: Findings, { lifetimeMs, refreshLifetimeMs, claims, scopes }: TokenIssuer): void {
  const parts = [
    `valid for ${describeSpan(lifetimeMs)}`,
    refreshLifetimeMs === 0
      ? 'no refresh tokens: people log in again after that'
      : `a new login after ${describeSpan(refreshLifetimeMs)}`,
    ...(claims.length === 0 ? [] : [`claims ${claims.join(', ')}`]),
    ...(scopes.length === 0 ? [] : [`scopes ${scopes.join(' ')}`]),
  ];
  findings.good('tokens', parts.join('; '));
}

function describeSpan(ms: number): string {
  return describeDistance(ms).replace(/^in /, '');
}

function describeReason({ message, idp }: McpAuthenticationConfig): string {
  const provider = identityProviders.find((name) => name === message.provider);
  return provider !== undefined && providersWithOpaqueTokens.includes(provider)
    ? `access tokens of ${provider} are opaque, so the gateway issues its own`
    : (idp.getFlow()?.reason ?? '');
}
