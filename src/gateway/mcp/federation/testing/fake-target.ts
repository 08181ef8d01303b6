// A target without a server: it answers as a test says, and remembers what it was told.
import type { FederationTarget } from '../../../config/federation-config.ts';
import type { StreamMark } from '../read-messages.ts';
import type {
  CallPlace,
  Introduction,
  ListenFilter,
  OutgoingMessage,
  Speaker,
  Target,
  TargetCall,
  TargetEvents,
  TargetFailure,
  TargetSession,
  TargetState,
} from '../target.ts';

/** One answer of the target. */
export interface FakeAnswer {
  readonly speaker: Speaker;
  /** It is an event stream, which can be resumed in this session. */
  stream(session: TargetSession | undefined): void;
  /** Sends a message, whatever it is; a text as it is. */
  say(message: object | string, eventId?: string): boolean;
  /** Sends an event without a message. */
  mark(mark: Partial<StreamMark>): boolean;
  /** Closes the stream before the answer. */
  suspend(): boolean;
  /** Sends the response to the request, and ends the call. */
  answer(result: object): void;
  fail(failure: Partial<TargetFailure>): void;
  end(): void;
  /** Undefined: nobody did. */
  aborted: { readonly cancel: boolean } | undefined;
  resumed: number;
}

/** One request that the target got. */
export interface FakeCall extends FakeAnswer {
  readonly message: OutgoingMessage;
}

/** The rest of a call that it was asked for. */
export interface FakeRest extends FakeAnswer {
  readonly place: CallPlace;
}

export interface FakeStream {
  readonly speaker: Speaker;
  readonly filter: ListenFilter;
  say(message: object | string): boolean;
  fail(failure: Partial<TargetFailure>): void;
  end(): void;
  isClosed: boolean;
}

/** What a test decides. */
export interface FakeBehaviour {
  readonly introduction?: Partial<Extract<Introduction, { ok: true }>>;
  /** It never introduces itself. */
  readonly hangs?: boolean;
  /** In place of an introduction. */
  failure?: Partial<TargetFailure> | undefined;
  /** Default: answers with the own name of what was asked. */
  onRequest?: (call: FakeCall) => void;
  /** Default: the rest never comes. */
  onResume?: (rest: FakeRest) => void;
  /** A session begins with this id when the target introduces itself to a legacy client. */
  readonly sessionId?: string;
}

export class FakeTarget implements Target {
  readonly config: FederationTarget;
  readonly behaviour: FakeBehaviour;
  readonly calls: FakeCall[] = [];
  readonly rests: FakeRest[] = [];
  readonly told: string[] = [];
  readonly streams: FakeStream[] = [];
  readonly ended: (string | undefined)[] = [];
  isClosed = false;
  #health: TargetState['health'] = 'unknown';
  readonly #listeners = new Set<() => void>();

  constructor(config: FederationTarget, behaviour: FakeBehaviour) {
    this.config = config;
    this.behaviour = behaviour;
  }

  become(health: TargetState['health']): void {
    this.#health = health;
    for (const listener of this.#listeners) listener();
  }

  describe(): TargetState {
    return {
      name: this.config.name,
      health: this.#health,
      version: undefined,
      serverInfo: undefined,
      capabilities: undefined,
      instructions: undefined,
      lastFailure: undefined,
      tools: undefined,
    };
  }

  async introduce(speaker: Speaker): Promise<Introduction> {
    const { failure, introduction, sessionId, hangs = false } = this.behaviour;
    if (hangs) return new Promise(() => undefined);
    if (failure !== undefined) return { ok: false, failure: complete(failure) };
    if (sessionId !== undefined && speaker.sessions?.get(this.config.name) === undefined)
      speaker.sessions?.set(this.config.name, { id: sessionId, tag: undefined, version: speaker.version });
    return { ok: true, serverInfo: undefined, capabilities: '{}', instructions: undefined, ...introduction };
  }

  request(speaker: Speaker, message: OutgoingMessage, events: TargetEvents): TargetCall {
    const { id } = JSON.parse(message.text) as { readonly id?: string | number };
    const { answer, call } = this.#begin(speaker, id, events);
    const asked: FakeCall = Object.assign(answer, { message });
    this.calls.push(asked);
    const { failure, onRequest } = this.behaviour;
    queueMicrotask(() => {
      if (failure !== undefined) asked.fail(failure);
      else if (onRequest === undefined) asked.answer({ content: [{ type: 'text', text: message.text }] });
      else if (asked.aborted === undefined) onRequest(asked);
    });
    return call;
  }

  resumeCall(speaker: Speaker, place: CallPlace, events: TargetEvents): TargetCall {
    const { answer, call } = this.#begin(speaker, JSON.parse(place.id) as string | number, events);
    const rest: FakeRest = Object.assign(answer, { place });
    this.rests.push(rest);
    queueMicrotask(() => {
      if (rest.aborted === undefined) this.behaviour.onResume?.(rest);
    });
    return call;
  }

  #begin(
    speaker: Speaker,
    id: string | number | undefined,
    events: TargetEvents,
  ): { readonly answer: FakeAnswer; readonly call: TargetCall } {
    let isOver = false;
    const answer: FakeAnswer = {
      speaker,
      stream: (session) => void (isOver || events.onStream?.(session)),
      say: (said, eventId) => isOver || events.onMessage(toMessage(said, eventId)),
      mark: (mark) => isOver || (events.onMark?.({ eventId: undefined, retryMs: undefined, ...mark }) ?? true),
      suspend() {
        isOver ||= events.onSuspend?.() === true;
        return isOver;
      },
      answer(result) {
        if (isOver) return;
        events.onMessage(toMessage({ jsonrpc: '2.0', id, result }));
        answer.end();
      },
      fail(failure) {
        if (!isOver) events.onFailure(complete(failure));
        isOver = true;
      },
      end() {
        if (!isOver) events.onEnd();
        isOver = true;
      },
      aborted: undefined,
      resumed: 0,
    };
    const call: TargetCall = {
      resume: () => void (answer.resumed += 1),
      abort(cancel) {
        isOver = true;
        answer.aborted = { cancel };
      },
    };
    return { answer, call };
  }

  async notify(_speaker: Speaker, text: string): Promise<TargetFailure | undefined> {
    this.told.push(text);
    const { failure } = this.behaviour;
    return failure === undefined ? undefined : complete(failure);
  }

  listen(speaker: Speaker, filter: ListenFilter, events: TargetEvents): TargetCall {
    const stream: FakeStream = {
      speaker,
      filter,
      say: (said) => stream.isClosed || events.onMessage(toMessage(said)),
      fail: (failure) => void (stream.isClosed || events.onFailure(complete(failure))),
      end: () => void (stream.isClosed || events.onEnd()),
      isClosed: false,
    };
    this.streams.push(stream);
    return { resume() {}, abort: () => void (stream.isClosed = true) };
  }

  async endSession(speaker: Speaker): Promise<void> {
    this.ended.push(speaker.sessions?.get(this.config.name)?.id);
  }

  onHealthChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.isClosed = true;
  }
}

function complete(failure: Partial<TargetFailure>): TargetFailure {
  return { kind: 'down', status: undefined, headers: [], detail: 'nothing listens there', ...failure };
}

function toMessage(message: object | string, eventId?: string): Parameters<TargetEvents['onMessage']>[0] {
  const text = typeof message === 'string' ? message : JSON.stringify(message);
  const { id, method } = JSON.parse(text) as { readonly id?: string | number; readonly method?: string };
  const kind = method === undefined ? 'response' : id === undefined ? 'notification' : 'request';
  return { text, kind, id: id === undefined ? undefined : JSON.stringify(id), method, eventId };
}
