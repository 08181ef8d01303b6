// What the server believes a gateway has of one type, by name. A gateway that is up to date has exactly a snapshot, so this is a snapshot and what
// differs from it: thousands of resources cost each stream nothing while it is settled, and finding what changed costs as much as what changed.
import type { TypeResources } from './snapshot.ts';

const nothing: TypeResources = new Map();

/** The version of a resource that must be sent in any case. */
const untold = '';

export class SentVersions {
  #base: TypeResources = nothing;
  /** Where it differs from the base; undefined: the gateway does not have it. */
  readonly #differences = new Map<string, string | undefined>();

  /** The version that the gateway has; undefined: it does not have it; empty: it must be told, be it that there is none. */
  get(name: string): string | undefined {
    return this.#differences.has(name) ? this.#differences.get(name) : this.#base.get(name)?.version;
  }

  set(name: string, version: string | undefined): void {
    if (this.#base.get(name)?.version === version) this.#differences.delete(name);
    else this.#differences.set(name, version);
  }

  /** Marks a resource to be sent again or reported as removed. */
  forget(name: string): void {
    this.#differences.set(name, untold);
  }

  /** Marks everything to be sent again. */
  forgetAll(): void {
    for (const name of this.#base.keys()) if (!this.#differences.has(name)) this.forget(name);
    for (const [name, version] of this.#differences) if (version !== undefined) this.forget(name);
  }

  /** Drops all resources except these. */
  keepOnly(names: ReadonlySet<string>): void {
    const kept = Array.from(names, (name) => [name, this.get(name)] as const);
    this.#base = nothing;
    this.#differences.clear();
    for (const [name, version] of kept) this.set(name, version);
  }

  /** The gateway has exactly these: nothing has to be kept but the snapshot itself. */
  rebase(resources: TypeResources): void {
    this.#base = resources;
    this.#differences.clear();
  }

  /** Every name that may differ from `target`; may have names that do not. */
  *listCandidates(target: TypeResources): Generator<string> {
    yield* findChanges(this.#base, target);
    yield* this.#differences.keys();
  }
}

const changes = new WeakMap<TypeResources, WeakMap<TypeResources, readonly string[]>>();

/** The names of what was added, changed or removed. Found once for all streams that go the same way. */
function findChanges(from: TypeResources, to: TypeResources): readonly string[] {
  if (from === to) return [];
  let known = changes.get(from);
  if (known === undefined) changes.set(from, (known = new WeakMap()));
  let names = known.get(to);
  if (names === undefined) known.set(to, (names = compareResources(from, to)));
  return names;
}

function compareResources(from: TypeResources, to: TypeResources): string[] {
  const names: string[] = [];
  for (const [name, { version }] of to) if (from.get(name)?.version !== version) names.push(name);
  for (const name of from.keys()) if (!to.has(name)) names.push(name);
  return names;
}
