// The session of a legacy client with a federation. Its Mcp-Session-Id is sealed and says all that another replica has to know: whose it is, at which backend, the
// version, what the client said of itself, and the sessions of the targets, as long as it stays short enough for a header.
import { randomBytes } from 'node:crypto';
import type { Sealer } from '../../../base/sealed.ts';
import { cutText } from '../../../base/cut-text.ts';
import { isJsonObject } from '../../../base/json-object.ts';
import { BoundedCache } from '../../authentication/token/bounded-cache.ts';
import type { SessionTable } from './session-table.ts';
import type { WishTable } from './session-wishes.ts';
import type { SessionKeeper, TargetSession } from './target.ts';

/** Where a session belongs. */
export interface SessionPlace {
  readonly sealer: Sealer;
  readonly table: SessionTable;
  /** Key of the backend. */
  readonly backend: string;
  /** A digest of who the client is; undefined: nobody knows. */
  readonly owner: string | undefined;
}

/** What a client says in `initialize`. */
export interface ClientIntroduction {
  /** That was agreed on. */
  readonly version: string;
  /** JSON; undefined: it did not say. */
  readonly clientInfo: string | undefined;
  /** JSON. */
  readonly capabilities: string;
}

/** Headers of 8 KB are taken everywhere; half of that is for others. */
export const maxSessionIdLength = 4_096;

const purpose = 'mcp-federated-session';

type SealedTarget = readonly [id: string | null, tag: string | null, version: string];
type Sealed = readonly [
  name: string,
  owner: string,
  version: string,
  clientInfo: string | null,
  capabilities: string,
  targets: Readonly<Record<string, SealedTarget>>,
];

/** One session of a client. */
export class ClientSession implements SessionKeeper {
  /** By which the tables of processes know it. */
  readonly name: string;
  readonly version: string;
  readonly #place: SessionPlace;
  readonly #said: ClientIntroduction;
  /** As its id says. */
  #targets: ReadonlyMap<string, TargetSession>;
  /** From then on its id cannot say more. */
  #isSealed: boolean;

  private constructor(
    place: SessionPlace,
    name: string,
    said: ClientIntroduction,
    targets: ReadonlyMap<string, TargetSession>,
    isSealed: boolean,
  ) {
    this.#place = place;
    this.name = name;
    this.version = said.version;
    this.#said = said;
    this.#targets = targets;
    this.#isSealed = isSealed;
  }

  /** A new one. */
  static begin(place: SessionPlace, said: ClientIntroduction): ClientSession {
    return new ClientSession(place, randomBytes(12).toString('base64url'), said, new Map(), false);
  }

  /** The session with this id; undefined: there is none, or it is another caller's, or another backend's, or it was ended here. */
  static find(place: SessionPlace, id: string): ClientSession | undefined {
    const opened = openId(place, id);
    if (opened === undefined || opened.owner !== (place.owner ?? '')) return undefined;
    const { name, said, targets } = opened;
    if (place.table.find(name)?.isEnded === true) return undefined;
    return new ClientSession(place, name, said, targets, true);
  }

  get clientInfo(): string | undefined {
    return this.#place.table.find(this.name)?.clientInfo ?? this.#said.clientInfo;
  }

  get capabilities(): string {
    return this.#place.table.find(this.name)?.capabilities ?? this.#said.capabilities;
  }

  get wishes(): WishTable {
    return this.#place.table.wishes;
  }

  get(target: string): TargetSession | undefined {
    const late = this.#place.table.find(this.name)?.targets;
    return late?.has(target) === true ? late.get(target) : this.#targets.get(target);
  }

  set(target: string, session: TargetSession | undefined): void {
    if (this.#isSealed) {
      // A client may have ended the session meanwhile.
      if (this.#place.table.find(this.name)?.isEnded !== true)
        this.#place.table.open(this.name).targets.set(target, session);
    } else {
      const targets = new Map(this.#targets);
      if (session === undefined) targets.delete(target);
      else targets.set(target, session);
      this.#targets = targets;
    }
  }

  /** The Mcp-Session-Id. What does not fit into it is kept in the table of this process. */
  seal(): string {
    const { sealer, table, backend, owner } = this.#place;
    let { clientInfo = null, capabilities } = this.#said;
    const kept = [...this.#targets];
    const describe = (): Sealed => [
      this.name,
      owner ?? '',
      this.version,
      clientInfo,
      capabilities,
      Object.fromEntries(kept.map(([target, { id, tag, version }]) => [target, [id ?? null, tag ?? null, version]])),
    ];
    while (isTooLong(describe()) && kept.length > 0) {
      const [target, session] = kept.pop()!;
      table.open(this.name).targets.set(target, session);
    }
    if (isTooLong(describe())) {
      const record = table.open(this.name);
      record.clientInfo = this.#said.clientInfo;
      clientInfo = shortenInfo(clientInfo);
      if (isTooLong(describe())) {
        record.capabilities = capabilities;
        capabilities = '{}';
      }
    }
    this.#isSealed = true;
    return sealer.seal(purpose, describe(), { context: backend });
  }

  /** The client ends it. */
  end(): void {
    this.#place.table.end(this.name);
  }
}

interface OpenedId {
  readonly backend: string;
  readonly name: string;
  readonly owner: string;
  readonly said: ClientIntroduction;
  readonly targets: ReadonlyMap<string, TargetSession>;
}

/** Opened ids, since every request of a session sends the same one. They go away with the keys: new keys are a new sealer. */
const openedBySealer = new WeakMap<Sealer, BoundedCache<OpenedId>>();

function openId({ sealer, backend }: SessionPlace, id: string): OpenedId | undefined {
  let known = openedBySealer.get(sealer);
  if (known === undefined)
    openedBySealer.set(sealer, (known = new BoundedCache({ maxEntries: 10_000, maxWeight: 8_388_608 })));
  const cached = known.get(id);
  if (cached !== undefined) return cached.backend === backend ? cached : undefined;
  const opened = sealer.open<Sealed>(purpose, id, backend);
  if (!opened.ok) return undefined;
  const [name, owner, version, clientInfo, capabilities, sealed] = opened.value;
  const targets = new Map<string, TargetSession>();
  for (const [target, [own, tag, agreed]] of Object.entries(sealed))
    targets.set(target, { id: own ?? undefined, tag: tag ?? undefined, version: agreed });
  const said: ClientIntroduction = { version, clientInfo: clientInfo ?? undefined, capabilities };
  const fresh = { backend, name, owner, said, targets };
  known.set(id, fresh);
  return fresh;
}

/** Version, key, purpose, nonce, expiry and tag of a sealed text. */
const sealBytes = 42;

function isTooLong(sealed: Sealed): boolean {
  return ((Buffer.byteLength(JSON.stringify(sealed)) + sealBytes) * 4) / 3 > maxSessionIdLength;
}

/** Only the name and the version. */
function shortenInfo(json: string | null): string | null {
  const info: unknown = json === null ? undefined : JSON.parse(json);
  if (!isJsonObject(info)) return null;
  const { name, version } = info;
  return JSON.stringify({ name: cutText(String(name), 128), version: cutText(String(version), 128) });
}
