// Calls of GatewayReports: gateways report their state, and other replicas relay that of their gateways. Each message replaces the previous one.
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import type { GatewayReport, RelayedGateways as RelayMessage } from '../ir/gen/report_pb.ts';
import { authorizeCall, type AuthorizeOptions } from './authorize-call.ts';
import type { ConnectedGateways } from './connected-gateways.ts';
import type { OpenCall } from './open-call.ts';
import type { PeerRequest, PeerVerdict } from './peer.ts';
import type { RelayedGateways } from './relayed-gateways.ts';

interface ReportSurroundings extends AuthorizeOptions {
  readonly connected: ConnectedGateways;
  readonly authorizeGateway: (peer: PeerRequest) => Promise<PeerVerdict>;
}

/** Takes reports until the gateway ends the stream. It may report only about itself. */
export async function serveReport(
  reports: AsyncIterator<GatewayReport>,
  first: GatewayReport,
  context: HandlerContext,
  call: OpenCall,
  surroundings: ReportSurroundings,
): Promise<void> {
  const { nodeId, gateway } = first;
  if (nodeId === '') throw new ConnectError('node_id must be that of the discovery stream', Code.InvalidArgument);
  if (!/^[^/]+\/[^/]+$/.test(gateway)) throw new ConnectError('gateway must be namespace/name', Code.InvalidArgument);
  const claim = { nodeId, gateway };
  // The gateway ends it together with its discovery stream.
  const stopAsking = await authorizeCall(
    call,
    context,
    { claim, authorize: surroundings.authorizeGateway, endsWithToken: false },
    surroundings,
  );
  const entry = surroundings.connected.openReport(claim);
  call.onEnd(() => {
    stopAsking();
    entry.close();
  });
  for await (const report of followMessages(reports, first, call)) {
    if (report.nodeId !== nodeId || report.gateway !== gateway)
      throw new ConnectError('node_id and gateway of a report stream must not change', Code.InvalidArgument);
    entry.update(report);
  }
}

interface RelaySurroundings extends AuthorizeOptions {
  readonly relayed: RelayedGateways;
  readonly authorizeReplica: (peer: PeerRequest) => Promise<PeerVerdict>;
}

/** Takes the relayed state of another replica until it ends the stream. */
export async function serveRelay(
  messages: AsyncIterator<RelayMessage>,
  first: RelayMessage,
  context: HandlerContext,
  call: OpenCall,
  surroundings: RelaySurroundings,
): Promise<void> {
  const { replica } = first;
  if (replica === '') throw new ConnectError('replica must be the name of the replica', Code.InvalidArgument);
  const claim = { nodeId: replica, gateway: '' };
  const stopAsking = await authorizeCall(
    call,
    context,
    { claim, authorize: surroundings.authorizeReplica, endsWithToken: true },
    surroundings,
  );
  const entry = surroundings.relayed.open(replica);
  surroundings.log.info({ replica }, 'another replica relays its gateways');
  call.onEnd((error) => {
    stopAsking();
    entry.close();
    surroundings.log.info({ replica, reason: error.rawMessage }, 'another replica is gone');
  });
  for await (const message of followMessages(messages, first, call)) {
    if (message.replica !== replica)
      throw new ConnectError('replica must not change within a stream', Code.InvalidArgument);
    entry.update(message);
  }
}

/** The first message and those after it, until either side ends the call. */
async function* followMessages<T>(messages: AsyncIterator<T>, first: T, call: OpenCall): AsyncGenerator<T> {
  yield first;
  for (;;) {
    const next = await call.until(messages.next());
    if (next.done === true) return;
    yield next.value;
  }
}
