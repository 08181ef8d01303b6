// A Service port as an upstream: its protocol, and the endpoints that are ready.
import type { BackendObjectReference } from '../api/object-reference.ts';
import type { EndpointSlice } from '../api/endpoint-slice.ts';
import type { Service, ServicePort } from '../api/service.ts';
import { create } from '@bufbuild/protobuf';
import { type Upstream, UpstreamProtocol, UpstreamSchema } from '../ir/gen/config_pb.ts';
import { compareText } from './order.ts';
import { describeMissingGrant, isReferencePermitted, type Referrer } from './references.ts';
import { type ResourceIndex, describeAbsence } from './resource-index.ts';

/** Where a Service port leads. */
export interface ServiceUpstream {
  /** Sorted, each once. None is valid: requests are then answered with 503. */
  readonly endpoints: readonly ServiceEndpoint[];
  readonly protocol: UpstreamProtocol;
  /** The name that a certificate of the Service has to carry. */
  readonly serverName: string;
}

/** One endpoint. */
export interface ServiceEndpoint {
  readonly host: string;
  readonly port: number;
}

/** A problem of a reference to a Service. */
export interface ServiceProblem {
  readonly reason: 'RefNotPermitted' | 'BackendNotFound' | 'UnsupportedProtocol';
  readonly message: string;
}

/** A reference to a port of a Service. */
interface ServiceReference {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly port?: BackendObjectReference['port'];
}

/** A TCP port of a Service, whatever is spoken there. */
export interface FoundTcpPort {
  readonly found: true;
  /** namespace/name of the Service. */
  readonly service: string;
  readonly port: UsedPort;
  /** Set: the Service stands for this DNS name. */
  readonly externalName: string | undefined;
}

/** A port of a Service, without its endpoints: those change more often. */
export interface FoundServicePort extends FoundTcpPort {
  readonly protocol: UpstreamProtocol;
}

interface Refusal {
  readonly found: false;
  readonly problem: ServiceProblem;
}

// KEP-3726. A WebSocket begins as an HTTP/1.1 request; wss and https would need TLS that nothing describes here.
const appProtocols = new Map([
  ['', UpstreamProtocol.HTTP1],
  ['http', UpstreamProtocol.HTTP1],
  ['kubernetes.io/ws', UpstreamProtocol.HTTP1],
  ['kubernetes.io/h2c', UpstreamProtocol.H2C],
]);

/** Follows a reference to a Service port. */
export function resolveServicePort(
  index: ResourceIndex,
  from: Referrer,
  reference: ServiceReference,
): { readonly found: true; readonly upstream: ServiceUpstream } | Refusal {
  const namespace = reference.namespace ?? from.namespace;
  const to = { group: '', kind: 'Service', namespace, name: reference.name };
  if (!isReferencePermitted(index, from, to)) return refuse('RefNotPermitted', describeMissingGrant(from, to));
  const port = findServicePort(index, namespace, reference.name, reference.port ?? 0);
  if (!port.found) return port;
  const serverName = port.externalName ?? `${reference.name}.${namespace}.svc`;
  return {
    found: true,
    upstream: { endpoints: listServiceEndpoints(index, port), protocol: port.protocol, serverName },
  };
}

/** Finds a port of a Service that speaks HTTP; 0 stands for a reference without one. */
export function findServicePort(
  index: ResourceIndex,
  namespace: string,
  ownName: string,
  number: number,
): FoundServicePort | Refusal {
  const found = findTcpPort(index, namespace, ownName, number);
  if (!found.found) return found;
  const { service, port } = found;
  const protocol = appProtocols.get(port.appProtocol ?? '');
  if (protocol === undefined)
    return refuse(
      'UnsupportedProtocol',
      `port ${port.port} of Service ${service} has appProtocol ${port.appProtocol}; use http, kubernetes.io/h2c or kubernetes.io/ws`,
    );
  return { ...found, protocol };
}

/** Finds a port of a Service; 0 stands for a reference without one. */
export function findTcpPort(
  index: ResourceIndex,
  namespace: string,
  ownName: string,
  number: number,
): FoundTcpPort | Refusal {
  const name = `${namespace}/${ownName}`;
  const service = index.services.get(name);
  if (service === undefined)
    return refuse('BackendNotFound', `Service ${name} ${describeAbsence(index, 'Service', namespace, ownName)}`);
  if (number === 0) return refuse('BackendNotFound', `the reference to Service ${name} has no port; set one`);
  const port = findPort(service, number);
  if (port === undefined) return refuse('BackendNotFound', `Service ${name} has no port ${number}`);
  if (port.protocol !== 'TCP')
    return refuse(
      'UnsupportedProtocol',
      `port ${port.port} of Service ${name} is a ${port.protocol} port; HTTP needs TCP`,
    );
  const externalName = service.spec.type === 'ExternalName' ? service.spec.externalName : undefined;
  return { found: true, service: name, port, externalName };
}

/** The endpoints of a Service port that are ready. */
export function listServiceEndpoints(
  index: ResourceIndex,
  { service, port, externalName }: Pick<FoundTcpPort, 'service' | 'port' | 'externalName'>,
): ServiceUpstream['endpoints'] {
  if (externalName !== undefined) return [{ host: externalName, port: port.port }];
  return listEndpoints(index.endpointSlices.get(service) ?? [], port);
}

type UsedPort = Pick<ServicePort, 'name' | 'port' | 'protocol' | 'targetPort' | 'appProtocol'>;

function findPort({ spec }: Service, number: number): UsedPort | undefined {
  // An ExternalName needs no ports: the port of the reference is used.
  if (spec.type === 'ExternalName' && spec.ports.length === 0)
    return { name: '', port: number, protocol: 'TCP', targetPort: undefined, appProtocol: undefined };
  const ports = spec.ports.filter(({ port }) => port === number);
  return ports.find(({ protocol }) => protocol === 'TCP') ?? ports[0];
}

function listEndpoints(slices: readonly EndpointSlice[], servicePort: UsedPort): ServiceUpstream['endpoints'] {
  const endpoints = new Map<string, ServiceEndpoint>();
  for (const slice of slices) {
    for (const slicePort of slice.ports) {
      if (slicePort.name !== servicePort.name || slicePort.protocol !== 'TCP') continue;
      const { targetPort } = servicePort;
      const port = slicePort.port ?? (typeof targetPort === 'number' ? targetPort : servicePort.port);
      for (const { addresses, conditions } of slice.endpoints) {
        const [host] = addresses; // all reach the same endpoint
        if (host !== undefined && conditions.ready !== false) endpoints.set(`${host} ${port}`, { host, port });
      }
    }
  }
  return [...endpoints].toSorted(([left], [right]) => compareText(left, right)).map(([, endpoint]) => endpoint);
}

function refuse(reason: ServiceProblem['reason'], message: string): Refusal {
  return { found: false, problem: { reason, message } };
}

/** Endpoints as messages. */
export function createEndpoints(endpoints: ServiceUpstream['endpoints']): Upstream['endpoints'] {
  return create(UpstreamSchema, { endpoints: endpoints.map(({ host, port }) => ({ host, port })) }).endpoints;
}
