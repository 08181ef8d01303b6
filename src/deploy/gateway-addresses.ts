// Where clients reach a Gateway, as its Service says.
import type { GatewayFacts } from '../translate/gateway-facts.ts';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { isJson, type Json } from './merge-values.ts';

/** Addresses of a Gateway. */
export type GatewayAddresses = GatewayFacts['addresses'];

/**
 * A load balancer's own addresses, once it has some. The other types have none of their own: a Service of type ClusterIP or NodePort is reached at its
 * cluster IPs (and at every node, for a NodePort; which nodes a client can reach is not for us to know), and at external IPs that an overlay sets.
 */
export function readAddresses(service: KubernetesObject): GatewayAddresses {
  const spec = isJson(service['spec']) ? service['spec'] : {};
  if (spec['type'] === 'LoadBalancer') return readIngress(service['status']);
  return [...readTexts(spec['externalIPs']), ...readTexts(spec['clusterIPs'] ?? [spec['clusterIP']])]
    .filter((value) => value !== 'None' && value !== '')
    .map((value) => ({ type: 'IPAddress', value }));
}

function readIngress(status: unknown): GatewayAddresses {
  const balancer: unknown = isJson(status) ? status['loadBalancer'] : undefined;
  const ingress: unknown = isJson(balancer) ? balancer['ingress'] : undefined;
  if (!Array.isArray(ingress)) return [];
  return ingress.filter(isJson).flatMap((entry: Json): GatewayAddresses => {
    const { ip, hostname } = entry;
    if (typeof ip === 'string' && ip !== '') return [{ type: 'IPAddress', value: ip }];
    return typeof hostname === 'string' && hostname !== '' ? [{ type: 'Hostname', value: hostname }] : [];
  });
}

function readTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
