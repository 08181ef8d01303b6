// Services as nftables rules: an address and port of a Service become those of one of its endpoints, and the source stays what it
// is, as with kube-proxy. Pure: the node's table as one text that replaces the one before it.
import type { ClusterAddresses } from '../cluster-addresses.ts';
import type { BlackHole } from '../supervisor-commands.ts';
import { type EndpointSlice, selectEndpoints, type Service } from './service-names.ts';

/** Where a Service port leads. */
interface ServicePort {
  readonly addresses: readonly string[];
  readonly protocol: string;
  readonly port: number;
  readonly nodePort: number | undefined;
  readonly endpoints: readonly string[];
}

const table = 'cluster-services';

/** The rules for all Services. */
export function formatServiceRules(
  services: Iterable<Service>,
  slicesByService: ReadonlyMap<string, readonly EndpointSlice[]>,
  addresses: ClusterAddresses,
): string {
  const ports = [...services].flatMap((service) => listPorts(service, slicesByService));
  const served = ports.filter(({ endpoints }) => endpoints.length > 0);
  const chains: string[] = [];
  const services4: string[] = [];
  const nodePorts: string[] = [];
  for (const [index, { addresses: own, protocol, port, nodePort, endpoints }] of served.entries()) {
    const verdicts = endpoints.map((endpoint, at) => {
      chains.push(`chain port-${index}-${at} { meta l4proto ${protocol} dnat to ${endpoint}; }`);
      return `${at} : goto port-${index}-${at}`;
    });
    const choice = `numgen inc mod ${endpoints.length} vmap { ${verdicts.join(', ')} }`;
    chains.push(`chain port-${index} { ${choice}; }`);
    for (const address of own) services4.push(`${address} . ${protocol} . ${port} : goto port-${index}`);
    if (nodePort !== undefined) nodePorts.push(`${protocol} . ${nodePort} : goto port-${index}`);
  }
  const pods = [...new Set(served.flatMap(({ endpoints }) => endpoints.map((endpoint) => endpoint.split(':')[0])))];
  const lookUp = [
    'ip daddr . meta l4proto . th dport vmap @services;',
    `ip daddr ${addresses.node} meta l4proto . th dport vmap @node-ports;`,
  ].join(' ');
  const refuse = `ip daddr { ${addresses.serviceRange}, ${addresses.loadBalancerRange} } reject;`;
  return [
    `table ip ${table}`,
    `delete table ip ${table}`,
    `table ip ${table} {`,
    ...chains,
    `map services { type ipv4_addr . inet_proto . inet_service : verdict; ${formatElements(services4)} }`,
    `map node-ports { type inet_proto . inet_service : verdict; ${formatElements(nodePorts)} }`,
    // A pod that reaches itself through a Service must not see its own address as the source.
    `set hairpin { type ipv4_addr . ipv4_addr; ${formatElements(pods.map((pod) => `${pod} . ${pod}`))} }`,
    `chain prerouting { type nat hook prerouting priority dstnat; ${lookUp} }`,
    `chain output { type nat hook output priority -100; ${lookUp} }`,
    'chain postrouting { type nat hook postrouting priority srcnat; ip saddr . ip daddr @hairpin masquerade; }',
    // What still has an address of a Service has no endpoint.
    `chain refuse-forwarded { type filter hook forward priority filter; ${refuse} }`,
    `chain refuse-own { type filter hook output priority filter; ${refuse} }`,
    '}',
    '',
  ].join('\n');
}

/** The rules that lose traffic. */
export function formatBlackHoles(holes: Iterable<BlackHole>): string {
  const rules = [...holes].flatMap(({ from, to, port }) => [
    formatDrop(from, to, port === undefined ? '' : `tcp dport ${port}`),
    formatDrop(to, from, port === undefined ? '' : `tcp sport ${port}`),
  ]);
  const name = 'cluster-black-holes';
  // Before connection tracking: nothing answers for a packet that was lost.
  const chains = ['prerouting', 'output'].map(
    (hook) => `chain ${hook} { type filter hook ${hook} priority raw; ${rules.join(' ')} }`,
  );
  // Where rules replace addresses, packets are seen again with the real ones.
  const after = ['input', 'forward', 'postrouting'].map(
    (hook) => `chain after-${hook} { type filter hook ${hook} priority filter; ${rules.join(' ')} }`,
  );
  return [`table ip ${name}`, `delete table ip ${name}`, `table ip ${name} {`, ...chains, ...after, '}', ''].join('\n');
}

function formatDrop(source: string | undefined, destination: string | undefined, port: string): string {
  const match = [
    source === undefined ? '' : `ip saddr ${source}`,
    destination === undefined ? '' : `ip daddr ${destination}`,
    port,
  ];
  return `${match.filter((part) => part !== '').join(' ')} drop;`;
}

function formatElements(elements: readonly string[]): string {
  return elements.length === 0 ? '' : `elements = { ${elements.join(', ')} }`;
}

function listPorts(
  service: Service,
  slicesByService: ReadonlyMap<string, readonly EndpointSlice[]>,
): readonly ServicePort[] {
  const { metadata, spec, status } = service;
  const isVirtual = spec.clusterIP !== undefined && spec.clusterIP !== 'None' && spec.clusterIP !== '';
  const balanced = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
  const addresses = [...(isVirtual ? [spec.clusterIP] : []), ...balanced];
  const slices = slicesByService.get(`${metadata.namespace}/${metadata.name}`) ?? [];
  return (spec.ports ?? []).map(({ name = '', port, protocol = 'TCP', nodePort }) => ({
    addresses,
    protocol: protocol.toLowerCase(),
    port,
    nodePort,
    endpoints: listEndpoints(slices, name, protocol),
  }));
}

function listEndpoints(slices: readonly EndpointSlice[], name: string, protocol: string): readonly string[] {
  // All slices decide together whether any endpoint is ready.
  const selected = new Set(selectEndpoints(slices));
  const endpoints = slices.flatMap((slice) =>
    (slice.ports ?? [])
      .filter((port) => (port.name ?? '') === name && (port.protocol ?? 'TCP') === protocol && port.port !== undefined)
      .flatMap(({ port }) =>
        (slice.endpoints ?? [])
          .filter((endpoint) => selected.has(endpoint))
          .flatMap(({ addresses }) => addresses.map((address) => `${address}:${port}`)),
      ),
  );
  return [...new Set(endpoints)].toSorted();
}
