// Asks a gRPC server for its health, as the kubelet does for a `grpc` probe: in plaintext, once, on a connection of its own.
import { connect } from 'node:http2';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { healthService, nameServingStatus } from '../grpc-health-service.ts';

/** Whom to ask about what. An empty service is the server as a whole. */
export interface HealthQuestion {
  readonly address: string;
  readonly port: number;
  readonly service: string;
  readonly timeoutMs: number;
}

/** What the server says. Throws when it does not answer in time, or with an error. */
export async function askHealth({ address, port, service, timeoutMs }: HealthQuestion): Promise<string> {
  const baseUrl = `http://${address}:${port}`;
  const session = connect(baseUrl);
  const broken = new Promise<never>((_, reject) => session.on('error', reject));
  const transport = createGrpcTransport({
    baseUrl,
    // Its own manager would let errors out that come after the answer.
    sessionManager: {
      authority: baseUrl,
      request: async (method, path, headers, options) =>
        session.request({ ...headers, ':method': method, ':path': path }, options),
      notifyResponseByteRead: () => undefined,
    },
  });
  try {
    const answer = createClient(healthService, transport).check({ service }, { timeoutMs });
    const { status } = await Promise.race([answer, broken]);
    return nameServingStatus(status);
  } finally {
    session.destroy();
  }
}
