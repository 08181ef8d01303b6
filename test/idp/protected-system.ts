// A whole system for a test: an MCP server, an identity provider, gateways in front of them, and one address that leads to the gateway of the moment.
import { type SampleServer, startSampleServer } from '../../src/demo/sample-mcp-server.ts';
import type { StartedIdp } from './auth-setups.ts';
import {
  createSealKeyFile,
  type ProtectedGateway,
  type ProtectedGatewayOptions,
  startProtectedGateway,
} from './protected-gateway.ts';
import { startTcpSwitch, type TcpSwitch } from './tcp-switch.ts';

/** The parts, running. */
export interface ProtectedSystem {
  readonly idp: StartedIdp;
  readonly mcpServer: SampleServer;
  readonly front: TcpSwitch;
  /** The gateway that answers now. */
  readonly gateway: ProtectedGateway;
  /** The protected server as clients see it. */
  readonly url: string;
  /** Ends the gateway and starts another one with the same configuration and the same key. */
  restart(): Promise<void>;
  /** Starts one more gateway with the same configuration and the same key. */
  addReplica(): Promise<ProtectedGateway>;
  close(): Promise<void>;
}

/** What the system consists of. */
export interface ProtectedSystemOptions {
  readonly startIdp: (callback: string) => Promise<StartedIdp>;
  /** Further members of the policy. */
  readonly authentication?: Readonly<Record<string, unknown>>;
  readonly flags?: readonly string[];
}

const path = '/tickets';

/** Starts everything. */
export async function startProtectedSystem(options: ProtectedSystemOptions): Promise<ProtectedSystem> {
  const stops: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const stop of stops.toReversed()) await stop();
  };
  try {
    const front = await startTcpSwitch();
    stops.push(() => front.close());
    const url = `http://127.0.0.1:${front.port}${path}`;
    const idp = await options.startIdp(`http://127.0.0.1:${front.port}/.oauth${path}/callback`);
    stops.push(() => idp.close());
    const mcpServer = await startSampleServer({ host: '127.0.0.1', port: 0 });
    stops.push(() => mcpServer.close());
    const key = createSealKeyFile();
    stops.push(() => key.remove());
    const settings: ProtectedGatewayOptions = {
      backends: [
        {
          path,
          port: Number(new URL(mcpServer.url).port),
          targetPath: new URL(mcpServer.url).pathname,
          authentication: { ...idp.authentication, ...options.authentication },
        },
      ],
      secrets: idp.secrets,
      // The switch in front has a port of its own.
      origin: new URL(url).origin,
      sealKeyFile: key.path,
      flags: options.flags ?? [],
    };
    let gateway = await startProtectedGateway(settings);
    stops.push(() => gateway.stop());
    front.pointTo(gateway.port);
    return {
      idp,
      mcpServer,
      front,
      url,
      get gateway() {
        return gateway;
      },
      async restart() {
        const [next] = await Promise.all([startProtectedGateway(settings), gateway.stop()]);
        gateway = next;
        front.pointTo(gateway.port);
      },
      async addReplica() {
        const replica = await startProtectedGateway(settings);
        stops.push(() => replica.stop());
        return replica;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
