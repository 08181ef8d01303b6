// The facts about one Gateway in the form that statuses need.
import type { Configuration } from '../ir/configuration.ts';
import type { GatewayFacts, MessageRejection } from './gateway-facts.ts';
import type { Translation } from './translate.ts';

/** One Gateway: its spec and the facts about it. */
export interface FactsView {
  /** namespace/name */
  readonly gateway: string;
  /** Undefined: it has not been deployed yet. */
  readonly facts: GatewayFacts | undefined;
  /** Set: why no gateway process is connected yet. */
  readonly waiting: string | undefined;
  /** IP addresses that its spec requests. */
  readonly requestedAddresses: readonly string[];
  /** Ports of the listeners that have messages, by the key of the listener. */
  readonly ports: ReadonlyMap<string, number>;
  /** Why a gateway rejects a message, in its own words. */
  readonly findRejection: (list: keyof Configuration, key: string) => string | undefined;
}

/** Looks at the facts about every Gateway that has a status. */
export function viewFacts(
  { configuration, plans, held, statuses }: Translation,
  facts: ReadonlyMap<string, GatewayFacts>,
): ReadonlyMap<string, FactsView> {
  const listeners = Map.groupBy(configuration.listeners, ({ gateway }) => gateway);
  const requestedAddresses = new Map(plans.map(({ name, addresses }) => [name, addresses]));
  const holds = new Map(held.map(({ name, reason }) => [name, reason]));
  return new Map(
    Object.keys(statuses.gateways).map((gateway) => {
      const own = facts.get(gateway);
      return [
        gateway,
        {
          gateway,
          facts: own,
          waiting: describeWaiting(own, holds.get(gateway)),
          requestedAddresses: requestedAddresses.get(gateway) ?? [],
          ports: new Map(listeners.get(gateway)?.map(({ key, port }) => [key, port])),
          findRejection: createRejectionFinder(own?.rejections ?? []),
        },
      ];
    }),
  );
}

function createRejectionFinder(rejections: readonly MessageRejection[]): FactsView['findRejection'] {
  if (rejections.length === 0) return () => undefined;
  const reasons = new Map(rejections.map(({ list, key, reason }) => [`${list} ${key}`, reason]));
  return (list, key) => reasons.get(`${list} ${key}`);
}

function describeWaiting(facts: GatewayFacts | undefined, hold: string | undefined): string | undefined {
  if (facts !== undefined && facts.processes > 0) return undefined;
  if (hold !== undefined) return `Nothing is deployed for it: ${hold}`;
  if (facts === undefined) return 'Waiting for the controller to deploy it.';
  if (facts.deployProblem !== undefined) return `It could not be deployed: ${facts.deployProblem}`;
  const stuck = facts.rollout?.problem;
  if (stuck !== undefined) return `Waiting for a gateway process to connect: ${stuck.message}.`;
  return 'Waiting for a gateway process to connect: the pods are starting, or cannot reach the controller.';
}
