// --address: every Gateway listens there, whatever its spec.addresses say.
import type { Resources } from '../api/resources.ts';

/** The same resources with this address in every Gateway. */
export function overrideAddress(resources: Resources, address: string): Resources {
  const gateways = resources.gateways.map((gateway) => ({
    ...gateway,
    spec: { ...gateway.spec, addresses: [{ type: 'IPAddress' as const, value: address }] },
  }));
  return { ...resources, gateways };
}
