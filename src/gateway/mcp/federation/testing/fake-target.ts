// A target without a server: it answers as a test says, and remembers what it was told.
import type { FederationTarget } from '../../../config/federation-config.ts';
import type {
  Introduction,
  ListenFilter,
  OutgoingMessage,
  Speaker,
  Target,
  TargetCall,
  TargetEvents,
  TargetFailure,
  TargetState,
} from '../target.ts';

/** One request that the target got. */
export interface FakeCall {
  readonly speaker: Speaker;
  readonly message: OutgoingMessage;
  /** Sends a message, whatever it is. */
  say(message: object): boolean;
  /** Sends the response to the request, and ends the call. */
  answer(result: object): void;
  fail(failure: Partial<TargetFailure>): void;
  end(): void;
  /** Undefined: nobody did. */
  aborted: { readonly cancel: boolean } | undefined;
  resumed: number;
}

export interface FakeStream {
  readonly speaker: Speaker;
  readonly filter: ListenFilter;
  say(message: object): boolean;
  fail(failure: Partial<TargetFailure>): void;
  end(): void;
  isClosed: boolean;
}

/** What a test decides. */
export interface FakeBehaviour {
  readonly introduction?: Partial<Extract<Introduction, { ok: true }>>;
  /** In place of an introduction. */
  failure?: Partial<TargetFailure> | undefined;
  /** Default: answers with the own name of what was asked. */
  onRequest?: (call: FakeCall) => void;
  /** A session begins with this id when the target introduces itself to a legacy client. */
  readonly sessionId?: string;
}

export class FakeTarget implements Target {
  readonly config: FederationTarget;
  readonly behaviour: FakeBehaviour;
  readonly calls: FakeCall[] = [];
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
    const { failure, introduction, sessionId } = this.behaviour;
    if (failure !== undefined) return { ok: false, failure: complete(failure) };
    if (sessionId !== undefined && speaker.sessions?.get(this.config.name) === undefined)
      speaker.sessions?.set(this.config.name, { id: sessionId, tag: undefined, version: speaker.version });
    return { ok: true, serverInfo: undefined, capabilities: '{}', instructions: undefined, ...introduction };
  }

  request(speaker: Speaker, message: OutgoingMessage, events: TargetEvents): TargetCall {
    let isOver = false;
    const { id } = JSON.parse(message.text) as { readonly id?: string | number };
    const call: FakeCall = {
      speaker,
      message,
      say: (said) => isOver || events.onMessage(toMessage(said)),
      answer(result) {
        if (isOver) return;
        events.onMessage(toMessage({ jsonrpc: '2.0', id, result }));
        call.end();
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
    this.calls.push(call);
    const { failure, onRequest } = this.behaviour;
    queueMicrotask(() => {
      if (isOver) return;
      if (failure !== undefined) call.fail(failure);
      else if (onRequest === undefined) call.answer({ content: [{ type: 'text', text: message.text }] });
      else onRequest(call);
    });
    return {
      resume: () => void (call.resumed += 1),
      abort(cancel) {
        isOver = true;
        call.aborted = { cancel };
      },
    };
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

function toMessage(message: object): Parameters<TargetEvents['onMessage']>[0] {
  const { id, method } = message as { readonly id?: string | number; readonly method?: string };
  const kind = method === undefined ? 'response' : id === undefined ? 'notification' : 'request';
  const text = JSON.stringify(message);
  return { text, kind, id: id === undefined ? undefined : JSON.stringify(id), method, eventId: undefined };
}
