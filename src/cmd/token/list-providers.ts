// All issuers of a configuration whose tokens a policy accepts, with their requirements.
import { describeAuthentications, type DescribedResource } from '../../gateway/admin/describe-authentications.ts';
import { readCaCertificates } from '../../gateway/config/compile/read-ca-certificates.ts';
import type { RuntimeConfig } from '../../gateway/config/runtime-config.ts';
import { findChoice } from '../../gateway/authentication/login/idp/chosen-by.ts';
import { discoverMetadata } from '../../gateway/authentication/login/idp/discover-metadata.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import { spellResource } from '../../gateway/authentication/read-base.ts';
import type { GuardedFetcher } from '../../base/fetch-json.ts';
import type { RequiredClaim } from '../../gateway/authentication/token/check-claims.ts';
import { type KeyOrigin, readKeyOrigin } from '../../gateway/authentication/token/key-origin.ts';
import type { LocatedKeys } from '../../gateway/authentication/token/open-key-source.ts';
import { readRequiredClaims } from '../../gateway/authentication/token/required-claims.ts';
import type { AcceptedAudiences } from '../../gateway/authentication/token/verified-token.ts';
import type { KeySource, Secret } from '../../ir/gen/config_pb.ts';
import { formatEndpointPath } from '../../ir/endpoint-paths.ts';
import { describeKeys, ownKeys } from '../explain/assumed-keys.ts';
import { listPublicRoutes } from './public-routes.ts';
import type { ProviderVerdict } from './token-report.ts';

/** An issuer under a policy. */
export interface TokenProvider extends Pick<
  ProviderVerdict,
  'field' | 'policy' | 'provider' | 'issuer' | 'keys' | 'notes'
> {
  readonly audiences: AcceptedAudiences;
  readonly requiredClaims: readonly RequiredClaim[];
  readonly requiredScopes: readonly string[];
  /** Sessions are bound to users, so the token must name one. */
  readonly needsSubject: boolean;
  readonly clockSkewMs: number;
  readonly origin: KeyOrigin | LocatedKeys;
  readonly ca: string | undefined;
  /** The gateway issues the tokens itself; undefined: others do. */
  readonly own?: OwnTokens;
}

/** Tokens of the flow Issuer. */
export interface OwnTokens {
  /** Issuer of the identity provider. */
  readonly idp: string;
  /** The names of the gateway as their issuer; undefined: the configuration does not tell. */
  readonly issuers: readonly string[] | undefined;
}

/** Where providers are looked for. */
interface ProviderInput {
  readonly runtime: RuntimeConfig;
  /** Of the same configuration: certificate authorities. */
  readonly secrets: readonly Secret[];
  /** The URL that the token is for, where the configuration does not tell. */
  readonly resource: string | undefined;
  /** Finds keys that are named by metadata. */
  readonly fetcher: GuardedFetcher;
}

/** Lists them. */
export function listProviders({ runtime, secrets, resource, fetcher }: ProviderInput): TokenProvider[] {
  const authorities = new Map(secrets.map((secret) => [secret.key, secret]));
  const urls = new Map(describeAuthentications(runtime).map(({ policy, resources }) => [policy, resources]));
  const publicRoutes = listPublicRoutes(runtime);
  const ofJwt = runtime.jwtAuthentications.flatMap(({ source, message }) =>
    message.providers.map((provider): TokenProvider => ({
      field: 'traffic.jwtAuthentication',
      policy: source,
      provider: provider.name,
      issuer: provider.issuer,
      audiences: provider.audiences.length === 0 ? 'any' : provider.audiences,
      requiredClaims: readRequiredClaims(provider.requiredClaims),
      requiredScopes: [],
      needsSubject: false,
      clockSkewMs: provider.clockSkewMs,
      origin: findOrigin(provider.keys, runtime) ?? { kind: 'endpoints', listUrls: () => [] },
      ca: provider.ca === '' ? undefined : readCaCertificates(provider.ca, authorities),
      keys: describeKeys(provider.keys, provider.issuer),
      notes: publicRoutes.get(source) ?? [],
    })),
  );
  const ofMcp = runtime.authentications.map((config): TokenProvider => {
    const { source, message } = config;
    const resources = urls.get(source) ?? [];
    const known = resources.map(({ url }) => url);
    return {
      field: 'backend.mcp.authentication',
      policy: source,
      provider: '',
      issuer: message.issuer,
      ...findAudiences(message.audiences, resource, known),
      requiredClaims: readRequiredClaims(message.requiredClaims),
      requiredScopes: message.requiredScopes,
      needsSubject: message.sessionBinding,
      clockSkewMs: message.clockSkewMs,
      origin: findOrigin(message.keys, runtime) ?? discoverKeys(config, fetcher),
      ca: config.ca,
      keys: describeKeys(message.keys, message.issuer),
      ...(config.issuer !== undefined && describeOwn(message.issuer, resource, resources)),
    };
  });
  return [...ofJwt, ...ofMcp];
}

/** What differs where the gateway issues the tokens: it is their issuer under the URL of the resource or of its host, and has the keys. */
function describeOwn(
  idp: string,
  resource: string | undefined,
  resources: readonly DescribedResource[],
): Pick<TokenProvider, 'own' | 'origin' | 'keys'> & Partial<Pick<TokenProvider, 'issuer'>> {
  const servers = resource === undefined ? resources.flatMap(findServer) : [splitUrl(resource)];
  const [server] = servers;
  if (server === undefined)
    return { own: { idp, issuers: undefined }, origin: { kind: 'endpoints', listUrls: () => [] }, keys: ownKeys };
  const url = `${server.base}${formatEndpointPath(server.path, 'jwks')}`;
  return {
    issuer: `${server.base}${server.path}`,
    own: { idp, issuers: servers.flatMap(({ base, path }) => [`${base}${path}`, base]) },
    origin: { kind: 'url', url, allowInsecureHttp: url.startsWith('http:') },
    keys: `at ${url}`,
  };
}

/** Base and path of an authorization server of the gateway. Empty: whatever host clients use. */
function findServer({ metadataUrls: [metadata = ''] }: DescribedResource): readonly ReturnType<typeof splitUrl>[] {
  return metadata.includes('://*') ? [] : [splitUrl(metadata.replace('/.well-known/oauth-protected-resource', ''))];
}

function splitUrl(url: string): { readonly base: string; readonly path: string } {
  const { origin, pathname } = new URL(url);
  return { base: origin, path: pathname.replace(/\/$/, '') };
}

/** Without configured audiences the URL of the resource is the audience. A server that no route leads to has none. */
function findAudiences(
  configured: readonly string[],
  resource: string | undefined,
  known: readonly string[],
): Pick<TokenProvider, 'audiences' | 'notes'> {
  if (configured.length > 0) return { audiences: configured, notes: [] };
  if (resource !== undefined) return { audiences: spellResource(resource), notes: [] };
  if (known.length > 0) return { audiences: known.flatMap(spellResource), notes: [] };
  const note = 'the audience was not checked: it is the URL by which clients come, which --resource URL tells';
  return { audiences: 'any', notes: [note] };
}

function findOrigin(keys: KeySource | undefined, { backends }: RuntimeConfig): KeyOrigin | undefined {
  return readKeyOrigin(keys, () => {
    if (keys?.source.case !== 'backend') return [];
    const { backend, path } = keys.source.value;
    const endpoints = backends.get(backend)?.endpoints ?? [];
    return endpoints.map(({ host, port }) => `http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`);
  });
}

/** The jwks_uri of the metadata. */
function discoverKeys({ message, preset, ca }: McpAuthenticationConfig, fetcher: GuardedFetcher): LocatedKeys {
  const { issuer, metadataUrl, allowInsecureHttp } = message;
  return {
    kind: 'located',
    allowInsecureHttp,
    async locate() {
      const found = await discoverMetadata({ issuer, metadataUrl, preset, ca, allowInsecureHttp, fetcher });
      if (!found.ok) return found;
      return found.jwksUri === undefined
        ? { ok: false, detail: `the metadata at ${found.url} has no jwks_uri` }
        : { ok: true, url: found.jwksUri, chosenBy: findChoice(found.jwksUri, message) };
    },
  };
}
