// Secrets of named namespaces only: one list-watch for each that exists, and one for the installation namespace. A namespace whose Secrets may not be read any more, or not yet,
// holds nobody else up: its owner may have removed the controller's right.
import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../api/kinds.ts';
import type { Resources } from '../../api/resources.ts';
import type { Log } from '../../base/log.ts';
import type { WatchGroup } from './watch-group.ts';

interface SecretCoverageOptions {
  /** The namespaces whose Secrets are to be read. */
  readonly namespaces: readonly string[];
  /** Its Secrets are read in any case. */
  readonly installationNamespace: string;
  readonly log: Log;
  /** Starts the list-watch of a namespace. */
  readonly startGroup: (namespace: string) => WatchGroup;
  /** A Secret of a namespace that is gone is not shown any more. */
  readonly onMoved: (kind: Kind, key: string) => void;
}

export class SecretCoverage {
  readonly #options: SecretCoverageOptions;
  readonly #wanted: ReadonlySet<string>;
  readonly #groups = new Map<string, WatchGroup>();
  readonly #stopping = new Set<Promise<void>>();
  #present: readonly string[] = [];
  #logged: readonly string[] = [];

  constructor(options: SecretCoverageOptions) {
    this.#options = options;
    const { namespaces, installationNamespace } = options;
    this.#wanted = new Set([installationNamespace, ...namespaces]);
    this.#groups.set(installationNamespace, options.startGroup(installationNamespace));
  }

  get groups(): readonly WatchGroup[] {
    return [...this.#groups.values()];
  }

  /** The group of a namespace; undefined: its Secrets are not read. */
  findGroup(namespace: string): WatchGroup | undefined {
    return this.#groups.get(namespace);
  }

  /** Whether all that may be read is known. */
  get isSettled(): boolean {
    return [...this.#groups].every(([namespace, group]) => group.isSettled || this.#isRefused(namespace, group));
  }

  /** The groups that fail because of their own rights: nothing waits for them. */
  get refusedGroups(): readonly WatchGroup[] {
    return [...this.#groups].flatMap(([namespace, group]) => (this.#isRefused(namespace, group) ? [group] : []));
  }

  /** Resources with the namespaces whose Secrets may not be read; those that were shown last, when nothing has changed. */
  addUnreadable(built: Resources, shown: Resources): Resources {
    const unreadable = this.#present.filter((namespace) => !this.#isReadable(namespace));
    const isSame = isDeepStrictEqual(unreadable, shown.unreadableSecretNamespaces);
    const resources = { ...built, unreadableSecretNamespaces: isSame ? shown.unreadableSecretNamespaces : unreadable };
    const lists = Object.keys(resources) as (keyof Resources)[];
    return lists.every((list) => resources[list] === shown[list]) ? shown : resources;
  }

  /** Once when it changes. Conditions of what refers to such Secrets say it, too. */
  logRefused(): void {
    const namespaces = this.refusedGroups.map(({ namespace = '' }) => namespace);
    if (isDeepStrictEqual(namespaces, this.#logged)) return;
    this.#logged = namespaces;
    const { log } = this.#options;
    if (namespaces.length > 0)
      log.warn(
        { namespaces },
        'Secrets of these namespaces may not be read, although --secrets-in-namespaces names them',
      );
    else log.info({}, 'Secrets of all named namespaces may be read');
  }

  /** Sets the namespaces that there are. */
  follow(namespaces: readonly string[]): void {
    this.#present = namespaces;
    const present = new Set(namespaces);
    const { installationNamespace, startGroup, onMoved } = this.#options;
    for (const [namespace, group] of this.#groups) {
      if (namespace === installationNamespace || present.has(namespace)) continue;
      this.#groups.delete(namespace);
      group.forEach(onMoved);
      this.#stop(group);
    }
    for (const namespace of this.#wanted)
      if (present.has(namespace) && !this.#groups.has(namespace)) this.#groups.set(namespace, startGroup(namespace));
  }

  async stop(): Promise<void> {
    for (const group of this.#groups.values()) this.#stop(group);
    await Promise.all(this.#stopping);
  }

  /** Whether Secrets of a namespace are known, or were before the right was taken away. */
  #isReadable(namespace: string): boolean {
    const group = this.#groups.get(namespace);
    return group !== undefined && (group.wasSynced || !this.#isRefused(namespace, group));
  }

  #isRefused(namespace: string, group: WatchGroup): boolean {
    return namespace !== this.#options.installationNamespace && group.isForbidden;
  }

  #stop(group: WatchGroup): void {
    const stopping = group.stop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }
}
