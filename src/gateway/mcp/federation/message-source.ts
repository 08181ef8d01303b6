// How messages of a target come, whatever carries them: types only.
import type { Endpoint } from '../../forward/upstream/upstreams.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { ReadMessage, StreamMark } from './read-messages.ts';
import type { TargetFailure } from './target.ts';

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  /** Empty: the name of the endpoint. */
  readonly host: string;
  readonly headers: RawHeaders;
  readonly body: string | undefined;
  /** The endpoint that has the session; undefined: any. */
  readonly tag: string | undefined;
  /** The answer is a stream without an end: no limit of the backend for whole requests applies. */
  readonly isUnlimited?: boolean;
}

/** A request, and what carries the messages that answer it. */
export interface MessageRequest extends ExchangeRequest {
  /** Undefined: its own answer does. */
  readonly channel?: MessageChannel | undefined;
}

/** An answer whose status is an error. */
export interface Refusal {
  readonly status: number;
  readonly headers: RawHeaders;
  /** The JSON-RPC message in its body. */
  readonly message: ReadMessage | undefined;
  /** `code` of the JSON-RPC error. */
  readonly code: number | undefined;
}

/** Nothing comes after `onEnd`, `onRefusal` or `onFailure`, nor after `abort`, and nothing from inside `start`. */
export interface MessageEvents {
  /** Status 2xx. */
  onHead?(status: number, headers: RawHeaders, endpoint: Endpoint): void;
  /** False: no more until `resume`. */
  onMessage(message: ReadMessage): boolean;
  /** The same, of an event without a message, in its place among them. */
  onMark?(mark: StreamMark): boolean;
  /** Of an event that is no message, in streams of the older transport. */
  onOtherEvent?(type: string, data: string): void;
  onEnd(): void;
  onRefusal(refusal: Refusal): void;
  onFailure(failure: TargetFailure, isUnsent: boolean): void;
}

/** Messages that come. */
export interface MessageSource {
  start(): void;
  resume(): void;
  abort(): void;
  /** Where the event stream that broke off can be taken up again. */
  readonly resumption: { readonly lastEventId: string; readonly retryMs: number | undefined } | undefined;
}

/** A connection on which the answers to many requests come. */
export interface MessageChannel {
  /** The session id by which it is found again. */
  readonly id: string;
  /** Where messages are posted to. */
  readonly path: string;
  readonly tag: string | undefined;
  open(request: MessageRequest, events: MessageEvents): MessageSource;
}

/** The connections of a target of the older transport. */
export interface MessageChannels {
  connect(
    sender: { readonly headers: RawHeaders; readonly host: string },
    timeoutMs: number,
  ): Promise<
    | { readonly ok: true; readonly channel: MessageChannel }
    | { readonly ok: false; readonly failure: TargetFailure; readonly refusal: Refusal | undefined }
  >;
  /** One that is gone refuses everything as a lost session. */
  find(id: string): MessageChannel;
  close(): void;
}
