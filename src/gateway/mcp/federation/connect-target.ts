// One MCP server of a federation behind the seam of target.ts: which era it is spoken to in, and what each call becomes there.
import type { ServerSelf } from './discover-era.ts';
import { followSubscriptions } from './follow-subscriptions.ts';
import { answerGone, isGone, unsubscribeKept } from './gone-methods.ts';
import { type Listening, listenOwn, listenShared } from './listen-legacy.ts';
import { listenModern } from './listen-modern.ts';
import { ListedTools } from './listed-tools.ts';
import { planOwnCall, planResumedCall, planSharedCall } from './legacy-plans.ts';
import { type BegunSession, writeSessionPost } from './legacy-session.ts';
import { readMember } from '../names/message-head.ts';
import { planModernCall } from './modern-plans.ts';
import { OlderConnections } from './older-transport.ts';
import { OwnSessions } from './own-sessions.ts';
import { PassedEvents } from './passed-events.ts';
import { probeTarget } from './probe-target.ts';
import { SharedSessions } from './shared-sessions.ts';
import { type ChosenEra, type Era, TargetEra } from './target-era.ts';
import { RunningCall } from './target-call.ts';
import { tellTarget } from './ask-target.ts';
import { fail, type TargetParts } from './target-parts.ts';
import { TargetHealth } from './target-health.ts';
import type {
  CallPlace,
  Introduction,
  ListenFilter,
  OutgoingMessage,
  SessionKeeper,
  Speaker,
  Target,
  TargetCall,
  TargetEvents,
  TargetFailure,
  TargetMessage,
  TargetState,
} from './target.ts';

/** Connects to a server when it is first needed. */
export function connectTarget(parts: TargetParts): Target {
  return new ConnectedTarget(parts);
}

/** What a server has to say who it is, beyond the time for a connection. */
const introductionMs = 5_000;
/** How servers refuse what they do not speak. */
const otherEra: ReadonlySet<number> = new Set([400, 404, 405, 406, 415]);
const unsupportedVersion = '-32022';

class ConnectedTarget implements Target {
  readonly #parts: TargetParts;
  readonly #timeoutMs: number;
  readonly #health: TargetHealth;
  readonly #own: OwnSessions;
  readonly #era: TargetEra;
  readonly #shared: SharedSessions;
  readonly #channels: OlderConnections | undefined;
  readonly #tools = new ListedTools();
  readonly #listening = new Set<Listening>();
  /** Calls of clients with sessions at a server without: by the client's session and the id. */
  readonly #cancellable = new Map<string, RunningCall>();
  /** Streams to open when the target is back. */
  readonly #waiting = new Set<() => void>();
  /** What it said of itself last. */
  #self: ServerSelf | undefined;

  constructor(outer: TargetParts) {
    const { backend } = outer.config;
    this.#timeoutMs = backend.connectTimeoutMs + (outer.introductionMs ?? introductionMs);
    this.#health = new TargetHealth({
      probe: () => probeTarget(this.#parts, this.#timeoutMs),
      random: outer.random ?? Math.random,
      onDown: () => {
        this.#era.forget();
        this.#tools.forget();
      },
    });
    const parts = { ...outer, health: this.#health };
    const isOlder = backend.mcp!.transport === 'sse';
    this.#channels = isOlder ? new OlderConnections(parts) : undefined;
    this.#parts = { ...parts, channels: this.#channels };
    this.#own = new OwnSessions(this.#parts, this.#timeoutMs);
    this.#era = new TargetEra(this.#parts, this.#own, this.#timeoutMs);
    this.#shared = new SharedSessions(this.#parts, this.#timeoutMs);
    this.#health.onChange(() => {
      if (this.#health.health !== 'up') return;
      for (const retry of this.#waiting) retry();
      for (const listening of this.#listening) listening.hurry();
    });
  }

  get config(): Target['config'] {
    return this.#parts.config;
  }

  describe(): TargetState {
    const self = this.#self;
    return {
      name: this.config.name,
      health: this.#health.health,
      version: self?.version,
      serverInfo: self?.serverInfo,
      capabilities: self?.capabilities,
      instructions: self?.instructions,
      lastFailure: this.#health.lastFailure,
      tools: this.#tools.count,
    };
  }

  async introduce(speaker: Speaker): Promise<Introduction> {
    const down = this.#findDown();
    if (down !== undefined) return { ok: false, failure: down };
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Introduction>((resolve) => {
      const failure = fail('timeout', `it did not say who it is within ${this.#timeoutMs} ms`);
      timer = setTimeout(() => resolve({ ok: false, failure }), this.#timeoutMs);
    });
    const introduction = await Promise.race([this.#introduce(speaker), late]);
    clearTimeout(timer);
    if (!introduction.ok) {
      const { kind, detail } = introduction.failure;
      if (kind === 'timeout') this.#health.noteDown(detail);
      else if (kind !== 'refused') this.#health.noteFailure(detail);
    }
    return introduction;
  }

  async #introduce(speaker: Speaker): Promise<Introduction> {
    const chosen = await this.#era.introduce(speaker);
    if (!chosen.ok) return chosen;
    if (chosen.era === 'modern') return this.#tellSelf(this.#era.modern);
    const begun = chosen.begun ?? (await this.#beginFor(speaker));
    if (!begun.ok) {
      this.#era.doubt();
      return begun;
    }
    return this.#tellSelf(begun.self);
  }

  #tellSelf(self: ServerSelf | undefined): Introduction {
    this.#self = self ?? this.#self;
    return this.#self === undefined
      ? { ok: false, failure: fail('garbage', 'it did not say who it is') }
      : { ok: true, ...this.#self };
  }

  async #beginFor(speaker: Speaker): Promise<BegunSession> {
    if (speaker.era === 'legacy') return this.#own.begin(speaker, undefined);
    const shared = this.#shared.use(speaker);
    try {
      return await this.#shared.open(shared, speaker, undefined);
    } finally {
      this.#shared.release(shared);
    }
  }

  request(speaker: Speaker, message: OutgoingMessage, events: TargetEvents): TargetCall {
    const call = new RunningCall(this.#parts, this.#watch(speaker, message, events));
    const unsubscribed = unsubscribeKept(this.#parts, speaker.sessions, message);
    if (unsubscribed !== undefined) {
      call.answer(unsubscribed);
      return call;
    }
    const chosen = this.#findDown() ?? this.#era.choose(speaker);
    if (chosen instanceof Promise)
      void chosen
        .then((later) => this.#run(call, later, speaker, message))
        .catch((error: unknown) => call.failInside(error));
    else if ('kind' in chosen) call.fail(chosen);
    else this.#run(call, chosen, speaker, message);
    return call;
  }

  resumeCall(speaker: Speaker, place: CallPlace, events: TargetEvents): TargetCall {
    // That it does not have the rest any more says nothing about what it speaks.
    const call = new RunningCall(this.#parts, new NotedEvents(events, (failure) => this.#noteFailure(failure)));
    const down = this.#findDown();
    if (down === undefined) call.run(planResumedCall(this.#parts, speaker, place));
    else call.fail(down);
    return call;
  }

  #run(call: RunningCall, chosen: ChosenEra, speaker: Speaker, message: OutgoingMessage): void {
    if (!chosen.ok) return call.fail(chosen.failure);
    if (chosen.era === 'legacy') {
      if (speaker.era === 'legacy') call.run(planOwnCall(this.#parts, this.#own, speaker, message));
      else call.run(planSharedCall(this.#parts, this.#shared, speaker, message));
      return;
    }
    const { method } = message.message;
    const { sessions } = speaker;
    if (sessions !== undefined && isGone(method)) return this.#answerGone(call, speaker, sessions, message);
    const plan = planModernCall(this.#parts, this.#tools, speaker, message, this.#timeoutMs);
    if (sessions === undefined) return call.run(plan);
    const key = `${sessions.name}\0${plan.id}`;
    this.#cancellable.set(key, call);
    const release = (): void => void (this.#cancellable.get(key) === call && this.#cancellable.delete(key));
    call.run({ ...plan, release });
  }

  #answerGone(call: RunningCall, speaker: Speaker, sessions: SessionKeeper, message: OutgoingMessage): void {
    const capabilities = this.#era.modern?.capabilities ?? '{}';
    answerGone(this.#parts, speaker, sessions, message, capabilities, this.#timeoutMs)
      .then((gone) => (gone.ok ? call.answer(gone.answer) : call.fail(gone.failure)))
      .catch((error: unknown) => call.failInside(error));
  }

  /** Notes what its answers and failures tell of the target. */
  #watch(speaker: Speaker, { message }: OutgoingMessage, events: TargetEvents): TargetEvents {
    const { method, params } = message;
    const noteFailure = (failure: TargetFailure): void => {
      this.#noteFailure(failure);
      if (otherEra.has(failure.status ?? 0)) this.#era.forget();
    };
    const noteAnswer = (text: string): void => {
      if (method === 'tools/list') this.#tools.note(params['cursor'], text);
      if (isUnsupportedVersion(text)) {
        this.#era.forget();
        // It answers requests of a session, and has none.
        if (this.#own.find(speaker) !== undefined) speaker.sessions!.set(this.config.name, undefined);
      }
    };
    return new NotedEvents(events, noteFailure, noteAnswer);
  }

  #noteFailure({ kind, status = 0, detail }: TargetFailure): void {
    if (kind !== 'down' && (kind !== 'refused' || status >= 500)) this.#health.noteFailure(detail);
    if (kind === 'garbage' || kind === 'no-answer') this.#era.doubt();
  }

  async notify(speaker: Speaker, text: string): Promise<TargetFailure | undefined> {
    // Servers of 2026-07-28 and their clients have no notifications for servers: the end of a stream cancels.
    if (speaker.era === 'modern') return undefined;
    const session = this.#own.find(speaker);
    if (session === undefined) {
      this.#cancel(speaker, text);
      return undefined;
    }
    const down = this.#findDown();
    if (down !== undefined) return down;
    const told = await tellTarget(this.#parts, writeSessionPost(this.#parts, speaker, session, text), this.#timeoutMs);
    return told?.failure;
  }

  /** Towards a server of 2026-07-28 the end of the stream is what cancels. */
  #cancel({ sessions }: Speaker, text: string): void {
    if (readMember(text, ['method']) !== '"notifications/cancelled"') return;
    const id = readMember(text, ['params', 'requestId']);
    this.#cancellable.get(`${sessions?.name}\0${id}`)?.end();
  }

  listen(speaker: Speaker, filter: ListenFilter, events: TargetEvents): TargetCall {
    const waiting: { listening?: Listening; isDone: boolean } = { isDone: false };
    const finish = (): void => {
      waiting.isDone = true;
      if (waiting.listening !== undefined) this.#listening.delete(waiting.listening);
    };
    const watched: TargetEvents = {
      onMessage: (message) => events.onMessage(message),
      onEnd() {
        finish();
        events.onEnd();
      },
      onFailure(failure) {
        finish();
        events.onFailure(failure);
      },
    };
    const stop = this.#whenKnown(speaker, (chosen) => {
      if (waiting.isDone) return;
      if (!chosen.ok) return watched.onFailure(chosen.failure);
      waiting.listening = this.#open(chosen.era, speaker, filter, watched);
      this.#listening.add(waiting.listening);
    });
    return {
      resume: () => waiting.listening?.resume(),
      abort() {
        if (waiting.isDone) return;
        finish();
        stop();
        waiting.listening?.abort(true);
      },
    };
  }

  #open(era: Era, speaker: Speaker, filter: ListenFilter, events: TargetEvents): Listening {
    if (era === 'modern')
      return speaker.sessions === undefined
        ? listenModern(this.#parts, speaker, () => filter, events)
        : followSubscriptions(this.#parts, speaker, speaker.sessions, filter, events);
    if (speaker.era === 'legacy') return listenOwn(this.#parts, this.#own, speaker, filter, events);
    return listenShared(this.#parts, this.#shared, speaker, filter, events, this.#timeoutMs);
  }

  /** Nobody waits for what this is a part of, so nothing may be thrown. */
  async #chooseEra(speaker: Speaker): Promise<ChosenEra> {
    try {
      return await this.#era.choose(speaker);
    } catch (error) {
      return { ok: false, failure: fail('garbage', `it cannot be understood: ${String(error)}`) };
    }
  }

  /** Calls once it is known what the target speaks, however long it is away; later, not from inside. Failures are those that waiting does not change. */
  #whenKnown(speaker: Speaker, callback: (chosen: ChosenEra) => void): () => void {
    let stopWaiting: (() => void) | undefined;
    let isStopped = false;
    const tryAgain = async (): Promise<void> => {
      stopWaiting?.();
      stopWaiting = undefined;
      const down = this.#findDown();
      const chosen: ChosenEra = down === undefined ? await this.#chooseEra(speaker) : { ok: false, failure: down };
      if (isStopped) return;
      if (chosen.ok || this.#health.health !== 'down') return callback(chosen);
      this.#waiting.add(retry);
      stopWaiting = () => this.#waiting.delete(retry);
    };
    const retry = (): void => void tryAgain();
    queueMicrotask(retry);
    return () => {
      isStopped = true;
      stopWaiting?.();
    };
  }

  endSession(speaker: Speaker): Promise<void> {
    return this.#own.end(speaker);
  }

  onHealthChange(listener: () => void): () => void {
    return this.#health.onChange(listener);
  }

  close(): void {
    this.#health.close();
    this.#waiting.clear();
    for (const listening of this.#listening) listening.abort(false);
    this.#listening.clear();
    this.#shared.close();
    this.#channels?.close();
  }

  #findDown(): TargetFailure | undefined {
    if (this.#health.health !== 'down') return undefined;
    return fail('down', this.#health.lastFailure?.detail ?? 'it could not be reached');
  }
}

/** What a call reports, after somebody has taken note of it. */
class NotedEvents extends PassedEvents {
  readonly #noteFailure: (failure: TargetFailure) => void;
  readonly #noteAnswer: ((text: string) => void) | undefined;

  constructor(
    events: TargetEvents,
    noteFailure: (failure: TargetFailure) => void,
    noteAnswer?: (text: string) => void,
  ) {
    super(events);
    this.#noteFailure = noteFailure;
    this.#noteAnswer = noteAnswer;
  }

  override onMessage(message: TargetMessage): boolean {
    if (message.kind === 'response') this.#noteAnswer?.(message.text);
    return super.onMessage(message);
  }

  override onFailure(failure: TargetFailure): void {
    this.#noteFailure(failure);
    super.onFailure(failure);
  }
}

function isUnsupportedVersion(text: string): boolean {
  return text.includes(unsupportedVersion) && readMember(text, ['error', 'code']) === unsupportedVersion;
}
