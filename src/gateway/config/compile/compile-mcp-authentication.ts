// A policy message with MCP authentication -> the form the request path uses. Secrets and key endpoints are looked up here; connections
// to identity providers come from outside, because they outlive a configuration.
import { isIPv6 } from 'node:net';
import {
  AuthenticationMode,
  type KeySource,
  LoginFlow,
  type McpAuthentication,
  type Policy,
  RegistrationMode,
  type Secret,
} from '../../../ir/gen/config_pb.ts';
import { sealKeysKey } from '../../../ir/resource-keys.ts';
import type { AcquireJwtAuthentication } from '../../authentication/jwt/jwt-authentication-registry.ts';
import type { AcquireAuthentication } from '../../authentication/mcp/mcp-authentication-registry.ts';
import type { McpAuthenticationConfig } from '../protected-resource.ts';
import type { McpAuthorizationConfig } from '../mcp-authorization-config.ts';
import { createInlineKeySource } from '../../authentication/token/key-source.ts';
import { readSigningKeys } from './compile-signing-keys.ts';
import { PolicyError } from './policy-error.ts';
import { readCaCertificates } from './read-ca-certificates.ts';
import type { Lookup } from './recorded-reads.ts';
import type { BackendConfig } from '../runtime-config.ts';
import type { TakeoverCache } from './takeover-cache.ts';

const knownModes: ReadonlySet<AuthenticationMode> = new Set(Object.values(AuthenticationMode));

/** What the compilation of a policy may look up. */
export interface PolicySurroundings {
  readonly secrets: Lookup<Secret>;
  readonly backends: Lookup<BackendConfig>;
  /** Undefined: this process cannot authenticate, so targets of such policies are closed. */
  readonly acquireAuthentication: AcquireAuthentication | undefined;
  /** The same for JWT authentication. */
  readonly acquireJwtAuthentication: AcquireJwtAuthentication | undefined;
  /** Test tokens are accepted where a policy says so; refused when absent. */
  readonly acceptsTestIssuers?: boolean | undefined;
  /** Rules over messages by content: unchanged rules stay the same objects. Undefined: all are compiled anew. */
  readonly mcpAuthorizations?: TakeoverCache<McpAuthorizationConfig> | undefined;
}

/** Compiles the MCP authentication of a policy, or throws: then its target is closed. */
export function compileMcpAuthentication(
  policy: Policy,
  message: McpAuthentication,
  { secrets, backends, acquireAuthentication }: PolicySurroundings,
): McpAuthenticationConfig {
  if (acquireAuthentication === undefined) throw new PolicyError('this process cannot enforce authentication');
  if (!knownModes.has(message.mode))
    throw new PolicyError(`the authentication mode ${String(message.mode)} is not known`);
  if (message.issuer === '') throw new PolicyError('the policy names no issuer');
  const keyProblem = findKeyProblem(message.keys);
  if (keyProblem !== undefined) throw new PolicyError(keyProblem);
  const { registration } = message;
  if (registration === undefined || registration.perMinute === 0 || registration.maxBodyBytes === 0)
    throw new PolicyError('the policy has no limits for registration');
  const issuerProblem = findIssuerProblem(message);
  if (issuerProblem !== undefined) throw new PolicyError(issuerProblem);
  return acquireAuthentication({
    source: policy.source,
    message,
    ca: message.ca === '' ? undefined : readCaCertificates(message.ca, secrets),
    keyUrls: message.keys?.source.case === 'backend' ? listKeyUrls(message.keys.source.value, backends) : [],
    sealKeys: readSealKeys(secrets),
    initialAccessToken: readText(registration?.initialAccessToken, secrets),
    clientCredentialsSecret: readText(registration?.initialAccessTokenFrom?.clientSecret, secrets),
    sharedClientSecret: readText(registration?.clientSecret, secrets),
    // Other flows do not depend on them: their configurations stay the same when keys change.
    signingKeys: message.flow === LoginFlow.ISSUER ? readSigningKeys(secrets) : undefined,
  });
}

/** Why a policy cannot issue tokens; undefined when it can, or has another flow. Translation refuses all of these, but may have another version. */
function findIssuerProblem({ flow, identity, issuedTokens, endpoints, registration, audiences }: McpAuthentication) {
  if (flow !== LoginFlow.ISSUER)
    return identity === undefined && issuedTokens === undefined && endpoints === undefined
      ? undefined
      : 'identity, tokens and endpoints need the flow Issuer';
  if (identity === undefined || issuedTokens === undefined) return 'the flow Issuer needs identity and tokens';
  if (issuedTokens.lifetimeMs === 0) return 'the policy sets no lifetime of tokens';
  if (registration?.mode !== RegistrationMode.SHARED) return 'the flow Issuer needs registration.mode Shared';
  if (audiences.length > 0) return 'the flow Issuer has no audiences: tokens are for the URL of the resource';
  return undefined;
}

function readText(key: string | undefined, secrets: Lookup<Secret>): string | undefined {
  if (key === undefined || key === '') return undefined;
  const value = secrets.get(key)?.value;
  if (value?.case !== 'text' || value.value === '') throw new PolicyError(`the secret ${key} is missing`);
  return value.value;
}

/** The seal keys, the active key first; empty when none are configured. */
export function readSealKeys(secrets: Lookup<Secret>): readonly Uint8Array[] {
  const value = secrets.get(sealKeysKey)?.value;
  return value?.case === 'sealKeys' ? value.value.keys : [];
}

/** Why the key source of a policy is unusable; undefined when it is usable. Only a changed policy helps, so it is reported at once. */
export function findKeyProblem(keys: KeySource | undefined): string | undefined {
  if (keys === undefined || keys.cacheDurationMs === 0) return 'the policy sets no cache duration for keys';
  if (keys.source.case !== 'inline') return undefined;
  const state = createInlineKeySource(keys.source.value).getKeys();
  return state.ok ? undefined : state.detail;
}

/** URLs of the endpoints of a backend that serves keys, or throws. */
export function listKeyUrls(
  { backend, path }: { readonly backend: string; readonly path: string },
  backends: Lookup<BackendConfig>,
): readonly string[] {
  const config = backends.get(backend);
  if (config === undefined) throw new PolicyError(`the backend ${backend} that serves the keys cannot be used`);
  if (config.protocol !== 'http1' || config.tls !== undefined)
    throw new PolicyError(`the backend ${backend} that serves the keys does not speak HTTP/1.1 without TLS`);
  return config.endpoints.map(({ host, port }) => `http://${isIPv6(host) ? `[${host}]` : host}:${port}${path}`);
}
