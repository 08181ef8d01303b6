// Takes our statuses back where this installation no longer looks. Which namespaces it looked after is kept in a ConfigMap of its own: selectors change with a restart,
// labels while no replica runs, and what another installation with other selectors wrote must stay. Run by the leader.
import { controllerName } from '../api/gateway-class.ts';
import type { Resources } from '../api/resources.ts';
import { findBackoffDelay } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';
import { ApiError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import { KeyedTasks } from '../kubernetes/keyed-tasks.ts';
import { listAllPages } from '../kubernetes/list-pages.ts';
import { formatApiVersion, resourceTypes } from '../kubernetes/resource-type.ts';
import { explainRelease } from './explain-release.ts';
import { hasEntries, hasOwnEntries, type StatusKind } from './merge-status.ts';
import type { StatusWriter, WrittenObject } from './write-statuses.ts';

interface LeftNamespacesOptions {
  /** Writes only while this replica leads. */
  readonly client: KubernetesClient;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: () => number;
  readonly installationNamespace: string;
  /** The namespaces that are selected; undefined: all. */
  readonly namespaces: ReadonlyWatchable<ReadonlySet<string> | undefined>;
  readonly sync: ReadonlyWatchable<{ readonly synced: boolean }>;
  readonly resources: ReadonlyWatchable<Resources>;
  readonly writer: Pick<StatusWriter, 'takeBack' | 'hasTakenBack'>;
  /** Whether the status of InferencePools may be read and written. */
  readonly inferenceExtension: boolean;
}

/** Namespaces that the leaders of this installation have looked after. */
type NamespaceRecord = 'all' | ReadonlySet<string>;

/** Names the ConfigMap. */
export const namespaceRecordName = 'proxy-controller-namespaces';
const dataKey = 'namespaces';
const everything = '*';
/** More namespaces than this are listed together, not one by one. */
const maxSeparate = 16;
/** How often the writer is asked whether it is done. */
const pollMs = 200;
const failureBackoff = { firstMs: 1_000, maxMs: 60_000 };
const task = 'namespaces';

/** Works from `start` to `stop`. */
export class LeftNamespaces {
  readonly #options: LeftNamespacesOptions;
  readonly #tasks: KeyedTasks;
  #unsubscribe: (() => void)[] = [];
  #failures = 0;
  /** What was read or written last in this term. */
  #record: { readonly seen: NamespaceRecord | undefined } | undefined;
  /** What the writer is to take back, and the selection that leaves it out. */
  #taken:
    | { readonly selected: ReadonlySet<string> | undefined; readonly objects: readonly WrittenObject[] }
    | undefined;

  constructor(options: LeftNamespacesOptions) {
    this.#options = options;
    this.#tasks = new KeyedTasks({ concurrency: 1, clock: options.clock, run: (_, signal) => this.#run(signal) });
  }

  start(): void {
    const { namespaces, sync } = this.#options;
    const schedule = (): void => this.#tasks.schedule(task);
    this.#unsubscribe = [namespaces.subscribe(schedule), sync.subscribe(schedule)];
    schedule();
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#unsubscribe = [];
    this.#record = undefined;
    this.#taken = undefined;
    await this.#tasks.clear();
  }

  async #run(signal: AbortSignal): Promise<number | undefined> {
    try {
      const delayMs = await this.#proceed(signal);
      this.#failures = 0;
      return delayMs;
    } catch (error) {
      if (signal.aborted) return undefined;
      const { log, random } = this.#options;
      const reason = error instanceof Error ? error.message : String(error);
      const level = this.#failures === 0 ? 'warn' : 'debug';
      log[level]({ reason }, 'statuses in namespaces that are no longer selected cannot be taken back; trying again');
      this.#failures += 1;
      return findBackoffDelay(this.#failures - 1, { ...failureBackoff, random, jitter: [0.5, 1] });
    }
  }

  /** Returns the delay before the next look; undefined: done, until something changes. */
  async #proceed(signal: AbortSignal): Promise<number | undefined> {
    const { namespaces, sync, writer, log } = this.#options;
    if (!sync.get().synced) return undefined;
    this.#record ??= { seen: await this.#read(signal) };
    const selected = namespaces.get();
    const { seen } = this.#record;
    if (this.#taken === undefined) {
      if (isSame(seen, selected)) return undefined;
      this.#taken = { selected, objects: await this.#takeBack(seen, selected, signal) };
    }
    const { objects, selected: until } = this.#taken;
    if (!writer.hasTakenBack(objects)) return pollMs;
    await this.#write(until, signal);
    if (objects.length > 0)
      log.info({ objects: objects.length }, 'took statuses back in namespaces that are no longer selected');
    this.#taken = undefined;
    this.#record = { seen: until ?? 'all' };
    // The selection may have changed meanwhile.
    return 0;
  }

  async #takeBack(
    recorded: NamespaceRecord | undefined,
    selected: ReadonlySet<string> | undefined,
    signal: AbortSignal,
  ): Promise<readonly WrittenObject[]> {
    const { writer, resources, inferenceExtension } = this.#options;
    // Nothing is known of an earlier leader, or nothing can be left out.
    if (recorded === undefined || selected === undefined) return [];
    const left = recorded === 'all' ? undefined : [...recorded].filter((namespace) => !selected.has(namespace));
    if (left?.length === 0) return [];
    const isLeft = (namespace: string): boolean => !selected.has(namespace) && (left?.includes(namespace) ?? true);
    const scopes = left === undefined || left.length > maxSeparate ? [undefined] : left;
    const classes = new Set(
      resources
        .get()
        .gatewayClasses.filter(({ spec }) => spec.controllerName === controllerName)
        .map(({ metadata }) => metadata.name),
    );
    const kinds: readonly StatusKind[] = [
      'Gateway',
      'HTTPRoute',
      'ProxyPolicy',
      'ProxyBackend',
      ...(inferenceExtension ? (['InferencePool'] as const) : []),
    ];
    const found: WrittenObject[] = [];
    for (const kind of kinds)
      for (const scope of scopes)
        for (const object of await this.#list(kind, scope, signal, (each) => isWritten(kind, each, classes)))
          if (isLeft(object.namespace)) found.push(object);
    for (const object of found) {
      const { kind, namespace, name } = object;
      const release =
        kind === 'Gateway' ? explainRelease(`${namespace}/${name}`, resources.get(), selected) : undefined;
      writer.takeBack(object, release);
    }
    return found;
  }

  async #list(
    kind: StatusKind,
    namespace: string | undefined,
    signal: AbortSignal,
    isWanted: (object: KubernetesObject) => boolean,
  ): Promise<readonly WrittenObject[]> {
    let found: WrittenObject[] = [];
    const begin = () => {
      found = [];
      return {
        see(object: KubernetesObject) {
          const { name, namespace: own = '' } = object.metadata;
          if (isWanted(object)) found.push({ kind, namespace: own, name });
        },
        end() {},
      };
    };
    try {
      await listAllPages(this.#options.client, resourceTypes[kind], { namespace }, signal, begin);
    } catch (error) {
      // The kind is not installed.
      if (!(error instanceof ApiError && error.status.code === 404)) throw error;
    }
    return found;
  }

  async #read(signal: AbortSignal): Promise<NamespaceRecord | undefined> {
    const { client, installationNamespace: namespace } = this.#options;
    try {
      const object = await client.get(resourceTypes.ConfigMap, { namespace, name: namespaceRecordName }, signal);
      return readRecord(object);
    } catch (error) {
      if (error instanceof ApiError && error.status.reason === 'NotFound') return undefined;
      throw error;
    }
  }

  async #write(selected: ReadonlySet<string> | undefined, signal: AbortSignal): Promise<void> {
    const { client, installationNamespace: namespace } = this.#options;
    const type = resourceTypes.ConfigMap;
    const object = {
      apiVersion: formatApiVersion(type),
      kind: type.kind,
      metadata: { name: namespaceRecordName, namespace },
      data: { [dataKey]: selected === undefined ? everything : JSON.stringify([...selected].toSorted()) },
    };
    await client.apply(type, object, { force: true }, signal);
  }
}

/** A record that somebody has made unreadable says nothing. */
function readRecord(object: KubernetesObject): NamespaceRecord | undefined {
  const data = object['data'] as Readonly<{ [name: string]: unknown }> | undefined;
  const text = data?.[dataKey];
  if (text === everything) return 'all';
  try {
    const names: unknown = JSON.parse(String(text));
    return Array.isArray(names) ? new Set(names.map(String)) : undefined;
  } catch {
    return undefined;
  }
}

function isSame(recorded: NamespaceRecord | undefined, selected: ReadonlySet<string> | undefined): boolean {
  if (recorded === undefined) return false;
  if (recorded === 'all' || selected === undefined) return recorded === 'all' && selected === undefined;
  return recorded.size === selected.size && [...recorded].every((namespace) => selected.has(namespace));
}

/** Whether there is something of ours in the status. */
function isWritten(kind: StatusKind, object: KubernetesObject, classes: ReadonlySet<string>): boolean {
  const { status } = object;
  if (hasEntries(kind)) return hasOwnEntries(kind, status, controllerName);
  const { conditions } = (status ?? {}) as { readonly conditions?: readonly { readonly status?: unknown }[] };
  if (!Array.isArray(conditions) || conditions.length === 0) return false;
  if (kind !== 'Gateway') return true;
  const { gatewayClassName } = (object['spec'] ?? {}) as { readonly gatewayClassName?: string };
  // Unknown: nobody has said anything yet, or that it is left out has been said already.
  return classes.has(gatewayClassName ?? '') && conditions.some((each) => each.status !== 'Unknown');
}
