// The one way out to identity providers and to documents that clients name: time-outs, size limits, no redirects, a private CA,
// and addresses that are never called. (RFC 9728 7.7, OAuth 2.0 Security BCP; known as server-side request forgery.)
import { isIP } from 'node:net';
import type { SecureContext } from 'node:tls';
import { Client, errors } from 'undici';
import { type AddressPolicy, classifyAddress, guardAddress } from './address-guard.ts';
import {
  BlockedAddressError,
  createGuardedConnector,
  createTrust,
  type EgressProxy,
  EgressProxyError,
  isClusterName,
  isLoopbackName,
  type LookupAddresses,
  lookupAddresses,
} from './guarded-connector.ts';
import { type JsonObject, readJsonObject } from './json-object.ts';
import { type Log, silentLog } from './log.ts';

export interface GuardedRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * Who chose the address. Link-local and metadata addresses are refused always; private and loopback ones too when a client
   * chose it. What the name resolves to counts, at the time of the connection (DNS rebinding).
   */
  readonly chosenBy: 'operator' | 'client';
  /** PEM; in place of the system's roots. */
  readonly ca?: string | undefined;
  /** http is allowed beyond loopback and cluster-local names. */
  readonly allowInsecureHttp?: boolean;
  /** Default 5 s, for everything together. */
  readonly timeoutMs?: number;
  /** Default 1 MiB. */
  readonly maxBytes?: number;
}

export type FetchFailureCode =
  | 'blocked' // the address or scheme is not to be called
  | 'timeout'
  | 'unreachable' // DNS, TCP, TLS
  | 'redirect' // a 3xx; redirects are never followed
  | 'too_large'
  | 'broken'; // the answer is no HTTP, or ended early

export type FetchOutcome =
  | {
      readonly ok: true;
      readonly status: number;
      /** Lower-case names; several lines of one name joined with ', '. */
      readonly headers: ReadonlyMap<string, string>;
      readonly body: string;
    }
  | { readonly ok: false; readonly code: FetchFailureCode; readonly message: string };

export interface GuardedFetcher {
  fetch(request: GuardedRequest): Promise<FetchOutcome>;
  /** Breaks off what is under way; later calls fail. No connection outlives its call. */
  close(): Promise<void>;
}

export interface FetcherOptions {
  readonly log?: Log;
  /** PEM; for requests that name no `ca` of their own. Default: the system's roots. */
  readonly ca?: string;
  /** Calls beyond loopback and cluster go through it. Default: none. */
  readonly proxy?: EgressProxy;
  /** In place of the system's resolver and DNS. */
  readonly lookup?: LookupAddresses;
  /** In place of the rules of address-guard.ts; for tests, whose servers are all on loopback. */
  readonly addressPolicy?: AddressPolicy;
}

/** What reading a JSON object adds to the ways a fetch can fail. */
export type FetchJsonFailureCode = FetchFailureCode | 'not_json';

export type FetchJsonOutcome =
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

type Failure = Extract<FetchOutcome, { readonly ok: false }>;

/** Makes the fetcher of a process. Every call has a connection of its own: its address is checked each time, and no login fails on a connection that the other side just closed. */
export function createFetcher(options: FetcherOptions = {}): GuardedFetcher {
  const log = options.log ?? silentLog;
  const environment = {
    policy: options.addressPolicy ?? guardAddress,
    lookup: options.lookup ?? lookupAddresses,
    proxy: options.proxy,
  };
  // Reading a list of roots takes milliseconds; there are only as many as the configuration names.
  const trusts = new Map<string, SecureContext>();
  const underWay = new Set<AbortController>();
  let isClosed = false;

  function getTrust(ca: string | undefined): SecureContext {
    const known = trusts.get(ca ?? '');
    if (known !== undefined) return known;
    const trust = createTrust(ca);
    if (trusts.size >= 64) trusts.clear();
    trusts.set(ca ?? '', trust);
    return trust;
  }

  async function run(request: GuardedRequest, url: URL): Promise<FetchOutcome> {
    const timeoutMs = request.timeoutMs ?? 5_000;
    const controller = new AbortController();
    const { signal } = controller;
    const call: Call = { url, timeoutMs, signal, isTimedOut: false, isConnected: false };
    let client: Client | undefined;
    const timer = setTimeout(() => {
      call.isTimedOut = true;
      controller.abort();
    }, timeoutMs);
    underWay.add(controller);
    try {
      const secureContext = getTrust(request.ca ?? options.ca);
      const connector = createGuardedConnector(environment, {
        chosenBy: request.chosenBy,
        secureContext,
        timeoutMs,
        signal,
      });
      client = new Client(url.origin, {
        connect: (target, callback) =>
          connector(target, (...outcome) => {
            call.isConnected = outcome[0] === null;
            callback(...outcome);
          }),
        pipelining: 0,
        // The timer above is the limit for everything together.
        headersTimeout: 0,
        bodyTimeout: 0,
        maxHeaderSize: 32_768,
      });
      return await exchange(client, request, url, signal);
    } catch (error) {
      return describeError(call, error);
    } finally {
      clearTimeout(timer);
      underWay.delete(controller);
      void client?.destroy();
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

/** The URL as it may be shown: queries can hold credentials. */
function nameUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

function fail(code: FetchFailureCode, message: string): Failure {
  return { ok: false, code, message };
}

function checkUrl(request: GuardedRequest): URL | Failure {
  const url = URL.canParse(request.url) ? new URL(request.url) : undefined;
  if (url === undefined) return fail('blocked', 'the URL is not valid');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return fail('blocked', `${url.protocol} URLs are not called, only https`);
  }
  if (url.username !== '' || url.password !== '') {
    return fail('blocked', `the URL at ${url.host} has credentials in it`);
  }
  if (url.protocol === 'https:') return url;
  if (request.chosenBy === 'client') return fail('blocked', `${nameUrl(url)} is not called: it is not https`);
  if (request.allowInsecureHttp === true || staysLocal(url.hostname)) return url;
  return fail(
    'blocked',
    `${nameUrl(url)} is not called: http is for loopback and *.svc.cluster.local, elsewhere allowInsecureHttp is needed`,
  );
}

/** The same hosts that the API lets pass without allowInsecureHttp. */
function staysLocal(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return classifyAddress(host).kind === 'loopback';
  return isLoopbackName(host) || isClusterName(host);
}

async function exchange(client: Client, request: GuardedRequest, url: URL, signal: AbortSignal): Promise<FetchOutcome> {
  const maxBytes = request.maxBytes ?? 1_048_576;
  const response = await client.request({
    path: `${url.pathname}${url.search}`,
    method: request.method ?? 'GET',
    headers: {
      'user-agent': 'mcp-gateway',
      ...lowerCaseNames(request.headers ?? {}),
      // Compressed content could be a thousand times larger than its limit.
      'accept-encoding': 'identity',
    },
    ...(request.body === undefined ? {} : { body: request.body }),
    signal,
  });
  const { statusCode: status, body } = response;
  // Ends with the connection; without a listener its late error would end the process.
  body.on('error', () => {});
  const headers = new Map(
    Object.entries(response.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
  if (status >= 300 && status < 400) return fail('redirect', describeRedirect(url, status, headers.get('location')));
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') {
    return fail('broken', `${nameUrl(url)} answers with compressed content, although none was asked for`);
  }
  const tooLarge = fail('too_large', `${nameUrl(url)} answers with more than ${maxBytes} bytes`);
  if (Number(headers.get('content-length') ?? 0) > maxBytes) return tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) return tooLarge;
    chunks.push(chunk);
  }
  return { ok: true, status, headers, body: new TextDecoder().decode(Buffer.concat(chunks)) };
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Where a redirect leads is worth knowing; its query may hold credentials. */
function describeRedirect(url: URL, status: number, location: string | undefined): string {
  const target = location !== undefined && URL.canParse(location, url) ? new URL(location, url) : undefined;
  const where = target === undefined ? '' : ` to ${target.origin === 'null' ? target.protocol : nameUrl(target)}`;
  return `${nameUrl(url)} answers ${status}, a redirect${where}; redirects are not followed`;
}

interface Call {
  readonly url: URL;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  isTimedOut: boolean;
  isConnected: boolean;
}

/** Texts of errors are used only from before the request was sent: later ones could quote what was sent. */
function describeError(call: Call, error: unknown): Failure {
  const name = nameUrl(call.url);
  if (call.isTimedOut) return fail('timeout', `${name} did not answer within ${call.timeoutMs / 1_000} s`);
  if (call.signal.aborted) return fail('unreachable', `${name}: the call was broken off`);
  if (error instanceof BlockedAddressError) return fail('blocked', `${name} is not called: ${error.message}`);
  if (error instanceof EgressProxyError) return fail('unreachable', `${name} cannot be reached: ${error.message}`);
  if (error instanceof errors.ConnectTimeoutError)
    return fail('timeout', `${name} did not accept a connection in time`);
  if (error instanceof errors.HeadersOverflowError) return fail('too_large', `${name} answers with too large headers`);
  if (error instanceof errors.InvalidArgumentError) return fail('broken', `${name}: the request has an invalid header`);
  const code = readErrorCode(error);
  if (call.isConnected) {
    return fail('broken', `${name} broke off or does not speak HTTP${code === undefined ? '' : ` (${code})`}`);
  }
  return fail('unreachable', `${name} cannot be reached: ${explainConnectError(error, code)}`);
}

function readErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

function explainConnectError(error: unknown, code: string | undefined): string {
  switch (code) {
    case 'ENOTFOUND':
    case 'ENODATA':
    case 'EAI_AGAIN':
      return `its name does not resolve (${code})`;
    case 'ECONNREFUSED':
      return 'nothing listens there (ECONNREFUSED)';
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `its certificate is not trusted (${code}); a private CA needs caCertificateRef`;
    default:
      // OpenSSL's own text is for those who wrote it.
      if (error instanceof Error && 'reason' in error && code?.startsWith('ERR_SSL_') === true) {
        return `the TLS handshake failed (${String(error.reason)})`;
      }
      return error instanceof Error && error.message !== '' ? error.message : (code ?? 'unknown error');
  }
}
