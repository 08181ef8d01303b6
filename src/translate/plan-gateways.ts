// What is to be deployed for our Gateways, and which of them are left as they are.
import type { GatewayStatus } from './conditions.ts';
import type { GatewayPlan, HeldGateway } from './gateway-plan.ts';
import { type ResolvedGateway, findDeployProblem } from './gateways.ts';
import type { Described } from './list-statuses.ts';
import type { ResolvedListener } from './listeners.ts';
import { compareText } from './order.ts';

/** Every Gateway of ours is in one of the two lists, by name. */
interface Deployment {
  readonly plans: readonly GatewayPlan[];
  readonly held: readonly HeldGateway[];
}

/** Plans Gateways. `invalid` are the statuses of those that did not validate. */
export function planGateways(
  gateways: readonly ResolvedGateway[],
  listeners: readonly ResolvedListener[],
  invalid: readonly Described<GatewayStatus>[],
): Deployment {
  const listenersByGateway = Map.groupBy(listeners, ({ gateway }) => gateway.name);
  const plans: GatewayPlan[] = [];
  const held: HeldGateway[] = invalid.flatMap(({ name, status }) =>
    status === undefined ? [] : [{ name, reason: status.conditions[0]?.message ?? 'it is invalid' }],
  );
  for (const resolved of gateways) {
    const { name, gateway, binding, parameters } = resolved;
    const own = listenersByGateway.get(name) ?? [];
    const ports = listPorts(own);
    const hasValid = own.some(({ isServed, isValid }) => isServed && isValid);
    const reason = findDeployProblem(resolved) ?? (hasValid ? undefined : 'no listener can be served');
    if (reason !== undefined) held.push({ name, reason });
    else plans.push({ name, gateway, parameters, addresses: binding.usable ? binding.addresses : [], ports });
  }
  return { plans: plans.toSorted(compareByName), held: held.toSorted(compareByName) };
}

// A Service needs a port; a Gateway without one is deployed once it has one. A port whose certificate is missing stays: gateways may have the last good one.
function listPorts(listeners: readonly ResolvedListener[]): GatewayPlan['ports'] {
  const names = new Map<number, string>();
  for (const { isServed, spec } of listeners) if (isServed && !names.has(spec.port)) names.set(spec.port, spec.name);
  return [...names].map(([port, name]) => ({ name, port })).toSorted((left, right) => left.port - right.port);
}

function compareByName(left: { readonly name: string }, right: { readonly name: string }): number {
  return compareText(left.name, right.name);
}
