// Plays connections against NetworkPolicies, by the rules of Kubernetes: policies that select a pod isolate it in their directions, and what any of them allows passes.
import { BlockList, isIPv6 } from 'node:net';

/** One end of a connection: a pod, or an address outside of the cluster. */
export interface End {
  readonly address: string;
  /** Absent: it is no pod. */
  readonly pod?: {
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly namespaceLabels?: Readonly<Record<string, string>>;
  };
}

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
}

interface Peer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

interface Rule {
  readonly ports?: readonly { readonly port: number; readonly protocol: string }[];
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
}

/** A NetworkPolicy, as far as it is played. */
export interface NetworkPolicy {
  readonly metadata: { readonly namespace?: string };
  readonly spec: {
    readonly podSelector: LabelSelector;
    readonly policyTypes: readonly string[];
    readonly ingress?: readonly Rule[];
    readonly egress?: readonly Rule[];
  };
}

export interface Flow {
  readonly from: End;
  readonly to: End;
  readonly port: number;
  readonly protocol?: 'TCP' | 'UDP';
}

/** Whether a connection comes about: both ends must let it through. */
export function isAllowed(policies: readonly NetworkPolicy[], { from, to, port, protocol = 'TCP' }: Flow): boolean {
  const passes = (end: End, other: End, direction: 'Ingress' | 'Egress'): boolean => {
    const isolating = policies.filter((policy) => selects(policy, end) && policy.spec.policyTypes.includes(direction));
    if (isolating.length === 0) return true;
    return isolating.some(({ metadata, spec }) =>
      (direction === 'Ingress' ? spec.ingress : spec.egress)?.some((rule) => {
        const peers = direction === 'Ingress' ? rule.from : rule.to;
        const isPort =
          rule.ports === undefined || rule.ports.some((one) => one.port === port && one.protocol === protocol);
        return isPort && (peers === undefined || peers.some((peer) => isPeer(peer, other, metadata.namespace ?? '')));
      }),
    );
  };
  return passes(from, to, 'Egress') && passes(to, from, 'Ingress');
}

function selects({ metadata, spec }: NetworkPolicy, { pod }: End): boolean {
  return pod !== undefined && pod.namespace === metadata.namespace && matches(spec.podSelector, pod.labels);
}

/** As strict networks do it: a block of addresses is never one of pods. */
function isPeer({ podSelector, namespaceSelector, ipBlock }: Peer, { address, pod }: End, namespace: string): boolean {
  if (ipBlock !== undefined)
    return (
      pod === undefined &&
      isInside(address, ipBlock.cidr) &&
      !(ipBlock.except ?? []).some((network) => isInside(address, network))
    );
  if (pod === undefined) return false;
  const isPlace =
    namespaceSelector === undefined
      ? pod.namespace === namespace
      : matches(namespaceSelector, { 'kubernetes.io/metadata.name': pod.namespace, ...pod.namespaceLabels });
  return isPlace && (podSelector === undefined || matches(podSelector, pod.labels));
}

function matches({ matchLabels = {} }: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(matchLabels).every(([name, value]) => labels[name] === value);
}

function isInside(address: string, network: string): boolean {
  const [base = '', prefix = '0'] = network.split('/');
  const family = isIPv6(base) ? 'ipv6' : 'ipv4';
  if (isIPv6(address) !== isIPv6(base)) return false;
  const list = new BlockList();
  list.addSubnet(base, Number(prefix), family);
  return list.check(address, family);
}
