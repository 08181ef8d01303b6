// The status of a Gateway: a summary of itself and of its listeners.
import { createCondition } from './conditions.ts';
import type { Condition, GatewayStatus, ListenerStatus } from './conditions.ts';
import type { ResolvedGateway } from './gateways.ts';
import type { ResolvedListener } from './listeners.ts';

/** The status of a Gateway from what became of its listeners. */
export function describeGateway(
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
  const { binding } = gateway;
  return {
    ...(binding.usable && binding.addresses.length > 0 && listeners.some(({ isServed }) => isServed)
      ? { addresses: binding.addresses.map((value) => ({ type: 'IPAddress', value })) }
      : {}),
    conditions: [
      describeAccepted(gateway, listeners, generation),
      describeProgrammed(gateway, listeners, generation),
      describeRefs(listeners, generation),
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
    return createCondition('gateway', 'Accepted', 'True', 'Accepted', 'The Gateway is valid.', generation);
  const good = listeners.filter(({ isValid }) => isValid).map(({ spec }) => spec.name);
  const message = `listeners that cannot be served: ${bad.join(', ')}; that can: ${good.length === 0 ? 'none' : good.join(', ')}`;
  return createCondition(
    'gateway',
    'Accepted',
    good.length === 0 ? 'False' : 'True',
    'ListenersNotValid',
    message,
    generation,
  );
}

function describeProgrammed(
  gateway: ResolvedGateway,
  listeners: readonly ResolvedListener[],
  generation: number,
): Condition {
  const { binding } = gateway;
  if (!binding.usable && binding.reason !== 'UnsupportedAddress')
    return createCondition('gateway', 'Programmed', 'False', binding.reason, binding.message, generation);
  const served = listeners.filter(({ isServed }) => isServed).map(({ spec }) => spec.name);
  if (served.length === 0)
    return createCondition('gateway', 'Programmed', 'False', 'Invalid', 'No listener can be served.', generation);
  return createCondition(
    'gateway',
    'Programmed',
    'True',
    'Programmed',
    `Listeners that are served: ${served.join(', ')}.`,
    generation,
  );
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
