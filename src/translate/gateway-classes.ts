// Which GatewayClasses are ours. `proxy` exists by itself; a resource of that name with another controller takes it away.
import type { InvalidResource } from '../api/resources.ts';
import { createCondition } from './conditions.ts';
import type { GatewayClassStatus } from './conditions.ts';
import { readGeneration, readText } from './read-raw.ts';
import type { ResourceIndex } from './resource-index.ts';
import { formatProblems } from './resource-index.ts';

const builtInClass = 'proxy';

/** What a Gateway learns from the name of its class. */
export type GatewayClassState = 'ours' | 'ours-but-invalid' | 'of-another-controller' | 'unknown';

/** The classes, and the statuses of those that name our controller. */
export interface GatewayClasses {
  readonly find: (className: string) => GatewayClassState;
  readonly statuses: ReadonlyMap<string, GatewayClassStatus>;
}

/** Sorts GatewayClasses into ours and others'. */
export function resolveGatewayClasses(index: ResourceIndex, controllerName: string): GatewayClasses {
  const statuses = new Map<string, GatewayClassStatus>();
  const states = new Map<string, GatewayClassState>();
  for (const invalid of index.invalid) {
    if (invalid.kind !== 'GatewayClass' || readText(invalid.raw, 'spec', 'controllerName') !== controllerName) continue;
    states.set(invalid.name, 'ours-but-invalid');
    statuses.set(invalid.name, describeInvalidClass(invalid));
  }
  states.set(builtInClass, 'ours');
  for (const { metadata, spec } of index.gatewayClasses.values()) {
    const isOurs = spec.controllerName === controllerName;
    states.set(metadata.name, isOurs ? 'ours' : 'of-another-controller');
    if (!isOurs) continue;
    const message = 'Gateways of this class are served.';
    statuses.set(metadata.name, {
      conditions: [createCondition('gatewayClass', 'Accepted', 'True', 'Accepted', message, metadata.generation ?? 0)],
    });
  }
  return { find: (className) => states.get(className) ?? 'unknown', statuses };
}

function describeInvalidClass(invalid: InvalidResource): GatewayClassStatus {
  const ofParameters = invalid.problems.some(({ path }) => path[0] === 'spec' && path[1] === 'parametersRef');
  const reason = ofParameters ? 'InvalidParameters' : 'Invalid';
  const generation = readGeneration(invalid.raw);
  return {
    conditions: [createCondition('gatewayClass', 'Accepted', 'False', reason, formatProblems(invalid), generation)],
  };
}
