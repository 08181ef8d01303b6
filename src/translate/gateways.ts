// The Gateways that are ours, from the oldest to the youngest, and where they bind.
import type { Gateway } from '../api/gateway.ts';
import type { GatewayParameters } from '../api/gateway-parameters.ts';
import { type BindAddresses, resolveBindAddresses } from './bind-addresses.ts';
import type { GatewayClasses, GatewayClassState } from './gateway-classes.ts';
import type { Derived, Memory } from './memory.ts';
import type { Notices } from './notices.ts';
import { formatName, sortByAge } from './order.ts';
import { type ParametersResolution, resolveGatewayParameters } from './parameters.ts';
import type { Placement } from './placement.ts';
import type { ResourceIndex } from './resource-index.ts';
import { type DeniedRoutes, findLoosening, resolveUnprotectedRoutes } from './unprotected-routes.ts';

/** A Gateway of ours. */
export interface ResolvedGateway {
  /** namespace/name. */
  readonly name: string;
  readonly gateway: Gateway;
  readonly placement: Placement;
  readonly binding: BindAddresses;
  /** Set: its class is not accepted yet, and nothing of it is served. */
  readonly pending: string | undefined;
  /** Set: its parameters, or those of its class, cannot be used. */
  readonly parametersProblem: string | undefined;
  /** Those of its class, then its own. */
  readonly parameters: readonly GatewayParameters[];
  /** Set: rules that nothing protects are closed. */
  readonly deniedRoutes: DeniedRoutes | undefined;
}

/** Our Gateways. */
export interface Gateways {
  /** By namespace/name; undefined for those of others. */
  readonly find: Derived<ResolvedGateway | undefined>;
  /** The oldest first. */
  readonly list: () => readonly ResolvedGateway[];
  /** Notes the Gateways whose class does not exist. */
  readonly noteUnknown: (notices: Notices) => void;
}

/** Finds the Gateways of our classes and ignores all others. */
export function prepareGateways(
  memory: Memory,
  index: ResourceIndex,
  { states }: GatewayClasses,
  placement: Placement,
): Gateways {
  const find = memory.derive((name) => {
    const gateway = index.gateways.get(name);
    return gateway && resolveGateway(index, gateway, states.get(gateway.spec.gatewayClassName), placement);
  });
  return {
    find,
    list: () => sortByAge([...index.gateways.values()]).flatMap((gateway) => find.get(formatName(gateway)) ?? []),
    noteUnknown(notices) {
      for (const gateway of index.gateways.values()) {
        const { gatewayClassName } = gateway.spec;
        if (states.get(gatewayClassName).state === 'unknown')
          notices.add(
            'Gateway',
            gateway,
            `is not served: its GatewayClass ${gatewayClassName} does not exist; use the GatewayClass proxy`,
          );
      }
    },
  };
}

/** Whether the Gateway can serve its listeners. Running pods keep serving while their Gateway cannot be deployed as requested. */
export function canServe({ placement, binding, pending, parametersProblem }: ResolvedGateway): boolean {
  if (pending !== undefined) return false;
  return placement === 'pods' || (binding.usable && parametersProblem === undefined);
}

/** Why a Gateway cannot be deployed; undefined when it can. */
export function findDeployProblem({ binding, pending, parametersProblem }: ResolvedGateway): string | undefined {
  return pending ?? parametersProblem ?? (binding.usable ? undefined : binding.message);
}

function resolveGateway(
  index: ResourceIndex,
  gateway: Gateway,
  classState: GatewayClassState,
  placement: Placement,
): ResolvedGateway | undefined {
  const { gatewayClassName } = gateway.spec;
  const common = {
    name: formatName(gateway),
    gateway,
    placement,
    binding: resolveBindAddresses(gateway, placement),
    pending: undefined,
    parametersProblem: undefined,
    parameters: [],
    deniedRoutes: undefined,
  };
  if (classState.state === 'ours-but-invalid')
    return { ...common, pending: `GatewayClass ${gatewayClassName} exists but is invalid` };
  if (classState.state !== 'ours') return undefined;
  const ofClass = classState.parameters;
  const own = resolveGatewayParameters(index, gateway, placement, ofClass.usable ? ofClass.parameters : undefined);
  // On a host only the flag decides.
  const known = { ...common, deniedRoutes: placement === 'pods' ? resolveUnprotectedRoutes(ofClass, own) : undefined };
  const parametersProblem = findParametersProblem(gatewayClassName, ofClass, own);
  if (parametersProblem !== undefined || !ofClass.usable || !own.usable) return { ...known, parametersProblem };
  return { ...known, parameters: [ofClass.parameters ?? [], own.parameters ?? []].flat() };
}

function findParametersProblem(
  className: string,
  ofClass: ParametersResolution,
  own: ParametersResolution,
): string | undefined {
  if (!ofClass.usable) return `GatewayClass ${className}: ${ofClass.message}`;
  return own.usable ? findLoosening(ofClass.parameters, own.parameters) : own.message;
}
