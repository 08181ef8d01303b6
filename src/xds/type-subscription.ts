// The subscription of one gateway to one type: what it wants, what it has, and what must be sent (xDS, "Incremental xDS").
import { SentVersions } from './sent-versions.ts';
import type { SnapshotResource, TypeResources } from './snapshot.ts';

/** The resources still to send. */
interface Plan {
  readonly target: TypeResources;
  readonly additions: readonly SnapshotResource[];
  readonly removals: readonly string[];
  addition: number;
  removal: number;
}

/** Its name and version, the type URL a second time and the framing come on top of the bytes. */
const overheadBytes = 160;

export class TypeSubscription {
  readonly typeUrl: string;
  /** The gateway waits for an answer, even if it has nothing in it. */
  owesAnswer = true;
  readonly #names = new Set<string>();
  readonly #sent = new SentVersions();
  #wildcard = false;
  #plan: Plan | undefined;

  /** Takes the first request of a type. One without names asks for everything. */
  constructor(typeUrl: string, subscribe: readonly string[], initialVersions: Readonly<Record<string, string>>) {
    this.typeUrl = typeUrl;
    if (subscribe.length === 0) this.#wildcard = true;
    this.subscribe(subscribe);
    for (const [name, version] of Object.entries(initialVersions))
      if (this.#isWanted(name)) this.#sent.set(name, version);
  }

  /** How many names it must remember. */
  get size(): number {
    return this.#names.size;
  }

  /**
   * Requested resources are sent even if the gateway should have them: it may have dropped them. Missing ones are reported as removed. `underWay` are the
   * names in responses that have not been answered: one that the gateway gave up may reach it only after it asked for everything again.
   */
  subscribe(names: readonly string[], underWay: Iterable<string> = []): void {
    for (const name of names) {
      if (name === '*') {
        if (this.#wildcard) this.#sent.forgetAll();
        else for (const lost of underWay) if (this.#sent.get(lost) === undefined) this.#sent.forget(lost);
        this.#wildcard = true;
      } else {
        this.#names.add(name);
        this.#sent.forget(name);
      }
    }
    if (names.length > 0) this.#plan = undefined;
  }

  /** The gateway drops what it no longer wants by itself. */
  unsubscribe(names: readonly string[]): void {
    for (const name of names) {
      if (name === '*') {
        this.#wildcard = false;
        this.#sent.keepOnly(this.#names);
      } else {
        this.#names.delete(name);
        // Still covered by the wildcard: the gateway cannot know whether that has it, so it is sent or reported as removed.
        if (this.#wildcard) this.#sent.forget(name);
        else this.#sent.set(name, undefined);
      }
    }
    if (names.length > 0) this.#plan = undefined;
  }

  /** The version that the gateway has been sent; undefined: it does not have it. */
  getSentVersion(name: string): string | undefined {
    return this.#sent.get(name);
  }

  hasAdditions(target: TypeResources): boolean {
    const plan = this.#planFor(target);
    return plan.addition < plan.additions.length;
  }

  hasRemovals(target: TypeResources): boolean {
    const plan = this.#planFor(target);
    return plan.removal < plan.removals.length;
  }

  /** The next resources to send, as many as fit but at least one. They count as sent. */
  takeAdditions(target: TypeResources, maxBytes: number): SnapshotResource[] {
    const plan = this.#planFor(target);
    const taken: SnapshotResource[] = [];
    for (let bytes = 0; plan.addition < plan.additions.length; plan.addition += 1) {
      const resource = plan.additions[plan.addition]!;
      bytes += resource.bytes.length + resource.name.length + overheadBytes;
      if (taken.length > 0 && bytes > maxBytes) break;
      this.#sent.set(resource.name, resource.version);
      taken.push(resource);
    }
    this.#finish(plan);
    return taken;
  }

  /** The next names to remove, as many as fit but at least one. */
  takeRemovals(target: TypeResources, maxBytes: number): string[] {
    const plan = this.#planFor(target);
    const taken: string[] = [];
    for (let bytes = 0; plan.removal < plan.removals.length; plan.removal += 1) {
      const name = plan.removals[plan.removal]!;
      bytes += name.length + 8;
      if (taken.length > 0 && bytes > maxBytes) break;
      this.#sent.set(name, undefined);
      taken.push(name);
    }
    this.#finish(plan);
    return taken;
  }

  #planFor(target: TypeResources): Plan {
    if (this.#plan?.target !== target) {
      this.#plan = this.#makePlan(target);
      this.#finish(this.#plan);
    }
    return this.#plan;
  }

  #makePlan(target: TypeResources): Plan {
    const additions: SnapshotResource[] = [];
    const removals: string[] = [];
    for (const name of new Set(this.#sent.listCandidates(this.#wildcard ? target : this.#select(target)))) {
      const wanted = this.#isWanted(name) ? target.get(name) : undefined;
      const sent = this.#sent.get(name);
      if (wanted !== undefined && wanted.version !== sent) additions.push(wanted);
      else if (wanted === undefined && sent !== undefined) removals.push(name);
    }
    return { target, additions, removals, addition: 0, removal: 0 };
  }

  /** Those that were asked for by name. */
  #select(target: TypeResources): TypeResources {
    const selected = new Map<string, SnapshotResource>();
    for (const name of this.#names) {
      const resource = target.get(name);
      if (resource !== undefined) selected.set(name, resource);
    }
    return selected;
  }

  #isWanted(name: string): boolean {
    return this.#wildcard || this.#names.has(name);
  }

  /** When a gateway that wants everything has been sent everything, it has exactly the target. */
  #finish(plan: Plan): void {
    const isSent = plan.addition >= plan.additions.length && plan.removal >= plan.removals.length;
    if (isSent && this.#wildcard) this.#sent.rebase(plan.target);
  }
}
