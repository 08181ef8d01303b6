// Creates a Secret with keys for each Gateway that needs them, once, and deletes it when the Gateway has certainly been deleted. Run by the leader. What keys they
// are, and what becomes of them in between, a KeySecretKind says.
import { type Backoff, createBackoff } from '../base/backoff.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError, ApiUnreachableError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import { type ListWatchOptions, type RelistReason, startListWatch } from '../kubernetes/list-watch.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { KeyedTasks } from '../kubernetes/keyed-tasks.ts';
import { type KeyOwner, readOwner } from './key-owner.ts';

/** The surroundings of a keeper. */
export interface KeyKeeperOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  readonly installationNamespace: string;
  /** Called each time the Secrets have to be listed again. */
  readonly onRelist?: (kind: string, reason: RelistReason) => void;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly watchTiming?: ListWatchOptions['timing'];
}

/** One kind of keys. */
export interface KeySecretKind {
  /** For the log: `seal keys`. */
  readonly what: string;
  /** The label of their Secrets, with the value `true`. */
  readonly label: string;
  readonly nameSecret: (namespace: string, name: string) => string;
  /** A Secret with new keys. */
  render(owner: KeyOwner): KubernetesObject;
  /** What is to be done about the keys of a Gateway that is there; absent: nothing, and they are not even read. */
  tend?(secret: KubernetesObject, owner: KeyOwner, signal: AbortSignal): Promise<KeysTended>;
}

/** What was done: the Secret as it was written, or nothing for the time being (undefined: until something changes). */
export type KeysTended =
  | { readonly written: KubernetesObject }
  | { readonly written?: undefined; readonly waitMs: number | undefined };

/** Keeps the keys of Gateways. */
export interface KeyKeeper {
  /** Sets the Gateways that need keys. Call it only when all Gateways are known: a missing Gateway that the API server does not have loses its keys. */
  reconcile(gateways: readonly KeyOwner[]): void;
  stop(): Promise<void>;
}

/** The recheck interval for keys of a Gateway that still exists but is no longer ours (its namespace is not selected any more). */
const recheckMs = 10 * 60_000;

/** A Secret as last seen: metadata only, unless its keys are tended to. */
interface SeenSecret {
  readonly uid: string;
  readonly owner: KeyOwner;
  readonly object: KubernetesObject;
}

/** Starts to reconcile keys. `look`: something that the kind goes by has changed for a Gateway. */
export function startKeyKeeper(
  kind: KeySecretKind,
  options: KeyKeeperOptions,
): KeyKeeper & { look(namespace: string, name: string): void } {
  const { client, log, installationNamespace } = options;
  const { what } = kind;
  const random = options.random ?? Math.random;
  const { Secret, Gateway } = resourceTypes;
  /** By the name of the Secret. */
  const seen = new Map<string, SeenSecret>();
  let wanted: ReadonlyMap<string, KeyOwner> | undefined;
  let isSynced = false;
  const failures = new Map<string, Backoff>();

  async function keep(name: string, signal: AbortSignal): Promise<number | undefined> {
    if (wanted === undefined) return undefined;
    const owner = wanted.get(name);
    if (owner !== undefined) return ensure(name, owner, signal);
    const secret = seen.get(name);
    return secret === undefined ? undefined : removeIfGone(name, secret, signal);
  }

  async function ensure(name: string, owner: KeyOwner, signal: AbortSignal): Promise<number | undefined> {
    const secret = seen.get(name);
    if (secret?.owner.uid === owner.uid) return tend(secret.object, owner, signal);
    if (secret !== undefined) {
      // A Gateway that was created anew may have another owner: it must not get the keys of the earlier one.
      await client.delete(Secret, { namespace: installationNamespace, name }, { uid: secret.uid }, signal);
      seen.delete(name);
    }
    const created = await client.create(Secret, kind.render(owner), signal);
    note(created);
    log.info({ gateway: `${owner.namespace}/${owner.name}`, object: name }, `created ${what}`);
    return tend(created, owner, signal);
  }

  async function tend(secret: KubernetesObject, owner: KeyOwner, signal: AbortSignal): Promise<number | undefined> {
    const tended = await kind.tend?.(secret, owner, signal);
    if (tended?.written === undefined) return tended?.waitMs;
    note(tended.written);
    return 0;
  }

  async function removeIfGone(name: string, secret: SeenSecret, signal: AbortSignal): Promise<number | undefined> {
    if (await exists(secret.owner, signal)) return recheckMs;
    await client.delete(Secret, { namespace: installationNamespace, name }, { uid: secret.uid }, signal);
    const { namespace, name: gateway } = secret.owner;
    log.info({ gateway: `${namespace}/${gateway}`, object: name }, `removed the ${what} of a gateway that is gone`);
    return undefined;
  }

  /** Asks the API server: a Gateway that is missing in our cache may still exist. */
  async function exists({ namespace, name, uid }: KeyOwner, signal: AbortSignal): Promise<boolean> {
    try {
      const gateway = await client.get(Gateway, { namespace, name }, signal);
      return gateway.metadata.uid === uid;
    } catch (error) {
      if (error instanceof ApiError && error.status.reason === 'NotFound') return false;
      throw error;
    }
  }

  function note(live: KubernetesObject): void {
    const owner = readOwner(live, kind.nameSecret);
    if (owner === undefined || live.metadata.uid === undefined) seen.delete(live.metadata.name);
    else seen.set(live.metadata.name, { uid: live.metadata.uid, owner, object: live });
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
          log.warn({ object: name, reason: error.message }, `${what} could not be reconciled yet`);
        else if (!isExpected) log.error({ object: name, err: error }, `reconciling ${what} failed`);
        return backoff.next();
      }
    },
  });

  /** Nothing is created or removed before both the existing and the desired keys are known. */
  function scheduleAll(): void {
    if (!isSynced || wanted === undefined) return;
    for (const [name, owner] of wanted)
      if (kind.tend !== undefined || seen.get(name)?.owner.uid !== owner.uid) tasks.schedule(name);
    for (const name of seen.keys()) if (!wanted.has(name)) tasks.schedule(name);
  }

  const watch = startListWatch({
    client,
    type: Secret,
    log,
    scope: {
      namespace: installationNamespace,
      labelSelector: `${kind.label}=true`,
      metadataOnly: kind.tend === undefined,
    },
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
      wanted = new Map(gateways.map((owner) => [kind.nameSecret(owner.namespace, owner.name), owner]));
      // Schedules only what changed: other keys may be waiting for a retry or a recheck.
      if (before === undefined) return scheduleAll();
      if (!isSynced) return;
      for (const [name, owner] of wanted) if (before.get(name)?.uid !== owner.uid) tasks.schedule(name);
      for (const name of before.keys()) if (!wanted.has(name)) tasks.schedule(name);
    },
    look(namespace, name) {
      const secret = kind.nameSecret(namespace, name);
      if (isSynced && wanted?.has(secret) === true) tasks.schedule(secret);
    },
    async stop() {
      await Promise.all([tasks.stop(), watch.stop()]);
    },
  };
}
