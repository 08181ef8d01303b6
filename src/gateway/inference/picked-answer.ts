// The answer of the endpoint on its way past the picker to the client.
import type { CommonResponse, HeaderMutation } from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import type { UpstreamEvents } from '../forward/upstream/upstream-call.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { type AnswerHead, changeAnswerHead, readAnswerHead } from './answer-head.ts';
import { openBodyExchange } from './body-exchange.ts';

/** One answer. */
export class PickedAnswer {
  readonly body = openBodyExchange();
  readonly #events: UpstreamEvents;
  #head: AnswerHead | undefined;
  #isHeadDelivered = false;
  #trailers: RawHeaders | undefined;
  /** The client takes no more at the moment. */
  isClientPaused = false;

  constructor(events: UpstreamEvents) {
    this.#events = events;
    // What the picker lets through has reached the client.
    this.body.commit();
  }

  /** The endpoint has answered. */
  get hasBegun(): boolean {
    return this.#head !== undefined;
  }

  get isHeadDelivered(): boolean {
    return this.#isHeadDelivered;
  }

  /** What comes after the last byte; undefined: the endpoint has not ended. */
  get trailers(): RawHeaders | undefined {
    return this.#trailers;
  }

  begin(method: string, status: number, headers: RawHeaders): AnswerHead {
    this.#head = readAnswerHead(method, status, headers);
    return this.#head;
  }

  /** Returns whether the picker has to be told. */
  end(trailers: RawHeaders): boolean {
    this.#trailers = trailers;
    return !this.#head!.isBodyless;
  }

  /** What the picker says about the head. Returns why that makes no sense. */
  changeHead(mutation: HeaderMutation | undefined): string | undefined {
    if (this.#head === undefined) return 'it answered the head of an answer that had not arrived';
    if (this.#isHeadDelivered) return 'it answered the head of the answer twice';
    const head = changeAnswerHead(this.#head, mutation);
    if (!head.ok) return head.detail;
    this.#isHeadDelivered = true;
    this.#events.onHead(head.status, head.headers);
    return undefined;
  }

  /** What the picker says about the body. Returns why that makes no sense. */
  changeBody(common: CommonResponse | undefined): string | undefined {
    if (!this.#isHeadDelivered) return 'it answered the body of the answer before its head';
    const answer = this.body.answer(common);
    if (!answer.ok) return answer.detail;
    if (answer.bytes !== undefined) this.deliver(answer.bytes);
    return undefined;
  }

  /** The head goes as the endpoint sent it, if it has not gone. */
  passHead(): void {
    if (this.#head === undefined || this.#isHeadDelivered) return;
    this.#isHeadDelivered = true;
    this.#events.onHead(this.#head.status, this.#head.headers);
  }

  /** The client gets this answer in place of one of an endpoint. */
  replace(status: number, headers: RawHeaders, body: Uint8Array): void {
    this.#events.onBodyRefused();
    this.#events.onHead(status, headers);
    if (body.length > 0) this.#events.onData(body);
    this.#events.onEnd([]);
  }

  /** False: no more until the client has taken it. */
  deliver(bytes: Uint8Array): boolean {
    const hasRoom = this.#events.onData(bytes);
    if (!hasRoom) this.isClientPaused = true;
    return hasRoom;
  }

  /** Everything has reached the client, as far as the picker has a say in it. */
  isComplete(isAlone: boolean): boolean {
    if (this.#trailers === undefined || !this.#isHeadDelivered) return false;
    return isAlone || this.#head!.isBodyless || this.body.isAnswered;
  }

  /** The picker owes an answer. */
  get isAwaited(): boolean {
    if (this.#head === undefined) return false;
    if (!this.#isHeadDelivered || this.body.isAwaited) return true;
    return this.#trailers !== undefined && !this.#head.isBodyless && !this.body.isAnswered;
  }
}
