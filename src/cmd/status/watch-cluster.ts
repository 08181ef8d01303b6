// Keeps a view of the cluster up to date: one list-watch per kind, and one telling for many changes at once.
import type { Log } from '../../base/log.ts';
import type { KubernetesClient, KubernetesObject } from '../../kubernetes/client.ts';
import { type ListWatch, startListWatch, type SyncState } from '../../kubernetes/list-watch.ts';
import { resourceTypes } from '../../kubernetes/resource-type.ts';
import {
  type ClusterView,
  type ControllerKind,
  controllerKinds,
  findScope,
  type KindView,
  type StatusKind,
  statusKinds,
} from './cluster-view.ts';

interface WatchClusterOptions {
  readonly client: KubernetesClient;
  /** What was read before: kinds that may not be read are not tried again. */
  readonly first: ClusterView;
  readonly log: Log;
  /** Told once for what changes within a moment. */
  readonly onView: (view: ClusterView) => void;
  /** How long a moment is. */
  readonly settleMs: number;
}

/** A running watch. */
interface ClusterWatch {
  stop(): Promise<void>;
}

interface WatchedKind {
  readonly objects: Map<string, KubernetesObject>;
  state: SyncState;
  watch?: ListWatch;
}

/** Starts watching. */
export function watchCluster({ client, first, log, onView, settleMs }: WatchClusterOptions): ClusterWatch {
  const watched = new Map<StatusKind | ControllerKind, WatchedKind>();
  let timer: NodeJS.Timeout | undefined;
  const schedule = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      onView(buildView(first, watched));
    }, settleMs);
  };
  for (const kind of [...statusKinds, ...controllerKinds]) {
    if (first.kinds[kind].state === 'forbidden') continue;
    const own: WatchedKind = { objects: new Map(), state: { state: 'syncing' } };
    watched.set(kind, own);
    own.watch = startListWatch({
      client,
      type: resourceTypes[kind],
      scope: { namespace: findScope(kind, first) },
      log,
      onChange(object) {
        own.objects.set(formatKey(object), object);
        schedule();
      },
      onGone(object) {
        own.objects.delete(formatKey(object));
        schedule();
      },
      onState(state) {
        own.state = state;
        schedule();
      },
    });
  }
  return {
    async stop() {
      clearTimeout(timer);
      await Promise.all([...watched.values()].map(async ({ watch }) => watch?.stop()));
      clearTimeout(timer);
    },
  };
}

/** What is not synced yet is as it was read before. */
function buildView(first: ClusterView, watched: ReadonlyMap<StatusKind | ControllerKind, WatchedKind>): ClusterView {
  const kinds = { ...first.kinds };
  for (const [kind, own] of watched) kinds[kind] = buildKind(first.kinds[kind], own);
  return { ...first, kinds };
}

function buildKind(before: KindView, { objects, state }: WatchedKind): KindView {
  switch (state.state) {
    case 'syncing':
      return before;
    case 'not-installed':
      return { state: 'not-installed' };
    case 'synced':
      return { state: 'read', objects: [...objects.values()] };
    case 'failing':
      if (state.wasSynced) return { state: 'read', objects: [...objects.values()], outdated: state.reason };
      return before.state === 'read'
        ? { ...before, outdated: state.reason }
        : { state: 'failed', message: state.reason };
  }
}

function formatKey({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
