// What a target says to one request, on its way to the client: with the client's names, and on an event stream where the target has one. Where that can be resumed, its events
// have ids that lead back to it, and it is the client that comes back when the server closes the stream to be polled.
import type { FederationTarget } from '../../../config/federation-config.ts';
import { renameAnswer } from '../../names/rename-answer.ts';
import type { MessageId } from '../../read/message.ts';
import type { Item } from '../../read/read-item.ts';
import { restoreMessage } from '../../answer/restore-names.ts';
import { createSeed, repeatStandIn } from '../../answer/stand-in.ts';
import { type AskedName, sealEventId, sealLastEventId } from '../event-id.ts';
import type { StreamMark } from '../read-messages.ts';
import type { TargetCall, TargetEvents, TargetFailure, TargetMessage, TargetSession } from '../target.ts';
import { answerFailure, withoutAnswer } from './failures.ts';
import type { Conversation, MessageSink, Running } from './federated-request.ts';
import { passOn } from './pass-on.ts';

export interface RelayedCall {
  readonly target: FederationTarget;
  readonly id: MessageId;
  readonly method: string;
  /** Undefined: it names none, or the call is resumed. */
  readonly item?: Item | undefined;
  /** Where the client begins; undefined: with the request. */
  readonly resumed?: ResumedCall;
}

export interface ResumedCall {
  /** The last id that the client has. */
  readonly after: string;
  /** What the call is about, where rules hide some. */
  readonly asked: AskedName | undefined;
}

/** The first version whose clients know events without data, and come back when a server closes the stream of a call (SEP-1699). */
const pollingVersion = '2025-11-25';

export class CallRelay implements TargetEvents {
  readonly #conversation: Conversation;
  readonly #call: RelayedCall;
  readonly #sink: MessageSink;
  readonly #forget: (() => void) | undefined;
  /** In which the stream can be resumed. */
  #session: TargetSession | undefined;
  #asked: AskedName | undefined;
  /** The last id that the client knows. */
  #lastEventId: string | undefined;
  /** It got one on this stream. */
  #hasToldId = false;
  #isOver = false;

  constructor(conversation: Conversation, call: RelayedCall, sink: MessageSink) {
    const { federation, session } = conversation;
    this.#conversation = conversation;
    this.#call = call;
    this.#sink = sink;
    this.#lastEventId = call.resumed?.after;
    this.#forget = session && federation.pending.add(session.name, JSON.stringify(call.id), call.target.name);
  }

  /** The request on its way, once it has been sent. */
  follow(call: TargetCall): Running {
    return {
      resume: () => call.resume(),
      abort: () => {
        this.#finish();
        call.abort(this.#conversation.speaker.era === 'modern');
      },
    };
  }

  onStream(session: TargetSession | undefined): void {
    const { stream } = this.#sink;
    if (this.#isOver || stream === undefined) return;
    this.#session = session;
    stream.openStream();
  }

  onMark({ eventId, retryMs }: StreamMark): boolean {
    const { stream } = this.#sink;
    if (this.#isOver || stream === undefined) return true;
    // Whatever stands in between sees that the stream is alive.
    if (!this.#takesMarks) return stream.mark(undefined, undefined);
    return stream.mark(this.#seal(eventId), this.#session === undefined ? undefined : retryMs);
  }

  onMessage(message: TargetMessage): boolean {
    if (this.#isOver) return true;
    const { target, method } = this.#call;
    const { config } = this.#conversation;
    if (message.kind !== 'response') {
      const json = passOn(this.#conversation, target, message);
      return this.#sink.tell(this.#restore(json), this.#seal(message.eventId));
    }
    this.#answer(this.#restore(renameAnswer(message.text, method, target, config.naming)));
    return true;
  }

  onSuspend(): boolean {
    const { stream } = this.#sink;
    if (this.#isOver || stream === undefined || !this.#takesMarks || this.#lastEventId === undefined) return false;
    // Some clients know only the ids of the stream that has just ended.
    if (!this.#hasToldId) stream.mark(this.#lastEventId, undefined);
    this.#finish();
    stream.end();
    return true;
  }

  onEnd(): void {
    this.onFailure(withoutAnswer);
  }

  onFailure(failure: TargetFailure): void {
    if (this.#isOver) return;
    const { id, target, resumed } = this.#call;
    const { note } = this.#conversation;
    this.#answer(answerFailure(id, target, failure, note, resumed !== undefined));
  }

  /** The client reads events without data. */
  get #takesMarks(): boolean {
    return this.#conversation.speaker.version >= pollingVersion;
  }

  /** The name that the client sent. The rules do this in the answer to the request; of a GET they do not know which name that was. */
  #restore(json: string): string {
    const asked = this.#call.resumed?.asked;
    if (asked?.isHidden !== true) return json;
    return restoreMessage(json, repeatStandIn(asked, asked.seed).parts);
  }

  #answer(json: string): void {
    const { sealer, session } = this.#conversation;
    this.#finish();
    const hasIds = session !== undefined && this.#lastEventId !== undefined;
    this.#sink.answer(json, hasIds ? sealLastEventId(sealer, session.name) : undefined);
  }

  #seal(eventId: string | undefined): string | undefined {
    const { sealer, session } = this.#conversation;
    if (eventId === undefined || this.#session === undefined || session === undefined) return undefined;
    const { target, id, method } = this.#call;
    const asked = (this.#asked ??= this.#describeAsked());
    const place = { target: target.name, method, asked, id: JSON.stringify(id), eventId, session: this.#session };
    const sealed = sealEventId(sealer, session.name, place);
    if (sealed === undefined) return undefined;
    this.#lastEventId = sealed;
    this.#hasToldId = true;
    return sealed;
  }

  /** Only ids of events need it. */
  #describeAsked(): AskedName | undefined {
    const { item, resumed } = this.#call;
    const { judged } = this.#conversation;
    if (resumed !== undefined) return resumed.asked;
    if (item === undefined || judged === undefined) return undefined;
    const { kind, name } = item;
    const { hidden } = judged;
    return { kind, name, seed: createSeed(0), ...hidden, isHidden: hidden !== undefined };
  }

  #finish(): void {
    this.#isOver = true;
    this.#forget?.();
  }
}
