// Fetches from identity providers, and documents that clients name, with timeouts, size limits, no redirects, a private CA, and addresses that are never
// called. (Against server-side request forgery: RFC 9728 7.7, OAuth 2.0 Security BCP.)
import { isIP } from 'node:net';
import type { SecureContext } from 'node:tls';
import { type AddressPolicy, classifyAddress, guardAddress } from './address-guard.ts';
import type { EgressProxy } from './egress-proxy.ts';
import type { LookupAddresses } from './guarded-connector.ts';
import {
  type CallLimit,
  fail,
  type FetchFailure,
  type FetchFailureCode,
  type FetchOutcome,
  type GuardedRequest,
  nameUrl,
} from './guarded-request.ts';
import { type JsonObject, readJsonObject } from './json-object.ts';
import type { LocalGuard } from './local-guard.ts';
import { isClusterName, isLoopbackName } from './local-names.ts';
import { type Log, silentLog } from './log.ts';

export type { FetchFailureCode, FetchOutcome, GuardedRequest } from './guarded-request.ts';

export interface GuardedFetcher {
  fetch(request: GuardedRequest): Promise<FetchOutcome>;
  /** Aborts calls in progress; later calls fail. No connection outlives its call. */
  close(): Promise<void>;
}

export interface FetcherOptions {
  readonly log?: Log;
  /** PEM; for requests that name no `ca` of their own. Default: the system's roots. */
  readonly ca?: string;
  /** Calls beyond loopback and cluster go through it. Default: none. */
  readonly proxy?: EgressProxy | undefined;
  /** In place of the system's resolver and DNS. */
  readonly lookup?: LookupAddresses;
  /** Replaces the rules of address-guard.ts; for tests, whose servers are all on loopback. */
  readonly addressPolicy?: AddressPolicy;
  /** Refuses addresses of this machine; none when absent. */
  readonly guard?: LocalGuard | undefined;
}

/** What reading a JSON object adds to the ways a fetch can fail. */
type FetchJsonFailureCode = FetchFailureCode | 'not_json';

type FetchJsonOutcome =
  | {
      readonly ok: true;
      readonly status: number;
      readonly headers: ReadonlyMap<string, string>;
      readonly value: JsonObject;
    }
  | {
      readonly ok: false;
      readonly code: FetchJsonFailureCode;
      readonly message: string;
      /** Present when there was an answer, of whatever content. */
      readonly status?: number;
      readonly headers?: ReadonlyMap<string, string>;
    };

/** Makes the fetcher of a process. Every call opens a connection: its address is checked each time, and no login fails on a connection that the peer just closed. */
export function createFetcher(options: FetcherOptions = {}): GuardedFetcher {
  const log = options.log ?? silentLog;
  const environment = {
    policy: options.addressPolicy ?? guardAddress,
    guard: options.guard,
    lookup: options.lookup,
    proxy: options.proxy,
    ca: options.ca,
    trusts: new Map<string, SecureContext>(),
  };
  const underWay = new Set<AbortController>();
  let isClosed = false;

  async function run(request: GuardedRequest, url: URL): Promise<FetchOutcome> {
    const timeoutMs = request.timeoutMs ?? 5_000;
    const controller = new AbortController();
    const limit: CallLimit = { timeoutMs, signal: controller.signal, isTimedOut: false };
    const timer = setTimeout(() => {
      limit.isTimedOut = true;
      controller.abort();
    }, timeoutMs);
    underWay.add(controller);
    try {
      // The HTTP client is large, and a gateway with all keys at hand may never need it.
      const { makeGuardedCall } = await import('./guarded-call.ts');
      return await makeGuardedCall(environment, request, url, limit);
    } finally {
      clearTimeout(timer);
      underWay.delete(controller);
    }
  }

  return {
    async fetch(request) {
      const url = checkUrl(request);
      if (!(url instanceof URL)) return url;
      if (isClosed) return fail('unreachable', `${nameUrl(url)} is not called: the gateway is shutting down`);
      const startedAt = performance.now();
      const outcome = await run(request, url);
      log.debug(
        {
          url: nameUrl(url),
          method: request.method ?? 'GET',
          ...(outcome.ok ? { status: outcome.status } : { code: outcome.code }),
          duration_ms: Math.round(performance.now() - startedAt),
        },
        outcome.ok ? 'fetched' : outcome.message,
      );
      return outcome;
    },
    close() {
      isClosed = true;
      for (const controller of underWay) controller.abort();
      return Promise.resolve();
    },
  };
}

/** Fetches a JSON object, whatever the status: errors of OAuth endpoints are JSON objects as well. */
export async function fetchJsonObject(fetcher: GuardedFetcher, request: GuardedRequest): Promise<FetchJsonOutcome> {
  const outcome = await fetcher.fetch({ ...request, headers: { accept: 'application/json', ...request.headers } });
  if (!outcome.ok) return outcome;
  const { status, headers, body } = outcome;
  const read = readJsonObject(body);
  if (read.ok) return { ok: true, status, headers, value: read.value };
  const type = headers.get('content-type')?.split(';')[0]?.trim();
  const content = type === undefined || !/^[\w.+-]+\/[\w.+-]+$/.test(type) ? 'content' : type;
  const message = `${nameUrl(new URL(request.url))} answers ${status} with ${content} that ${read.problem}`;
  return { ok: false, code: 'not_json', message, status, headers };
}

function checkUrl(request: GuardedRequest): URL | FetchFailure {
  const url = URL.canParse(request.url) ? new URL(request.url) : undefined;
  if (url === undefined) return fail('blocked', 'the URL is not valid');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return fail('blocked', `${url.protocol} URLs are not called; use https`);
  }
  if (url.username !== '' || url.password !== '') {
    return fail('blocked', `the URL at ${url.host} has credentials in it`);
  }
  if (url.protocol === 'https:') return url;
  if (request.chosenBy === 'client') return fail('blocked', `${nameUrl(url)} is not called: it is not https`);
  if (request.allowInsecureHttp === true || staysLocal(url.hostname)) return url;
  return fail(
    'blocked',
    `${nameUrl(url)} is not called: http is allowed only for loopback and *.svc.cluster.local; use https, or set allowInsecureHttp`,
  );
}

/** The hosts for which the API accepts http without allowInsecureHttp. */
function staysLocal(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return classifyAddress(host).kind === 'loopback';
  return isLoopbackName(host) || isClusterName(host);
}
