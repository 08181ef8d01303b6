// The names of Services and what they resolve to: the same table fills the hosts files of pods and answers DNS.
import type { ApiObject } from '../api-client.ts';

/** A Service, as far as names and rules need it. */
export interface Service extends ApiObject {
  readonly spec: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly loadBalancerIP?: string;
    readonly loadBalancerClass?: string;
    readonly ports?: readonly {
      readonly name?: string;
      readonly port: number;
      readonly protocol?: string;
      readonly nodePort?: number;
    }[];
  };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] } };
}

/** One endpoint. */
export interface Endpoint {
  readonly addresses: readonly string[];
  readonly hostname?: string;
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
}

/** An EndpointSlice. */
export interface EndpointSlice extends ApiObject {
  readonly addressType: string;
  /** The API server writes null for none. */
  readonly endpoints: readonly Endpoint[] | null;
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string }[];
}

/** Full names (`echo.default.svc.cluster.local`) and their addresses. */
export type ServiceNames = ReadonlyMap<string, readonly string[]>;

/** The domain of the cluster. */
export const clusterDomain = 'cluster.local';

/** The key under which an EndpointSlice names its Service. */
export function nameServiceOf(slice: EndpointSlice): string {
  return `${slice.metadata.namespace}/${slice.metadata.labels?.['kubernetes.io/service-name'] ?? ''}`;
}

/** The endpoints that take traffic: those that are ready, or, when there are none, those that still serve while they end. */
export function selectEndpoints(slices: readonly EndpointSlice[]): readonly Endpoint[] {
  const all = slices.filter((slice) => slice.addressType === 'IPv4').flatMap((slice) => slice.endpoints ?? []);
  const ready = all.filter(({ conditions }) => conditions?.ready !== false);
  return ready.length > 0 ? ready : all.filter(({ conditions }) => conditions?.serving === true);
}

/** All names. `extra` are names that a test added. */
export function listServiceNames(
  services: Iterable<Service>,
  slicesByService: ReadonlyMap<string, readonly EndpointSlice[]>,
  extra: ReadonlyMap<string, string>,
): ServiceNames {
  const names = new Map<string, readonly string[]>();
  for (const { metadata, spec } of services) {
    const name = `${metadata.name}.${metadata.namespace}.svc.${clusterDomain}`;
    if (spec.clusterIP !== undefined && spec.clusterIP !== 'None' && spec.clusterIP !== '') {
      names.set(name, [spec.clusterIP]);
      continue;
    }
    if (spec.clusterIP !== 'None') continue;
    const endpoints = selectEndpoints(slicesByService.get(`${metadata.namespace}/${metadata.name}`) ?? []);
    names.set(name, [...new Set(endpoints.flatMap(({ addresses }) => addresses))]);
    for (const { hostname, addresses } of endpoints) {
      if (hostname !== undefined && hostname !== '') names.set(`${hostname}.${name}`, addresses);
    }
  }
  for (const [name, address] of extra) names.set(name, [address]);
  return names;
}

/** The hosts file of a pod: itself, what its spec adds, and every Service by all the names that mean it in the pod's namespace. */
export function formatHostsFile(
  pod: { readonly hostname: string; readonly address: string; readonly namespace: string },
  aliases: readonly { readonly ip: string; readonly hostnames?: readonly string[] }[],
  names: ServiceNames,
): string {
  const lines = ['127.0.0.1\tlocalhost', '::1\tlocalhost', `${pod.address}\t${pod.hostname}`];
  for (const { ip, hostnames = [] } of aliases) lines.push(`${ip}\t${hostnames.join(' ')}`);
  for (const [name, addresses] of names) {
    for (const address of addresses) lines.push(`${address}\t${shortenName(name, pod.namespace).join(' ')}`);
  }
  return `${lines.join('\n')}\n`;
}

/** `resolv.conf` of a pod. */
export function formatResolverFile(nodeAddress: string, namespace: string): string {
  const domains = [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return `nameserver ${nodeAddress}\nsearch ${domains.join(' ')}\noptions ndots:5\n`;
}

/** A full name and its short forms in a namespace. */
function shortenName(name: string, namespace: string): readonly string[] {
  const suffixes = [`.${clusterDomain}`, `.svc.${clusterDomain}`, `.${namespace}.svc.${clusterDomain}`];
  return [name, ...suffixes.filter((suffix) => name.endsWith(suffix)).map((suffix) => name.slice(0, -suffix.length))];
}
