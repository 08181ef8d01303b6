// HTTP requests to the API server, over undici: credentials, connection pools, deadlines, and errors that name the request.
import { Pool, ProxyAgent, type Dispatcher } from 'undici';
import type { Access, ReadAccess, TlsAccess } from './access.ts';
import { readAnswerStatus } from './api-status.ts';
import { ApiError, ApiUnreachableError } from './client.ts';
import { describeFailure } from './describe-failure.ts';
import { WatchStreamError } from './watch-stream.ts';

/** A request, and its description for messages. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: object | undefined;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  /** `list secrets in default` */
  readonly what: string;
}

/** The body of a response, from undici. */
type AnswerBody = Dispatcher.ResponseData['body'];

interface ApiTransport {
  /** Sends a request and reads the answer as JSON. */
  call(request: ApiRequest, signal?: AbortSignal): Promise<unknown>;
  /** Sends a request with a streamed response. Fails when its head does not come in time; after that only the signal ends it. */
  stream(request: ApiRequest, signal: AbortSignal): Promise<AnswerBody>;
  /** Turns an error while reading a body into one of our errors. */
  explain(request: ApiRequest, error: unknown, signal: AbortSignal): unknown;
  close(): Promise<void>;
}

interface ApiTransportOptions {
  /** http(s)://host:port, optionally with a path in front of the API's own. */
  readonly server: string;
  /** Sent as User-Agent. */
  readonly userAgent: string;
  readonly readAccess: ReadAccess;
  /** An HTTP proxy to go through. */
  readonly proxy?: string | undefined;
  readonly timeoutMs: number;
}

/** Opens no connection yet. */
export function createApiTransport(options: ApiTransportOptions): ApiTransport {
  const { server, timeoutMs } = options;
  const url = new URL(server);
  const prefix = url.pathname.replace(/\/+$/, '');
  const pools = createPools(url.origin, options);

  async function send(request: ApiRequest, use: Use, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const access = await readAccess(request, false);
    const response = await sendWith(request, use, access, signal);
    if (response.statusCode !== 401) return response;
    // The token may have been replaced since it was read.
    const fresh = await readAccess(request, true);
    if (fresh.authorization === access.authorization && isSameTls(fresh.tls, access.tls)) return response;
    await response.body.dump();
    return await sendWith(request, use, fresh, signal);
  }

  async function readAccess(request: ApiRequest, fresh: boolean): Promise<Access> {
    try {
      return await options.readAccess(fresh);
    } catch (error) {
      throw new ApiUnreachableError(`cannot ${request.what}: ${describeFailure(error)}`, { cause: error });
    }
  }

  function sendWith(
    request: ApiRequest,
    use: Use,
    access: Access,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    return pools.get(access.tls)[use].request({
      origin: url.origin,
      path: `${prefix}${request.path}${formatQuery(request.query)}`,
      method: request.method,
      headers: {
        accept: request.accept ?? 'application/json',
        'user-agent': options.userAgent,
        ...(request.body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
        ...access.headers,
        ...(access.authorization !== undefined && { authorization: access.authorization }),
      },
      ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      signal,
    });
  }

  function explain(request: ApiRequest, error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted === true) return signal.reason;
    if (error instanceof ApiError || error instanceof ApiUnreachableError) return error;
    const isBroken = error instanceof WatchStreamError;
    const what = isBroken ? `cannot ${request.what}` : `cannot ${request.what}: no answer from ${server}`;
    return new ApiUnreachableError(`${what}: ${describeFailure(error)}`, { cause: error });
  }

  async function refuse(request: ApiRequest, response: Dispatcher.ResponseData): Promise<never> {
    const retryAfter = response.headers['retry-after'];
    const status = readAnswerStatus(
      response.statusCode,
      await response.body.text(),
      Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
    );
    throw new ApiError(`cannot ${request.what}: ${status.message}`, status);
  }

  return {
    async call(request, signal) {
      const deadline = startDeadline(timeoutMs, signal);
      try {
        const response = await send(request, 'calls', deadline.signal);
        if (response.statusCode >= 300 || response.statusCode < 200) return await refuse(request, response);
        return parseAnswer(request, server, await response.body.text());
      } catch (error) {
        throw explain(request, deadline.isOver() ? deadline.reason : error, signal);
      } finally {
        deadline.clear();
      }
    },
    async stream(request, signal) {
      const deadline = startDeadline(timeoutMs, signal);
      try {
        const response = await send(request, 'streams', deadline.signal);
        if (response.statusCode === 200) {
          deadline.onlyCaller();
          response.body.once('close', () => deadline.clear());
          return response.body;
        }
        return await refuse(request, response);
      } catch (error) {
        deadline.clear();
        throw explain(request, deadline.isOver() ? deadline.reason : error, signal);
      }
    },
    explain,
    close: () => pools.close(),
  };
}

function parseAnswer(request: ApiRequest, server: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiUnreachableError(`cannot ${request.what}: the answer of ${server} is not JSON`, { cause: error });
  }
}

function formatQuery(query: ApiRequest['query']): string {
  const given = Object.entries(query ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** A signal that follows the caller's signal and a timer, and can detach from both. AbortSignal.any would leak on a long-lived signal. */
interface Deadline {
  readonly signal: AbortSignal;
  readonly reason: Error;
  isOver(): boolean;
  /** Stops the timer, but still follows the caller's signal. */
  onlyCaller(): void;
  clear(): void;
}

function startDeadline(timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const reason = new Error(`no response within ${Math.round(timeoutMs / 1_000)} s`);
  const follow = (): void => controller.abort(caller?.reason);
  const timer = setTimeout(() => controller.abort(reason), timeoutMs);
  if (caller?.aborted === true) follow();
  else caller?.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    reason,
    isOver: () => controller.signal.reason === reason,
    onlyCaller: () => clearTimeout(timer),
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', follow);
    },
  };
}

/** Calls share a bounded connection pool, so that a burst of writes does not open thousands; every stream has its own connection. */
type Use = 'calls' | 'streams';
type PoolPair = Readonly<Record<Use, Dispatcher>>;

const maxCallConnections = 32;

interface Pools {
  get(tls: TlsAccess | undefined): PoolPair;
  close(): Promise<void>;
}

/** Connection pools, with new ones whenever certificates changed. Requests in flight on the old ones may finish. */
function createPools(origin: string, { proxy }: ApiTransportOptions): Pools {
  const open = new Set<Dispatcher>();
  let isClosed = false;
  let current: { readonly tls: TlsAccess | undefined; readonly pools: PoolPair } | undefined;
  function openPool(tls: TlsAccess | undefined, connections: number | null): Dispatcher {
    const common = {
      connections,
      // HTTP/1.1: a broken connection takes one watch with it, not all of them.
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: 10_000,
      // The deadlines of calls and the list-watch decide how long to wait.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    const options = Object.fromEntries(Object.entries(tls ?? {}).filter(([, value]) => value !== undefined));
    const pool =
      proxy === undefined
        ? new Pool(origin, { ...common, connect: { timeout: 10_000, keepAliveInitialDelay: 30_000, ...options } })
        : new ProxyAgent({ uri: proxy, requestTls: options, ...common });
    open.add(pool);
    return pool;
  }
  return {
    get(tls) {
      // A late request must not open connections that are never closed.
      if (isClosed) throw new Error('the client was closed');
      if (current !== undefined && isSameTls(current.tls, tls)) return current.pools;
      for (const old of Object.values(current?.pools ?? {}))
        // Closing fails if the pool was destroyed meanwhile; then it is closed, too.
        void old.close().then(
          () => open.delete(old),
          () => open.delete(old),
        );
      current = { tls, pools: { calls: openPool(tls, maxCallConnections), streams: openPool(tls, null) } };
      return current.pools;
    },
    async close() {
      isClosed = true;
      await Promise.all([...open].map((pool) => pool.destroy()));
    },
  };
}

function isSameTls(left: TlsAccess | undefined, right: TlsAccess | undefined): boolean {
  return (
    left === right ||
    (left?.ca === right?.ca &&
      left?.cert === right?.cert &&
      left?.key === right?.key &&
      left?.servername === right?.servername &&
      left?.rejectUnauthorized === right?.rejectUnauthorized)
  );
}
