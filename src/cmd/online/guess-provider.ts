// Recognises identity providers whose quirks a preset knows, so that `check --online` can suggest it. A guess: it decides nothing.
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import type { ProviderPreset } from '../../gateway/config/provider-preset.ts';
import { RegistrationMode } from '../../ir/gen/config_pb.ts';
import { findPreset } from '../../gateway/authentication/login/idp/presets.ts';
import type { Findings } from './online-report.ts';

const signs: readonly (readonly [provider: string, sign: RegExp])[] = [
  ['Keycloak', /\/realms\/[^/]+\/?$/],
  [
    'Entra',
    /^https:\/\/(?:login\.microsoftonline\.(?:com|us)|login\.partner\.microsoftonline\.cn|sts\.windows\.net)\//,
  ],
  ['Auth0', /^https:\/\/[\w.-]+\.auth0\.com\/?$/],
  ['Okta', /^https:\/\/[\w-]+\.okta(?:preview|-emea)?\.com(?:\/|$)/],
  ['Google', /^https:\/\/accounts\.google\.com\/?$/],
  ['GitHub', /^https:\/\/github\.com\/?$/],
  ['GitLab', /^https:\/\/gitlab\.com\/?$/],
  ['Descope', /^https:\/\/api\.descope\.com\//],
  ['Authentik', /\/application\/o\/[^/]+\/?$/],
];

/** The name of the preset that fits the issuer; undefined when none does. */
export function guessProvider(issuer: string): string | undefined {
  return signs.find(([, sign]) => sign.test(issuer))?.[0];
}

/** Suggests the preset that a policy could use, with what it would say. */
export function suggestProvider(findings: Findings, config: McpAuthenticationConfig): void {
  const { message } = config;
  const provider = message.provider === '' ? guessProvider(message.issuer) : undefined;
  if (provider === undefined) return;
  const preset = findPreset(provider);
  findings.remark('provider', `this looks like ${provider}: provider: ${provider} knows its quirks`);
  // Remarks are about its access tokens.
  if (preset === undefined || config.issuer !== undefined) return;
  for (const remark of listRemarks(preset, config)) findings.remark('provider', remark);
}

/** What is worth knowing about the provider, for this way of registration. */
export function listRemarks(
  { remarks = [], forwardRemarks = [], anonymousRemarks = [] }: ProviderPreset,
  { message, initialAccessToken }: McpAuthenticationConfig,
): readonly string[] {
  const { registration } = message;
  if (registration?.mode === RegistrationMode.SHARED) return remarks;
  const isAnonymous = initialAccessToken === undefined && registration?.initialAccessTokenFrom === undefined;
  return [...forwardRemarks, ...(isAnonymous ? anonymousRemarks : []), ...remarks];
}
