// The xDS server: delta ADS and reports over gRPC. Every controller replica has one.
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import type { Log } from '../base/log.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';
import { AggregatedDiscoveryService } from '../ir/gen/discovery_pb.ts';
import { GatewayReports } from '../ir/gen/report_pb.ts';
import type { ConnectedGateway } from './connected-gateway.ts';
import { ConnectedGateways } from './connected-gateways.ts';
import { createGrpcHandler } from './grpc-handler.ts';
import { openGrpcPort, type XdsCertificate } from './grpc-port.ts';
import type { KeepAliveOptions } from './keep-alive.ts';
import { OpenCall } from './open-call.ts';
import type { PeerRequest, PeerVerdict } from './peer.ts';
import { RelayedGateways } from './relayed-gateways.ts';
import { serveDiscovery, type XdsObserver } from './serve-discovery.ts';
import { serveRelay, serveReport } from './serve-reports.ts';
import { defaultStrangerLimits, type StrangerLimits } from './stranger-limits.ts';
import { SnapshotBoard } from './snapshot-board.ts';
import type { Snapshot } from './snapshot.ts';

export type { XdsCertificate } from './grpc-port.ts';
export type { PeerRequest, PeerVerdict } from './peer.ts';
export type { XdsObserver } from './serve-discovery.ts';

export interface XdsServerOptions {
  readonly log: Log;
  /** Empty: every interface. */
  readonly address: string;
  readonly port: number;
  /** Undefined: plaintext. Otherwise TLS with the certificate at the moment of the handshake; without one, handshakes fail. */
  readonly certificate?: ReadonlyWatchable<XdsCertificate | undefined>;
  /** Authorizes a gateway for its Gateway's configuration. Called before anything is sent, and again while its streams are open. */
  readonly authorizeGateway: (peer: PeerRequest) => Promise<PeerVerdict>;
  /** Authorizes a peer to relay reports: only another replica of this controller. `gateway` is empty, `nodeId` the replica. */
  readonly authorizeReplica: (peer: PeerRequest) => Promise<PeerVerdict>;
  readonly observer: XdsObserver;
  /** Defaults: 20 s and 10 s. */
  readonly keepAlive?: KeepAliveOptions;
  /** How often peers with open streams are authorized again. Default: 5 min. */
  readonly recheckIntervalMs?: number;
  /** Limits for unauthenticated peers. */
  readonly strangers?: Partial<StrangerLimits>;
}

export interface XdsServer {
  /** The port that it is bound to. */
  readonly port: number;
  /**
   * Sets the snapshot of a Gateway; undefined: not known (yet), and nothing is sent or removed. Pushed to connected processes when no other change
   * follows within 10 ms, at the latest after 1 s.
   */
  setSnapshot(gateway: string, snapshot: Snapshot | undefined): void;
  /** The processes that are connected to this replica. */
  readonly connected: ReadonlyWatchable<readonly ConnectedGateway[]>;
  /** Those that other replicas relayed. */
  readonly relayed: ReadonlyWatchable<readonly ConnectedGateway[]>;
  /** Ends streams so that gateways reconnect to another replica at once, and closes the port. */
  close(): Promise<void>;
}

const defaultKeepAlive: KeepAliveOptions = { intervalMs: 20_000, timeoutMs: 10_000 };
const defaultRecheckIntervalMs = 5 * 60_000;
/** The timeout for the first message of a call. */
const firstMessageTimeoutMs = 30_000;
const maxCalls = 8_192;

/** Opens the port. Throws an XdsListenError when it cannot. */
export async function startXdsServer(options: XdsServerOptions): Promise<XdsServer> {
  const { observer } = options;
  const log = options.log.child({ component: 'xds' });
  const board = new SnapshotBoard();
  const connected = new ConnectedGateways();
  const relayed = new RelayedGateways();
  const calls = new CallRegistry();
  const surroundings = {
    log,
    board,
    connected,
    relayed,
    observer,
    authorizeGateway: options.authorizeGateway,
    authorizeReplica: options.authorizeReplica,
    recheckIntervalMs: options.recheckIntervalMs ?? defaultRecheckIntervalMs,
    refused: observer.refused.bind(observer),
  };

  const port = await openGrpcPort({
    log,
    address: options.address,
    port: options.port,
    certificate: options.certificate,
    keepAlive: options.keepAlive ?? defaultKeepAlive,
    strangers: { ...defaultStrangerLimits, ...options.strangers },
    handle: createGrpcHandler(routeCalls, log),
  });

  function routeCalls(router: ConnectRouter): void {
    router.service(AggregatedDiscoveryService, {
      async *deltaAggregatedResources(requests, context) {
        const iterator = requests[Symbol.asyncIterator]();
        const call = calls.open(context);
        try {
          const first = await readFirst(iterator, call);
          yield* serveDiscovery(iterator, first, context, call, surroundings);
        } finally {
          calls.close(call);
        }
      },
    });
    router.service(GatewayReports, {
      report: (reports, context) =>
        serveMessages(reports, context, (iterator, first, call) =>
          serveReport(iterator, first, context, call, surroundings),
        ),
      relay: (messages, context) =>
        serveMessages(messages, context, (iterator, first, call) =>
          serveRelay(iterator, first, context, call, surroundings),
        ),
    });
  }

  async function serveMessages<T>(
    messages: AsyncIterable<T>,
    context: HandlerContext,
    serve: (iterator: AsyncIterator<T>, first: T, call: OpenCall) => Promise<void>,
  ): Promise<object> {
    const iterator = messages[Symbol.asyncIterator]();
    const call = calls.open(context);
    try {
      await serve(iterator, await readFirst(iterator, call), call);
      return {};
    } finally {
      calls.close(call);
    }
  }

  log.info({ port: port.port, tls: options.certificate !== undefined }, 'xDS is served');
  return {
    port: port.port,
    setSnapshot: (gateway, snapshot) => board.set(gateway, snapshot),
    connected: connected.list,
    relayed: relayed.list,
    async close() {
      connected.close();
      relayed.close();
      board.close();
      calls.endAll(new ConnectError('the controller is shutting down', Code.Unavailable));
      await port.close();
    },
  };
}

/** The calls that are open, so that they can be ended. */
class CallRegistry {
  readonly #calls = new Set<OpenCall>();
  #closed: ConnectError | undefined;

  open(context: HandlerContext): OpenCall {
    if (this.#closed !== undefined) throw this.#closed;
    if (this.#calls.size >= maxCalls) throw new ConnectError('too many open calls', Code.ResourceExhausted);
    const call = new OpenCall(context.signal);
    this.#calls.add(call);
    call.onEnd(() => this.#calls.delete(call));
    return call;
  }

  close(call: OpenCall): void {
    call.end(new ConnectError('the call is over', Code.Canceled));
  }

  endAll(error: ConnectError): void {
    this.#closed = error;
    for (const call of this.#calls) call.end(error);
  }
}

async function readFirst<T>(iterator: AsyncIterator<T>, call: OpenCall): Promise<T> {
  const timer = setTimeout(() => {
    call.end(new ConnectError('the first message did not come in time', Code.DeadlineExceeded));
  }, firstMessageTimeoutMs).unref();
  try {
    const first = await call.until(iterator.next());
    if (first.done !== true) return first.value;
    throw new ConnectError('the stream ended before its first message', Code.InvalidArgument);
  } finally {
    clearTimeout(timer);
  }
}
