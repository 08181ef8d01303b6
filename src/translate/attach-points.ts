// The part of a Gateway and its listeners that HTTPRoutes read. Changes of anything else do not translate routes again.
import type { GatewayListener } from '../api/gateway.ts';
import type { Gateways } from './gateways.ts';
import type { ResolvedListener } from './listeners.ts';
import type { Derived, Memory } from './memory.ts';

/** A Gateway of ours, as routes see it. */
export interface AttachPoint {
  /** namespace/name */
  readonly gateway: string;
  readonly namespace: string;
  /** Set: its class is not accepted yet, and nothing of it is served. */
  readonly pending: string | undefined;
  readonly listeners: readonly AttachListener[];
}

/** A listener, as routes see it. */
export interface AttachListener extends Pick<ResolvedListener, 'key' | 'takesHttpRoutes' | 'isServed'> {
  readonly name: string;
  readonly port: number;
  /** Empty: any. */
  readonly hostname: string;
  readonly namespaces: GatewayListener['allowedRoutes']['namespaces'];
}

/** Shows our Gateways to routes, by namespace/name; undefined for Gateways of other controllers. */
export function prepareAttachPoints(
  memory: Memory,
  gateways: Gateways,
  listeners: Derived<readonly ResolvedListener[]>,
): Derived<AttachPoint | undefined> {
  return memory.derive<AttachPoint | undefined>((name) => {
    const gateway = gateways.find.get(name);
    if (gateway === undefined) return undefined;
    return {
      gateway: name,
      namespace: gateway.gateway.metadata.namespace,
      pending: gateway.pending,
      listeners: listeners.get(name).map(({ key, spec, takesHttpRoutes, isServed }) => ({
        key,
        takesHttpRoutes,
        isServed,
        name: spec.name,
        port: spec.port,
        hostname: spec.hostname ?? '',
        namespaces: spec.allowedRoutes.namespaces,
      })),
    };
  });
}
