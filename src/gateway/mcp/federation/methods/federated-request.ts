// One request of a client to a federation, as the methods answer it.
import type { Sealer } from '../../../../base/sealed.ts';
import type { FederationConfig } from '../../../config/federation-config.ts';
import type { RawHeaders } from '../../../http/exchange.ts';
import type { RefusedNames } from '../../../request/app-tools.ts';
import type { Reason } from '../../../http/reasons.ts';
import type { MethodMessage, RequestMessage } from '../../read/message.ts';
import type { ClientSession } from '../client-session.ts';
import type { Federation } from '../federation.ts';
import type { Speaker } from '../target.ts';

/** For the access log: which target it was, and what went wrong. */
export type Note = (noted: { readonly target?: string; readonly reason?: Reason; readonly detail?: string }) => void;

/** What all messages of a request share. */
export interface Conversation {
  readonly federation: Federation;
  /** In force when the request came. */
  readonly config: FederationConfig;
  readonly speaker: Speaker;
  /** Of a legacy client. */
  readonly session: ClientSession | undefined;
  readonly sealer: Sealer;
  readonly parameterHeaders: RawHeaders;
  /** Undefined: there are no rules over messages. */
  readonly judged: JudgedRequest | undefined;
  /** Tools that are called by names which cannot be told apart, or not yet; undefined: none. */
  readonly refused: RefusedNames | undefined;
  readonly note: Note;
}

/** What rules over messages made of a request. */
export interface JudgedRequest {
  /** Its item is hidden: the name as the client sent it, and the seed of the one that is in its place. */
  readonly hidden: { readonly name: string; readonly seed: string } | undefined;
}

/** A message with its text. */
export interface Said<M extends MethodMessage = MethodMessage> {
  readonly message: M;
  readonly text: string;
}

/** A request that gets an answer. */
export type Asked = Said<RequestMessage>;

/** Where the messages for the client go. */
export interface MessageSink {
  /** A message before the answer, as JSON. False: wait until it is resumed. `eventId`: of its event, where there is one. */
  tell(json: string, eventId?: string): boolean;
  /** The answer, as JSON. The last message. */
  answer(json: string, eventId?: string): void;
  /** An event stream for this one request; undefined: the client takes none, or the request is one of a batch. */
  readonly stream: SinkStream | undefined;
}

/** The answer to a request as an event stream. */
export interface SinkStream {
  /** What is sent from now on is sent as events. */
  openStream(): void;
  /** An event without a message: where the client can go on, and how long it shall wait before that. Neither: a sign of life. False: wait. */
  mark(eventId: string | undefined, retryMs: number | undefined): boolean;
  /** Ends it without an answer. */
  end(): void;
}

/** A request on its way. */
export interface Running {
  /** The client takes more again. */
  resume(): void;
  /** The client is gone. */
  abort(): void;
}

export const nothingRunning: Running = { resume() {}, abort() {} };
