// Watches all objects with our label, in every namespace. Of each object only the fields that the deployer needs are kept.
import type { Log } from '../base/log.ts';
import type { KubernetesClient, KubernetesObject } from '../kubernetes/client.ts';
import { type ListWatch, type ListWatchOptions, type RelistReason, startListWatch } from '../kubernetes/list-watch.ts';
import { type ResourceType, resourceTypes } from '../kubernetes/resource-type.ts';
import { managedBy, managedByLabel } from './deployed-names.ts';
import { readDeployment, type SeenDeployment } from './describe-rollout.ts';
import { type GatewayAddresses, readAddresses } from './gateway-addresses.ts';
import { isJson } from './merge-values.ts';

/** The kinds that may be deployed for Gateways. */
export const managedTypes: readonly ResourceType[] = [
  resourceTypes.ServiceAccount,
  resourceTypes.ConfigMap,
  resourceTypes.Service,
  resourceTypes.Deployment,
  resourceTypes.HorizontalPodAutoscaler,
  resourceTypes.PodDisruptionBudget,
  resourceTypes.NetworkPolicy,
];

/** Pods of a Deployment. */
export interface SeenReplicas {
  readonly wanted: number;
  readonly ready: number;
}

/** An object that belongs to a Gateway. */
export interface ManagedObject {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The Gateway: name and uid. */
  readonly owner: { readonly name: string; readonly uid: string };
  /** Of a Service. */
  readonly addresses: GatewayAddresses | undefined;
  /** Of a Deployment. */
  readonly replicas: SeenReplicas | undefined;
  /** Of a Deployment whose status has been written. */
  readonly deployment: SeenDeployment | undefined;
}

interface ManagedObjectsOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  /** Whether NetworkPolicies are deployed; otherwise there is no right to read them. */
  readonly hasNetworkPolicies: boolean;
  /** An object is new or has changed. `live` must not be kept. */
  readonly onChange: (object: ManagedObject, live: KubernetesObject) => void;
  readonly onGone: (object: ManagedObject) => void;
  /** All kinds have been listed once. */
  readonly onSynced: () => void;
  readonly onRelist?: ((kind: string, reason: RelistReason) => void) | undefined;
  readonly timing?: ListWatchOptions['timing'];
}

export interface ManagedObjects {
  /** Whether all kinds have been listed once. */
  readonly isSynced: boolean;
  /** The objects of the Gateway with this name. */
  listOf(gateway: { readonly namespace: string; readonly name: string }): readonly ManagedObject[];
  /** The Gateways that own objects. */
  listOwners(): readonly { readonly namespace: string; readonly name: string }[];
  stop(): Promise<void>;
}

/** Starts to watch. */
export function watchManagedObjects(options: ManagedObjectsOptions): ManagedObjects {
  const { client, log } = options;
  /** By the Gateway's namespace and name, then by kind and name. */
  const byOwner = new Map<string, Map<string, ManagedObject>>();
  const types = managedTypes.filter((type) => type !== resourceTypes.NetworkPolicy || options.hasNetworkPolicies);
  const unsynced = new Set(types);

  const forget = (object: ManagedObject): void => {
    const key = formatOwner(object.namespace, object.owner.name);
    const objects = byOwner.get(key);
    objects?.delete(formatObject(object));
    if (objects?.size === 0) byOwner.delete(key);
  };

  const watches: readonly ListWatch[] = types.map((type) => {
    /** By namespace and name: a deletion comes without the owner. */
    const known = new Map<string, ManagedObject>();
    const drop = (live: KubernetesObject): ManagedObject | undefined => {
      const key = formatOwner(live.metadata.namespace ?? '', live.metadata.name);
      const before = known.get(key);
      known.delete(key);
      if (before !== undefined) forget(before);
      return before;
    };
    return startListWatch({
      client,
      type,
      log,
      scope: { labelSelector: `${managedByLabel}=${managedBy}` },
      ...(options.timing !== undefined && { timing: options.timing }),
      onChange(live) {
        const before = drop(live);
        const object = readManagedObject(type, live);
        if (object === undefined) {
          // Its owner reference was removed.
          if (before !== undefined) options.onGone(before);
          return;
        }
        known.set(formatOwner(object.namespace, object.name), object);
        const key = formatOwner(object.namespace, object.owner.name);
        const objects = byOwner.get(key) ?? new Map<string, ManagedObject>();
        byOwner.set(key, objects.set(formatObject(object), object));
        options.onChange(object, live);
      },
      onGone(live) {
        const before = drop(live);
        if (before !== undefined) options.onGone(before);
      },
      onState(sync) {
        const { state } = sync;
        // Logged once for each reason. The consequence is mild: leftover objects are not removed.
        if (sync.state === 'failing')
          log.warn({ kind: type.kind, reason: sync.reason }, 'deployed objects cannot be watched; it is tried again');
        if ((state === 'synced' || state === 'not-installed') && unsynced.delete(type) && unsynced.size === 0)
          options.onSynced();
      },
      onRelist: (reason) => options.onRelist?.(type.kind, reason),
    });
  });

  return {
    get isSynced() {
      return unsynced.size === 0;
    },
    listOf: ({ namespace, name }) => [...(byOwner.get(formatOwner(namespace, name))?.values() ?? [])],
    listOwners: () =>
      [...byOwner.values()].flatMap((objects) => {
        const [first] = objects.values();
        return first === undefined ? [] : [{ namespace: first.namespace, name: first.owner.name }];
      }),
    async stop() {
      await Promise.all(watches.map((watch) => watch.stop()));
    },
  };
}

function readManagedObject(type: ResourceType, live: KubernetesObject): ManagedObject | undefined {
  const { metadata } = live;
  const owner = metadata.ownerReferences?.find(({ kind, controller }) => kind === 'Gateway' && controller === true);
  if (owner === undefined || metadata.uid === undefined) return undefined;
  return {
    type,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    owner: { name: owner.name, uid: owner.uid },
    addresses: type.kind === 'Service' ? readAddresses(live) : undefined,
    replicas: type.kind === 'Deployment' ? readReplicas(live) : undefined,
    deployment: type.kind === 'Deployment' ? readDeployment(live) : undefined,
  };
}

function readReplicas({ spec, status }: KubernetesObject): SeenReplicas {
  const read = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);
  return {
    wanted: read(isJson(spec) ? spec['replicas'] : undefined, 1),
    ready: read(isJson(status) ? status['readyReplicas'] : undefined, 0),
  };
}

function formatOwner(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

function formatObject({ type, name }: ManagedObject): string {
  return `${type.kind}/${name}`;
}
