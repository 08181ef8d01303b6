// One Secret of the installation namespace, as the API server has it. It is listed and watched by its name: the right to list and watch Secrets is there anyway.
import type { Log } from '../base/log.ts';
import { type ReadonlyWatchable, Watchable } from '../base/watchable.ts';
import type { KubernetesClient, KubernetesObject } from '../kubernetes/client.ts';
import { type ListWatchOptions, startListWatch } from '../kubernetes/list-watch.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { RelistObserver } from './controller-metrics.ts';

interface SecretWatchOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  readonly namespace: string;
  readonly name: string;
  readonly onRelist?: RelistObserver;
  readonly timing?: ListWatchOptions['timing'];
}

/** What is known about a Secret. */
export type SecretSighting =
  /** Not read yet; `reason`: the last failure. */
  | { readonly state: 'unknown'; readonly reason: string | undefined }
  | { readonly state: 'absent' }
  | { readonly state: 'present'; readonly object: KubernetesObject };

/** A Secret that is watched. */
export interface WatchedSecret {
  readonly sighting: ReadonlyWatchable<SecretSighting>;
  stop(): Promise<void>;
}

/** Starts to watch. What was seen holds while the API server is away. */
export function watchSecret({ client, log, namespace, name, onRelist, timing }: SecretWatchOptions): WatchedSecret {
  const sighting = new Watchable<SecretSighting>({ state: 'unknown', reason: undefined });
  const watch = startListWatch({
    client,
    type: resourceTypes.Secret,
    log,
    scope: { namespace, fieldSelector: `metadata.name=${name}` },
    ...(timing !== undefined && { timing }),
    onRelist: (reason) => onRelist?.(resourceTypes.Secret.kind, reason),
    onChange: (object) => void sighting.set({ state: 'present', object }),
    onGone: () => void sighting.set({ state: 'absent' }),
    onState(state) {
      if (sighting.get().state !== 'unknown') return;
      if (state.state === 'synced') sighting.set({ state: 'absent' });
      else if (state.state === 'failing') sighting.set({ state: 'unknown', reason: state.reason });
    },
  });
  return { sighting, stop: () => watch.stop() };
}
