// Where the tokens of an identity provider are of no use to a gateway, the gateway can issue its own: the lines to write for that.
import {
  findIssuer,
  findPublicAccount,
  identityProviders,
  providersWithOpaqueTokens,
} from '../../api/identity-providers.ts';
import { RegistrationMode } from '../../ir/gen/config_pb.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import { guessProvider } from './guess-provider.ts';
import type { Findings } from './online-report.ts';

/** What to write so that no audience is needed. Ends with a full stop. */
export function recommendIssuer({ message }: Pick<McpAuthenticationConfig, 'message'>): string {
  const lines = [
    'flow: Issuer',
    ...(message.registration?.mode === RegistrationMode.SHARED
      ? []
      : ['registration: {mode: Shared, clientId: ID, clientSecretRef: {name: NAME, key: KEY}}']),
    ...(findAccount(message) === undefined ? [] : ['identity: {allow: {domains: [example.com]}}']),
  ];
  const without = message.audiences.length > 0 ? ', without audiences' : '';
  return `Or let the gateway issue its own tokens, for which no audience is needed: ${lines.join(', ')}${without}.`;
}

/** Puts a cross at an identity provider whose tokens only it can check. True: there is one. */
export function reportOpaqueTokens(findings: Findings, { message }: McpAuthenticationConfig): boolean {
  const guessed = message.provider === '' ? guessProvider(message.issuer) : message.provider;
  const provider = identityProviders.find((name) => name === guessed);
  if (provider === undefined || !providersWithOpaqueTokens.includes(provider)) return false;
  const isOwnIssuer = findIssuer({ provider }) !== message.issuer;
  findings.bad(
    'tokens',
    `access tokens of ${provider} are opaque: no gateway can check them`,
    `Let the gateway issue its own: provider: ${provider}${isOwnIssuer ? `, issuer: ${message.issuer}` : ''}, flow: Issuer, registration: {mode: Shared, clientId: ID, clientSecretRef: {name: NAME, key: KEY}}${findAccount(message) === undefined ? '' : ', identity: {allow: {domains: [example.com]}}'}; no audiences.`,
  );
  return true;
}

/** Where anybody can get an account, a policy has to say whose counts. */
function findAccount({ issuer, provider }: McpAuthenticationConfig['message']): string | undefined {
  return findPublicAccount({ issuer, provider: identityProviders.find((name) => name === provider) });
}
