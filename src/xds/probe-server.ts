// Probes whether an xDS server of ours answers at an address and refuses peers without credentials. Sends no credentials and no state.
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { GatewayReports, RelayedGatewaysSchema } from '../ir/gen/report_pb.ts';
import { describeConnectionError } from './client-connection.ts';
import { ControllerSession, type SessionTimes } from './client-session.ts';

interface ProbeOptions {
  /** http://host:port or https://host:port. */
  readonly server: string;
  /** PEM; undefined: the system's roots. */
  readonly ca: string | undefined;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

const times: SessionTimes = { connectMs: 30_000, pingIntervalMs: 20_000, pingTimeoutMs: 10_000 };

/** Undefined: both are so. Otherwise the problem, for the operator. */
export async function probeXdsServer({ server, ca, signal }: ProbeOptions): Promise<string | undefined> {
  const session = new ControllerSession(server, ca, times);
  const onAbort = (): void => session.close();
  signal.addEventListener('abort', onAbort);
  const transport = createGrpcTransport({ baseUrl: server, sessionManager: session, acceptCompression: [] });
  let isConnected = false;
  try {
    await session.connect();
    isConnected = true;
    // The call of replicas: its authorization depends on the token alone, whatever Gateways exist.
    await createClient(GatewayReports, transport).relay(tellNothing(), { signal });
    return 'it accepts peers without a token';
  } catch (error) {
    const { code, metadata } = ConnectError.from(error);
    // Must be a gRPC status: connect maps the HTTP status 401 of any web server to the same code.
    if (metadata.get('grpc-status') === `${Code.Unauthenticated}`) return undefined;
    if (signal.aborted) return 'it does not answer';
    const reason = describeConnectionError(error);
    return !isConnected || isOfServer.has(code) ? reason : `it is not an xDS server of this gateway: ${reason}`;
  } finally {
    signal.removeEventListener('abort', onAbort);
    session.close();
  }
}

/** Other codes that our server or a failed connection may cause. */
const isOfServer: ReadonlySet<Code> = new Set([Code.Unavailable, Code.PermissionDenied, Code.ResourceExhausted]);

async function* tellNothing() {
  yield create(RelayedGatewaysSchema, { replica: 'probe' });
}
