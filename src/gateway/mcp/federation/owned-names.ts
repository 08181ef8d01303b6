// The names of a federation without prefixes, as this process knows them: what targets list is noted, and a name that nobody is known to own is looked for in the lists of all
// targets, once for all who ask at the same time, and not for long.
import { createHash } from 'node:crypto';
import type { Log } from '../../../base/log.ts';
import type { FederationTarget } from '../../config/federation-config.ts';
import { readFieldValues } from '../read/field-values.ts';
import type { ListMethod } from '../read/list-methods.ts';
import type { Item } from '../read/read-item.ts';
import { fetchKeptList } from './fetch-kept-list.ts';
import type { WholeList } from './fetch-list.ts';
import { formatAudience } from './list-audience.ts';
import type { ListCache } from './list-cache.ts';
import type { ListItem } from './read-list-page.ts';
import { type ContestedName, listsOfKind, Owners, type Ownership, type OwnershipChange } from './owners.ts';
import type { Speaker, Target } from './target.ts';

export interface OwnedNamesParts {
  /** Key of the backend. */
  readonly key: string;
  readonly cache: ListCache;
  readonly log: Log;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** What the names are for. Default: to find every item of a federation without prefixes. */
  readonly use?: NameUse;
}

/** What names are for. */
export interface NameUse {
  /** Whether an entry of a list counts. */
  readonly counts: (entry: ListItem) => boolean;
  /** Whether names are nobody's as long as this target has never listed. */
  readonly isNeeded: (target: FederationTarget) => boolean;
  /** Says which names several targets claim from now on. */
  readonly logContested: (log: Log, fields: object) => void;
}

const everyItem: NameUse = {
  counts: () => true,
  isNeeded: ({ failsClosed }) => failsClosed,
  logContested: (log, fields) =>
    log.warn(fields, 'several servers of a federation claim the same names; none of them serves these'),
};

/** A target with its configuration in force. */
interface Member {
  readonly config: FederationTarget;
  readonly target: Target;
}

export type NameFinding =
  | Ownership
  /** Of a target that the federation cannot do without nobody knows what it has. */
  | { readonly kind: 'unavailable'; readonly target: string };

export interface FindOptions {
  /** Whether an item of this target is there for the client. Default: all. */
  readonly isVisible?: (target: string) => boolean;
  /** How long to wait for lists; then what is known counts. Default: 5 s. */
  readonly waitMs?: number;
}

/** A call waits so long for the lists, however often it asks for them. */
const askMs = 5_000;
/** A list that was asked for so recently is not asked for again: whoever calls what does not exist must not keep the servers busy. */
const freshMs = 1_000;
/** A target without a list is asked again after this time, or when it is back. */
const retryMs = 10_000;
const maxRetries = 10_000;
/** Names in one line of the log. */
const maxLogged = 20;

export class OwnedNames {
  readonly #parts: OwnedNamesParts;
  readonly #use: NameUse;
  readonly #owners: Owners;
  readonly #asking = new Map<string, Promise<void>>();
  /** When a list may be asked for that could not be read. */
  readonly #retryAt = new Map<string, number>();

  constructor(parts: OwnedNamesParts) {
    this.#parts = parts;
    this.#use = parts.use ?? everyItem;
    this.#owners = new Owners(parts.now);
  }

  get contested(): readonly ContestedName[] {
    return this.#owners.contested;
  }

  epochOf(target: string): number {
    return this.#owners.epochOf(target);
  }

  /** A target has listed this to a client. */
  note(target: string, method: ListMethod, speaker: Speaker, { items, isPublic }: WholeList, epoch: number): void {
    const names = items.filter(this.#use.counts).map(({ own }) => own);
    const view = isPublic ? toAll : formatView(speaker);
    this.#tell(this.#owners.note(target, method, view, names, epoch));
  }

  /** Whether it is known what a client finds in this list. */
  isNoted(target: string, method: ListMethod, speaker: Speaker): boolean {
    return this.#listedAt(target, method, speaker) !== undefined;
  }

  isContested(method: ListMethod, name: string): boolean {
    return this.#owners.isContested(method, name);
  }

  outdate(target: string): void {
    this.#owners.outdate(target);
    for (const key of this.#retryAt.keys()) if (key.startsWith(`${target}\0`)) this.#retryAt.delete(key);
  }

  drop(target: string): void {
    this.#tell(this.#owners.drop(target));
  }

  /** Whose item it is. Asks for lists that this client has not seen; when nobody has the item, for all of them. */
  async find(
    members: Iterable<Member>,
    speaker: Speaker,
    item: Item,
    { isVisible = always, waitMs = askMs }: FindOptions = {},
  ): Promise<NameFinding> {
    const patience = new Patience(waitMs);
    try {
      return await this.#find(members, speaker, item, isVisible, patience);
    } finally {
      patience.end();
    }
  }

  async #find(
    members: Iterable<Member>,
    speaker: Speaker,
    { kind, name }: Item,
    isVisible: (target: string) => boolean,
    patience: Patience,
  ): Promise<NameFinding> {
    const byName = new Map(Array.from(members, (member) => [member.config.name, member]));
    const serves = (target: string): boolean =>
      byName.get(target)?.config.selects[kind](name) === true && isVisible(target);
    const methods = listsOfKind[kind];
    await this.#askAll(byName.values(), methods, speaker, -Infinity, patience);
    let ownership = this.#owners.find(kind, name, serves);
    if (ownership.kind === 'unknown' && !patience.isOver) {
      await this.#askAll(byName.values(), methods, speaker, this.#parts.now() - freshMs, patience);
      ownership = this.#owners.find(kind, name, serves);
    }
    for (const { config } of byName.values())
      if (this.#use.isNeeded(config) && methods.some((method) => !this.#owners.hasListed(config.name, method)))
        return { kind: 'unavailable', target: config.name };
    return ownership;
  }

  #listedAt(target: string, method: ListMethod, speaker: Speaker): number | undefined {
    return this.#owners.listedAt(target, method, formatView(speaker)) ?? this.#owners.listedAt(target, method, toAll);
  }

  /** Asks for all lists that were not read since. */
  async #askAll(
    members: Iterable<Member>,
    methods: readonly ListMethod[],
    speaker: Speaker,
    sinceMs: number,
    patience: Patience,
  ): Promise<void> {
    const asked: Promise<void>[] = [];
    for (const { config, target } of members)
      for (const method of methods)
        if ((this.#listedAt(config.name, method, speaker) ?? -Infinity) <= sinceMs)
          asked.push(this.#ask(target, method, speaker));
    if (asked.length > 0) await patience.waitFor(Promise.all(asked));
  }

  #ask(target: Target, method: ListMethod, speaker: Speaker): Promise<void> {
    const key = `${target.config.name}\0${method}\0${formatAsking(speaker)}`;
    const running = this.#asking.get(key);
    if (running !== undefined) return running;
    if ((this.#retryAt.get(key) ?? -Infinity) > this.#parts.now()) return Promise.resolve();
    const asking = this.#fetch(target, method, speaker, key).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #fetch(target: Target, method: ListMethod, speaker: Speaker, key: string): Promise<void> {
    const { cache, now, log, key: backend } = this.#parts;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), askMs);
    try {
      const fetched = await fetchKeptList({ cache, notes: this }, target, speaker, method, stop.signal);
      this.#retryAt.delete(key);
      if (fetched.ok) return;
      this.#retryAt.set(key, now() + retryMs);
      if (this.#retryAt.size > maxRetries) this.#retryAt.delete(this.#retryAt.keys().next().value!);
      const { problem } = fetched;
      log.debug({ backend, target: target.config.name, method, problem }, 'a list of a federation cannot be read');
    } finally {
      clearTimeout(timer);
    }
  }

  #tell(change: OwnershipChange | undefined): void {
    if (change === undefined) return;
    const { log, key: backend } = this.#parts;
    const { contested, settled } = change;
    if (contested.length > 0)
      this.#use.logContested(log, { backend, count: contested.length, names: contested.slice(0, maxLogged) });
    if (settled.length > 0)
      log.info(
        {
          backend,
          count: settled.length,
          names: settled.slice(0, maxLogged).map(({ kind, name }) => ({ kind, name })),
        },
        'names of a federation are not claimed by several servers any more',
      );
  }
}

const always = (): boolean => true;

/** Waits for several things, together not longer than it may. Others may be waiting for the same, and go on. */
class Patience {
  readonly #waitMs: number;
  #timer: NodeJS.Timeout | undefined;
  #over: Promise<void> | undefined;
  #isOver = false;

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The time begins with the first one. */
  async waitFor(awaited: Promise<unknown>): Promise<void> {
    this.#over ??= new Promise((resolve) => {
      this.#timer = setTimeout(() => {
        this.#isOver = true;
        resolve();
      }, this.#waitMs);
    });
    await Promise.race([awaited, this.#over]);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** The view of a list that is the same for all. */
const toAll = '';

function formatView(speaker: Speaker): string {
  return `${formatAudience(speaker)}\0${speaker.owner ?? ''}`;
}

/** Whose request for a list may be that of another caller as well. Somebody whom nobody knows may yet send the servers what they know it by. */
function formatAsking(speaker: Speaker): string {
  const view = formatView(speaker);
  if (speaker.owner !== undefined) return view;
  const credentials = ['authorization', 'cookie'].flatMap((name) => readFieldValues(speaker.headers, name));
  if (credentials.length === 0) return view;
  return `${view}\0${createHash('sha256').update(JSON.stringify(credentials)).digest('base64url')}`;
}
