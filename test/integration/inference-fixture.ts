// What the inference-*.test.ts files stand on: a gateway with one InferencePool, its model servers and its picker, on loopback.
import assert from 'node:assert/strict';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import { queryObjects } from 'node:v8';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { defaultUpstreamLimits, type UpstreamLimits } from '../../src/gateway/forward/upstream/upstream-limits.ts';
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts';
import { PickedCall } from '../../src/gateway/inference/picked-call.ts';
import { defaultListenLimits } from '../../src/gateway/listen/limits.ts';
import type { RequestContext } from '../../src/gateway/request/request-context.ts';
import { createGatewayMetrics } from '../../src/gateway/observe/request-metrics.ts';
import type { Configuration } from '../../src/ir/configuration.ts';
import {
  type Backend,
  BackendSchema,
  PickerFailureMode,
  type Secret,
  SecretSchema,
  UpstreamProtocol,
  type UpstreamTlsSchema,
  WeightedBackendSchema,
} from '../../src/ir/gen/config_pb.ts';
import { formatInferencePoolKey, formatSecretKey, formatServiceKey } from '../../src/ir/resource-keys.ts';
import { createFixedSource } from '../../src/sources/fixed-source.ts';
import { translate } from '../../src/translate/translate.ts';
import { type FakePicker, type FakePickerOptions, startFakePicker } from '../inference/fake-picker.ts';
import {
  type Arrival,
  type FakeModelServer,
  type ModelServerOptions,
  startModelServer,
} from '../inference/fake-model-server.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import {
  type Answer,
  ask,
  type AskOptions,
  gatewayOf,
  openRequest,
  rule,
  serviceOf,
  serviceRef,
} from './gateway-fixture.ts';
import { routeResource } from '../kit/gateway-resources.ts';
import { waitFor } from '../kit/wait-for.ts';

/** The key of the one pool, and the label by which metrics name it. */
export const poolKey = formatInferencePoolKey('default', 'pool');
/** The key under which TLS settings name the CA certificates of `ca`. */
export const caKey = formatSecretKey('ConfigMap', 'default', 'picker-ca');

export interface InferenceGatewayOptions {
  /** The ports of the pool's endpoints. */
  readonly endpoints: readonly number[];
  /** Where the endpoints are. Default: 127.0.0.1. */
  readonly host?: string;
  /** How the endpoints are spoken to. Default: HTTP/1. */
  readonly protocol?: 'http1' | 'h2c';
  /** The ports of the picker. */
  readonly pickers: readonly number[];
  readonly pickerTls?: MessageInitShape<typeof UpstreamTlsSchema>;
  /** CA certificates for the TLS of the picker, PEM. */
  readonly ca?: string;
  readonly failsOpen?: boolean;
  readonly timeoutMs?: number;
  readonly limits?: Partial<UpstreamLimits>;
  /** More resources: policies for the HTTPRoute `pool`. */
  readonly resources?: readonly object[];
  /** More of the route's one rule. */
  readonly rule?: object;
  /** False: contexts of requests are not kept, so that it can be seen whether anybody else does. */
  readonly keepsFinished?: boolean;
}

export interface InferenceGateway {
  readonly port: number;
  readonly gateway: Gateway;
  /** Of every request that has come to its end. */
  readonly finished: readonly RequestContext[];
  /** Another configuration comes into force. */
  apply(changes: Partial<InferenceGatewayOptions>): Promise<void>;
  /** Every series of a metric with its value, by its labels as written. */
  readSeries(name: string): Promise<Map<string, number>>;
  ask(options?: AskOptions, body?: string): Promise<Answer>;
  open(options?: AskOptions): ClientRequest;
  close(): Promise<void>;
}

/** Starts a gateway whose every request goes to the pool. The test stops it. */
export async function startInferenceGateway(
  t: TestContext,
  options: InferenceGatewayOptions,
): Promise<InferenceGateway> {
  const [port] = (await findFreePorts(1)) as [number];
  const registry = createMetrics();
  const metrics = createGatewayMetrics(registry, 'test');
  const finished: RequestContext[] = [];
  const gateway = createGateway({
    log: silentLog,
    listenLimits: defaultListenLimits,
    upstreamLimits: { ...defaultUpstreamLimits, ...options.limits },
    metrics: metrics.requests,
    connectionMetrics: metrics.connections,
    upstreamMetrics: metrics.upstreams,
    configMetrics: metrics.config,
    accessLog: (context) => void (options.keepsFinished !== false && finished.push(context)),
    tracing: undefined,
  });
  let current = options;
  const apply = async (changes: Partial<InferenceGatewayOptions>): Promise<void> => {
    current = { ...current, ...changes };
    const { problems, bindProblems } = await gateway.apply(buildConfiguration(port, current));
    assert.deepEqual([...problems, ...bindProblems], []);
  };
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await gateway.drain(0);
  };
  t.after(close);
  await apply({});
  return {
    port,
    gateway,
    finished,
    apply,
    async readSeries(name) {
      const series = new Map<string, number>();
      for (const line of (await registry.expose()).split('\n')) {
        const match = /^(\w+)(\{.*\})? (\S+)$/.exec(line);
        if (match !== null && match[1] === name) series.set(match[2] ?? '', Number(match[3]));
      }
      return series;
    },
    ask: (request, body) => ask(port, { path: '/', ...request }, body),
    open: (request) => openRequest(port, { path: '/', method: 'POST', ...request }),
    close,
  };
}

/** Gateway, route and policies are translated as users write them; the pool takes the place of the Service that the route names. */
function buildConfiguration(port: number, options: InferenceGatewayOptions): Configuration {
  const resources = [
    gatewayOf('test', [{ name: 'http', port, protocol: 'HTTP' }]),
    routeResource('pool', [rule('/', [serviceRef('pool')], options.rule)]),
    ...serviceOf('pool', []),
    ...(options.resources ?? []),
  ];
  const { configuration } = translate(createFixedSource(resources).resources.get());
  const placeholder = formatServiceKey('default', 'pool', 80);
  const routes = configuration.routes.map((route) => ({
    ...route,
    backends: route.backends.map((each) =>
      each.backend === placeholder ? create(WeightedBackendSchema, { ...each, backend: poolKey }) : each,
    ),
  }));
  const others = configuration.backends.filter(({ key }) => key !== placeholder);
  const secrets: Secret[] = [...configuration.secrets];
  if (options.ca !== undefined)
    secrets.push(create(SecretSchema, { key: caKey, value: { case: 'caCertificates', value: options.ca } }));
  return { ...configuration, routes, backends: [...others, buildPool(options)], secrets };
}

function buildPool(options: InferenceGatewayOptions): Backend {
  const listen = (ports: readonly number[], host = '127.0.0.1'): { host: string; port: number }[] =>
    ports.map((port) => ({ host, port }));
  return create(BackendSchema, {
    key: poolKey,
    kind: {
      case: 'inference',
      value: {
        upstream: {
          endpoints: listen(options.endpoints, options.host),
          protocol: options.protocol === 'h2c' ? UpstreamProtocol.H2C : UpstreamProtocol.HTTP1,
        },
        picker: {
          upstream: {
            endpoints: listen(options.pickers),
            protocol: UpstreamProtocol.H2C,
            ...(options.pickerTls === undefined ? {} : { tls: options.pickerTls }),
          },
          failureMode: options.failsOpen === true ? PickerFailureMode.FAIL_OPEN : PickerFailureMode.FAIL_CLOSE,
          timeoutMs: options.timeoutMs ?? 0,
        },
      },
    },
  });
}

/** A picker that closes with the test. */
export async function startPicker(t: TestContext, options: FakePickerOptions): Promise<FakePicker> {
  const picker = await startFakePicker(options);
  t.after(() => picker.close());
  return picker;
}

/** A model server that closes with the test. */
export async function startModel(t: TestContext, options: ModelServerOptions = {}): Promise<FakeModelServer> {
  const server = await startModelServer(options);
  t.after(() => server.close());
  return server;
}

/** What arrived at the model server, of an answer that must be one of its own. */
export function readArrival(answer: Answer): Arrival {
  assert.equal(answer.status, 200, answer.body);
  return JSON.parse(answer.body) as Arrival;
}

/** Status, and the reason in the gateway's own answer. */
export function readReason(answer: Pick<Answer, 'status' | 'body'>): string {
  assert.match(answer.body, /^\{/, `${answer.status} ${answer.body}`);
  return `${answer.status} ${(JSON.parse(answer.body) as { error: string }).error}`;
}

/** The whole text of an answer, and whether it came to its proper end. */
export async function readToEnd(
  response: IncomingMessage,
): Promise<{ readonly text: string; readonly clean: boolean }> {
  let text = '';
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
  } catch {
    return { text, clean: false };
  }
  return { text, clean: response.complete };
}

/** Calls to pools that are in memory after a garbage collection. */
export function countCalls(): number {
  return queryObjects(PickedCall, { format: 'count' });
}

/** No more of them than there were `before`, but for those of the last requests, which connections remember until the next. */
export async function waitUntilForgotten(before: number): Promise<void> {
  // Each look collects all garbage and walks through the memory: a fifth of a second.
  await waitFor(() => countCalls() <= before + 4, { intervalMs: 1_000 });
}

/** Nothing of any request is left, anywhere. */
export async function waitUntilIdle(
  gateway: InferenceGateway,
  pickers: readonly FakePicker[],
  servers: readonly FakeModelServer[],
): Promise<void> {
  await waitFor(async () => (await gateway.readSeries('mcp_gateway_requests_in_flight')).get('') === 0);
  await waitFor(() => pickers.every(({ openStreams }) => openStreams === 0));
  await waitFor(() => servers.every(({ openRequests }) => openRequests === 0));
}
