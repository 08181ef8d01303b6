// A controller that does what a test says: it keeps the requests of every stream, and sends what it is told to.
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { AnySchema, anyUnpack } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { silentLog } from '../../src/base/log.ts';
import type { Configuration } from '../../src/ir/configuration.ts';
import {
  BackendSchema,
  type Policy,
  PolicySchema,
  PolicyTargetKind,
  SecretSchema,
} from '../../src/ir/gen/config_pb.ts';
import {
  AggregatedDiscoveryService,
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
  type Resource,
  ResourceSchema,
} from '../../src/ir/gen/discovery_pb.ts';
import { type GatewayReport, GatewayReports, type Rejection, RejectionsSchema } from '../../src/ir/gen/report_pb.ts';
import { type ApplyOutcome, startXdsClient, type XdsClient, type XdsClientOptions } from '../../src/xds/client.ts';
import { Digest } from '../../src/xds/digest.ts';
import { MessageQueue } from '../../src/xds/message-queue.ts';
import { type ResourceMessage, resourceTypes } from '../../src/xds/resource-types.ts';

/** One discovery stream, from the side of the controller. */
export class FakeStream {
  readonly authorization: string | null;
  readonly requests: DeltaDiscoveryRequest[] = [];
  readonly responses = new MessageQueue<DeltaDiscoveryResponse>();
  failure: ConnectError | undefined;
  isOver = false;
  #sent = 0;

  constructor(authorization: string | null) {
    this.authorization = authorization;
  }

  /** The first request of each type, by its list. */
  get firsts(): Partial<Record<keyof Configuration, DeltaDiscoveryRequest>> {
    return Object.fromEntries(
      resourceTypes.flatMap(({ typeUrl, list }) => {
        const request = this.requests.find((each) => each.typeUrl === typeUrl && each.responseNonce === '');
        return request === undefined ? [] : [[list, request]];
      }),
    );
  }

  /** Sends a response, and returns its nonce. */
  send(
    list: keyof Configuration,
    digest: string,
    resources: readonly Resource[],
    removed: readonly string[] = [],
  ): string {
    this.#sent += 1;
    const nonce = String(this.#sent);
    this.responses.push(
      create(DeltaDiscoveryResponseSchema, {
        typeUrl: typeUrlOf(list),
        nonce,
        systemVersionInfo: digest,
        resources: [...resources],
        removedResources: [...removed],
      }),
    );
    return nonce;
  }

  /** Ends with an error. */
  fail(code: Code, message = 'as told'): void {
    this.failure = new ConnectError(message, code);
    this.responses.close();
  }

  answerTo(nonce: string): DeltaDiscoveryRequest | undefined {
    return this.requests.find(({ responseNonce }) => responseNonce === nonce);
  }

  /** The rejections in the answer; undefined: an ACK. */
  rejectionsIn(nonce: string): readonly (readonly [name: string, reason: string])[] | undefined {
    const detail = this.answerTo(nonce)?.errorDetail;
    if (detail === undefined) return undefined;
    const rejections: readonly Rejection[] = detail.details.flatMap(
      (any) => anyUnpack(any, RejectionsSchema)?.rejections ?? [],
    );
    return rejections.map(({ name, reason }) => [name, reason]);
  }
}

export interface FakeController {
  readonly url: string;
  readonly port: number;
  readonly streams: FakeStream[];
  readonly reports: GatewayReport[];
  /** Called with each new stream. */
  onStream: ((stream: FakeStream) => void) | undefined;
  /** Refuses new streams with this. */
  refuseWith: ConnectError | undefined;
  /** GOAWAY, without ending the streams. */
  sayGoodBye(): void;
  /** Breaks every connection. */
  breakConnections(): void;
  /** The same without a word, as the kernel does it for a process that is killed. */
  dropConnections(): void;
  close(): Promise<void>;
}

/** Listens on loopback. */
export async function startFakeController(port = 0): Promise<FakeController> {
  const streams: FakeStream[] = [];
  const reports: GatewayReport[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  const handler = connectNodeAdapter({
    routes(router) {
      router.service(AggregatedDiscoveryService, {
        async *deltaAggregatedResources(requests, context) {
          if (controller.refuseWith !== undefined) throw controller.refuseWith;
          const stream = new FakeStream(context.requestHeader.get('authorization'));
          streams.push(stream);
          controller.onStream?.(stream);
          void (async () => {
            try {
              for await (const request of requests) stream.requests.push(request);
            } catch {
              // The client went away.
            }
            stream.isOver = true;
            stream.responses.close();
          })();
          yield* stream.responses;
          if (stream.failure !== undefined) throw stream.failure;
        },
      });
      router.service(GatewayReports, {
        async report(messages) {
          try {
            for await (const message of messages) reports.push(message);
          } catch {
            // The client went away.
          }
          return {};
        },
      });
    },
  });
  const server: Http2Server = createServer(handler);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
    session.on('close', () => sessions.delete(session));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  const breakConnections = (): void => {
    for (const session of sessions) session.destroy();
  };
  const controller: FakeController = {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    streams,
    reports,
    onStream: undefined,
    refuseWith: undefined,
    sayGoodBye: () => {
      for (const session of sessions) session.goaway();
    },
    breakConnections,
    dropConnections: () => {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      breakConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return controller;
}

export function typeUrlOf(list: keyof Configuration): string {
  return resourceTypes.find((type) => type.list === list)!.typeUrl;
}

/** A resource with this message in it. */
export function resource(list: keyof Configuration, version: string, message: ResourceMessage): Resource {
  const type = resourceTypes.find((each) => each.list === list)!;
  return create(ResourceSchema, {
    name: message.key,
    version,
    resource: create(AnySchema, { typeUrl: type.typeUrl, value: toBinary(type.schema, message) }),
  });
}

/** The digest of all these. */
export function digestOf(
  ...entries: readonly (readonly [list: keyof Configuration, name: string, version: string])[]
): string {
  const digest = new Digest();
  for (const [list, name, version] of entries) digest.add(typeUrlOf(list), name, version);
  return digest.toString();
}

export function backend(name: string, port = 80): ResourceMessage {
  return create(BackendSchema, {
    key: name,
    kind: { case: 'http', value: { endpoints: [{ host: '127.0.0.1', port }] } },
  });
}

export function secret(name: string, text: string): ResourceMessage {
  return create(SecretSchema, { key: name, value: { case: 'text', value: text } });
}

export function policy(key: string, route = 'r'): Policy {
  return create(PolicySchema, {
    key,
    source: key.split('/').slice(0, 2).join('/'),
    target: { kind: PolicyTargetKind.HTTP_ROUTE, namespace: 'n', name: route },
    spec: { case: 'cors', value: { allowOrigins: ['https://a.test'] } },
  });
}

/** A client, and what became of what it received. */
export interface TestedClient {
  readonly client: XdsClient;
  readonly applied: Configuration[];
  readonly events: string[];
  readonly lines: string[];
  /** What the next applications report. */
  problems: ApplyOutcome['problems'];
  /** Set: applications wait for it. */
  hold: Promise<void> | undefined;
}

/** With times that do not make a test wait. */
export const quickTimes = {
  firstMs: 5,
  maxMs: 20,
  refusedFirstMs: 5,
  refusedMaxMs: 20,
  stableMs: 60_000,
  quietMs: 60_000,
  reportRetryMs: 10,
} as const;

export function startClient(server: string, options: Partial<XdsClientOptions> = {}): TestedClient {
  const lines: string[] = [];
  const log = {
    ...silentLog,
    info: (_: object, message: string) => void lines.push(`info ${message}`),
    warn: (fields: object, message: string) => void lines.push(`warn ${message} ${JSON.stringify(fields)}`),
    error: (fields: object, message: string) => void lines.push(`error ${message} ${JSON.stringify(fields)}`),
  };
  const tested: Omit<TestedClient, 'client'> & { client?: XdsClient } = {
    applied: [],
    events: [],
    lines,
    problems: [],
    hold: undefined,
  };
  tested.client = startXdsClient({
    log,
    server,
    nodeId: 'pod-1',
    gateway: 'n/g',
    version: '1.2.3',
    async apply(configuration) {
      await tested.hold;
      tested.applied.push(configuration);
      return { problems: tested.problems };
    },
    observer: {
      connected: () => void tested.events.push('connected'),
      disconnected: (reason) => void tested.events.push(`disconnected ${reason}`),
      received: (typeUrl, resources, removed) =>
        void tested.events.push(`received ${typeUrl.split('.').at(-1)} ${resources} ${removed}`),
      acknowledged: (typeUrl) => void tested.events.push(`acknowledged ${typeUrl.split('.').at(-1)}`),
      rejected: (_, rejections) => void tested.events.push(`rejected ${rejections.map(({ name }) => name).join(' ')}`),
    },
    ...options,
    times: { ...quickTimes, ...options.times },
  });
  return tested as TestedClient;
}
