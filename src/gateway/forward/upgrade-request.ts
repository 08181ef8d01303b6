// Protocol switches such as WebSocket (RFC 9110 section 7.8, RFC 6455): asked for upstream, and when granted both connections become one
// pipe with backpressure and half-close. A client on HTTP/2 asks by extended CONNECT (RFC 8441); HTTP/1.1 upstreams are asked by Upgrade.
import { createHash, randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Exchange, RawHeaders, UpgradedSocket } from '../http/exchange.ts';
import type { Reason } from '../http/reasons.ts';
import { findHeader, withoutFields } from '../http/headers.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { AnonymousRequests } from './anonymous-requests.ts';
import type { UpstreamRequest } from './upstream/upstream-call.ts';
import { describeError } from './upstream/upstream-error.ts';

const keyField: ReadonlySet<string> = new Set(['sec-websocket-key']);
const acceptField: ReadonlySet<string> = new Set(['sec-websocket-accept']);

export interface UpgradeAnswer {
  /** The request as it goes to the upstream. */
  readonly request: UpstreamRequest;
  /** What is wrong with the upstream's 101, if anything. */
  check(headers: RawHeaders): string | undefined;
  /** The headers of the 101 as the client must see them. */
  answer(headers: RawHeaders): RawHeaders;
}

/** How an upgrade is asked for; undefined when the client asked for none. */
export function prepareUpgrade(exchange: Exchange, request: UpstreamRequest): UpgradeAnswer | undefined {
  const protocol = exchange.upgradeProtocol;
  if (protocol === undefined) return undefined;
  const checkProtocol = (headers: RawHeaders): string | undefined => {
    const granted = findHeader(headers, 'upgrade')?.toLowerCase();
    return granted === protocol.toLowerCase()
      ? undefined
      : `the upstream switched to ${granted ?? 'nothing'} instead of ${protocol}`;
  };
  if (exchange.httpVersion !== '2') {
    return {
      request: { ...request, hasBody: false, upgrade: protocol },
      check: checkProtocol,
      answer: (headers) => headers,
    };
  }

  // The key of RFC 6455 exists on HTTP/1.1 only: this hop makes one up and checks the answer to it (RFC 8441 section 5).
  const key = randomBytes(16).toString('base64');
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const isWebSocket = protocol.toLowerCase() === 'websocket';
  const headers = isWebSocket
    ? [...withoutFields(request.headers, keyField), 'sec-websocket-key', key]
    : request.headers;
  return {
    request: { ...request, method: 'GET', headers, hasBody: false, contentLength: undefined, upgrade: protocol },
    check: (received) => {
      if (isWebSocket && findHeader(received, 'sec-websocket-accept') !== accept)
        return 'the upstream did not accept our Sec-WebSocket-Key';
      return checkProtocol(received);
    },
    answer: (received) => withoutFields(received, acceptField),
  };
}

/** What joins a client to an upstream that switched protocols. */
interface UpgradeParts {
  readonly context: RequestContext;
  readonly client: UpgradedSocket;
  readonly upstream: Duplex;
  readonly idleTimeoutMs: number;
  readonly anonymous: AnonymousRequests | undefined;
}

/** Joins the two connections, and notes in the context why they end badly. */
export function joinUpgrade({ context, client, upstream, idleTimeoutMs, anonymous }: UpgradeParts): void {
  const breakOff = relayUpgrade(client, upstream, idleTimeoutMs, (reason, detail) => {
    context.reason ??= reason;
    context.detail ??= detail;
  });
  const upgraded = { breakOff };
  context.exchange.onClose(() => anonymous?.remove(upgraded));
  anonymous?.add(upgraded, context);
}

/** Joins the two connections until both directions have ended. `report` is called at most once, when the end was not a clean one. Returns what ends it. */
function relayUpgrade(
  client: UpgradedSocket,
  upstream: Duplex,
  idleTimeoutMs: number,
  report: (reason: Reason, detail: string) => void,
): (reason: Reason, detail: string) => void {
  const { stream, head } = client;
  let ended = false;
  const breakOff = (reason: Reason, detail: string): void => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    report(reason, detail);
    upstream.destroy();
    stream.destroy();
  };
  const timer =
    idleTimeoutMs === 0
      ? undefined
      : setTimeout(() => {
          // Bytes that a slow reader has not taken yet are not silence.
          if (stream.writableLength > 0 || upstream.writableLength > 0) timer?.refresh();
          else breakOff('upstream_idle_timeout', `no bytes in either direction for ${idleTimeoutMs} ms`);
        }, idleTimeoutMs);
  const refresh = (): void => {
    timer?.refresh();
  };

  if (head.length > 0) upstream.write(head);
  // `pipe` ends the other side's writing half when this side's has ended, and nothing more: a half-close stays one.
  stream.pipe(upstream);
  upstream.pipe(stream);
  stream.on('data', refresh);
  upstream.on('data', refresh);

  stream.on('error', (error) => breakOff('client_disconnected', describeError(error)));
  upstream.on('error', (error) => breakOff('upstream_aborted', describeError(error)));
  stream.on('close', () => {
    if (!stream.readableEnded) breakOff('client_disconnected', 'the client closed the connection');
    else clearTimeout(timer);
  });
  upstream.on('close', () => {
    if (!upstream.readableEnded) breakOff('upstream_aborted', 'the upstream closed the connection');
    else clearTimeout(timer);
  });
  return breakOff;
}
