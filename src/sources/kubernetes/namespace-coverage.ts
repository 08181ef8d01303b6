// Which list-watches cover which namespaces. A few namespaces are watched one by one, so that the server sends nothing else; many are watched
// together and sorted out here. The objects of a namespace are shown only when all are known, and the switch between the two ways is invisible.
import type { Kind } from '../../api/kinds.ts';
import type { WatchGroup } from './watch-group.ts';

/** What a group is to read: one namespace, or these together. */
type GroupTarget = { readonly namespace: string } | { readonly namespaces: ReadonlySet<string> };

interface NamespaceCoverageOptions {
  /** Starts the list-watches of a target. */
  readonly startGroup: (target: GroupTarget) => WatchGroup;
  /** A namespace is shown from another group now, or not at all any more. Told for each object that it held before or holds now. */
  readonly onMoved: (kind: Kind, key: string) => void;
  /** The same, after all of its objects. */
  readonly onNamespaceMoved: (namespace: string) => void;
  /** More namespaces than this are watched together. */
  readonly maxSeparate: number;
}

export class NamespaceCoverage {
  readonly #options: NamespaceCoverageOptions;
  readonly #separate = new Map<string, { readonly group: WatchGroup; isShown: boolean }>();
  readonly #stopping = new Set<Promise<void>>();
  #selected: ReadonlySet<string> = new Set();
  #together: WatchGroup | undefined;
  /** Takes over from all that it covers when it is synced. */
  #nextTogether: WatchGroup | undefined;

  constructor(options: NamespaceCoverageOptions) {
    this.#options = options;
  }

  /** Every group, shown or not. */
  get groups(): readonly WatchGroup[] {
    const separate = [...this.#separate.values()].map(({ group }) => group);
    return [this.#together, this.#nextTogether, ...separate].filter((group) => group !== undefined);
  }

  /** The groups that namespaces are shown from. */
  get shownGroups(): readonly WatchGroup[] {
    const separate = [...this.#separate.values()].filter(({ isShown }) => isShown).map(({ group }) => group);
    return this.#together === undefined ? separate : [this.#together, ...separate];
  }

  /** Namespaces that are selected and not shown yet. */
  get awaited(): readonly string[] {
    return [...this.#selected].filter((namespace) => this.findOwner(namespace) === undefined);
  }

  /** The group to show a namespace from. */
  findOwner(namespace: string): WatchGroup | undefined {
    const separate = this.#separate.get(namespace);
    if (separate?.isShown === true) return separate.group;
    return this.#together?.covers(namespace) === true ? this.#together : undefined;
  }

  isSelected(namespace: string): boolean {
    return this.#selected.has(namespace);
  }

  /** Sets the namespaces to cover. */
  select(selected: ReadonlySet<string>): void {
    for (const namespace of this.#selected) if (!selected.has(namespace)) this.#leave(namespace);
    this.#selected = selected;
    const next = this.#nextTogether;
    const uncovered = [...selected].filter(
      (namespace) =>
        !this.#separate.has(namespace) &&
        this.#together?.covers(namespace) !== true &&
        next?.covers(namespace) !== true,
    );
    if (uncovered.length === 0) return;
    const lasting = [...this.#separate.keys()].filter((namespace) => next?.covers(namespace) !== true);
    if (lasting.length + uncovered.length > this.#options.maxSeparate) {
      if (next !== undefined) this.#stop(next);
      this.#nextTogether = this.#options.startGroup({ namespaces: selected });
      return;
    }
    for (const namespace of uncovered)
      this.#separate.set(namespace, { group: this.#options.startGroup({ namespace }), isShown: false });
  }

  /** Shows what has become complete. To be called after states of groups changed. */
  settle(): void {
    for (const [namespace, separate] of this.#separate) {
      if (separate.isShown || !separate.group.isSettled) continue;
      this.#move([namespace], () => {
        separate.isShown = true;
      });
    }
    const next = this.#nextTogether;
    if (next?.isSettled !== true) return;
    const old = this.#together;
    this.#move(
      [...this.#selected].filter((namespace) => next.covers(namespace)),
      () => {
        this.#together = next;
        this.#nextTogether = undefined;
        for (const [namespace, { group }] of this.#separate) {
          if (!next.covers(namespace)) continue;
          this.#separate.delete(namespace);
          this.#stop(group);
        }
      },
    );
    if (old !== undefined) this.#stop(old);
  }

  async stop(): Promise<void> {
    for (const group of this.groups) this.#stop(group);
    await Promise.all(this.#stopping);
  }

  #leave(namespace: string): void {
    this.#move([namespace], () => {
      const separate = this.#separate.get(namespace);
      this.#separate.delete(namespace);
      if (separate !== undefined) this.#stop(separate.group);
      this.#together?.dropNamespace(namespace);
      this.#nextTogether?.dropNamespace(namespace);
    });
  }

  /** Tells what namespaces held before and hold afterwards, when it is done. */
  #move(namespaces: readonly string[], change: () => void): void {
    const moved: [Kind, string][] = [];
    const collect = (): void => {
      for (const namespace of namespaces)
        this.findOwner(namespace)?.forEach((kind, key) => moved.push([kind, key]), namespace);
    };
    collect();
    change();
    collect();
    for (const [kind, key] of moved) this.#options.onMoved(kind, key);
    for (const namespace of namespaces) this.#options.onNamespaceMoved(namespace);
  }

  #stop(group: WatchGroup): void {
    const stopping = group.stop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }
}
