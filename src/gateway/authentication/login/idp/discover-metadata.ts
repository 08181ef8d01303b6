// Finds the IdP's metadata (RFC 8414 3, OpenID Connect Discovery 4): tries the possible URLs, takes the first valid document, and reports each answer.
import { readFreshness } from '../../../../base/cache-lifetime.ts';
import { readClockOffset } from '../../../../base/clock-offset.ts';
import { fetchJsonObject, type GuardedFetcher } from '../../../../base/fetch-json.ts';
import type { IdpConnectionOptions, IdpEndpoints, IdpMetadata } from '../../../config/idp-connection.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import { findFixedMetadata } from './fixed-metadata.ts';
import { appendOpenidConfiguration, insertAuthorizationServer, insertOpenidConfiguration } from './metadata-urls.ts';
import { validateMetadata } from './validate-metadata.ts';

export interface DiscoveryOptions {
  readonly issuer: string;
  /** Empty: discovered from the issuer. */
  readonly metadataUrl: string;
  /** From the policy: nothing is discovered. */
  readonly endpoints?: IdpEndpoints | undefined;
  readonly preset: ProviderPreset;
  /** Default: any but Issuer. */
  readonly flow?: IdpConnectionOptions['flow'];
  readonly ca: string | undefined;
  readonly allowInsecureHttp: boolean;
  readonly fetcher: GuardedFetcher;
}

/** The answer of one URL; for `check` and the log. */
interface DiscoveryTry {
  readonly url: string;
  /** Undefined: the document there is valid. */
  readonly problem: string | undefined;
  readonly durationMs: number;
}

export type Discovery =
  | {
      readonly ok: true;
      readonly metadata: IdpMetadata;
      /** Where the document comes from; in words where nothing was fetched. */
      readonly url: string;
      /** jwks_uri of this document, or of the other one when this has none. */
      readonly jwksUri: string | undefined;
      /** Any of its documents announces `iss` in authorization responses (RFC 9207). */
      readonly emitsIssuer: boolean;
      /** As the IdP says; undefined when it says nothing. */
      readonly freshForMs: number | undefined;
      /** How far the clock of the IdP was ahead of this machine's, in milliseconds; undefined: its answer did not tell. */
      readonly clockOffsetMs?: number | undefined;
      readonly tries: readonly DiscoveryTry[];
    }
  | { readonly ok: false; readonly detail: string; readonly tries: readonly DiscoveryTry[] };

/** The URLs in order of precedence. A URL that the operator sets is the only one. */
export function listMetadataUrls(
  options: Pick<DiscoveryOptions, 'issuer' | 'metadataUrl' | 'preset'>,
): readonly string[] {
  if (options.metadataUrl !== '') return [options.metadataUrl];
  const { issuer, preset } = options;
  const urls = preset.metadataUrls?.(issuer) ?? [
    insertAuthorizationServer(issuer),
    appendOpenidConfiguration(issuer),
    insertOpenidConfiguration(issuer),
  ];
  return [...new Set(urls)];
}

/** Where there is nothing to discover, because the policy or the preset says all that is known; undefined: there is. */
export function findFixedDiscovery(
  options: Pick<DiscoveryOptions, 'issuer' | 'endpoints' | 'preset' | 'allowInsecureHttp'>,
): Discovery | undefined {
  const fixed = findFixedMetadata(options);
  if (fixed === undefined) return undefined;
  if (!fixed.ok) return { ...fixed, tries: [] };
  const { metadata, source } = fixed;
  return {
    ok: true,
    metadata,
    url: source,
    jwksUri: undefined,
    emitsIssuer: false,
    freshForMs: undefined,
    tries: [],
  };
}

/**
 * Fetches all URLs concurrently, so that a hanging one does not delay the others. The first valid document in order wins. When OAuth and OpenID
 * documents name different registration endpoints, the OAuth one wins; an endpoint that only one document names is used, and so are scopes.
 */
export async function discoverMetadata(options: DiscoveryOptions): Promise<Discovery> {
  const fixed = findFixedDiscovery(options);
  if (fixed !== undefined) return fixed;
  const found = await Promise.all(listMetadataUrls(options).map((url) => fetchMetadata(options, url)));
  const tries = found.map(({ url, problem, durationMs }) => ({ url, problem, durationMs }));
  const valid = found.flatMap(({ url, metadata, freshForMs, clockOffsetMs }) =>
    metadata === undefined ? [] : [{ url, metadata, freshForMs, clockOffsetMs }],
  );
  const [first] = valid;
  if (first === undefined) {
    const said = tries.map(({ url, problem = '' }) => (problem.includes(url) ? problem : `${url}: ${problem}`));
    const detail = said.join('; ');
    return { ok: false, detail: `no metadata of ${options.issuer} (${detail})`, tries };
  }
  const findMember = (name: 'registration_endpoint' | 'jwks_uri' | 'userinfo_endpoint'): string | undefined =>
    valid.map(({ metadata }) => metadata[name]).find((value) => typeof value === 'string');
  const registration = findMember('registration_endpoint');
  // Other flows have no use for it.
  const userinfo = options.flow === 'Issuer' ? findMember('userinfo_endpoint') : undefined;
  const scopes = valid.map(({ metadata }) => metadata.scopes_supported).find((value) => value !== undefined);
  return {
    ok: true,
    metadata: {
      ...first.metadata,
      ...(registration !== undefined && { registration_endpoint: registration }),
      ...(userinfo !== undefined && { userinfo_endpoint: userinfo }),
      ...(scopes !== undefined && { scopes_supported: scopes }),
    },
    url: first.url,
    jwksUri: findMember('jwks_uri'),
    emitsIssuer: valid.some(({ metadata }) => metadata.authorization_response_iss_parameter_supported === true),
    freshForMs: first.freshForMs,
    ...(first.clockOffsetMs !== undefined && { clockOffsetMs: first.clockOffsetMs }),
    tries,
  };
}

interface FoundMetadata extends DiscoveryTry {
  readonly metadata: IdpMetadata | undefined;
  readonly freshForMs: number | undefined;
  readonly clockOffsetMs: number | undefined;
}

/** GET and never HEAD: to HEAD some IdPs answer 404 or a login page. */
async function fetchMetadata(options: DiscoveryOptions, url: string): Promise<FoundMetadata> {
  const startedAt = performance.now();
  const fail = (problem: string): FoundMetadata => ({
    url,
    problem,
    durationMs: performance.now() - startedAt,
    metadata: undefined,
    freshForMs: undefined,
    clockOffsetMs: undefined,
  });
  const outcome = await fetchJsonObject(options.fetcher, {
    url,
    chosenBy: 'operator',
    ca: options.ca,
    allowInsecureHttp: options.allowInsecureHttp,
  });
  if (!outcome.ok) {
    const isAbsent = outcome.status !== undefined && outcome.status !== 200;
    return fail(isAbsent ? `answers ${outcome.status}` : outcome.message);
  }
  if (outcome.status !== 200) return fail(`answers ${outcome.status}`);
  const verdict = validateMetadata(outcome.value, {
    issuer: options.issuer,
    acceptsIssuer:
      (options.flow === 'Issuer' ? options.preset.identity?.acceptsMetadataIssuer : undefined) ??
      options.preset.acceptsIssuer,
    allowInsecureHttp: options.allowInsecureHttp,
  });
  if (!verdict.ok) return fail(`the document ${verdict.problem}`);
  return {
    url,
    problem: undefined,
    durationMs: performance.now() - startedAt,
    metadata: verdict.metadata,
    freshForMs: readFreshness(outcome.headers, Date.now()),
    clockOffsetMs: readClockOffset(outcome.headers.get('date'), outcome.headers.get('age'), Date.now()),
  };
}
