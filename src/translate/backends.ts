// Backends: Service ports and ProxyBackends as messages, and what is wrong with references to them.
import { isIPv6 } from 'node:net';
import { create } from '@bufbuild/protobuf';
import type { BackendObjectReference } from '../api/object-reference.ts';
import type { McpTarget as McpTargetSpec, ProxyBackend } from '../api/proxy-backend.ts';
import type { Backend, McpTarget, Secret, Upstream, UpstreamTls } from '../ir/gen/config_pb.ts';
import {
  BackendSchema,
  McpTargetSchema,
  McpTransport,
  SessionRouting,
  UpstreamProtocol,
  UpstreamSchema,
  UpstreamTlsSchema,
} from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey, formatServiceKey } from '../ir/resource-keys.ts';
import { createCondition } from './conditions.ts';
import type { ProxyBackendStatus } from './conditions.ts';
import { convertToMilliseconds } from './milliseconds.ts';
import type { Notices } from './notices.ts';
import { describeMissingGrant, isReferencePermitted, proxyGroup } from './references.ts';
import type { Referrer } from './references.ts';
import type { ResourceIndex } from './resource-index.ts';
import { describeAbsence } from './resource-index.ts';
import { resolveCaCertificates } from './secrets.ts';
import type { ServiceProblem, ServiceUpstream } from './service-upstream.ts';
import { resolveServicePort } from './service-upstream.ts';

/** What a ProxyBackend can suffer from. */
interface ProxyBackendProblem {
  readonly reason: ServiceProblem['reason'] | 'InvalidCACertificateRef';
  readonly message: string;
}

/** What a reference to a backend can suffer from. */
export interface BackendProblem {
  readonly reason: ProxyBackendProblem['reason'] | 'InvalidKind';
  readonly message: string;
}

/** A backend, or what is wrong with the reference to it. */
export type BackendResolution =
  | { readonly found: true; readonly backend: Backend }
  | { readonly found: false; readonly problem: BackendProblem };

/** A translated ProxyBackend with what it needs. */
type ProxyBackendResolution =
  | { readonly found: true; readonly backend: Backend; readonly secrets: readonly Secret[] }
  | { readonly found: false; readonly problem: ProxyBackendProblem };

/** Follows references to backends; each ProxyBackend is translated once. */
export interface Backends {
  readonly resolve: (from: Referrer, reference: BackendObjectReference) => BackendResolution;
  /** Every backend that a reference led to so far, by key. */
  readonly found: ReadonlyMap<string, Backend>;
  /** The trust anchors that a backend uses. */
  readonly secretsOf: (key: string) => readonly Secret[];
  /** The statuses of the ProxyBackends, by namespace/name. */
  readonly statuses: ReadonlyMap<string, ProxyBackendStatus>;
}

// What a ProxyBackend has by default; a Service has no place to say otherwise.
const serviceTimeouts = { connectTimeoutMs: 10_000, requestTimeoutMs: 0, idleTimeoutMs: 300_000 };

/** Translates every ProxyBackend and stands ready to follow references. */
export function prepareBackends(index: ResourceIndex): Backends {
  const proxyBackends = new Map(
    [...index.proxyBackends].map(([name, resource]) => [name, translateProxyBackend(index, resource)]),
  );
  const found = new Map<string, Backend>();
  const keep = (resolution: BackendResolution): BackendResolution => {
    if (resolution.found) found.set(resolution.backend.key, resolution.backend);
    return resolution;
  };
  return {
    found,
    resolve(from, reference) {
      const { group, kind } = reference;
      if (group === '' && kind === 'Service') return keep(resolveService(index, from, reference));
      if (group === proxyGroup && kind === 'ProxyBackend')
        return keep(resolveProxyBackend(index, proxyBackends, from, reference));
      const what = `${group === '' ? '' : `${group}/`}${kind}`;
      return refuse(
        'InvalidKind',
        `${what} ${reference.name} is no backend; use a Service or a gateway.proxy/ProxyBackend`,
      );
    },
    secretsOf(key) {
      const resolution = proxyBackends.get(key.slice(key.indexOf('/') + 1));
      return resolution?.found === true && resolution.backend.key === key ? resolution.secrets : [];
    },
    statuses: new Map(
      [...index.proxyBackends].map(([name, resource]) => [
        name,
        describeProxyBackend(resource, proxyBackends.get(name)),
      ]),
    ),
  };
}

/** What no condition says: backends in use that have no endpoint that is ready. */
export function noteMissingEndpoints(backends: readonly Backend[], notices: Notices): void {
  for (const { key, kind } of backends) {
    const [kindName = '', namespace = '', name = '', port] = key.split('/');
    const upstreams = kind.case === 'mcp' ? kind.value.targets.map(({ upstream }) => upstream) : [kind.value];
    if (upstreams.every((upstream) => (upstream?.endpoints.length ?? 0) > 0)) continue;
    const place = port === undefined ? '' : `port ${port} `;
    notices.add(
      kindName,
      { metadata: { namespace, name } },
      `${place}has no ready endpoints: its requests are answered with 503`,
    );
  }
}

function resolveService(index: ResourceIndex, from: Referrer, reference: BackendObjectReference): BackendResolution {
  const resolution = resolveServicePort(index, from, reference);
  if (!resolution.found) return resolution;
  const { namespace, port, upstream } = resolution;
  return {
    found: true,
    backend: create(BackendSchema, {
      key: formatServiceKey(namespace, reference.name, port),
      kind: {
        case: 'http',
        value: { endpoints: createEndpoints(upstream), protocol: upstream.protocol, ...serviceTimeouts },
      },
    }),
  };
}

function resolveProxyBackend(
  index: ResourceIndex,
  proxyBackends: ReadonlyMap<string, ProxyBackendResolution>,
  from: Referrer,
  reference: BackendObjectReference,
): BackendResolution {
  const namespace = reference.namespace ?? from.namespace;
  const to = { group: proxyGroup, kind: 'ProxyBackend', namespace, name: reference.name };
  if (!isReferencePermitted(index, from, to)) return refuse('RefNotPermitted', describeMissingGrant(from, to));
  const name = `${namespace}/${reference.name}`;
  const resolution = proxyBackends.get(name);
  if (resolution === undefined)
    return refuse(
      'BackendNotFound',
      `ProxyBackend ${name} ${describeAbsence(index, 'ProxyBackend', namespace, reference.name)}`,
    );
  if (resolution.found) return resolution;
  return refuse(resolution.problem.reason, `ProxyBackend ${name}: ${resolution.problem.message}`);
}

function translateProxyBackend(index: ResourceIndex, { metadata, spec }: ProxyBackend): ProxyBackendResolution {
  const { namespace, name } = metadata;
  const { timeouts, sessionRouting } = spec.mcp;
  const limits = {
    connectTimeoutMs: convertToMilliseconds(timeouts.connect),
    requestTimeoutMs: convertToMilliseconds(timeouts.request),
    idleTimeoutMs: convertToMilliseconds(timeouts.idle),
  };
  const targets: McpTarget[] = [];
  const secrets: Secret[] = [];
  for (const target of spec.mcp.targets) {
    const resolution = translateTarget(index, namespace, target);
    if (!resolution.found)
      return {
        found: false,
        problem: { ...resolution.problem, message: `target ${target.name}: ${resolution.problem.message}` },
      };
    const upstream = create(UpstreamSchema, { ...resolution.upstream, ...limits });
    targets.push(create(McpTargetSchema, { ...resolution.endpoint, name: target.name, upstream }));
    secrets.push(...resolution.secrets);
  }
  return {
    found: true,
    secrets,
    backend: create(BackendSchema, {
      key: formatProxyBackendKey(namespace, name),
      kind: {
        case: 'mcp',
        value: {
          targets,
          sessionRouting: sessionRouting === 'Stateless' ? SessionRouting.STATELESS : SessionRouting.STATEFUL,
        },
      },
    }),
  };
}

type TargetResolution =
  | {
      readonly found: true;
      readonly upstream: Pick<Upstream, 'endpoints' | 'protocol' | 'hostHeader'> & { tls?: UpstreamTls };
      readonly endpoint: Pick<McpTarget, 'path' | 'transport'>;
      readonly secrets: readonly Secret[];
    }
  | { readonly found: false; readonly problem: ProxyBackendProblem };

function translateTarget(index: ResourceIndex, namespace: string, target: McpTargetSpec): TargetResolution {
  const place = locateTarget(index, namespace, target);
  if (!place.found) return place;
  const { upstream, hostHeader, settings } = place;
  const secrets: Secret[] = [];
  let tls: UpstreamTls | undefined;
  if (target.tls !== undefined) {
    if (upstream.protocol === UpstreamProtocol.H2C)
      return refuse(
        'UnsupportedProtocol',
        'appProtocol kubernetes.io/h2c is HTTP/2 without TLS, and tls is set; remove one of the two',
      );
    const { sni, caCertificateRef, insecureSkipVerify } = target.tls;
    tls = create(UpstreamTlsSchema, { serverName: sni ?? upstream.serverName, insecureSkipVerify });
    if (caCertificateRef !== undefined) {
      const resolution = resolveCaCertificates(index, namespace, caCertificateRef);
      if (!resolution.found) return refuse('InvalidCACertificateRef', resolution.message);
      tls.ca = resolution.secret.key;
      secrets.push(resolution.secret);
    }
  }
  const transport = settings.protocol === 'SSE' ? McpTransport.SSE : McpTransport.STREAMABLE_HTTP;
  return {
    found: true,
    upstream: {
      endpoints: createEndpoints(upstream),
      protocol: upstream.protocol,
      hostHeader,
      ...(tls === undefined ? {} : { tls }),
    },
    endpoint: { path: settings.path, transport },
    secrets,
  };
}

type TargetPlace =
  | {
      readonly found: true;
      readonly upstream: ServiceUpstream;
      readonly hostHeader: string;
      readonly settings: { readonly path: string; readonly protocol: 'StreamableHTTP' | 'SSE' };
    }
  | { readonly found: false; readonly problem: ProxyBackendProblem };

function locateTarget(index: ResourceIndex, namespace: string, target: McpTargetSpec): TargetPlace {
  if (target.static !== undefined) {
    const { host, port } = target.static;
    return {
      found: true,
      upstream: { endpoints: [{ host, port }], protocol: UpstreamProtocol.HTTP1, serverName: host },
      hostHeader: formatHostHeader(host, port, target.tls !== undefined),
      settings: target.static,
    };
  }
  if (target.backendRef === undefined) return refuse('BackendNotFound', 'neither static nor backendRef is set');
  const resolution = resolveServicePort(
    index,
    { group: proxyGroup, kind: 'ProxyBackend', namespace },
    target.backendRef,
  );
  if (!resolution.found) return resolution;
  return { found: true, upstream: resolution.upstream, hostHeader: '', settings: target.backendRef };
}

// As a client of that server would write it. Servers that guard against DNS rebinding refuse any other.
function formatHostHeader(host: string, port: number, isSecure: boolean): string {
  const name = isIPv6(host) ? `[${host}]` : host;
  return port === (isSecure ? 443 : 80) ? name : `${name}:${port}`;
}

function createEndpoints({ endpoints }: ServiceUpstream): Upstream['endpoints'] {
  return create(UpstreamSchema, { endpoints: endpoints.map(({ host, port }) => ({ host, port })) }).endpoints;
}

function describeProxyBackend(
  { metadata }: ProxyBackend,
  resolution: ProxyBackendResolution | undefined,
): ProxyBackendStatus {
  const generation = metadata.generation ?? 0;
  const accepted = createCondition(
    'proxyBackend',
    'Accepted',
    'True',
    'Accepted',
    'The ProxyBackend is valid.',
    generation,
  );
  if (resolution?.found !== false) {
    const message = 'All references are resolved.';
    return {
      conditions: [
        accepted,
        createCondition('proxyBackend', 'ResolvedRefs', 'True', 'ResolvedRefs', message, generation),
      ],
    };
  }
  const { reason, message } = resolution.problem;
  return {
    conditions: [accepted, createCondition('proxyBackend', 'ResolvedRefs', 'False', reason, message, generation)],
  };
}

function refuse<R extends BackendProblem['reason']>(
  reason: R,
  message: string,
): { readonly found: false; readonly problem: { readonly reason: R; readonly message: string } } {
  return { found: false, problem: { reason, message } };
}
