// The servers of federations as several processes see them, as one: down when any of them cannot reach it, and the newest failure.
import type { FederationState } from './federation-state.ts';
import type { TargetState } from './target.ts';

/** The states that several processes report, in the order of the first that knows a federation. */
export function mergeFederationStates(lists: readonly (readonly FederationState[])[]): readonly FederationState[] {
  const byBackend = Map.groupBy(lists.flat(), ({ backend }) => backend);
  return Array.from(byBackend, ([backend, states]) => {
    const byName = Map.groupBy(
      states.flatMap(({ targets }) => targets),
      ({ name }) => name,
    );
    const targets = Array.from(byName.values(), (same) => same.reduce(join));
    return { backend, targets, contested: joinContested(states.flatMap(({ contested }) => contested)) };
  });
}

/** A name is served nowhere once any process knows that several servers claim it. */
function joinContested(all: FederationState['contested']): FederationState['contested'] {
  const byName = Map.groupBy(all, ({ kind, name }) => `${kind} ${name}`);
  return Array.from(byName.values(), (same) => ({
    ...same[0]!,
    targets: [...new Set(same.flatMap(({ targets }) => targets))].toSorted(),
  }));
}

const ranks: Readonly<Record<TargetState['health'], number>> = { unknown: 0, up: 1, down: 2 };

function join(left: TargetState, right: TargetState): TargetState {
  const isLeftNewer = (left.lastFailure?.atMs ?? 0) >= (right.lastFailure?.atMs ?? 0);
  return {
    name: left.name,
    health: ranks[left.health] >= ranks[right.health] ? left.health : right.health,
    version: left.version ?? right.version,
    serverInfo: left.serverInfo ?? right.serverInfo,
    capabilities: left.capabilities ?? right.capabilities,
    instructions: left.instructions ?? right.instructions,
    lastFailure: isLeftNewer ? left.lastFailure : right.lastFailure,
    tools: left.tools ?? right.tools,
  };
}
