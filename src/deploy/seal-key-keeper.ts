// Creates the seal keys of each Gateway once, and deletes them when the Gateway has certainly been deleted. Run by the leader.
import { type Backoff, createBackoff } from '../base/backoff.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError, ApiUnreachableError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import { type ListWatchOptions, type RelistReason, startListWatch } from '../kubernetes/list-watch.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { nameSealKeySecret } from './deployed-names.ts';
import { KeyedTasks } from '../kubernetes/keyed-tasks.ts';
import { readSealKeyOwner, renderSealKeySecret, type SealKeyOwner, sealKeysLabel } from './seal-key-secret.ts';

interface SealKeyKeeperOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  readonly installationNamespace: string;
  /** Called each time the Secrets have to be listed again. */
  readonly onRelist?: (kind: string, reason: RelistReason) => void;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly watchTiming?: ListWatchOptions['timing'];
}

export interface SealKeyKeeper {
  /** Sets the Gateways that need keys. Call it only when all Gateways are known: a missing Gateway that the API server does not have loses its keys. */
  reconcile(gateways: readonly SealKeyOwner[]): void;
  stop(): Promise<void>;
}

/** The recheck interval for keys of a Gateway that still exists but is no longer ours (its namespace is not selected any more). */
const recheckMs = 10 * 60_000;

/** A Secret as last seen: metadata only, keys are not read here. */
interface SeenSecret {
  readonly uid: string;
  readonly owner: SealKeyOwner;
}

/** Starts to reconcile keys. */
export function startSealKeyKeeper(options: SealKeyKeeperOptions): SealKeyKeeper {
  const { client, log, installationNamespace } = options;
  const random = options.random ?? Math.random;
  const { Secret, Gateway } = resourceTypes;
  /** By the name of the Secret. */
  const seen = new Map<string, SeenSecret>();
  let wanted: ReadonlyMap<string, SealKeyOwner> | undefined;
  let isSynced = false;
  const failures = new Map<string, Backoff>();

  async function keep(name: string, signal: AbortSignal): Promise<number | undefined> {
    if (wanted === undefined) return undefined;
    const owner = wanted.get(name);
    if (owner !== undefined) return ensure(name, owner, signal);
    const secret = seen.get(name);
    return secret === undefined ? undefined : removeIfGone(name, secret, signal);
  }

  async function ensure(name: string, owner: SealKeyOwner, signal: AbortSignal): Promise<undefined> {
    const secret = seen.get(name);
    if (secret?.owner.uid === owner.uid) return;
    if (secret !== undefined) {
      // A Gateway that was created anew may have another owner: it must not get the keys of the earlier one.
      await client.delete(Secret, { namespace: installationNamespace, name }, { uid: secret.uid }, signal);
      seen.delete(name);
    }
    const created = await client.create(Secret, renderSealKeySecret(owner, installationNamespace), signal);
    note(created);
    log.info({ gateway: `${owner.namespace}/${owner.name}`, object: name }, 'created seal keys');
  }

  async function removeIfGone(name: string, secret: SeenSecret, signal: AbortSignal): Promise<number | undefined> {
    if (await exists(secret.owner, signal)) return recheckMs;
    await client.delete(Secret, { namespace: installationNamespace, name }, { uid: secret.uid }, signal);
    const { namespace, name: gateway } = secret.owner;
    log.info({ gateway: `${namespace}/${gateway}`, object: name }, 'removed the seal keys of a gateway that is gone');
    return undefined;
  }

  /** Asks the API server: a Gateway that is missing in our cache may still exist. */
  async function exists({ namespace, name, uid }: SealKeyOwner, signal: AbortSignal): Promise<boolean> {
    try {
      const gateway = await client.get(Gateway, { namespace, name }, signal);
      return gateway.metadata.uid === uid;
    } catch (error) {
      if (error instanceof ApiError && error.status.reason === 'NotFound') return false;
      throw error;
    }
  }

  function note(live: KubernetesObject): void {
    const owner = readSealKeyOwner(live);
    if (owner === undefined || live.metadata.uid === undefined) seen.delete(live.metadata.name);
    else seen.set(live.metadata.name, { uid: live.metadata.uid, owner });
  }

  const tasks = new KeyedTasks({
    concurrency: 4,
    clock: options.clock ?? systemClock,
    async run(name, signal) {
      try {
        const waitMs = await keep(name, signal);
        failures.delete(name);
        return waitMs;
      } catch (error) {
        if (signal.aborted) return undefined;
        const backoff = failures.get(name) ?? createBackoff({ firstMs: 1_000, maxMs: 30_000, random });
        failures.set(name, backoff);
        // A race: the watch soon delivers what someone else created, unless it is a foreign Secret under our name.
        const isRace = error instanceof ApiError && ['AlreadyExists', 'Conflict'].includes(error.status.reason);
        const isExpected = isRace && backoff.tries < 3;
        if (!isExpected && (error instanceof ApiError || error instanceof ApiUnreachableError))
          log.warn({ object: name, reason: error.message }, 'seal keys could not be reconciled yet');
        else if (!isExpected) log.error({ object: name, err: error }, 'reconciling seal keys failed');
        return backoff.next();
      }
    },
  });

  /** Nothing is created or removed before both the existing and the desired keys are known. */
  function scheduleAll(): void {
    if (!isSynced || wanted === undefined) return;
    for (const [name, owner] of wanted) if (seen.get(name)?.owner.uid !== owner.uid) tasks.schedule(name);
    for (const name of seen.keys()) if (!wanted.has(name)) tasks.schedule(name);
  }

  const watch = startListWatch({
    client,
    type: Secret,
    log,
    scope: { namespace: installationNamespace, labelSelector: `${sealKeysLabel}=true`, metadataOnly: true },
    ...(options.watchTiming !== undefined && { timing: options.watchTiming }),
    onRelist: (reason) => options.onRelist?.(Secret.kind, reason),
    onChange(live) {
      note(live);
      if (isSynced) tasks.schedule(live.metadata.name);
    },
    onGone(live) {
      seen.delete(live.metadata.name);
      if (isSynced && wanted?.has(live.metadata.name) === true) tasks.schedule(live.metadata.name);
    },
    onState({ state }) {
      if (state !== 'synced' || isSynced) return;
      isSynced = true;
      scheduleAll();
    },
  });

  return {
    reconcile(gateways) {
      const before = wanted;
      wanted = new Map(gateways.map((owner) => [nameSealKeySecret(owner.namespace, owner.name), owner]));
      // Schedules only what changed: other keys may be waiting for a retry or a recheck.
      if (before === undefined) return scheduleAll();
      if (!isSynced) return;
      for (const [name, owner] of wanted) if (before.get(name)?.uid !== owner.uid) tasks.schedule(name);
      for (const name of before.keys()) if (!wanted.has(name)) tasks.schedule(name);
    },
    async stop() {
      await Promise.all([tasks.stop(), watch.stop()]);
    },
  };
}
