// Is it an xDS server of ours that answers at an address, and does it turn strangers away? Asked without credentials, and nothing is told to it.
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { GatewayReports, RelayedGatewaysSchema } from '../ir/gen/report_pb.ts';
import { describeConnectionError } from './client-connection.ts';
import { ControllerSession, type SessionTimes } from './client-session.ts';

export interface ProbeOptions {
  /** http://host:port or https://host:port. */
  readonly server: string;
  /** PEM; undefined: the system's roots. */
  readonly ca: string | undefined;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

const times: SessionTimes = { connectMs: 30_000, pingIntervalMs: 20_000, pingTimeoutMs: 10_000 };

/** Undefined: it is one, and does. Otherwise what is wrong, in words for an operator. */
export async function probeXdsServer({ server, ca, signal }: ProbeOptions): Promise<string | undefined> {
  const session = new ControllerSession(server, ca, times);
  const onAbort = (): void => session.close();
  signal.addEventListener('abort', onAbort);
  const transport = createGrpcTransport({ baseUrl: server, sessionManager: session, acceptCompression: [] });
  let isConnected = false;
  try {
    await session.connect();
    isConnected = true;
    // The call of replicas: its peer is judged by its token alone, whatever Gateways there are.
    await createClient(GatewayReports, transport).relay(tellNothing(), { signal });
    return 'it lets in who has no token';
  } catch (error) {
    const { code, metadata } = ConnectError.from(error);
    // Said in gRPC: connect takes status 401 of any web server for the same.
    if (metadata.get('grpc-status') === `${Code.Unauthenticated}`) return undefined;
    if (signal.aborted) return 'it does not answer';
    const reason = describeConnectionError(error);
    return !isConnected || isOfServer.has(code) ? reason : `it is not an xDS server of this gateway: ${reason}`;
  } finally {
    signal.removeEventListener('abort', onAbort);
    session.close();
  }
}

/** What our server may answer instead, or the connection come to. */
const isOfServer: ReadonlySet<Code> = new Set([Code.Unavailable, Code.PermissionDenied, Code.ResourceExhausted]);

async function* tellNothing() {
  yield create(RelayedGatewaysSchema, { replica: 'probe' });
}
