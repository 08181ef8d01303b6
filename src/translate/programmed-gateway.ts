// Whether a Gateway is programmed: deployed, with an address, and its processes have opened its listeners. Gateway API 1.6, `Programmed`.
import { describeBehind } from './behind-gateways.ts';
import { normalizeAddress } from './bind-addresses.ts';
import { createCondition, type ConditionReason, type GatewayStatus, type ListenerStatus } from './conditions.ts';
import type { FactsView } from './facts-view.ts';
import type { GatewayFacts } from './gateway-facts.ts';
import { createStatusMaker, findCondition, replaceCondition } from './replace-condition.ts';

interface Verdict<S extends 'gateway' | 'listener'> {
  readonly reason: ConditionReason<S, 'Programmed'>;
  readonly message: string;
}

/** What is different from what translation said. */
interface Difference {
  readonly addresses: GatewayFacts['addresses'];
  /** Undefined: it is programmed, as translation said. */
  readonly gateway: Verdict<'gateway'> | undefined;
  /** By name; absent listeners are programmed. */
  readonly listeners: Readonly<Record<string, Verdict<'listener'>>>;
  /** Names of the listeners that are programmed. */
  readonly served: readonly string[];
}

/** The status of a Gateway. */
export function describeProgrammedGateway(status: GatewayStatus, view: FactsView): GatewayStatus {
  const addresses = view.facts?.addresses ?? [];
  const expected = status.listeners.filter(isExpected).map(({ name }) => name);
  const listeners = Object.fromEntries(
    expected.flatMap((name) => {
      const verdict = judgeListener(view, `${view.gateway}/${name}`);
      return verdict === undefined ? [] : [[name, verdict] as const];
    }),
  );
  const served = expected.filter((name) => !Object.hasOwn(listeners, name));
  const gateway = isExpected(status) ? judgeGateway(view, listeners, served) : undefined;
  if (addresses.length === 0 && gateway === undefined && served.length === expected.length) return status;
  return makeStatus(status, { addresses, gateway, listeners, served });
}

// Whether translation found no problem: only then there is something to wait for.
function isExpected({ conditions }: Pick<ListenerStatus, 'conditions'>): boolean {
  return findCondition(conditions, 'Programmed')?.status === 'True';
}

const makeStatus = createStatusMaker((original: GatewayStatus, difference: Difference): GatewayStatus => {
  const { addresses, gateway, listeners, served } = difference;
  const { conditions } = original;
  const generation = findCondition(conditions, 'Programmed')?.observedGeneration ?? 0;
  const programmed = gateway ?? { reason: 'Programmed', message: `Listeners that are served: ${served.join(', ')}.` };
  return {
    ...(addresses.length === 0 ? {} : { addresses }),
    conditions: isExpected(original)
      ? replaceCondition(
          conditions,
          createCondition(
            'gateway',
            'Programmed',
            gateway === undefined ? 'True' : 'False',
            programmed.reason,
            programmed.message,
            generation,
          ),
        )
      : conditions,
    listeners: original.listeners.map((listener) => {
      const verdict = Object.hasOwn(listeners, listener.name) ? listeners[listener.name] : undefined;
      if (verdict === undefined) return listener;
      const { reason, message } = verdict;
      return {
        ...listener,
        conditions: replaceCondition(
          listener.conditions,
          createCondition('listener', 'Programmed', 'False', reason, message, generation),
        ),
      };
    }),
  };
});

function judgeListener(
  { facts, waiting, ports, findRejection }: FactsView,
  key: string,
): Verdict<'listener'> | undefined {
  if (facts === undefined || waiting !== undefined)
    return { reason: 'Pending', message: `The Gateway is not ready yet. ${waiting ?? ''}`.trimEnd() };
  const rejection = findRejection('listeners', key);
  if (rejection !== undefined) return { reason: 'Invalid', message: `The gateway rejects it: ${rejection}` };
  const port = ports.get(key) ?? 0;
  const problem = facts.bindProblems.get(port);
  if (problem !== undefined)
    return { reason: 'PortUnavailable', message: `The gateway cannot open port ${port}: ${problem}` };
  if (facts.isSettled('listeners', key)) return undefined;
  const behind = facts.listBehind('listeners', key);
  return behind.length === 0
    ? { reason: 'Pending', message: 'Not all gateway processes have applied it yet.' }
    : { reason: 'GatewayBehind', message: describeBehind(behind, facts.processes) };
}

function judgeGateway(
  view: FactsView,
  listeners: Readonly<Record<string, Verdict<'listener'>>>,
  served: readonly string[],
): Verdict<'gateway'> | undefined {
  const { facts, waiting } = view;
  if (facts === undefined) return { reason: 'Pending', message: waiting ?? 'Waiting to be deployed.' };
  if (facts.deployProblem !== undefined)
    return { reason: 'Pending', message: `It could not be deployed: ${facts.deployProblem}` };
  const address = judgeAddresses(view, facts);
  if (address !== undefined)
    return waiting === undefined ? address : { ...address, message: `${address.message} ${waiting}` };
  if (waiting !== undefined) return { reason: 'Pending', message: waiting };
  const behind = Object.values(listeners).find(({ reason }) => reason === 'GatewayBehind');
  if (behind !== undefined) return { reason: 'GatewayBehind', message: behind.message };
  const pending = Object.entries(listeners).flatMap(([name, { reason }]) => (reason === 'Pending' ? [name] : []));
  if (pending.length > 0) {
    const message = `Waiting for its gateway processes (${facts.processes}) to apply the listeners: ${pending.join(', ')}.`;
    return { reason: 'Pending', message };
  }
  if (served.length > 0) return undefined;
  const details = Object.entries(listeners).map(([name, { message }]) => `${name}: ${message}`);
  return { reason: 'Invalid', message: `No listener can be served: ${details.join('; ')}` };
}

function judgeAddresses(
  { requestedAddresses }: FactsView,
  { addresses, addressProblem }: GatewayFacts,
): Verdict<'gateway'> | undefined {
  if (addressProblem !== undefined) return { reason: 'AddressNotUsable', message: `${addressProblem}.` };
  const assigned = new Set(addresses.map(({ value }) => normalizeAddress(value) ?? value));
  const missing = requestedAddresses.filter((address) => !assigned.has(address));
  const present = addresses.map(({ value }) => value).join(', ');
  if (missing.length > 0) {
    const instead = present === '' ? 'it has none yet' : `it has ${present}`;
    const message = `Its Service has not been given ${missing.join(', ')}; ${instead}. Make the address available, or remove it from spec.addresses.`;
    return { reason: 'AddressNotUsable', message };
  }
  if (addresses.length === 0)
    return { reason: 'AddressNotAssigned', message: 'Waiting for an address: the Service has none yet.' };
  return undefined;
}
