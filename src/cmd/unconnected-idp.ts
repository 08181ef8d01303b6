// Compiles for `check`: all that a gateway would do with a configuration but for connecting to identity providers. Opens no socket by itself.
import type { EgressProxy } from '../base/egress-proxy.ts';
import { createFetcher, type GuardedFetcher } from '../base/fetch-json.ts';
import { silentLog } from '../base/log.ts';
import { createSealer } from '../base/sealed.ts';
import { type Compilation, compile } from '../gateway/config/compile/compile.ts';
import { JwtAuthenticationRegistry } from '../gateway/authentication/jwt/jwt-authentication-registry.ts';
import { AuthenticationRegistry } from '../gateway/authentication/mcp/mcp-authentication-registry.ts';
import { chooseFlow } from '../gateway/authentication/login/idp/choose-flow.ts';
import type { ConnectIdp } from '../gateway/config/idp-connection.ts';
import { findPreset } from '../gateway/authentication/login/idp/presets.ts';
import { createInlineKeySource, type KeySource } from '../gateway/authentication/token/key-source.ts';
import type { OpenKeySource } from '../gateway/authentication/token/open-key-source.ts';
import type { Configuration } from '../ir/configuration.ts';

/** A compilation whose identity providers were not asked, and the fetcher with which they can be. */
interface UnconnectedCompilation extends Compilation {
  readonly fetcher: GuardedFetcher;
}

/** Compiles. The caller closes the fetcher. */
export function compileUnconnected(configuration: Configuration, egress?: EgressProxy): UnconnectedCompilation {
  const fetcher = createFetcher({ proxy: egress });
  const registry = new AuthenticationRegistry({
    connectIdp: describeIdp,
    createSealer,
    findPreset,
    fetcher,
    log: silentLog,
  });
  const jwtRegistry = new JwtAuthenticationRegistry({ fetcher, log: silentLog, openKeySource: describeKeySource });
  const connections = {
    acquireAuthentication: registry.acquire,
    acquireJwtAuthentication: jwtRegistry.acquire,
    acceptsTestIssuers: true,
  };
  return { ...compile(configuration, undefined, connections), fetcher };
}

/** Inline keys of the policy are used; no others are fetched. */
const describeKeySource: OpenKeySource = (origin) =>
  origin.kind === 'inline' ? createInlineKeySource(origin.document) : unaskedKeys;

const unaskedKeys: KeySource = {
  getKeys: () => ({ ok: false, detail: 'the identity provider was not asked', retryAfterSeconds: 1 }),
  load: () => undefined,
  refetch: () => undefined,
  describe: () => ({ url: undefined, keys: [], ignored: [], fetchedAtMs: undefined, problem: undefined }),
  close() {},
};

/** Knows of the identity provider what the policy says about it. */
const describeIdp: ConnectIdp = (options) => ({
  issuer: options.issuer,
  fetcher: options.fetcher,
  hasKeys: options.keys.kind === 'inline',
  getMetadata: () => ({ ok: false, detail: 'the identity provider was not asked', retryAfterSeconds: 1 }),
  getFlow: () =>
    chooseFlow({
      ...options,
      metadata: undefined,
      emitsIssuer: false,
      addsToRequests: options.addsToRequests ?? false,
    }),
  validator: {
    validate: () => ({ ok: false, reason: 'keys_unavailable', detail: 'The identity provider was not asked.' }),
  },
  close: () => {},
});
