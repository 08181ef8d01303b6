// The Gateways that are ours, from the oldest to the youngest, and where they bind.
import type { Gateway } from '../api/gateway.ts';
import type { BindAddresses } from './bind-addresses.ts';
import { resolveBindAddresses } from './bind-addresses.ts';
import type { GatewayClasses } from './gateway-classes.ts';
import type { Notices } from './notices.ts';
import { compareByAge, formatName } from './order.ts';
import type { ResourceIndex } from './resource-index.ts';

/** A Gateway of ours. */
export interface ResolvedGateway {
  /** namespace/name. */
  readonly name: string;
  readonly gateway: Gateway;
  readonly binding: BindAddresses;
  /** Set: its class is not accepted yet, and nothing of it is served. */
  readonly pending: string | undefined;
  /** Set: spec.infrastructure.parametersRef cannot be followed. */
  readonly parametersProblem: string | undefined;
}

/** The Gateways of our classes, the oldest first. Those of others are left alone; one of an unknown class is noted. */
export function resolveGateways(
  index: ResourceIndex,
  classes: GatewayClasses,
  notices: Notices,
): readonly ResolvedGateway[] {
  const ours: Gateway[] = [];
  for (const gateway of index.gateways.values()) {
    const { gatewayClassName } = gateway.spec;
    const state = classes.find(gatewayClassName);
    if (state === 'ours' || state === 'ours-but-invalid') ours.push(gateway);
    if (state === 'unknown')
      notices.add(
        'Gateway',
        gateway,
        `is not served: its GatewayClass ${gatewayClassName} does not exist; the class of this gateway is proxy`,
      );
  }
  return ours.toSorted(compareByAge).map((gateway) => {
    const { gatewayClassName } = gateway.spec;
    const pending =
      classes.find(gatewayClassName) === 'ours' ? undefined : `GatewayClass ${gatewayClassName} exists but is invalid`;
    return {
      name: formatName(gateway),
      gateway,
      binding: resolveBindAddresses(gateway),
      pending,
      parametersProblem: findParametersProblem(gateway),
    };
  });
}

/** Whether the Gateway itself lets its listeners be served. */
export function canServe(gateway: ResolvedGateway): boolean {
  return gateway.binding.usable && gateway.pending === undefined && gateway.parametersProblem === undefined;
}

function findParametersProblem(gateway: Gateway): string | undefined {
  const reference = gateway.spec.infrastructure?.parametersRef;
  if (reference === undefined) return undefined;
  return `infrastructure.parametersRef: parameters of kind ${reference.group}/${reference.kind} are not supported`;
}
