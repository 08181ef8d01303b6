// Asks one identity provider what a gateway would ask it, with the gateway's own code, and judges what that means for a policy.
import type { GuardedFetcher } from '../../base/fetch-json.ts';
import { AuthenticationMode, LoginFlow, RegistrationMode } from '../../ir/gen/config_pb.ts';
import { chooseFlow } from '../../gateway/authentication/login/idp/choose-flow.ts';
import { type Discovery, discoverMetadata } from '../../gateway/authentication/login/idp/discover-metadata.ts';
import type { FlowChoice, IdpMetadata } from '../../gateway/config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import { listAddedScopes } from '../../gateway/authentication/login/idp/login-scopes.ts';
import { findPreset } from '../../gateway/authentication/login/idp/presets.ts';
import { findRegistrationEndpoint } from '../../gateway/authentication/login/idp/registration-endpoint.ts';
import { checkKeys } from './check-keys.ts';
import { forecastClients } from './forecast-clients.ts';
import { guessProvider, suggestProvider } from './guess-provider.ts';
import { Findings, type OnlineReport } from './online-report.ts';
import { tryRegistration } from './try-registration.ts';

export interface CheckIdpOptions {
  readonly fetcher: GuardedFetcher;
  /** Registers a client, and removes it again where the identity provider offers that. */
  readonly tryRegistration: boolean;
}

/** Looks at everything, in the order in which a gateway needs it. Never throws on what an identity provider answers. */
export async function checkIdp(config: McpAuthenticationConfig, options: CheckIdpOptions): Promise<OnlineReport> {
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
  if (discovery.ok) reportPkce(findings, discovery.metadata, config);
  const flow = chooseFlowOf(config, discovery);
  if (discovery.ok) await reportRegistration(findings, config, discovery.metadata, flow, options);
  await checkKeys(findings, config, discovery, options.fetcher);
  if (discovery.ok) reportScopes(findings, config, discovery.metadata);
  reportAudience(findings, config);
  if (flow !== undefined) reportFlow(findings, flow, discovery);
  for (const remark of preset.remarks ?? []) findings.remark('provider', remark);
  suggestProvider(findings, config);
  return {
    policy: config.source,
    provider: null,
    issuer: message.issuer,
    ok: findings.list.every(({ mark }) => mark !== 'bad'),
    findings: findings.list,
    flow: flow ?? null,
    clients: flow === undefined || !discovery.ok ? [] : forecastClients(config, flow, discovery),
  };
}

const flows: Readonly<Record<LoginFlow, 'Auto' | FlowChoice['flow']>> = {
  [LoginFlow.UNSPECIFIED]: 'Auto',
  [LoginFlow.AUTO]: 'Auto',
  [LoginFlow.FACADE]: 'Facade',
  [LoginFlow.BROKER]: 'Broker',
  [LoginFlow.DIRECT]: 'Direct',
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

function reportDiscovery(findings: Findings, discovery: Discovery, { message }: McpAuthenticationConfig): void {
  if (!discovery.ok) {
    const problems = discovery.tries.map(({ url, problem = '' }) =>
      problem.includes(url) ? problem : `${url}: ${problem}`,
    );
    for (const problem of problems) findings.remark('metadata', problem);
    findings.bad('metadata', `No metadata of ${message.issuer} can be used.`, adviseOnMetadata(problems));
    return;
  }
  const used = discovery.tries.find(({ url }) => url === discovery.url);
  findings.good('metadata', `${discovery.url} in ${Math.round(used?.durationMs ?? 0)} ms`);
  for (const { url, problem } of discovery.tries) {
    // Other places need not have anything. A document that contradicts the one in use is worth knowing.
    if (problem?.startsWith('the document') === true) findings.remark('metadata', `${url}: ${problem}`);
  }
  const { issuer } = discovery.metadata;
  if (issuer === message.issuer) findings.good('issuer', 'identical in the policy and in the metadata');
  else findings.remark('issuer', `${issuer} in the metadata; this provider's tokens name ${message.issuer}`);
}

/** By the most telling problem of all places. */
function adviseOnMetadata(problems: readonly string[]): string {
  const said = problems.join('\n');
  const found = /names the issuer "([^"]+)"/.exec(said)?.[1];
  if (found !== undefined) return `Set issuer: ${found} (exactly), if this is the identity provider that you mean.`;
  if (/the document/.test(said)) return 'This is for the identity provider to mend. Another document: set metadataUrl.';
  if (/not trusted/.test(said)) return 'For a private authority set jwks.caCertificateRef.';
  if (/allowInsecureHttp/.test(said)) return 'Use https; in a network that you trust, set allowInsecureHttp: true.';
  if (/a redirect/.test(said)) return 'Set issuer, or metadataUrl, to where it leads.';
  if (/answers \d/.test(said))
    return 'Is issuer right, down to the last slash? If its metadata is elsewhere, set metadataUrl.';
  return 'Is the identity provider up, and reachable from this machine?';
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
    const { clientId = '' } = config.message.registration ?? {};
    findings.good(
      'registration',
      `Shared: the client ${clientId} stands for all; its redirect URI there is the gateway's callback`,
    );
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
  else {
    const how = describeCredential(config);
    findings.good('registration', `${endpoint.href}${how}; not tried (--try-registration does)`);
  }
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

/** The most common reason for a login that works and a token that does not. */
function reportAudience(findings: Findings, { message, preset }: McpAuthenticationConfig): void {
  const { audiences } = message;
  const clientId = message.registration?.clientId ?? '';
  if (message.mode === AuthenticationMode.PERMISSIVE && audiences.length === 0) return;
  if (audiences.length > 0) {
    findings.good('audience', audiences.join(', '));
    return;
  }
  const guessed = message.provider === '' ? findPreset(guessProvider(message.issuer) ?? '') : undefined;
  if (guessed?.resourceParameter === 'none') {
    findings.remark(
      'audience',
      `the resource's own URL, which ${guessed.name} does not put into tokens`,
      'Set audiences to what its tokens carry.',
    );
    return;
  }
  if (preset.resourceParameter !== 'none') {
    findings.good('audience', "the resource's own URL, which clients ask for (RFC 8707)");
    return;
  }
  const what = `${preset.name} does not put the resource into tokens (RFC 8707), and audiences is empty: every token will be refused`;
  const advice = isShared(message)
    ? `Set audiences to what its tokens carry, often the client id: [${clientId}].`
    : 'Set audiences, and use Shared, or an audience mapper: a token that is for its own client never matches a list.';
  findings.bad('audience', what, advice);
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
