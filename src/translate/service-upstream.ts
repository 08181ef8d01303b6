// A Service port as an upstream: its protocol, and the endpoints that are ready.
import type { BackendObjectReference } from '../api/object-reference.ts';
import type { EndpointSlice } from '../api/endpoint-slice.ts';
import type { Service, ServicePort } from '../api/service.ts';
import { UpstreamProtocol } from '../ir/gen/config_pb.ts';
import { compareText } from './order.ts';
import { describeMissingGrant, isReferencePermitted } from './references.ts';
import type { Referrer } from './references.ts';
import type { ResourceIndex } from './resource-index.ts';
import { describeAbsence } from './resource-index.ts';

/** Where a Service port leads. */
export interface ServiceUpstream {
  /** Sorted, each once; none is no mistake, requests are answered with 503. */
  readonly endpoints: readonly { readonly host: string; readonly port: number }[];
  readonly protocol: UpstreamProtocol;
  /** The name that a certificate of the Service has to carry. */
  readonly serverName: string;
}

/** What a reference to a Service can suffer from. */
export interface ServiceProblem {
  readonly reason: 'RefNotPermitted' | 'BackendNotFound' | 'UnsupportedProtocol';
  readonly message: string;
}

/** A reference to a port of a Service. */
export interface ServiceReference {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly port?: BackendObjectReference['port'];
}

/** The upstream, or what is wrong with the reference. */
export type ServiceResolution =
  | { readonly found: true; readonly namespace: string; readonly port: number; readonly upstream: ServiceUpstream }
  | { readonly found: false; readonly problem: ServiceProblem };

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
): ServiceResolution {
  const namespace = reference.namespace ?? from.namespace;
  const to = { group: '', kind: 'Service', namespace, name: reference.name };
  const name = `${namespace}/${reference.name}`;
  if (!isReferencePermitted(index, from, to)) return refuse('RefNotPermitted', describeMissingGrant(from, to));
  const service = index.services.get(name);
  if (service === undefined)
    return refuse('BackendNotFound', `Service ${name} ${describeAbsence(index, 'Service', namespace, reference.name)}`);
  if (reference.port === undefined) return refuse('BackendNotFound', `the reference to Service ${name} names no port`);
  const port = findPort(service, reference.port);
  if (port === undefined) return refuse('BackendNotFound', `Service ${name} has no port ${reference.port}`);
  if (port.protocol !== 'TCP')
    return refuse(
      'UnsupportedProtocol',
      `port ${port.port} of Service ${name} is a ${port.protocol} port; HTTP needs TCP`,
    );
  const protocol = appProtocols.get(port.appProtocol ?? '');
  if (protocol === undefined)
    return refuse(
      'UnsupportedProtocol',
      `port ${port.port} of Service ${name} has appProtocol ${port.appProtocol}; supported are http, kubernetes.io/h2c and kubernetes.io/ws`,
    );
  const external = service.spec.type === 'ExternalName' ? service.spec.externalName : undefined;
  const endpoints =
    external === undefined
      ? listEndpoints(index.endpointSlices.get(name) ?? [], port)
      : [{ host: external, port: port.port }];
  return {
    found: true,
    namespace,
    port: port.port,
    upstream: { endpoints, protocol, serverName: external ?? `${reference.name}.${namespace}.svc` },
  };
}

type UsedPort = Pick<ServicePort, 'name' | 'port' | 'protocol' | 'targetPort' | 'appProtocol'>;

function findPort({ spec }: Service, number: number): UsedPort | undefined {
  // An ExternalName needs no ports: whatever port is asked for is the port of the name.
  if (spec.type === 'ExternalName' && spec.ports.length === 0)
    return { name: '', port: number, protocol: 'TCP', targetPort: undefined, appProtocol: undefined };
  const ports = spec.ports.filter(({ port }) => port === number);
  return ports.find(({ protocol }) => protocol === 'TCP') ?? ports[0];
}

function listEndpoints(slices: readonly EndpointSlice[], servicePort: UsedPort): ServiceUpstream['endpoints'] {
  const endpoints = new Map<string, { readonly host: string; readonly port: number }>();
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

function refuse(reason: ServiceProblem['reason'], message: string): ServiceResolution {
  return { found: false, problem: { reason, message } };
}
