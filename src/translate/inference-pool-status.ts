// The status of an InferencePool: one parent for each Gateway of ours with an HTTPRoute that names the pool.
import { createCondition, type Condition, type InferencePoolStatus } from './conditions.ts';
import type { PoolProblem } from './endpoint-picker.ts';
import type { InferencePools } from './inference-pools.ts';
import type { Described } from './list-statuses.ts';
import type { Memory, Table } from './memory.ts';
import type { Notice } from './notices.ts';
import { readGeneration } from './read-raw.ts';
import { gatewayGroup } from './references.ts';
import { type ResourceIndex, formatProblems } from './resource-index.ts';

/** A Gateway of ours with routes to a pool. */
export interface PoolParent {
  /** namespace/name */
  readonly gateway: string;
  /** namespace/name of the routes to the pool that the Gateway does not accept; empty when it accepts one. */
  readonly refused: readonly string[];
}

/** The statuses of all pools, and what does not fit into them. */
interface PoolStatuses {
  readonly listStatuses: () => readonly Described<InferencePoolStatus>[];
  readonly listNotices: () => readonly Notice[];
}

/** The limit of the CRD. */
const mostParents = 32;

/** Prepares the statuses of pools. `parents`: sorted by Gateway, by namespace/name of the pool. */
export function prepareInferencePoolStatuses(
  memory: Memory,
  index: ResourceIndex,
  pools: InferencePools,
  parents: Table<readonly PoolParent[]>,
  controllerName: string,
): PoolStatuses {
  const valid = memory.derive((name): InferencePoolStatus => {
    const generation = index.inferencePools.get(name)?.metadata.generation ?? 0;
    const problems = pools.listProblems(name);
    return describePool(parents.get(name) ?? [], problems, generation, controllerName);
  });
  const invalid = memory.derive((place): readonly Described<InferencePoolStatus>[] =>
    (index.invalid.get(place) ?? []).map((each) => {
      const name = `${each.namespace}/${each.name}`;
      const problem: PoolProblem = {
        condition: 'Accepted',
        reason: 'NotSupportedByParent',
        message: formatProblems(each),
        routeReason: 'BackendNotFound',
      };
      const generation = readGeneration(each.raw);
      return { name, status: describePool(parents.get(name) ?? [], [problem], generation, controllerName) };
    }),
  );
  return {
    listStatuses: () => [
      ...[...index.invalid.entries()].flatMap(([place, [first]]) =>
        first?.kind === 'InferencePool' ? invalid.get(place) : [],
      ),
      ...[...index.inferencePools.entries().keys()].map((name) => ({ name, status: valid.get(name) })),
    ],
    listNotices: () =>
      [...index.inferencePools.values()].flatMap(({ metadata: { namespace, name } }) => {
        const count = parents.get(`${namespace}/${name}`)?.length ?? 0;
        if (count <= mostParents) return [];
        const message = `has ${count} parents; its status lists ${mostParents} of them`;
        return [{ kind: 'InferencePool', namespace, name, message }];
      }),
  };
}

function describePool(
  parents: readonly PoolParent[],
  problems: readonly PoolProblem[],
  generation: number,
  controllerName: string,
): InferencePoolStatus {
  // Parents with problems are listed first.
  const first = parents.length <= mostParents ? parents : parents.toSorted((a, b) => rank(a) - rank(b));
  return {
    parents: first.slice(0, mostParents).map(({ gateway, refused }) => {
      const slash = gateway.indexOf('/');
      return {
        parentRef: {
          group: gatewayGroup,
          kind: 'Gateway',
          namespace: gateway.slice(0, slash),
          name: gateway.slice(slash + 1),
        },
        controllerName,
        conditions: [
          describeAccepted(gateway, refused, problems, generation),
          describeResolvedRefs(problems, generation),
        ],
      };
    }),
  };
}

const rank = ({ refused }: PoolParent): number => (refused.length > 0 ? 0 : 1);

function describeAccepted(
  gateway: string,
  refused: readonly string[],
  problems: readonly PoolProblem[],
  generation: number,
): Condition {
  const own = problems.filter((problem) => problem.condition === 'Accepted');
  const [first] = own;
  if (first !== undefined) {
    const message = own.map((problem) => problem.message).join('; ');
    return createCondition('inferencePoolParent', 'Accepted', 'False', first.reason, message, generation);
  }
  if (refused.length > 0) {
    const message = `Gateway ${gateway} does not accept HTTPRoute ${refused.join(', ')}; see the status of the route.`;
    return createCondition('inferencePoolParent', 'Accepted', 'False', 'HTTPRouteNotAccepted', message, generation);
  }
  return createCondition('inferencePoolParent', 'Accepted', 'True', 'Accepted', 'The pool is valid.', generation);
}

function describeResolvedRefs(problems: readonly PoolProblem[], generation: number): Condition {
  const own = problems.filter((problem) => problem.condition === 'ResolvedRefs');
  const [first] = own;
  if (first === undefined)
    return createCondition(
      'inferencePoolParent',
      'ResolvedRefs',
      'True',
      'ResolvedRefs',
      'All references are resolved.',
      generation,
    );
  const message = own.map((problem) => problem.message).join('; ');
  return createCondition('inferencePoolParent', 'ResolvedRefs', 'False', first.reason, message, generation);
}
