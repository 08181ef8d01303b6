// InferencePools as backends: every Pod and port is an endpoint, and an endpoint picker chooses among them.
import { create } from '@bufbuild/protobuf';
import type { InferencePool } from '../api/inference-pool.ts';
import { matchesLabels } from '../api/label-selector.ts';
import { readReadyAddress } from '../api/pod.ts';
import { type Backend, type Secret, BackendSchema, PickerFailureMode, UpstreamProtocol } from '../ir/gen/config_pb.ts';
import { formatInferencePoolKey } from '../ir/resource-keys.ts';
import { type FoundPicker, type PickerResolution, type PoolProblem, resolvePicker } from './endpoint-picker.ts';
import type { Memory } from './memory.ts';
import { compareText } from './order.ts';
import { type ResourceIndex, describeAbsence } from './resource-index.ts';
import type { Secrets } from './secrets.ts';
import { type ServiceEndpoint, listServiceEndpoints } from './service-upstream.ts';
import { serviceTimeouts } from './timeouts.ts';

/** Which pool it is, or what is wrong with it, for a route that names it. */
type PoolResolution =
  | { readonly found: true; readonly key: string }
  | { readonly found: false; readonly reason: PoolProblem['routeReason']; readonly message: string };

/** Follows references to InferencePools; each pool is translated once. */
export interface InferencePools {
  readonly resolve: (namespace: string, name: string) => PoolResolution;
  /** A pool that a reference led to, by key. */
  readonly build: (key: string) => { readonly message: Backend; readonly secrets: readonly Secret[] } | undefined;
  /** What keeps a pool from being used, by namespace/name; empty for one that is usable. */
  readonly listProblems: (name: string) => readonly PoolProblem[];
}

const prefix = formatInferencePoolKey('', '').slice(0, -1);

/** Prepares the lookup of pools. */
export function prepareInferencePools(memory: Memory, index: ResourceIndex, secrets: Secrets): InferencePools {
  const pickers = memory.derive<PickerResolution | undefined>((name) => {
    const pool = index.inferencePools.get(name);
    return pool && resolvePicker(index, secrets, pool);
  });
  const problems = memory.derive((name): readonly PoolProblem[] | undefined => {
    const resolution = pickers.get(name);
    if (resolution === undefined) return undefined;
    return resolution.found ? [] : resolution.problems;
  });
  // Pods change often, but their addresses and readiness seldom do.
  const endpoints = memory.derive((name): readonly ServiceEndpoint[] => {
    const pool = index.inferencePools.get(name);
    return pool === undefined ? [] : listPoolEndpoints(index, pool);
  });
  const messages = memory.derive((name) => {
    const pool = index.inferencePools.get(name);
    const resolution = pickers.get(name);
    if (pool === undefined || resolution?.found !== true) return undefined;
    const { picker } = resolution;
    return { message: createBackend(index, pool, endpoints.get(name), picker), secrets: picker.secrets };
  });
  return {
    resolve(namespace, name) {
      const what = `InferencePool ${namespace}/${name}`;
      const found = problems.get(`${namespace}/${name}`);
      if (found === undefined) {
        const message = `${what} ${describeAbsence(index, 'InferencePool', namespace, name)}`;
        return { found: false, reason: 'BackendNotFound', message };
      }
      const [first] = found;
      if (first === undefined) return { found: true, key: formatInferencePoolKey(namespace, name) };
      const message = `${what}: ${found.map((problem) => problem.message).join('; ')}`;
      return { found: false, reason: first.routeReason, message };
    },
    build: (key) => messages.get(key.slice(prefix.length)),
    listProblems: (name) => problems.get(name) ?? [],
  };
}

function listPoolEndpoints(index: ResourceIndex, { metadata, spec }: InferencePool): readonly ServiceEndpoint[] {
  const endpoints = new Map<string, ServiceEndpoint>();
  for (const pod of index.pods.get(metadata.namespace) ?? []) {
    if (!matchesLabels(spec.selector, pod.metadata.labels)) continue;
    const host = readReadyAddress(pod);
    if (host === undefined) continue;
    for (const { number } of spec.targetPorts) endpoints.set(`${host} ${number}`, { host, port: number });
  }
  return [...endpoints].toSorted(([left], [right]) => compareText(left, right)).map(([, endpoint]) => endpoint);
}

function createBackend(
  index: ResourceIndex,
  { metadata, spec }: InferencePool,
  endpoints: readonly ServiceEndpoint[],
  { place, tls, failureMode, timeoutMs }: FoundPicker,
): Backend {
  const isH2c = spec.appProtocol === 'kubernetes.io/h2c';
  return create(BackendSchema, {
    key: formatInferencePoolKey(metadata.namespace, metadata.name),
    kind: {
      case: 'inference',
      value: {
        upstream: {
          endpoints: endpoints.map(({ host, port }) => ({ host, port })),
          protocol: isH2c ? UpstreamProtocol.H2C : UpstreamProtocol.HTTP1,
          ...serviceTimeouts,
        },
        picker: {
          upstream: {
            endpoints: listServiceEndpoints(index, place).map(({ host, port }) => ({ host, port })),
            protocol: UpstreamProtocol.H2C,
            connectTimeoutMs: serviceTimeouts.connectTimeoutMs,
            ...(tls === undefined ? {} : { tls }),
          },
          failureMode: failureMode === 'FailOpen' ? PickerFailureMode.FAIL_OPEN : PickerFailureMode.FAIL_CLOSE,
          timeoutMs,
        },
      },
    },
  });
}
