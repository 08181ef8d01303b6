// An xDS server on loopback, and gateways that speak to it over real connections.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { silentLog } from '../../src/base/log.ts';
import {
  AggregatedDiscoveryService,
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
} from '../../src/ir/gen/discovery_pb.ts';
import { GatewayReports } from '../../src/ir/gen/report_pb.ts';
import { MessageQueue } from '../../src/xds/message-queue.ts';
import { resourceTypes } from '../../src/xds/resource-types.ts';
import { startXdsServer, type XdsServer, type XdsServerOptions } from '../../src/xds/server.ts';
import { ReferenceClient } from '../../src/xds/testing/reference-client.ts';

/** The Gateway of the reference client. */
export const gateway = 'default/web';

/** What the server counted. */
export interface Counts {
  readonly refused: string[];
  readonly pushed: { readonly typeUrl: string; readonly resources: number; readonly bytes: number }[];
  readonly acknowledged: string[];
  readonly rejected: string[];
  open: number;
}

/** Starts a server that lets everyone in, unless told otherwise. It closes with the test. */
export async function startServer(
  t: TestContext,
  overrides: Partial<XdsServerOptions> = {},
): Promise<{ server: XdsServer; counts: Counts }> {
  const counts: Counts = { refused: [], pushed: [], acknowledged: [], rejected: [], open: 0 };
  const server = await startXdsServer({
    log: silentLog,
    address: '127.0.0.1',
    port: 0,
    authorizeGateway: async () => ({ allowed: true }),
    authorizeReplica: async () => ({ allowed: true }),
    observer: {
      streamOpened: () => void (counts.open += 1),
      streamClosed: () => void (counts.open -= 1),
      refused: (reason) => counts.refused.push(reason),
      pushed: (typeUrl, resources, _removed, bytes) => counts.pushed.push({ typeUrl, resources, bytes }),
      acknowledged: (typeUrl) => counts.acknowledged.push(typeUrl),
      rejected: (typeUrl) => counts.rejected.push(typeUrl),
    },
    ...overrides,
  });
  t.after(() => server.close());
  return { server, counts };
}

export interface ConnectOptions {
  readonly client?: ReferenceClient;
  readonly token?: string;
  readonly ca?: string;
  readonly scheme?: 'http' | 'https';
  /** Answers by itself what it received. Default: true. */
  readonly answers?: boolean;
}

export function createTransport(port: number, { scheme = 'http', ca }: ConnectOptions = {}) {
  return createGrpcTransport({
    baseUrl: `${scheme}://127.0.0.1:${port}`,
    readMaxBytes: 64 * 1024 * 1024,
    writeMaxBytes: 64 * 1024 * 1024,
    ...(ca === undefined ? {} : { nodeOptions: { ca } }),
  });
}

/** A gateway with an open discovery stream. */
export class TestGateway {
  readonly client: ReferenceClient;
  readonly responses: DeltaDiscoveryResponse[] = [];
  /** Why the stream ended. */
  readonly ended: Promise<ConnectError>;
  readonly #requests = new MessageQueue<DeltaDiscoveryRequest>();
  readonly #abort = new AbortController();
  readonly #answers: boolean;

  constructor(t: TestContext, port: number, options: ConnectOptions = {}) {
    this.client = options.client ?? new ReferenceClient();
    this.#answers = options.answers ?? true;
    this.client.connect();
    this.ended = this.#read(createTransport(port, options), options.token);
    t.after(() => this.drop());
  }

  send(request: DeltaDiscoveryRequest): void {
    this.#requests.push(request);
  }

  /** Asks for everything. */
  subscribeAll(): this {
    for (const { typeUrl } of resourceTypes) this.send(this.client.subscribe(typeUrl, []));
    return this;
  }

  endRequests(): void {
    this.#requests.close();
  }

  drop(): void {
    this.#abort.abort();
    this.#requests.close();
  }

  async #read(transport: ReturnType<typeof createTransport>, token: string | undefined): Promise<ConnectError> {
    try {
      const responses = createClient(AggregatedDiscoveryService, transport).deltaAggregatedResources(this.#requests, {
        signal: this.#abort.signal,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      for await (const response of responses) {
        this.client.receive(response);
        this.responses.push(response);
        while (this.#answers && this.client.unanswered.length > 0) this.send(this.client.answer());
      }
      return new ConnectError('the stream ended well', Code.Unknown);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return ConnectError.from(error);
    }
  }
}

/** A client for reports and relays. */
export function createReportClient(port: number, options: ConnectOptions = {}) {
  return createClient(GatewayReports, createTransport(port, options));
}
