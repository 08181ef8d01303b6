// The keys of an identity provider, fetched and judged as a gateway does (RFC 7517).
import type { GuardedFetcher } from '../../base/fetch-json.ts';
import type { Discovery } from '../../gateway/authentication/login/idp/discover-metadata.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import {
  createInlineKeySource,
  createKeySource,
  type KeySource,
} from '../../gateway/authentication/token/key-source.ts';
import type { Findings } from './online-report.ts';

/** Reports the keys that can verify tokens, counted by algorithm, and those that cannot. `effect`: what follows from having none. */
export async function checkKeys(
  findings: Findings,
  config: McpAuthenticationConfig,
  discovery: Discovery,
  fetcher: GuardedFetcher,
  effect = 'every request is answered 503',
): Promise<void> {
  const source = openKeys(config, discovery, fetcher);
  if (source === 'unknown') {
    // Without metadata that is a consequence, and was said.
    if (discovery.ok) findings.bad('keys', 'the metadata has no jwks_uri', 'Set jwks: {url} or {inline}.');
    return;
  }
  if (source === undefined) {
    findings.remark('keys', behindService);
    return;
  }
  await reportKeys(
    findings,
    source,
    () => `Without keys ${effect}. Does the identity provider publish signing keys there?`,
  );
}

/** Loads and reports keys, and closes their source. `advise` says what to do when none of them is usable, and why that is. */
export async function reportKeys(
  findings: Findings,
  source: KeySource,
  advise: (why: string) => string,
): Promise<void> {
  try {
    await source.load();
    const { url, keys, ignored, problem } = source.describe();
    const place = url === undefined ? 'inline' : url;
    if (keys.length === 0) {
      const why = problem ?? 'has no usable key';
      findings.bad('keys', url === undefined || why.includes(url) ? why : `${url}: ${why}`, advise(why));
    } else findings.good('keys', `${place}: ${keys.length} usable, ${countAlgorithms(keys)}`);
    for (const { id, index, why } of ignored) {
      findings.remark('keys', `key ${id ?? `number ${index + 1}`} is left out: it ${why}`);
    }
  } finally {
    source.close();
  }
}

/** Said of keys in the cluster. */
export const behindService = 'come from a Service, which only the gateway reaches';

/** Undefined for keys that only a gateway reaches. */
function openKeys(
  { message, ca }: McpAuthenticationConfig,
  discovery: Discovery,
  fetcher: GuardedFetcher,
): KeySource | 'unknown' | undefined {
  const origin = message.keys?.source;
  if (origin?.case === 'inline') return createInlineKeySource(origin.value);
  if (origin?.case === 'backend') return undefined;
  const allowInsecureHttp =
    origin?.case === 'url' ? message.keys?.allowInsecureHttp === true : message.allowInsecureHttp;
  const location = origin?.case === 'url' ? origin.value : discovery.ok ? discovery.jwksUri : undefined;
  if (location === undefined) return 'unknown';
  return createKeySource({ location, fetcher, ca, allowInsecureHttp });
}

/** "2 RS256, 1 ES256"; a key that serves a whole family is named by it. */
function countAlgorithms(keys: readonly { readonly algorithms: readonly string[] }[]): string {
  const counts = Map.groupBy(keys, ({ algorithms }) => nameFamily(algorithms));
  return [...counts].map(([name, ofName]) => `${ofName.length} ${name}`).join(', ');
}

function nameFamily(algorithms: readonly string[]): string {
  const [first = ''] = algorithms;
  if (algorithms.length === 1) return first;
  if (algorithms.some((name) => name.startsWith('RS'))) return 'RSA (any of RS and PS)';
  return algorithms.includes('EdDSA') ? 'EdDSA' : algorithms.join('/');
}
