// The status of a Gateway: a summary of itself and of its listeners.
import { allowsInsecureFallback } from './client-validation.ts';
import { createCondition, type Condition, type GatewayStatus, type ListenerStatus } from './conditions.ts';
import type { Gateways, ResolvedGateway } from './gateways.ts';
import { type ResolvedListener, describeListener } from './listeners.ts';
import { allowsPodMetadata } from './pod-metadata.ts';
import type { Derived, Memory, Table } from './memory.ts';

/** Why a Gateway is not programmed. */
export const noListenerMessage = 'No listener can be served.';

/** Prepares the statuses of our Gateways, by namespace/name. `attachedRoutes` counts routes by the key of a listener. */
export function prepareGatewayStatuses(
  memory: Memory,
  gateways: Gateways,
  listeners: Derived<readonly ResolvedListener[]>,
  attachedRoutes: Table<number>,
): Derived<GatewayStatus | undefined> {
  return memory.derive((name) => {
    const gateway = gateways.find.get(name);
    if (gateway === undefined) return undefined;
    const own = listeners.get(name);
    const statuses = own.map((listener) => describeListener(listener, attachedRoutes.get(listener.key) ?? 0));
    return describeGateway(gateway, own, statuses);
  });
}

function describeGateway(
  gateway: ResolvedGateway,
  listeners: readonly ResolvedListener[],
  listenerStatuses: readonly ListenerStatus[],
): GatewayStatus {
  const generation = gateway.gateway.metadata.generation ?? 0;
  if (gateway.pending !== undefined)
    return {
      conditions: [
        createCondition('gateway', 'Accepted', 'Unknown', 'Pending', gateway.pending, generation),
        createCondition('gateway', 'Programmed', 'Unknown', 'Pending', gateway.pending, generation),
      ],
      listeners: [],
    };
  const { binding, placement } = gateway;
  return {
    ...(placement === 'host' &&
    binding.usable &&
    binding.addresses.length > 0 &&
    listeners.some(({ isServed, isValid }) => isServed && isValid)
      ? { addresses: binding.addresses.map((value) => ({ type: 'IPAddress', value })) }
      : {}),
    conditions: [
      describeAccepted(gateway, listeners, generation),
      describeProgrammed(gateway, listeners, generation),
      describeRefs(listeners, generation),
      ...describeInsecureFallback(gateway, generation),
    ],
    listeners: listenerStatuses,
  };
}

function describeAccepted(
  gateway: ResolvedGateway,
  listeners: readonly ResolvedListener[],
  generation: number,
): Condition {
  const { binding, parametersProblem } = gateway;
  if (parametersProblem !== undefined)
    return createCondition('gateway', 'Accepted', 'False', 'InvalidParameters', parametersProblem, generation);
  if (!binding.usable && binding.reason === 'UnsupportedAddress')
    return createCondition('gateway', 'Accepted', 'False', 'UnsupportedAddress', binding.message, generation);
  const bad = listeners.filter(({ isValid }) => !isValid).map(({ spec }) => spec.name);
  if (bad.length === 0)
    return createCondition(
      'gateway',
      'Accepted',
      'True',
      'Accepted',
      `The Gateway is valid.${describePodMetadata(gateway)}`,
      generation,
    );
  const good = listeners.filter(({ isValid }) => isValid).map(({ spec }) => spec.name);
  const message = `listeners that cannot be served: ${bad.join(', ')}; listeners that can: ${good.length === 0 ? 'none' : good.join(', ')}`;
  return createCondition(
    'gateway',
    'Accepted',
    good.length === 0 ? 'False' : 'True',
    'ListenersNotValid',
    message,
    generation,
  );
}

/** Labels and annotations that the Gateway wants on everything, and that pods do not get. */
function describePodMetadata({ gateway, parameters, placement }: ResolvedGateway): string {
  if (placement !== 'pods') return '';
  // Only those of the class have one.
  const delegation = parameters.find(({ spec }) => spec.delegation !== undefined)?.spec.delegation;
  const { labels, annotations } = gateway.spec.infrastructure ?? {};
  const left = [...Object.keys(labels ?? {}), ...Object.keys(annotations ?? {})].filter(
    (key) => !allowsPodMetadata(key, delegation),
  );
  if (left.length === 0) return '';
  return ` Of spec.infrastructure, the Service and the Deployment get ${left.join(', ')}, pods and their ServiceAccount do not: delegation.podMetadata of the class does not allow it.`;
}

function describeProgrammed(
  gateway: ResolvedGateway,
  listeners: readonly ResolvedListener[],
  generation: number,
): Condition {
  const { binding, placement, parametersProblem } = gateway;
  if (!binding.usable && binding.reason !== 'UnsupportedAddress')
    return createCondition('gateway', 'Programmed', 'False', binding.reason, binding.message, generation);
  const served = listeners.filter(({ isServed, isValid }) => isServed && isValid).map(({ spec }) => spec.name);
  if (served.length === 0)
    return createCondition('gateway', 'Programmed', 'False', 'Invalid', noListenerMessage, generation);
  if (placement === 'pods' && (!binding.usable || parametersProblem !== undefined)) {
    const message = 'It cannot be deployed as requested; an earlier deployment stays unchanged and keeps serving.';
    return createCondition('gateway', 'Programmed', 'False', 'Invalid', message, generation);
  }
  return createCondition(
    'gateway',
    'Programmed',
    'True',
    'Programmed',
    `Listeners that are served: ${served.join(', ')}.`,
    generation,
  );
}

// The condition is present only while the fallback is allowed.
function describeInsecureFallback({ gateway }: ResolvedGateway, generation: number): readonly Condition[] {
  if (!allowsInsecureFallback(gateway)) return [];
  const message =
    'spec.tls.frontend allows an insecure fallback: clients whose certificate is missing or not valid are accepted.';
  return [
    createCondition('gateway', 'InsecureFrontendValidationMode', 'True', 'ConfigurationChanged', message, generation),
  ];
}

function describeRefs(listeners: readonly ResolvedListener[], generation: number): Condition {
  const unresolved = listeners
    .filter(({ references }) => references.reason !== 'ResolvedRefs')
    .map(({ spec }) => spec.name);
  if (unresolved.length === 0)
    return createCondition(
      'gateway',
      'ResolvedRefs',
      'True',
      'ResolvedRefs',
      'All references are resolved.',
      generation,
    );
  const message = `listeners with references that are not resolved: ${unresolved.join(', ')}`;
  return createCondition('gateway', 'ResolvedRefs', 'False', 'ListenersNotResolved', message, generation);
}
