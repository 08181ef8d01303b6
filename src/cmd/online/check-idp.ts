// Asks one identity provider what a gateway would ask it, with the gateway's own code, and judges what that means for a policy.
import { LoginFlow, RegistrationMode } from '../../ir/gen/config_pb.ts';
import { chooseFlow } from '../../gateway/authentication/login/idp/choose-flow.ts';
import { type Discovery, discoverMetadata } from '../../gateway/authentication/login/idp/discover-metadata.ts';
import type { FlowChoice, IdpMetadata } from '../../gateway/config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import { listAddedScopes } from '../../gateway/authentication/login/idp/login-scopes.ts';
import { findRegistrar } from '../../gateway/authentication/login/idp/initial-access-token.ts';
import { findRegistrationEndpoint } from '../../gateway/authentication/login/idp/registration-endpoint.ts';
import type { CheckIdpOptions } from './check-idp-options.ts';
import { checkIssuer } from './check-issuer.ts';
import { checkKeys } from './check-keys.ts';
import { checkSharedClient } from './check-shared-client.ts';
import { forecastClients } from './forecast-clients.ts';
import { listRemarks, suggestProvider } from './guess-provider.ts';
import { type ClientForecast, Findings, type OnlineReport } from './online-report.ts';
import { reportAudience } from './report-audience.ts';
import { reportClock, reportDiscovery } from './report-discovery.ts';
import { reportOpaqueTokens } from './recommend-issuer.ts';
import { tryClient } from './try-client.ts';
import { tryRegistration, unusedRedirectUri } from './try-registration.ts';

/** Looks at everything, in the order in which a gateway needs it. Never throws on what an identity provider answers. */
export async function checkIdp(config: McpAuthenticationConfig, options: CheckIdpOptions): Promise<OnlineReport> {
  if (config.issuer !== undefined) return checkIssuer(config, config.issuer, options);
  const findings = new Findings();
  const { message, preset } = config;
  const discovery = await discoverMetadata({
    issuer: message.issuer,
    metadataUrl: message.metadataUrl,
    preset,
    ca: config.ca,
    allowInsecureHttp: message.allowInsecureHttp,
    fetcher: options.fetcher,
  });
  reportDiscovery(findings, discovery, config);
  if (discovery.ok) {
    reportClock(findings, discovery.clockOffsetMs);
    reportPkce(findings, discovery.metadata, config);
  }
  const flow = chooseFlowOf(config, discovery);
  if (discovery.ok) await reportRegistration(findings, config, discovery.metadata, flow, options);
  await checkKeys(findings, config, discovery, options.fetcher);
  if (discovery.ok) reportScopes(findings, config, discovery.metadata);
  if (!reportOpaqueTokens(findings, config)) reportAudience(findings, config);
  if (flow !== undefined) reportFlow(findings, flow, discovery);
  for (const remark of listRemarks(preset, config)) findings.remark('provider', remark);
  suggestProvider(findings, config);
  return {
    policy: config.source,
    provider: null,
    issuer: message.issuer,
    ok: findings.list.every(({ mark }) => mark !== 'bad'),
    findings: findings.list,
    flow: flow ?? null,
    clients:
      flow === undefined || !discovery.ok
        ? []
        : forecastClients(config, flow, discovery).map((forecast) => correctForecast(forecast, findings)),
  };
}

/** No client gets further than what was found broken. */
function correctForecast(forecast: ClientForecast, { list }: Findings): ClientForecast {
  const broken = new Set(list.filter(({ mark }) => mark === 'bad').map(({ check }) => check));
  if (forecast.mark === 'bad') return forecast;
  if (broken.has('PKCE')) return { ...forecast, mark: 'bad', text: 'cannot log in: see PKCE above' };
  if (broken.has('keys')) return { ...forecast, mark: 'bad', text: 'every token is refused: the keys cannot be used' };
  if (broken.has('registration')) return { ...forecast, mark: 'bad', text: 'cannot register: see registration above' };
  if (broken.has('tokens')) return { ...forecast, mark: 'bad', text: 'every token is refused: see tokens above' };
  if (broken.has('client') || broken.has('callback'))
    return { ...forecast, mark: 'bad', text: 'cannot log in: see the client above' };
  return forecast;
}

const flows: Readonly<Record<LoginFlow, 'Auto' | FlowChoice['flow']>> = {
  [LoginFlow.UNSPECIFIED]: 'Auto',
  [LoginFlow.AUTO]: 'Auto',
  [LoginFlow.FACADE]: 'Facade',
  [LoginFlow.BROKER]: 'Broker',
  [LoginFlow.DIRECT]: 'Direct',
  [LoginFlow.ISSUER]: 'Issuer',
};

function chooseFlowOf({ message, preset }: McpAuthenticationConfig, discovery: Discovery): FlowChoice | undefined {
  return chooseFlow({
    flow: flows[message.flow] ?? 'Auto',
    registration: isShared(message) ? 'Shared' : 'Forward',
    registrationEndpoint: message.registration?.endpoint ?? '',
    preset,
    metadata: discovery.ok ? discovery.metadata : undefined,
    emitsIssuer: discovery.ok && discovery.emitsIssuer,
    addsToRequests: message.extraScopes.length > 0 || Object.keys(message.extraParameters).length > 0,
  });
}

function isShared({ registration }: McpAuthenticationConfig['message']): boolean {
  return registration?.mode === RegistrationMode.SHARED;
}

function reportPkce(findings: Findings, metadata: IdpMetadata, { preset }: McpAuthenticationConfig): void {
  const methods = metadata.code_challenge_methods_supported;
  if (methods?.includes('S256') === true) findings.good('PKCE', 'S256');
  else if (preset.supportsPkce === true)
    findings.good('PKCE', `S256: ${preset.name} has it, though its metadata does not say so`);
  else if (methods === undefined)
    findings.remark(
      'PKCE',
      'not mentioned in the metadata; many identity providers have it all the same',
      'Through Broker clients see S256. Whether the login works, tells mcp-gatehouse login.',
    );
  else
    findings.bad(
      'PKCE',
      `only ${methods.join(', ') || 'nothing'}`,
      'MCP requires S256: enable it at the identity provider.',
    );
}

async function reportRegistration(
  findings: Findings,
  config: McpAuthenticationConfig,
  metadata: IdpMetadata,
  flow: FlowChoice | undefined,
  options: CheckIdpOptions,
): Promise<void> {
  const endpoint = findRegistrationEndpoint(config, metadata);
  if (endpoint === 'shared') {
    await checkSharedClient(findings, config, metadata, options.callbackUrls);
    return;
  }
  if (endpoint === undefined) {
    const advice = 'Register one client there by hand and use registration: {mode: Shared, clientId, clientSecretRef}.';
    if (flow?.flow === 'Direct')
      findings.remark(
        'registration',
        'the identity provider takes no registrations: clients need an id of their own there',
      );
    else findings.bad('registration', 'the identity provider takes no registrations', advice);
    return;
  }
  if (options.tryRegistration) await tryRegistration(findings, config, endpoint, metadata);
  else if (await isRegistrarKnown(findings, config, endpoint, metadata)) {
    const how = describeCredential(config);
    findings.good('registration', `${endpoint.href}${how}; not tried (--try-registration does)`);
  }
}

/** False: the client that gets initial access tokens is not accepted, and that was said. */
async function isRegistrarKnown(
  findings: Findings,
  config: McpAuthenticationConfig,
  endpoint: URL,
  metadata: IdpMetadata,
): Promise<boolean> {
  const registrar = findRegistrar(config, metadata);
  if (registrar === undefined) return true;
  const tried = await tryClient(config, metadata, registrar, unusedRedirectUri);
  if (tried.kind !== 'unknown') return true;
  findings.bad(
    'registration',
    `${endpoint.href}: the identity provider does not accept the client ${registrar.clientId} of initialAccessTokenFrom with this secret: ${tried.said}`,
    'Compare clientId and the secret of initialAccessTokenFrom.clientCredentials with what the identity provider has.',
  );
  return false;
}

function describeCredential({ initialAccessToken, message }: McpAuthenticationConfig): string {
  if (message.registration?.initialAccessTokenFrom !== undefined)
    return ', with a fresh initial access token each time';
  return initialAccessToken === undefined ? ', without a credential' : ', with the initial access token';
}

function reportScopes(findings: Findings, config: McpAuthenticationConfig, metadata: IdpMetadata): void {
  const asked = [...config.message.requiredScopes, ...listAddedScopes(config, metadata)];
  const listed = metadata.scopes_supported;
  const unlisted = [...new Set(asked)].filter((scope) => listed !== undefined && !listed.includes(scope));
  if (unlisted.length > 0)
    findings.remark(
      'scopes',
      `not in the metadata's scopes_supported: ${unlisted.join(' ')}`,
      'Do they exist at the identity provider, and may clients ask for them?',
    );
  else if (asked.length > 0) findings.good('scopes', [...new Set(asked)].join(' '));
}

function reportFlow(findings: Findings, flow: FlowChoice, discovery: Discovery): void {
  const emitsIssuer = discovery.ok && discovery.emitsIssuer;
  if (flow.flow === 'Facade' && emitsIssuer) {
    findings.bad(
      'flow',
      'Facade, but the identity provider puts its own iss into authorization responses (RFC 9207): newer clients stop there',
      'Set flow: Broker, or leave it at Auto.',
    );
    return;
  }
  findings.good('flow', `${flow.flow}: ${flow.reason}`);
  if (flow.flow === 'Facade') {
    findings.remark(
      'flow',
      'Facade leaves to the identity provider what Broker mends: CORS at its token endpoint, a loopback port that differs from the registered one, a required nonce',
    );
  }
}
