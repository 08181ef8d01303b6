// The condition RolloutStuck of a Gateway: there only while its pods are being replaced. Pods of before keep serving with the present configuration, so
// `Programmed` does not depend on it.
import { createCondition, type GatewayStatus } from './conditions.ts';
import type { FactsView } from './facts-view.ts';
import { createStatusMaker, findCondition } from './replace-condition.ts';
import type { Rollout } from './rollout.ts';

/** The status with the condition, if there is something to say. */
export function describeRolloutCondition(status: GatewayStatus, { facts }: FactsView): GatewayStatus {
  return facts?.rollout === undefined ? status : addCondition(status, facts.rollout);
}

const addCondition = createStatusMaker(
  (status: GatewayStatus, { progress, ready, problem }: Rollout): GatewayStatus => {
    const generation = findCondition(status.conditions, 'Programmed')?.observedGeneration ?? 0;
    const condition =
      problem === undefined
        ? createCondition('gateway', 'RolloutStuck', 'False', 'RollingOut', `Rolling out: ${progress}.`, generation)
        : createCondition(
            'gateway',
            'RolloutStuck',
            'True',
            problem.reason,
            `Pods do not get ready: ${problem.message}. ${progress}; ${describeServing(ready)}.`,
            generation,
          );
    return { ...status, conditions: [...status.conditions, condition] };
  },
);

function describeServing(ready: number): string {
  if (ready === 0) return 'no pod is ready';
  return ready === 1 ? '1 ready pod keeps serving' : `${ready} ready pods keep serving`;
}
