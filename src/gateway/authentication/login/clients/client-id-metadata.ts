// Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): a client_id that is an https URL, where the client
// describes itself. Anyone can send any URL here, so target, size and rate of the fetches are limited.
import { readFreshness } from '../../../../base/cache-lifetime.ts';
import type { FetchOutcome, GuardedFetcher } from '../../../../base/fetch-json.ts';
import { readJsonObject } from '../../../../base/json-object.ts';
import type { Log } from '../../../../base/log.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import { createAddressLimiter } from './address-limiter.ts';
import { findDocumentEgress } from './document-egress.ts';
import type { ClientDocument, ClientDocumentResult } from '../../../config/shared-logins.ts';

/** The parts of a request that a document fetch depends on. */
interface DocumentRequest {
  readonly url: string;
  /** Of the client that asks. */
  readonly address: string;
  readonly perMinute: number;
  readonly now: () => number;
  /** Told when documents can no longer be fetched, and when they can again. */
  readonly log?: Log | undefined;
}

/** Documents in memory: a cache, nothing depends on it. */
export interface ClientDocuments {
  load(request: OAuthRequest, url: string): Promise<ClientDocumentResult>;
}

/** The same, for requests of other processes too. */
export interface DocumentCache {
  load(request: DocumentRequest, fetcher: GuardedFetcher): Promise<ClientDocumentResult>;
}

const timeoutMs = 5000;
const maxBytes = 16_384;
const maxRedirectUris = 100;
const maxCached = 512;
/** Concurrent fetches over all clients: the gateway must not be usable to flood others. */
const maxPending = 16;
const defaultLifetimeMs = 300_000;
const maxLifetimeMs = 86_400_000;

/** Whether a client_id is meant as a URL. Sealed client ids have no colon. */
export function isClientUrl(clientId: string): boolean {
  return clientId.startsWith('https://');
}

/** What is wrong with the URL itself; undefined: it may be fetched. `allowedDomains`: hosts, or `*.` and a domain for all below it; empty: any. */
export function findClientUrlProblem(clientId: string, allowedDomains: readonly string[]): string | undefined {
  const url = URL.parse(clientId);
  if (url === null || url.protocol !== 'https:' || clientId.length > 2048) return 'the client_id is not an https URL';
  if (url.username !== '' || url.password !== '') return 'the client_id must not have a user name or password';
  if (clientId.includes('#')) return 'the client_id must not have a fragment';
  if (url.pathname === '/') return 'the client_id must have a path';
  // Dot segments, an upper-case host or a default port would change the URL that the client sent.
  if (url.href !== clientId) return 'the client_id must be a URL in its normal form';
  if (allowedDomains.length > 0 && !allowedDomains.some((domain) => coversHost(domain, url.hostname)))
    return 'the operator of this gateway does not allow clients of this domain';
  return undefined;
}

/** Creates the cache of a process. Unused where several processes share one. */
export function createClientDocuments(): ClientDocuments {
  const cache = createDocumentCache();
  return {
    load(request, url) {
      const { idp, message } = request.resource.config;
      const { address } = request.context.client;
      const perMinute = message.registration!.perMinute;
      if (idp.shared !== undefined) return idp.shared.loadDocument(url, address, perMinute);
      return cache.load({ url, address, perMinute, now: () => request.now(), log: idp.log }, idp.fetcher);
    },
  };
}

/** Creates a cache that can serve other processes too. */
export function createDocumentCache(): DocumentCache {
  const cached = new Map<string, { readonly document: ClientDocument; readonly expiresAtMs: number }>();
  const pendingFetches = new Map<string, Promise<ClientDocumentResult>>();

  const limiter = createAddressLimiter();

  async function fetchDocument(
    { url, now, log }: DocumentRequest,
    fetcher: GuardedFetcher,
  ): Promise<ClientDocumentResult> {
    const fetched = await fetcher.fetch({
      url,
      chosenBy: 'client',
      headers: { accept: 'application/json' },
      timeoutMs,
      maxBytes,
    });
    tellEgress(url, fetched, findDocumentEgress(fetcher).note(fetched, now()), log);
    if (!fetched.ok)
      return {
        ok: false,
        problem: `the document cannot be fetched: ${fetched.code}`,
        ...((fetched.code === 'unreachable' || fetched.code === 'timeout') && { unreachable: fetched.message }),
      };
    if (fetched.status !== 200)
      return { ok: false, problem: `the document cannot be fetched: its server answered ${fetched.status}` };
    // Sites with user uploads seldom serve them as JSON.
    if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(fetched.headers.get('content-type') ?? ''))
      return { ok: false, problem: 'the document is not served as application/json' };
    const result = readClientDocument(url, fetched.body);
    const nowMs = now();
    const lifetimeMs = Math.min(readFreshness(fetched.headers, nowMs) ?? defaultLifetimeMs, maxLifetimeMs);
    if (result.ok && lifetimeMs > 0) {
      cached.delete(url);
      cached.set(url, { document: result.document, expiresAtMs: nowMs + lifetimeMs });
      if (cached.size > maxCached) cached.delete(cached.keys().next().value!);
    }
    return result;
  }

  return {
    load(request, fetcher) {
      const { url, address, perMinute } = request;
      const nowMs = request.now();
      const known = cached.get(url);
      if (known !== undefined && nowMs < known.expiresAtMs)
        return Promise.resolve({ ok: true, document: known.document });
      cached.delete(url);
      const pending = pendingFetches.get(url);
      if (pending !== undefined) return pending;
      // Fetching a new document counts like a registration.
      const waitSeconds = limiter.take(address, perMinute, nowMs);
      if (pendingFetches.size >= maxPending || waitSeconds > 0)
        return Promise.resolve({ ok: false, problem: 'too many documents are being fetched; try again shortly' });
      const fetching = fetchDocument(request, fetcher).finally(() => pendingFetches.delete(url));
      pendingFetches.set(url, fetching);
      return fetching;
    },
  };
}

/** Reads a document that was fetched from this URL. */
export function readClientDocument(url: string, body: string): ClientDocumentResult {
  const read = readJsonObject(body, { refuseDuplicateKeys: true });
  if (!read.ok) return { ok: false, problem: `the document ${read.problem}` };
  const {
    client_id: clientId,
    redirect_uris: redirectUris,
    client_name: name,
    scope,
    token_endpoint_auth_method: authMethod,
    client_secret: secret,
  } = read.value;
  if (clientId !== url) return { ok: false, problem: 'the client_id in the document must be the URL of the document' };
  if (secret !== undefined)
    return { ok: false, problem: 'the document must not have a client_secret, because it is public' };
  if (authMethod !== undefined && authMethod !== 'none')
    return { ok: false, problem: 'token_endpoint_auth_method in the document must be none' };
  if (!isStringList(redirectUris) || redirectUris.length === 0 || redirectUris.length > maxRedirectUris)
    return { ok: false, problem: `the document must have 1 to ${maxRedirectUris} redirect_uris` };
  return {
    ok: true,
    document: {
      redirectUris,
      name: typeof name === 'string' ? name : undefined,
      scope: typeof scope === 'string' ? scope : undefined,
    },
  };
}

function tellEgress(
  url: string,
  outcome: FetchOutcome,
  change: 'opened' | 'closed' | undefined,
  log: Log | undefined,
): void {
  const { host } = new URL(url);
  if (change === 'opened') log?.info({ host }, 'client metadata documents can be fetched again, and are offered again');
  if (change === 'closed' && !outcome.ok)
    log?.warn(
      { host, code: outcome.code },
      `client metadata documents cannot be fetched: ${outcome.message}. Where clientIdMetadataDocuments.enabled is not set they are not offered for 10 minutes, and clients register; allow https to ${host}, set HTTPS_PROXY, or set enabled: false`,
    );
}

function coversHost(domain: string, host: string): boolean {
  const pattern = domain.toLowerCase();
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}
