// The sessions of legacy clients at one target: they are the client's, kept in its own sealed session id. Here is only how they begin, and that requests
// at the same time share one beginning.
import { type BegunSession, beginSession, endSession } from './legacy-session.ts';
import type { TargetParts } from './target-parts.ts';
import { fail } from './target-parts.ts';
import type { SessionKeeper, Speaker, TargetSession } from './target.ts';

export class OwnSessions {
  readonly #parts: TargetParts;
  readonly #timeoutMs: number;
  /** First beginnings. */
  readonly #first = new WeakMap<SessionKeeper, Promise<BegunSession>>();
  /** Beginnings in place of lost sessions, by owner and lost id. */
  readonly #again = new Map<string, Promise<BegunSession>>();

  constructor(parts: TargetParts, timeoutMs: number) {
    this.#parts = parts;
    this.#timeoutMs = timeoutMs;
  }

  find({ sessions }: Speaker): TargetSession | undefined {
    return sessions?.get(this.#parts.config.name);
  }

  /** Begins one; `lost` is the one that the server has forgotten. */
  async begin(speaker: Speaker, lost: TargetSession | undefined): Promise<BegunSession> {
    const { sessions, owner = '' } = speaker;
    if (sessions === undefined)
      return { ok: false, failure: fail('garbage', 'a client without a session'), isOtherEra: false };
    const { name } = this.#parts.config;
    const current = sessions.get(name);
    let begun: Promise<BegunSession> | undefined;
    if (lost?.id === undefined) {
      begun = this.#first.get(sessions) ?? this.#start(speaker);
      this.#first.set(sessions, begun);
      void begun.then(() => this.#first.delete(sessions));
    } else if (current !== undefined && current.id !== lost.id) {
      // Another request was faster.
      const self = { version: current.version, serverInfo: undefined, capabilities: '{}', instructions: undefined };
      return { ok: true, session: current, self };
    } else {
      const key = `${owner}\0${lost.id}`;
      begun = this.#again.get(key) ?? this.#start(speaker);
      this.#again.set(key, begun);
      void begun.then(() => this.#again.delete(key));
    }
    const result = await begun;
    if (result.ok) sessions.set(name, result.session);
    return result;
  }

  async end(speaker: Speaker): Promise<void> {
    const session = this.find(speaker);
    if (session === undefined) return;
    speaker.sessions!.set(this.#parts.config.name, undefined);
    await endSession(this.#parts, speaker, session, this.#timeoutMs);
  }

  #start(speaker: Speaker): Promise<BegunSession> {
    const { version, clientInfo, capabilities } = speaker;
    return beginSession(this.#parts, speaker, { version, clientInfo, capabilities }, this.#timeoutMs);
  }
}
