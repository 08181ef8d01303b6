// One MCP server of a federation, as the rest of the federation speaks to it: in the client's version of the protocol, with the server's own names.
// Behind it are connections, the version that the server speaks, its sessions, and how it comes back after it was away.
import type { FederationTarget } from '../../config/federation-config.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { RequestMessage } from '../read/message.ts';
import type { StreamMark } from './read-messages.ts';
import type { WishTable } from './session-wishes.ts';

/** The client in whose name a target is asked. */
export interface Speaker {
  /** `modern`: 2026-07-28 and later, without sessions. */
  readonly era: 'legacy' | 'modern';
  /** The version that it speaks. */
  readonly version: string;
  /** JSON of its `clientInfo`; undefined: it did not say. */
  readonly clientInfo: string | undefined;
  /** JSON of its `capabilities`. */
  readonly capabilities: string;
  /** What every request carries: identity, trace, forwarded addresses. Without fields of MCP, of the body and of the connection. */
  readonly headers: RawHeaders;
  /** The Host to send where the target does not name one. */
  readonly host: string;
  /** A digest of who the client is. Undefined: nobody knows; sessions are not kept from one request to the next. */
  readonly owner: string | undefined;
  /** The sessions of a legacy client, by target. Undefined for a modern one. */
  readonly sessions: SessionKeeper | undefined;
}

/** A session at one target. */
export interface TargetSession {
  /** Undefined: the server has none. */
  readonly id: string | undefined;
  /** The endpoint that has it (session-routing.ts); undefined: any. */
  readonly tag: string | undefined;
  /** The version that was agreed on. */
  readonly version: string;
}

/** The sessions that belong to one session of a client. */
export interface SessionKeeper {
  /** The same for all keepers of one session of the client: requests at the same time share what begins. */
  readonly name: string;
  /** What the client asked for, by this name: for servers that keep no sessions themselves. */
  readonly wishes: WishTable;
  get(target: string): TargetSession | undefined;
  /** A session began, or began again; undefined: it has ended. */
  set(target: string, session: TargetSession | undefined): void;
}

/** A request for a target. */
export interface OutgoingMessage {
  /** With the server's own names, otherwise as the client wrote it, ids and progress tokens included. */
  readonly text: string;
  /** The same, parsed. */
  readonly message: RequestMessage;
  /** `Mcp-Param-*` of a modern client. */
  readonly parameterHeaders: RawHeaders;
}

/** A message of the target, in the client's version: ids and progress tokens are the client's, names the server's. */
export interface TargetMessage {
  readonly text: string;
  readonly kind: 'response' | 'request' | 'notification';
  /** JSON of the id; undefined for a notification. */
  readonly id: string | undefined;
  /** Undefined for a response. */
  readonly method: string | undefined;
  /** The id of the event that brought it, where there was one. */
  readonly eventId: string | undefined;
}

/** Why there is no answer. */
export interface TargetFailure {
  readonly kind:
    | 'down' // not reached, or known to be down
    | 'timeout'
    | 'garbage' // an answer that cannot be read
    | 'refused' // an HTTP status that is an error: 401, 403, 429, 5xx ...
    | 'no-answer'; // the stream ended before the answer
  /** Of a refusal. */
  readonly status: number | undefined;
  /** Of a refusal: WWW-Authenticate and Retry-After. */
  readonly headers: RawHeaders;
  /** For the operator. */
  readonly detail: string;
}

/** What a call reports. Nothing comes after `onEnd` or `onFailure`, nor after `abort`. Never called from inside the function that starts the call. */
export interface TargetEvents {
  /** False: no more until `resume`. */
  onMessage(message: TargetMessage): boolean;
  /** The answer comes as an event stream. `session`: in which `resumeCall` goes on after each event with an id; undefined: it cannot be resumed. */
  onStream?(session: TargetSession | undefined): void;
  /** An event of that stream without a message. False: no more until `resume`. */
  onMark?(mark: StreamMark): boolean;
  /** The server has closed that stream before the answer, to be asked for the rest. True: the client will, and nothing more comes. Otherwise the target goes on by itself. */
  onSuspend?(): boolean;
  /** A request has its answer, or the stream has ended well. */
  onEnd(): void;
  onFailure(failure: TargetFailure): void;
}

/** Where the stream of a call goes on. */
export interface CallPlace {
  readonly session: TargetSession;
  /** JSON of the id of the request. */
  readonly id: string;
  /** Of the server's own, the one after which. */
  readonly eventId: string;
}

export interface TargetCall {
  resume(): void;
  /** The client does not want the answer any more. `cancel`: the target is told (closing the stream does not cancel before 2026-07-28). */
  abort(cancel: boolean): void;
}

/** What a client wants to hear of. */
export interface ListenFilter {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** The server's own URIs. */
  readonly uris: readonly string[];
  /** The server's own ids (extension for tasks, 2026-07-28). */
  readonly tasks: readonly string[];
}

/** How a target is, for status, metrics, pages and lists. */
export interface TargetState {
  readonly name: string;
  readonly health: 'unknown' | 'up' | 'down';
  /** Of the versions that it speaks, the one that was found last; undefined: not known yet. */
  readonly version: string | undefined;
  readonly serverInfo: { readonly name: string; readonly version: string } | undefined;
  /** JSON of its capabilities. */
  readonly capabilities: string | undefined;
  readonly instructions: string | undefined;
  readonly lastFailure: { readonly atMs: number; readonly detail: string } | undefined;
  /** The number of tools it listed last. */
  readonly tools: number | undefined;
}

/** What `initialize` and `server/discover` tell of a target. */
export type Introduction =
  | {
      readonly ok: true;
      readonly serverInfo: TargetState['serverInfo'];
      readonly capabilities: string;
      readonly instructions: string | undefined;
    }
  | { readonly ok: false; readonly failure: TargetFailure };

/** One server. */
export interface Target {
  readonly config: FederationTarget;
  describe(): TargetState;
  /** Finds out what it speaks, and begins the session of a legacy client. Bounded in time. */
  introduce(speaker: Speaker): Promise<Introduction>;
  /** Sends a request; a session that is lost is begun again, once. */
  request(speaker: Speaker, message: OutgoingMessage, events: TargetEvents): TargetCall;
  /** Asks for the rest of the stream of a call. Whether the server still has it, only its answer tells. */
  resumeCall(speaker: Speaker, place: CallPlace, events: TargetEvents): TargetCall;
  /** Sends a notification, or the client's answer to a question of the server. */
  notify(speaker: Speaker, text: string): Promise<TargetFailure | undefined>;
  /** Opens the stream on which the server speaks on its own. Notifications come as a client of the speaker's era expects them, without subscription ids. */
  listen(speaker: Speaker, filter: ListenFilter, events: TargetEvents): TargetCall;
  /** Ends the session of a legacy client. */
  endSession(speaker: Speaker): Promise<void>;
  /** Called whenever `describe` has changed in health; the result stops it. */
  onHealthChange(listener: () => void): () => void;
  close(): void;
}
