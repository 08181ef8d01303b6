// The audience of tokens: the most common reason for a login that works and a token that does not. What is in a token shows only when there is one, so there is
// a tick only where the identity provider is known to put it there.
import { AuthenticationMode, RegistrationMode } from '../../ir/gen/config_pb.ts';
import { findPreset } from '../../gateway/authentication/login/idp/presets.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import type { ProviderPreset } from '../../gateway/config/provider-preset.ts';
import { guessProvider } from './guess-provider.ts';
import type { Findings } from './online-report.ts';
import { recommendIssuer } from './recommend-issuer.ts';

const look = 'mcp-gatehouse login URL --verbose prints the aud of a token';
const onlyLoginShows = `Only a login shows it: ${look}.`;

/** Compares what tokens carry, as far as it is known, with what the policy accepts. */
export function reportAudience(findings: Findings, config: McpAuthenticationConfig): void {
  const { message, preset } = config;
  if (message.mode === AuthenticationMode.PERMISSIVE && message.audiences.length === 0) return;
  const guessed = message.provider === '' ? findPreset(guessProvider(message.issuer) ?? '') : undefined;
  if (message.audiences.length > 0) reportConfigured(findings, config, guessed ?? preset);
  else reportResource(findings, config, guessed ?? preset);
}

function reportConfigured(findings: Findings, config: McpAuthenticationConfig, known: ProviderPreset): void {
  const { audiences, extraScopes } = config.message;
  const listed = audiences.join(', ');
  const asked = extraScopes.flatMap((scope) => known.audienceOfScope?.(scope) ?? []);
  if (asked.length > 0) {
    const scopes = asked.join(', ');
    if (asked.some((audience) => audiences.includes(audience)))
      findings.good('audience', `${listed}; extraScopes ask for tokens for ${scopes}`);
    else
      findings.remark(
        'audience',
        `${listed}, but extraScopes ask for tokens for ${scopes}, and ${known.name} gives them no other audience then`,
        `Set audiences: [${scopes}]. ${onlyLoginShows}`,
      );
    return;
  }
  const clientId = config.message.registration?.clientId ?? '';
  if (known.audienceIsClient === true && isShared(config) && audiences.includes(clientId))
    findings.good(
      'audience',
      `${listed}: tokens of ${known.name} are for the client's own id, unless it was set up otherwise`,
    );
  else if (known.audienceIsClient === true)
    findings.remark(
      'audience',
      `${listed}; tokens of ${known.name} are for the client's own id, unless it was set up otherwise`,
      `${onlyLoginShows} ${adviseOnClientId(config)}`,
    );
  else
    findings.remark(
      'audience',
      `${listed}; whether tokens carry it shows in a login`,
      `${look}: it has to be one of audiences.${isShared(config) ? '' : ' If it is the id of the client, use registration.mode Shared.'}`,
    );
}

function reportResource(findings: Findings, config: McpAuthenticationConfig, known: ProviderPreset): void {
  if (known.audienceIsClient === true)
    findings.remark(
      'audience',
      `the resource's own URL, but tokens of ${known.name} are for the client's own id, unless it was set up otherwise`,
      adviseOnClientId(config),
    );
  else if (known.resourceParameter === 'none')
    findings.remark(
      'audience',
      `the resource's own URL, which ${known.name} puts into tokens only if it was set up to (RFC 8707 is not supported)`,
      `${onlyLoginShows} Set audiences to what its tokens carry, or add the URL there by an audience mapper or a scope. ${recommendIssuer(config)}`,
    );
  else
    findings.remark(
      'audience',
      `the resource's own URL, which clients ask for (RFC 8707); some identity providers ignore that`,
      `${onlyLoginShows} ${recommendIssuer(config)}`,
    );
}

function adviseOnClientId(config: McpAuthenticationConfig): string {
  return isShared(config)
    ? `Set audiences: [${config.message.registration?.clientId}], the id of the client. ${recommendIssuer(config)}`
    : `Use registration.mode Shared and set audiences to the id of that client: tokens of clients that register carry ids that no list can have. ${recommendIssuer(config)}`;
}

function isShared({ message }: McpAuthenticationConfig): boolean {
  return message.registration?.mode === RegistrationMode.SHARED;
}
