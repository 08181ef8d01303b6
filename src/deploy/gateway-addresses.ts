// The addresses of a Gateway, from its Service.
import type { GatewayFacts } from '../translate/gateway-facts.ts';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { isJson, type Json } from './merge-values.ts';

/** Addresses of a Gateway. */
export type GatewayAddresses = GatewayFacts['addresses'];

/**
 * For a LoadBalancer, its ingress addresses, once it has some. A Service of type ClusterIP or NodePort is reached at its cluster IPs and at external IPs
 * that an overlay sets. (A NodePort also at every node, but we do not know which nodes a client can reach.)
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
