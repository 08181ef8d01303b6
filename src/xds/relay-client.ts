// Reports the gateways that are connected to this replica to the leader: only the leader writes statuses, and it must know all gateways.
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import type { Log } from '../base/log.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';
import { GatewayReports, type RelayedGateways } from '../ir/gen/report_pb.ts';
import { Backoff, type BackoffTimes } from './client-backoff.ts';
import { describeConnectionError } from './client-connection.ts';
import type { ConnectedGateway } from './connected-gateway.ts';
import { MessageQueue } from './message-queue.ts';
import { createRelayMessage } from './relay-messages.ts';

export interface RelayOptions {
  readonly log: Log;
  /** The xDS port of the leader: http://host:port or https://host:port. */
  readonly leader: string;
  /** The name that the leader's certificate must have; undefined: the host of the URL. Replicas are reached by address, and have the certificate of their Service. */
  readonly serverName?: string;
  /** PEM of the CA that signed the leader's certificate, read anew for each connection; undefined: the system's roots. */
  readonly readCa?: () => Promise<string | undefined>;
  /** Read anew for each connection. Undefined: none is sent. */
  readonly readToken?: () => Promise<string>;
  /** Name of this replica: its pod's. */
  readonly replica: string;
  /** The gateways to report. */
  readonly connected: ReadonlyWatchable<readonly ConnectedGateway[]>;
  /** Random number in [0, 1), for jitter. */
  readonly random?: () => number;
}

export interface Relay {
  close(): Promise<void>;
}

const maxMessageBytes = 64 * 1024 * 1024;
/** The minimum interval between two messages: each has the whole state. */
const gapMs = 100;
const pingIntervalMs = 20_000;
const pingTimeoutMs = 10_000;
const refusals: ReadonlySet<Code> = new Set([Code.Unauthenticated, Code.PermissionDenied]);
const backoffTimes: BackoffTimes = {
  firstMs: 250,
  maxMs: 5_000,
  refusedFirstMs: 1_000,
  refusedMaxMs: 5_000,
  stableMs: 5_000,
};

/** Connects, and reconnects until it is closed. */
export function startRelay(options: RelayOptions): Relay {
  const log = options.log.child({ leader: options.leader });
  const closing = new AbortController();
  const backoff = new Backoff(backoffTimes, options.random ?? Math.random);
  let said = '';

  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const startedAt = performance.now();
      let reason = 'the leader ended the stream';
      let code: Code | undefined;
      try {
        await relayOnce(options, closing.signal);
      } catch (error) {
        reason = describeConnectionError(error);
        ({ code } = ConnectError.from(error));
      }
      if (closing.signal.aborted) return;
      const lastedMs = performance.now() - startedAt;
      // The leader shuts down, or requires a fresh token.
      const isGraceful = code === Code.Unavailable && lastedMs >= backoffTimes.stableMs;
      const level = reason === said || isGraceful ? 'debug' : 'warn';
      log[level]({ reason }, 'gateways cannot be reported to the leader; trying again');
      said = reason;
      const isRefusal = code !== undefined && refusals.has(code);
      await pause(backoff.next({ isGraceful, isRefusal, lastedMs }), closing.signal);
    }
  };
  const done = run();
  return {
    async close() {
      closing.abort();
      await done;
    },
  };
}

/** One connection. Returns or throws when it ends. */
async function relayOnce(options: RelayOptions, closing: AbortSignal): Promise<void> {
  const { connected, replica, serverName } = options;
  const ca = await options.readCa?.();
  const token = await options.readToken?.();
  const tls = { ...(ca === undefined ? {} : { ca }), ...(serverName === undefined ? {} : { servername: serverName }) };
  const session = new Http2SessionManager(options.leader, { pingIntervalMs, pingTimeoutMs }, tls);
  const transport = createGrpcTransport({
    baseUrl: options.leader,
    sessionManager: session,
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
    acceptCompression: [],
  });
  const messages = new MessageQueue<RelayedGateways>();
  const stop = tellChanges(connected, () => messages.replace(createRelayMessage(replica, connected.get())));
  try {
    await createClient(GatewayReports, transport).relay(messages, {
      signal: closing,
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    });
  } finally {
    stop();
    messages.close();
    session.abort();
  }
}

/** Reports now and after changes, at a limited rate. Returns the function that ends it. */
function tellChanges(connected: ReadonlyWatchable<unknown>, tell: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let toldAt = performance.now();
  tell();
  const unsubscribe = connected.subscribe(() => {
    timer ??= setTimeout(
      () => {
        timer = undefined;
        toldAt = performance.now();
        tell();
      },
      Math.max(0, toldAt + gapMs - performance.now()),
    ).unref();
  });
  return () => {
    unsubscribe();
    clearTimeout(timer);
  };
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs).unref();
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
