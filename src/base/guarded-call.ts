// One guarded call, on a connection of its own. Loaded with the first call: the HTTP client is large.
import type { SecureContext } from 'node:tls';
import { Client, errors } from 'undici';
import type { AddressChoice } from './address-guard.ts';
import { chooseProxy, type EgressProxy } from './egress-proxy.ts';
import { connectToProxy, EgressProxyError, formatProxyCredentials, refuseByProxy } from './egress-tunnel.ts';
import {
  BlockedAddressError,
  checkProxied,
  type ConnectorEnvironment,
  createGuardedConnector,
  createTrust,
  type LookupAddresses,
  lookupAddresses,
} from './guarded-connector.ts';
import {
  type CallLimit,
  fail,
  type FetchFailure,
  type FetchOutcome,
  type GuardedRequest,
  nameUrl,
} from './guarded-request.ts';

/** What calls of one fetcher have in common. */
export interface CallEnvironment extends Omit<ConnectorEnvironment, 'lookup'> {
  /** In place of the system's resolver and DNS. */
  readonly lookup: LookupAddresses | undefined;
  readonly proxy: EgressProxy | undefined;
  /** PEM; for requests that name no `ca` of their own. */
  readonly ca: string | undefined;
  /** By PEM. Reading a list of roots takes milliseconds; there are only as many as the configuration names. */
  readonly trusts: Map<string, SecureContext>;
}

/** Makes the call. Never throws. */
export async function makeGuardedCall(
  environment: CallEnvironment,
  request: GuardedRequest,
  url: URL,
  limit: CallLimit,
): Promise<FetchOutcome> {
  const call: Call = { url, limit, isConnected: false };
  const proxy = chooseProxy(environment.proxy, url);
  let client: Client | undefined;
  try {
    if (proxy !== undefined && url.protocol === 'http:') {
      await checkProxied(withLookup(environment), url.hostname.replace(/^\[|\]$/g, ''), describeCaller(request, url));
      client = connectToProxy(proxy, limit.timeoutMs);
      return await exchange(client, request, url, limit.signal, proxy);
    }
    const connector = createGuardedConnector(withLookup(environment), {
      ...describeCaller(request, url),
      proxy,
      secureContext: getTrust(environment.trusts, request.ca ?? environment.ca),
      timeoutMs: limit.timeoutMs,
      signal: limit.signal,
    });
    client = new Client(url.origin, {
      connect: (target, callback) =>
        connector(target, (...outcome) => {
          call.isConnected = outcome[0] === null;
          callback(...outcome);
        }),
      pipelining: 0,
      // The call has one timeout for all of its phases.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 32_768,
    });
    return await exchange(client, request, url, limit.signal);
  } catch (error) {
    return describeError(call, error, proxy);
  } finally {
    void client?.destroy();
  }
}

function withLookup(environment: CallEnvironment): ConnectorEnvironment {
  return { ...environment, lookup: environment.lookup ?? lookupAddresses };
}

function describeCaller({ chosenBy }: GuardedRequest, url: URL): { chosenBy: AddressChoice; port: number } {
  return { chosenBy, port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port) };
}

function getTrust(trusts: Map<string, SecureContext>, ca: string | undefined): SecureContext {
  const known = trusts.get(ca ?? '');
  if (known !== undefined) return known;
  const trust = createTrust(ca);
  if (trusts.size >= 64) trusts.clear();
  trusts.set(ca ?? '', trust);
  return trust;
}

/** With a proxy it is the proxy that gets the request, for the whole URL (RFC 9112 3.2.2). */
async function exchange(
  client: Client,
  request: GuardedRequest,
  url: URL,
  signal: AbortSignal,
  proxy?: URL,
): Promise<FetchOutcome> {
  const maxBytes = request.maxBytes ?? 1_048_576;
  const response = await client.request({
    path: `${proxy === undefined ? '' : url.origin}${url.pathname}${url.search}`,
    method: request.method ?? 'GET',
    headers: {
      'user-agent': 'mcp-gatehouse',
      ...lowerCaseNames(request.headers ?? {}),
      // Compressed content could be a thousand times larger than its limit.
      'accept-encoding': 'identity',
      ...(proxy === undefined ? {} : { host: url.host, ...formatProxyCredentials(proxy) }),
    },
    ...(request.body === undefined ? {} : { body: request.body }),
    signal,
  });
  const { statusCode: status, body } = response;
  // Without a listener a late error of the body would end the process.
  body.on('error', () => {});
  if (proxy !== undefined && status === 407) throw refuseByProxy(proxy, status);
  const headers = new Map(
    Object.entries(response.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
  if (status >= 300 && status < 400) return fail('redirect', describeRedirect(url, status, headers.get('location')));
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') {
    return fail('broken', `${nameUrl(url)} answers with compressed content, which the gateway did not request`);
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

/** Names the target of a redirect without its query, which may hold credentials. */
function describeRedirect(url: URL, status: number, location: string | undefined): string {
  const target = location !== undefined && URL.canParse(location, url) ? new URL(location, url) : undefined;
  const where = target === undefined ? '' : ` to ${target.origin === 'null' ? target.protocol : nameUrl(target)}`;
  return `${nameUrl(url)} answers ${status}, a redirect${where}; redirects are not followed`;
}

interface Call {
  readonly url: URL;
  readonly limit: CallLimit;
  isConnected: boolean;
}

/** Texts of errors are used only from before the request was sent: later ones could quote what was sent. */
function describeError({ url, limit, isConnected }: Call, error: unknown, proxy: URL | undefined): FetchFailure {
  const name = nameUrl(url);
  if (limit.isTimedOut) return fail('timeout', `${name} did not answer within ${limit.timeoutMs / 1_000} s`);
  if (limit.signal.aborted) return fail('unreachable', `${name}: the call was aborted`);
  if (error instanceof BlockedAddressError) return fail('blocked', `${name} is not called: ${error.message}`);
  if (error instanceof EgressProxyError) return fail('unreachable', `${name} cannot be reached: ${error.message}`);
  if (error instanceof errors.ConnectTimeoutError)
    return fail('timeout', `${name} did not accept a connection in time`);
  if (error instanceof errors.HeadersOverflowError) return fail('too_large', `${name} answers with too large headers`);
  if (error instanceof errors.InvalidArgumentError) return fail('broken', `${name}: the request has an invalid header`);
  const code = readErrorCode(error);
  if (isConnected) {
    return fail('broken', `${name} broke off or does not speak HTTP${code === undefined ? '' : ` (${code})`}`);
  }
  const forwarded = proxy !== undefined && url.protocol === 'http:';
  const reason = forwarded ? `the egress proxy ${proxy.host} cannot be reached` : explainConnectError(error, code);
  return fail('unreachable', `${name} cannot be reached: ${reason}`);
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
      return 'the connection was refused (ECONNREFUSED)';
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `its certificate is not trusted (${code}); a private CA needs caCertificateRef`;
    default:
      // OpenSSL's full text is hard to read; its reason is enough.
      if (error instanceof Error && 'reason' in error && code?.startsWith('ERR_SSL_') === true) {
        return `the TLS handshake failed (${String(error.reason)})`;
      }
      return error instanceof Error && error.message !== '' ? error.message : (code ?? 'unknown error');
  }
}
