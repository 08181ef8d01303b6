// A call of DeltaAggregatedResources: authorizes the gateway, feeds its requests to the state machine, and sends the responses.
import { randomBytes } from 'node:crypto';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import type { Log } from '../base/log.ts';
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from '../ir/gen/discovery_pb.ts';
import { authorizeCall, type AuthorizeOptions } from './authorize-call.ts';
import type { ConnectedGateways } from './connected-gateways.ts';
import { DeltaStream } from './delta-stream.ts';
import { readNodeIdentity } from './node-identity.ts';
import type { OpenCall } from './open-call.ts';
import type { PeerRequest, PeerVerdict } from './peer.ts';
import type { SnapshotBoard } from './snapshot-board.ts';

/** Counts for /metrics. All are called synchronously and must not throw. */
export interface XdsObserver {
  streamOpened(): void;
  streamClosed(): void;
  refused(reason: 'unauthenticated' | 'permission_denied' | 'unavailable'): void;
  /** One response. */
  pushed(typeUrl: string, resources: number, removed: number, bytes: number): void;
  acknowledged(typeUrl: string): void;
  rejected(typeUrl: string): void;
}

interface DiscoverySurroundings extends AuthorizeOptions {
  readonly board: SnapshotBoard;
  readonly connected: ConnectedGateways;
  readonly observer: XdsObserver;
  readonly authorizeGateway: (peer: PeerRequest) => Promise<PeerVerdict>;
}

/** How long the first responses wait for the requests of other types, so that no resource arrives before those that it refers to. */
const gatherMs = 10;

const codes = { invalid_argument: Code.InvalidArgument, resource_exhausted: Code.ResourceExhausted } as const;

/** Serves one stream until either side ends it. */
export async function* serveDiscovery(
  requests: AsyncIterator<DeltaDiscoveryRequest>,
  first: DeltaDiscoveryRequest,
  context: HandlerContext,
  call: OpenCall,
  surroundings: DiscoverySurroundings,
): AsyncGenerator<DeltaDiscoveryResponse> {
  const { board, connected, observer } = surroundings;
  const identity = readNodeIdentity(first.node);
  if ('problem' in identity) throw new ConnectError(identity.problem, Code.InvalidArgument);
  const claim = { nodeId: identity.nodeId, gateway: identity.gateway };
  const stopAsking = await authorizeCall(
    call,
    context,
    { claim, authorize: surroundings.authorizeGateway, endsWithToken: true },
    surroundings,
  );

  const log = surroundings.log.child(claim);
  const stream = new DeltaStream({ identity, nonce: randomBytes(6).toString('base64url') });
  const entry = connected.openStream(identity);
  const unsubscribe = board.subscribe(identity.gateway, (snapshot) => {
    stream.setTarget(snapshot);
    entry.update(stream);
    call.wake();
  });
  let gathering: NodeJS.Timeout | undefined;
  observer.streamOpened();
  log.info({ version: identity.version }, 'a gateway connected');

  const take = (request: DeltaDiscoveryRequest): void => {
    const outcome = stream.receive(request);
    if (outcome.kind === 'refused') return call.end(new ConnectError(outcome.message, codes[outcome.code]));
    if (outcome.answer === 'ack') observer.acknowledged(outcome.typeUrl);
    if (outcome.answer === 'nack') {
      observer.rejected(outcome.typeUrl);
      log.warn({ typeUrl: outcome.typeUrl, rejections: describeRejections(stream) }, 'a gateway rejected resources');
    }
    entry.update(stream);
    if (stream.hasAskedForAll) call.wake();
    else gathering ??= setTimeout(sendGathered, gatherMs).unref();
  };
  const sendGathered = (): void => {
    gathering = undefined;
    call.wake();
  };
  call.onEnd((error) => {
    stopAsking();
    unsubscribe();
    clearTimeout(gathering);
    entry.close();
    observer.streamClosed();
    log.info({ reason: error.rawMessage }, 'a gateway disconnected');
  });

  stream.setTarget(board.get(identity.gateway));
  take(first);
  void readRequests(requests, call, take);
  await call.sleep();
  while (call.error === undefined) {
    const response = stream.takeResponse();
    if (response === undefined) {
      await call.sleep();
      continue;
    }
    observePush(response, log, observer);
    yield response;
  }
  throw call.error;
}

/** Ends the call when the gateway ends its side: without answers its state is unknown. */
async function readRequests(
  requests: AsyncIterator<DeltaDiscoveryRequest>,
  call: OpenCall,
  take: (request: DeltaDiscoveryRequest) => void,
): Promise<void> {
  try {
    for (;;) {
      const next = await call.until(requests.next());
      if (next.done === true) return call.end(new ConnectError('the gateway ended the stream', Code.Canceled));
      take(next.value);
    }
  } catch (error) {
    call.end(ConnectError.from(error));
  }
}

function observePush(response: DeltaDiscoveryResponse, log: Log, observer: XdsObserver): void {
  const { typeUrl, resources, removedResources } = response;
  let bytes = 0;
  for (const { name, resource } of resources) bytes += name.length + (resource?.value.length ?? 0);
  observer.pushed(typeUrl, resources.length, removedResources.length, bytes);
  if (!log.isEnabled('debug')) return;
  log.debug({ typeUrl, resources: resources.length, removed: removedResources.length, bytes }, 'pushed');
}

/** Without versions: those of Secrets are hashes of secrets. */
function describeRejections({ rejections }: DeltaStream): object[] {
  return rejections.slice(0, 20).map(({ name, reason }) => ({ name, reason }));
}
