// Which GatewayClasses are ours. `proxy` is built in, unless a GatewayClass of that name has another controller.
import type { GatewayClass } from '../api/gateway-class.ts';
import type { InvalidResource } from '../api/resources.ts';
import { createCondition, type GatewayClassStatus } from './conditions.ts';
import type { Described } from './list-statuses.ts';
import type { Derived, Memory } from './memory.ts';
import { type ParametersReference, type ParametersResolution, resolveClassParameters } from './parameters.ts';
import type { Placement } from './placement.ts';
import { readGeneration, readText } from './read-raw.ts';
import { type ResourceIndex, formatProblems, listInvalid } from './resource-index.ts';
import { supportedFeatures } from './supported-features.ts';

const builtInClass = 'proxy';

/** The state of a class, by its name. */
export type GatewayClassState =
  | { readonly state: 'ours'; readonly parameters: ParametersResolution }
  | { readonly state: 'ours-but-invalid' | 'of-another-controller' | 'unknown' };

/** The classes, and the statuses of those that name our controller. */
export interface GatewayClasses {
  /** By the name of a class. */
  readonly states: Derived<GatewayClassState>;
  readonly listStatuses: () => readonly Described<GatewayClassStatus>[];
}

interface Sorted {
  readonly states: ReadonlyMap<string, GatewayClassState>;
  readonly statuses: ReadonlyMap<string, GatewayClassStatus>;
}

/** Finds our GatewayClasses. */
export function prepareGatewayClasses(
  memory: Memory,
  index: ResourceIndex,
  controllerName: string,
  placement: Placement,
  ownParameters?: ParametersReference,
): GatewayClasses {
  const sorted = memory.derive(() => sortClasses(index, controllerName, placement, ownParameters));
  const statuses = memory.derive((name) => sorted.get('').statuses.get(name));
  return {
    states: memory.derive((name) => sorted.get('').states.get(name) ?? { state: 'unknown' }),
    listStatuses: () => [...sorted.get('').statuses.keys()].map((name) => ({ name, status: statuses.get(name) })),
  };
}

function sortClasses(
  index: ResourceIndex,
  controllerName: string,
  placement: Placement,
  ownParameters: ParametersReference | undefined,
): Sorted {
  const statuses = new Map<string, GatewayClassStatus>();
  const states = new Map<string, GatewayClassState>();
  for (const invalid of listInvalid(index)) {
    if (invalid.kind !== 'GatewayClass' || readText(invalid.raw, 'spec', 'controllerName') !== controllerName) continue;
    states.set(invalid.name, { state: 'ours-but-invalid' });
    statuses.set(invalid.name, describeInvalidClass(invalid));
  }
  states.set(builtInClass, {
    state: 'ours',
    parameters: resolveClassParameters(index, undefined, placement, ownParameters),
  });
  for (const gatewayClass of index.gatewayClasses.values()) {
    const { metadata, spec } = gatewayClass;
    if (spec.controllerName !== controllerName) {
      states.set(metadata.name, { state: 'of-another-controller' });
      continue;
    }
    const own = metadata.name === builtInClass ? ownParameters : undefined;
    const parameters = resolveClassParameters(index, gatewayClass, placement, own);
    states.set(metadata.name, { state: 'ours', parameters });
    statuses.set(metadata.name, describeClass(gatewayClass, parameters, placement));
  }
  return { states, statuses };
}

function describeClass(
  { metadata }: GatewayClass,
  parameters: ParametersResolution,
  placement: Placement,
): GatewayClassStatus {
  const generation = metadata.generation ?? 0;
  const accepted = parameters.usable
    ? createCondition('gatewayClass', 'Accepted', 'True', 'Accepted', 'Gateways of this class are served.', generation)
    : createCondition('gatewayClass', 'Accepted', 'False', 'InvalidParameters', parameters.message, generation);
  // Features describe deployed gateways; on a host nothing reads this status.
  return { conditions: [accepted], ...(placement === 'pods' ? { supportedFeatures } : {}) };
}

function describeInvalidClass(invalid: InvalidResource): GatewayClassStatus {
  const ofParameters = invalid.problems.some(({ path }) => path[0] === 'spec' && path[1] === 'parametersRef');
  const reason = ofParameters ? 'InvalidParameters' : 'Invalid';
  const generation = readGeneration(invalid.raw);
  return {
    conditions: [createCondition('gatewayClass', 'Accepted', 'False', reason, formatProblems(invalid), generation)],
  };
}
