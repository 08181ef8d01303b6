// What the statuses of resources say, condition by condition, for tests that wait for it.
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { readNamespace } from './file-namespace.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';

/** A condition and whose it is. */
export interface ToldCondition {
  /** `listener http`, `parent web`, `ancestor web`; empty: of the resource as a whole. */
  readonly part: string;
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

/** What every resource of a kind must be told, so that "all are True" cannot be said of nothing. */
const expectedTypes: Readonly<Record<string, readonly string[]>> = {
  GatewayClass: ['Accepted', 'SupportedVersion'],
  Gateway: ['Accepted', 'Programmed', 'ResolvedRefs'],
  HTTPRoute: ['Accepted', 'ResolvedRefs'],
  ProxyBackend: ['Accepted', 'ResolvedRefs'],
  ProxyPolicy: ['Accepted', 'Attached', 'Programmed'],
  InferencePool: ['Accepted', 'ResolvedRefs'],
};

/** Conditions that say that something is wrong. */
const negativeTypes: ReadonlySet<string> = new Set(['Conflicted', 'RolloutStuck']);

type Condition = Omit<ToldCondition, 'part'>;

interface Status {
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly { readonly name: string; readonly conditions: readonly Condition[] }[];
  readonly parents?: readonly { readonly parentRef: ResourceName; readonly conditions: readonly Condition[] }[];
  readonly ancestors?: readonly { readonly ancestorRef: ResourceName; readonly conditions: readonly Condition[] }[];
}

/** All conditions of a resource, those of its parts too. */
export function listConditions(object: ApiObject): readonly ToldCondition[] {
  const { conditions = [], listeners = [], parents = [], ancestors = [] } = (object['status'] ?? {}) as Status;
  const parts = [
    { part: '', conditions },
    ...listeners.map((listener) => ({ part: `listener ${listener.name}`, conditions: listener.conditions })),
    ...parents.map((parent) => ({ part: `parent ${parent.parentRef.name}`, conditions: parent.conditions })),
    ...ancestors.map((each) => ({ part: `ancestor ${each.ancestorRef.name}`, conditions: each.conditions })),
  ];
  return parts.flatMap(({ part, conditions: own }) => own.map((condition) => ({ part, ...condition })));
}

/** Why a resource is not well yet; nothing: all its conditions are, and are about its present form. */
export function listShortcomings(object: ApiObject): readonly string[] {
  const told = listConditions(object);
  const missing = (expectedTypes[object.kind ?? ''] ?? ['(unknown kind)']).filter(
    (type) => !told.some((condition) => condition.type === type),
  );
  const wrong = told.filter(
    ({ type, status, observedGeneration }) =>
      status !== (negativeTypes.has(type) ? 'False' : 'True') || observedGeneration !== object.metadata.generation,
  );
  return [
    ...missing.map((type) => `${type} is missing`),
    ...wrong.map((each) => `${each.part} ${each.type}=${each.status} ${each.reason} (${each.message})`),
  ];
}

/** Waits until resources are well. */
export async function waitUntilWell(cluster: Cluster, resources: readonly ResourceName[]): Promise<void> {
  for (const resource of resources)
    await cluster.waitForObject(locateResource(resource), (object) => listShortcomings(object).length === 0, {
      what: `${resource.kind} ${resource.name} is well`,
      timeoutMs: 120_000,
    });
}

/** What a condition is to be; what is left out does not matter. */
export interface WantedCondition {
  readonly part?: string;
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: RegExp;
}

/** Waits until a resource, in its present form, has a condition, and returns that. */
export async function waitForCondition(
  cluster: Cluster,
  resource: ResourceName,
  wanted: WantedCondition,
): Promise<ToldCondition> {
  const find = (object: ApiObject): ToldCondition | undefined =>
    listConditions(object).find(
      (told) =>
        told.type === wanted.type &&
        told.status === wanted.status &&
        told.observedGeneration === object.metadata.generation &&
        (wanted.part === undefined || told.part === wanted.part) &&
        (wanted.reason === undefined || told.reason === wanted.reason) &&
        (wanted.message === undefined || wanted.message.test(told.message)),
    );
  const object = await cluster.waitForObject(locateResource(resource), (each) => find(each) !== undefined, {
    what: `${resource.kind} ${resource.name} has ${wanted.type}=${wanted.status} ${wanted.reason ?? ''}`,
  });
  return find(object)!;
}

/** An Event beside a resource. */
export interface ToldEvent extends ApiObject {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly regarding: ResourceName;
}

/** Waits for an Event about a resource. */
export function waitForEvent(cluster: Cluster, resource: ResourceName, reason: string): Promise<ToldEvent> {
  const path = `/apis/events.k8s.io/v1/namespaces/${resource.namespace ?? readNamespace()}/events`;
  return cluster.waitFor(
    async () =>
      (await cluster.api.list<ToldEvent>(path)).find(
        (event) =>
          event.reason === reason && event.regarding.kind === resource.kind && event.regarding.name === resource.name,
      ),
    { what: `an Event ${reason} about ${resource.kind} ${resource.name}` },
  );
}
