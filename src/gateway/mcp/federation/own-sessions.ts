// The sessions of legacy clients at one target: they are the client's, kept in its own sealed session id. Here is only how they begin, and that requests
// at the same time share one beginning.
import { type BegunSession, beginSession, endSession, logBegunAgain } from './legacy-session.ts';
import type { TargetParts } from './target-parts.ts';
import { fail } from './target-parts.ts';
import type { Speaker, TargetSession } from './target.ts';

export class OwnSessions {
  readonly #parts: TargetParts;
  readonly #timeoutMs: number;
  /** Those that begin, by the client's session and the id of the one that is lost. */
  readonly #beginning = new Map<string, Promise<BegunSession>>();

  constructor(parts: TargetParts, timeoutMs: number) {
    this.#parts = parts;
    this.#timeoutMs = timeoutMs;
  }

  find({ sessions }: Speaker): TargetSession | undefined {
    return sessions?.get(this.#parts.config.name);
  }

  /** Begins one; `lost` is the one that the server has forgotten. */
  async begin(speaker: Speaker, lost: TargetSession | undefined): Promise<BegunSession> {
    const { sessions } = speaker;
    if (sessions === undefined) return { ok: false, failure: fail('garbage', 'a client without a session') };
    const { name } = this.#parts.config;
    const current = sessions.get(name);
    // Another request was faster.
    if (lost !== undefined && current !== undefined && current.id !== lost.id)
      return { ok: true, session: current, self: undefined };
    const key = `${sessions.name}\0${lost?.id ?? ''}`;
    let begun = this.#beginning.get(key);
    if (begun === undefined) {
      begun = this.#start(speaker, lost !== undefined);
      this.#beginning.set(key, begun);
      const forget = (): void => void this.#beginning.delete(key);
      begun.then(forget, forget);
    }
    const result = await begun;
    if (result.ok || lost !== undefined) sessions.set(name, result.ok ? result.session : undefined);
    return result;
  }

  async end(speaker: Speaker): Promise<void> {
    const session = this.find(speaker);
    if (session === undefined) return;
    speaker.sessions!.set(this.#parts.config.name, undefined);
    await endSession(this.#parts, speaker, session, this.#timeoutMs);
  }

  async #start(speaker: Speaker, isAgain: boolean): Promise<BegunSession> {
    const { version, clientInfo, capabilities } = speaker;
    const client = { version, clientInfo, capabilities };
    const begun = await beginSession(this.#parts, speaker, client, this.#timeoutMs);
    if (begun.ok && isAgain) logBegunAgain(this.#parts);
    return begun;
  }
}
