// Asks a controller for configuration, or tells it something, as anybody could who has some token: from the test process, and as a program inside of
// a pod (`ask-controller.ts <JSON>`), because the controller looks at where a call comes from.
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import {
  AggregatedDiscoveryService,
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
} from '../../src/ir/gen/discovery_pb.ts';
import { GatewayReports } from '../../src/ir/gen/report_pb.ts';
import { MessageQueue } from '../../src/xds/message-queue.ts';
import { resourceTypes } from '../../src/xds/resource-types.ts';

/** What to say. */
export interface ControllerQuestion {
  /** http://host:port */
  readonly server: string;
  readonly token?: string;
  /** The pod that one claims to be. */
  readonly nodeId: string;
  /** namespace/name */
  readonly gateway: string;
  /** `configuration` when absent. */
  readonly call?: 'configuration' | 'report' | 'relay';
}

/** How it ended. */
export interface ControllerAnswer {
  /** `OK`, or the name of a gRPC status: `PermissionDenied`. */
  readonly code: string;
  readonly message: string;
  /** What was sent: `secrets Secret/default/web`. */
  readonly resources: readonly string[];
}

/** Asks, and waits for the verdict. */
export async function askController(question: ControllerQuestion): Promise<ControllerAnswer> {
  const resources: string[] = [];
  const end = new AbortController();
  try {
    if (question.call === 'report' || question.call === 'relay') await tell(question, end.signal);
    else await collect(question, resources, end.signal);
    return { code: 'OK', message: '', resources };
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return { code: Code[code], message: rawMessage, resources };
  } finally {
    end.abort();
  }
}

function open({ server, token }: ControllerQuestion) {
  return {
    transport: createGrpcTransport({ baseUrl: server, readMaxBytes: 64 * 1024 * 1024 }),
    headers: token === undefined ? undefined : { authorization: `Bearer ${token}` },
  };
}

/** Everything that there is, until each type was answered for. */
async function collect(question: ControllerQuestion, resources: string[], signal: AbortSignal): Promise<void> {
  const { transport, headers } = open(question);
  const [namespace, gateway] = question.gateway.split('/');
  const node = { id: question.nodeId, metadata: { namespace: namespace ?? '', gateway: gateway ?? '' } };
  const requests = new MessageQueue<DeltaDiscoveryRequest>();
  for (const [index, { typeUrl }] of resourceTypes.entries())
    requests.push(create(DeltaDiscoveryRequestSchema, { typeUrl, ...(index === 0 ? { node } : {}) }));
  const answered = new Set<string>();
  const client = createClient(AggregatedDiscoveryService, transport);
  for await (const response of client.deltaAggregatedResources(requests, { signal, ...(headers && { headers }) })) {
    const list = resourceTypes.find(({ typeUrl }) => typeUrl === response.typeUrl)?.list;
    resources.push(...response.resources.map(({ name }) => `${list} ${name}`));
    answered.add(response.typeUrl);
    if (answered.size === resourceTypes.length) return;
  }
}

async function tell(question: ControllerQuestion, signal: AbortSignal): Promise<void> {
  const { transport, headers } = open(question);
  const { nodeId, gateway } = question;
  const client = createClient(GatewayReports, transport);
  const options = { signal, ...(headers && { headers }) };
  if (question.call === 'report') {
    const keyProblems = [{ policy: 'a-lie', issuer: 'https://nowhere.example', reason: 'a lie', neverLoaded: true }];
    await client.report(one({ nodeId, gateway, keyProblems }), options);
  } else {
    const gateways = [{ nodeId, gateway, settled: 'a-lie' }];
    await client.relay(one({ replica: nodeId, gateways }), options);
  }
}

async function* one<M>(message: M): AsyncGenerator<M> {
  yield message;
}

if (import.meta.main) {
  const answer = await askController(JSON.parse(process.argv[2] ?? '') as ControllerQuestion);
  console.log(JSON.stringify(answer));
  process.exit(0);
}
