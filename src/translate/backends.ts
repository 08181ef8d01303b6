// Backends: Service ports, ProxyBackends and InferencePools as messages, and what is wrong with references to them.
import { create } from '@bufbuild/protobuf';
import type { BackendObjectReference } from '../api/object-reference.ts';
import {
  type Backend,
  BackendSchema,
  PickerFailureMode,
  type Upstream,
  UpstreamProtocol,
} from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey, formatServiceKey, isInferencePoolKey } from '../ir/resource-keys.ts';
import type { ProxyBackendStatus } from './conditions.ts';
import type { InferencePools } from './inference-pools.ts';
import type { Described } from './list-statuses.ts';
import type { Memory } from './memory.ts';
import type { Notice } from './notices.ts';
import type { Placement } from './placement.ts';
import {
  describeProxyBackend,
  type ProxyBackendProblem,
  type ProxyBackendResolution,
  translateProxyBackend,
  type TranslatedBackend,
} from './proxy-backends.ts';
import {
  describeMissingGrant,
  isInferencePool,
  isReferencePermitted,
  proxyGroup,
  type Referrer,
} from './references.ts';
import { type ResourceIndex, describeAbsence } from './resource-index.ts';
import type { Secrets } from './secrets.ts';
import { createEndpoints, type FoundServicePort, findServicePort, listServiceEndpoints } from './service-upstream.ts';
import { serviceTimeouts } from './timeouts.ts';

/** A problem of a reference to a backend. */
export interface BackendProblem {
  readonly reason: ProxyBackendProblem['reason'] | 'InvalidKind';
  readonly message: string;
}

/** The backend that a reference leads to, or the problem of the reference. Without endpoints, which change more often. */
export type BackendResolution =
  | { readonly found: true; readonly key: string; readonly isH2c: boolean; readonly isFederation: boolean }
  | { readonly found: false; readonly problem: BackendProblem };

/** Follows references to backends; each backend is translated once. */
export interface Backends {
  readonly resolve: (from: Referrer, reference: BackendObjectReference) => BackendResolution;
  /** namespace/name of the InferencePool that is referred to, whether it exists or not; undefined for other kinds, and without a ReferenceGrant. */
  readonly findPool: (from: Referrer, reference: BackendObjectReference) => string | undefined;
  /** A backend that a reference led to, by key. */
  readonly build: (key: string) => TranslatedBackend | undefined;
  /** The statuses of the ProxyBackends. */
  readonly listStatuses: () => readonly Described<ProxyBackendStatus>[];
}

const inferenceIsOff =
  'the Inference Extension is off; switch it on with `--inference-extension`, or `inferenceExtension.enabled` of the Helm chart';

/** Prepares the lookup of backends. `pools` is undefined when InferencePools are not served. */
export function prepareBackends(
  memory: Memory,
  index: ResourceIndex,
  secrets: Secrets,
  pools: InferencePools | undefined,
  placement: Placement,
): Backends {
  const servicePorts = memory.derive((key) => findServicePort(index, ...parseServicePort(key)));
  const services = memory.derive<TranslatedBackend | undefined>((key) => {
    const resolution = servicePorts.get(key);
    return resolution.found ? { message: createServiceBackend(index, key, resolution), secrets: [] } : undefined;
  });
  const proxyBackends = memory.derive<ProxyBackendResolution | undefined>((name) => {
    const resource = index.proxyBackends.get(name);
    return resource && translateProxyBackend(index, secrets, resource);
  });
  const proxyBackendProblems = memory.derive((name): ProxyBackendProblem | 'absent' | 'found' | 'federation' => {
    const resolution = proxyBackends.get(name);
    if (resolution === undefined) return 'absent';
    if (!resolution.found) return resolution.problem;
    return resolution.message.kind.case === 'federation' ? 'federation' : 'found';
  });
  const statuses = memory.derive((name) => {
    const resolution = proxyBackends.get(name);
    const generation = index.proxyBackends.get(name)?.metadata.generation ?? 0;
    // On a host nobody reads statuses, and what does not resolve is said once.
    const federated = placement === 'pods' ? resolution?.federated : undefined;
    return describeProxyBackend(generation, resolution?.problem, federated);
  });
  return {
    resolve(from, reference) {
      const { group, kind, name } = reference;
      const namespace = reference.namespace ?? from.namespace;
      const isProxyBackend = group === proxyGroup && kind === 'ProxyBackend';
      const isPool = isInferencePool(reference);
      if (isPool && pools === undefined)
        return refuse('InvalidKind', `InferencePool ${name} cannot be used: ${inferenceIsOff}`);
      if (!isProxyBackend && !isPool && (group !== '' || kind !== 'Service'))
        return refuse(
          'InvalidKind',
          `${group === '' ? '' : `${group}/`}${kind} ${name} is not a supported backend; use a Service or a gateway.proxy/ProxyBackend`,
        );
      const to = { group, kind, namespace, name };
      if (!isReferencePermitted(index, from, to)) return refuse('RefNotPermitted', describeMissingGrant(from, to));
      if (isProxyBackend) {
        const problem = proxyBackendProblems.get(`${namespace}/${name}`);
        if (problem === 'found' || problem === 'federation') {
          const key = formatProxyBackendKey(namespace, name);
          return { found: true, key, isH2c: false, isFederation: problem === 'federation' };
        }
        const what = `ProxyBackend ${namespace}/${name}`;
        if (problem === 'absent')
          return refuse('BackendNotFound', `${what} ${describeAbsence(index, 'ProxyBackend', namespace, name)}`);
        return refuse(problem.reason, `${what}: ${problem.message}`);
      }
      if (isPool && pools !== undefined) {
        const pool = pools.resolve(namespace, name);
        if (!pool.found) return refuse(pool.reason, pool.message);
        return { found: true, key: pool.key, isH2c: false, isFederation: false };
      }
      const key = formatServiceKey(namespace, name, reference.port ?? 0);
      const port = servicePorts.get(key);
      if (!port.found) return port;
      return { found: true, key, isH2c: port.protocol === UpstreamProtocol.H2C, isFederation: false };
    },
    findPool(from, reference) {
      if (pools === undefined || !isInferencePool(reference)) return undefined;
      const to = { ...reference, namespace: reference.namespace ?? from.namespace };
      return isReferencePermitted(index, from, to) ? `${to.namespace}/${to.name}` : undefined;
    },
    build(key) {
      if (key.startsWith(servicePrefix)) return services.get(key);
      if (isInferencePoolKey(key)) return pools?.build(key);
      const resolution = proxyBackends.get(key.slice(proxyBackendPrefix.length));
      return resolution?.found === true ? resolution : undefined;
    },
    listStatuses: () => [...index.proxyBackends.entries().keys()].map((name) => ({ name, status: statuses.get(name) })),
  };
}

/** Backends in use that have no ready endpoint; no condition reports them. */
export function listMissingEndpoints(backends: readonly Backend[]): readonly Notice[] {
  return backends.flatMap(({ key, kind }) => {
    const [kindName = '', namespace = '', name = '', port] = key.split('/');
    const place = port === undefined ? '' : `port ${port} `;
    const notices: Notice[] = [];
    const note = (message: string): void => void notices.push({ kind: kindName, namespace, name, message });
    if (listUpstreams(kind).some(hasNoEndpoints))
      note(`${place}has no ready endpoints: its requests are answered with 503`);
    if (kind.case === 'federation')
      for (const { server } of kind.value.targets)
        if (server?.upstream !== undefined && hasNoEndpoints(server.upstream))
          note(`target ${server.name} has no ready endpoints: it counts as down`);
    if (kind.case === 'inference' && hasNoEndpoints(kind.value.picker?.upstream)) {
      const isOpen = kind.value.picker?.failureMode === PickerFailureMode.FAIL_OPEN;
      const effect = isOpen ? 'go to any endpoint of the pool (FailOpen)' : 'are answered with 503 (FailClose)';
      note(`its endpoint picker has no ready endpoints: its requests ${effect}`);
    }
    return notices;
  });
}

function listUpstreams(kind: Backend['kind']): readonly (Upstream | undefined)[] {
  switch (kind.case) {
    case 'mcp':
      return kind.value.targets.map(({ upstream }) => upstream);
    case 'federation':
      // Its targets are reported one by one.
      return [];
    case 'inference':
      return [kind.value.upstream];
    case 'http':
    case undefined:
      return [kind.value];
  }
}

function hasNoEndpoints(upstream: Upstream | undefined): boolean {
  return (upstream?.endpoints.length ?? 0) === 0;
}

const servicePrefix = 'Service/';
const proxyBackendPrefix = formatProxyBackendKey('', '').slice(0, -1);

// References may hold any name, even one with a slash; no Service has such a name.
function parseServicePort(key: string): [namespace: string, name: string, port: number] {
  const start = key.indexOf('/', servicePrefix.length);
  const end = key.lastIndexOf('/');
  return [key.slice(servicePrefix.length, start), key.slice(start + 1, end), Number(key.slice(end + 1))];
}

function createServiceBackend(index: ResourceIndex, key: string, port: FoundServicePort): Backend {
  const endpoints = listServiceEndpoints(index, port);
  const { protocol } = port;
  return create(BackendSchema, {
    key,
    kind: { case: 'http', value: { endpoints: createEndpoints(endpoints), protocol, ...serviceTimeouts } },
  });
}

function refuse<R extends BackendProblem['reason']>(
  reason: R,
  message: string,
): { readonly found: false; readonly problem: { readonly reason: R; readonly message: string } } {
  return { found: false, problem: { reason, message } };
}
