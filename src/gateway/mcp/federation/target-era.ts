// Which era a target is spoken to in: asked when it is first needed, and again when it may be another server.
import { type Discovery, discoverEra, type ServerSelf } from './discover-era.ts';
import type { BegunSession } from './legacy-session.ts';
import type { OwnSessions } from './own-sessions.ts';
import type { TargetParts } from './target-parts.ts';
import type { Speaker, TargetFailure } from './target.ts';

export type Era = 'legacy' | 'modern';

export type ChosenEra =
  /** `begun`: the session that was begun to find out. */
  | { readonly ok: true; readonly era: Era; readonly begun?: BegunSession & { readonly ok: true } }
  | { readonly ok: false; readonly failure: TargetFailure };

/** A server can be replaced without having been away. */
const rememberMs = 600_000;

const legacy: ChosenEra = { ok: true, era: 'legacy' };
const modern: ChosenEra = { ok: true, era: 'modern' };

export class TargetEra {
  readonly #parts: TargetParts;
  readonly #own: OwnSessions;
  readonly #timeoutMs: number;
  readonly #clock: () => number;
  /** When it was asked; undefined: not yet, or there is doubt. */
  #discoveredAt: number | undefined;
  #modern: ServerSelf | undefined;
  /** Whether a server of 2026-07-28 has sessions too; undefined: not known. */
  #speaksLegacy: boolean | undefined;
  #discovering: Promise<TargetFailure | undefined> | undefined;

  constructor(parts: TargetParts, own: OwnSessions, timeoutMs: number) {
    this.#parts = parts;
    this.#own = own;
    // The other half is for `initialize`.
    this.#timeoutMs = timeoutMs / 2;
    this.#clock = parts.clock ?? (() => performance.now());
  }

  /** What a server of 2026-07-28 said of itself last. */
  get modern(): ServerSelf | undefined {
    return this.#modern;
  }

  /** The client's own where the server has both. */
  choose(speaker: Speaker): ChosenEra | Promise<ChosenEra> {
    // The older transport has no versions without sessions.
    if (this.#parts.channels !== undefined) return legacy;
    if (this.#isKnown()) return this.#chooseKnown(speaker);
    return this.#discover(speaker).then((failure) =>
      failure === undefined ? this.#chooseKnown(speaker) : { ok: false, failure },
    );
  }

  /** The same, with what a server says of itself to this one client. */
  async introduce(speaker: Speaker): Promise<ChosenEra> {
    if (this.#modern === undefined || !this.#isKnown()) return this.choose(speaker);
    const failure = await this.#ask(speaker);
    return failure === undefined ? this.choose(speaker) : { ok: false, failure };
  }

  /** It is asked again before it is spoken to. */
  doubt(): void {
    this.#discoveredAt = undefined;
  }

  /** Another server may be there now. */
  forget(): void {
    this.doubt();
    this.#speaksLegacy = undefined;
  }

  #isKnown(): boolean {
    return this.#discoveredAt !== undefined && this.#clock() - this.#discoveredAt < rememberMs;
  }

  #chooseKnown(speaker: Speaker): ChosenEra | Promise<ChosenEra> {
    if (this.#modern === undefined) return legacy;
    if (speaker.era === 'modern' || this.#speaksLegacy === false) return modern;
    if (this.#speaksLegacy === true || this.#own.find(speaker) !== undefined) return legacy;
    return this.#own.begin(speaker, undefined).then((begun) => {
      if (!begun.ok && saysNothing(begun.failure)) return begun;
      this.#speaksLegacy = begun.ok;
      return begun.ok ? { ok: true, era: 'legacy', begun } : modern;
    });
  }

  /** Once for all who ask at the same time; the refusal of one caller is not that of another. */
  async #discover(speaker: Speaker): Promise<TargetFailure | undefined> {
    const others = this.#discovering;
    if (others !== undefined) {
      const failure = await others;
      if (failure?.kind !== 'refused' || this.#isKnown()) return failure;
    }
    const own = this.#ask(speaker);
    this.#discovering = own;
    try {
      return await own;
    } finally {
      if (this.#discovering === own) this.#discovering = undefined;
    }
  }

  async #ask(speaker: Speaker): Promise<TargetFailure | undefined> {
    const found: Discovery = await discoverEra(this.#parts, speaker, speaker.clientInfo, this.#timeoutMs);
    if (found.kind === 'failed') return found.failure;
    this.#modern = found.kind === 'modern' ? found.self : undefined;
    this.#discoveredAt = this.#clock();
    return undefined;
  }
}

/** Whether an `initialize` that fails so leaves open if the server knows it. */
function saysNothing({ kind, status = 0 }: TargetFailure): boolean {
  return kind === 'down' || kind === 'timeout' || [401, 403, 429, 502, 503, 504].includes(status);
}
