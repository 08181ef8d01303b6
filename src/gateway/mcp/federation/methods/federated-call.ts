// One request of a client to a federation: finds out who speaks, in which version and session, hands each message to the method that answers it, and is to the forwarder
// one upstream with one answer.
import type { UpstreamCall } from '../../../forward/upstream/upstream-call.ts';
import { isJsonObject } from '../../../../base/json-object.ts';
import type { Reason } from '../../../http/reasons.ts';
import type { RefusedNames } from '../../../request/app-tools.ts';
import { formatRpcError } from '../../answer/rpc-error.ts';
import { readFieldValues } from '../../read/field-values.ts';
import { type Message, type MessageId, type RequestMessage, rpcCodes } from '../../read/message.ts';
import type { ReadBody } from '../../read/parse-message.ts';
import { isModernVersion, readClaimedVersion, readVersionHeader } from '../../read/protocol-version.ts';
import { ClientSession, type SessionPlace } from '../client-session.ts';
import type { Federation } from '../federation.ts';
import {
  findMissingMeta,
  findOwner,
  speakForItself,
  speakInSession,
  type SpeakerBase,
  splitHeaders,
} from '../speaker.ts';
import type { Speaker } from '../target.ts';
import { answerQuestion } from './answer-question.ts';
import { answerOne } from './answer-one.ts';
import { BatchSink } from './batch-sink.ts';
import { ClientAnswer, SingleSink, takesEvents } from './client-answer.ts';
import { formatError } from './failures.ts';
import type { FederatedCallParts } from './federated-call-parts.ts';
import type { Conversation, JudgedRequest, MessageSink, Note, Running } from './federated-request.ts';
import { introduceAll, legacyVersions, modernVersions, writeInitializeResult } from './introduce.ts';
import { resumeCall } from './resume-call.ts';
import { openGetStream, openSubscription } from './streams.ts';
import { notify } from './tell-all.ts';

const unsupportedVersion = -32_022;
/** "Server error": what SDKs answer to a request without a session, and to one of a session that they do not know. */
const noSession = -32_000;
const unknownSession = -32_001;

export class FederatedCall implements UpstreamCall {
  readonly #parts: FederatedCallParts;
  readonly #answer: ClientAnswer;
  /** Undefined once it has been handed on: a stream can last for hours. */
  #read: ReadBody | undefined;
  readonly #judged: JudgedRequest | undefined;
  readonly #refused: RefusedNames | undefined;
  #running: Running[] = [];
  #isAborted = false;

  constructor(parts: FederatedCallParts, read: ReadBody | undefined) {
    this.#parts = parts;
    this.#read = read;
    const { messages } = parts.context;
    this.#judged = messages?.filterAnswer === undefined ? undefined : { hidden: messages.hidden };
    this.#refused = messages?.refused;
    // All that is needed of it is here.
    parts.context.messages = undefined;
    this.#answer = new ClientAnswer(parts.events, parts.headers);
  }

  start(): void {
    const { federations, backend, events } = this.#parts;
    events.onStart();
    const found = federations.find(backend);
    // Nobody waits for a call inside the call that starts it.
    if (!(found instanceof Promise)) queueMicrotask(() => this.#begin(found));
    else
      void found.then(
        (loaded) => this.#begin(loaded),
        (error: unknown) => this.#fail(error),
      );
  }

  #begin(federation: Federation | undefined): void {
    if (this.#isAborted) return;
    try {
      if (federation === undefined) throw new Error(`the federation ${this.#parts.backend} is not known`);
      const serving = this.#serve(federation);
      if (serving === undefined) this.#read = undefined;
      else
        void serving.then(
          () => void (this.#read = undefined),
          (error: unknown) => this.#fail(error),
        );
    } catch (error) {
      this.#fail(error);
    }
  }

  writeBody(): boolean {
    // It was read before.
    return true;
  }

  endBody(): void {}

  resume(): void {
    for (const running of this.#running) running.resume();
  }

  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#answer.abort();
    for (const running of this.#running) running.abort();
    this.#running = [];
  }

  #fail(error: unknown): void {
    const { log, context, events } = this.#parts;
    log.error({ request_id: context.requestId, err: error }, 'a request to a federation failed');
    if (this.#isAborted || this.#answer.isOver) return;
    this.abort();
    events.onError(error instanceof Error ? error : new Error(String(error)));
  }

  readonly #note: Note = ({ target, reason, detail }) => {
    const { context } = this.#parts;
    if (target !== undefined) context.endpoint = target;
    if (reason !== undefined) context.reason ??= reason;
    if (detail !== undefined) context.detail ??= detail;
  };

  #follow(running: Running): undefined {
    if (this.#isAborted) running.abort();
    else if (!this.#answer.isOver) this.#running.push(running);
  }

  // ---- who speaks

  #serve(federation: Federation): Promise<void> | undefined {
    const { method, context, headers, host, federations, config } = this.#parts;
    const read = this.#read;
    const { sealer } = federations;
    const place: SessionPlace = {
      sealer,
      table: federation.sessions,
      backend: federation.key,
      owner: findOwner(context),
    };
    const { kept, parameters } = splitHeaders(headers);
    const base: SpeakerBase = { headers: kept, host, owner: place.owner };
    const open = (speaker: Speaker, session: ClientSession | undefined): Conversation => {
      const parameterHeaders = parameters;
      const [judged, refused, note] = [this.#judged, this.#refused, this.#note];
      return { federation, config, speaker, session, sealer, parameterHeaders, judged, refused, note };
    };
    const version = readVersionHeader(context.exchange.headers);
    const header = version.ok ? version.version : undefined;
    const first = read?.messages[0];
    const claimed = first === undefined ? undefined : readClaimedVersion(first);
    const modern = [header, claimed].find((named) => named !== undefined && isModernVersion(named));
    if (modern !== undefined) return this.#serveModern(modern, base, open);
    // The version of a session is the one that was agreed on; a header can only be a mistake.
    if (header !== undefined && !legacyVersions.includes(header)) return this.#refuseVersion(header);
    if (first?.kind === 'request' && first.method === 'initialize' && !read!.isBatch)
      return this.#initialize(first, place, base, open);
    const session = this.#findSession(place);
    if (session === undefined) return undefined;
    if (method === 'DELETE') return this.#endSession(session, open(speakInSession(base, session), session));
    const conversation = open(speakInSession(base, session), session);
    if (read !== undefined) this.#answerAll(conversation, read);
    else this.#openGet(conversation, session);
    return undefined;
  }

  #serveModern(
    version: string,
    base: SpeakerBase,
    open: (speaker: Speaker, session: undefined) => Conversation,
  ): undefined {
    const read = this.#read;
    if (read === undefined) {
      this.#note({ reason: 'method_not_allowed', detail: 'this protocol version has no GET and no DELETE' });
      this.#answer.respond(formatError(undefined, noSession, 'Method not allowed.'), 405, ['allow', 'POST']);
      return;
    }
    const [message] = read.messages;
    if (!modernVersions.includes(version)) return this.#refuseVersion(version);
    if (message === undefined || message.kind === 'response')
      return this.#refuse(400, 'message_malformed', rpcCodes.invalidRequest, 'The message is a response.');
    const problem = findMissingMeta(message);
    if (problem !== undefined)
      return this.#refuse(400, 'message_malformed', rpcCodes.invalidParams, `The message ${problem}.`);
    const conversation = open(speakForItself(base, version, message), undefined);
    if (message.kind === 'request' && message.method === 'subscriptions/listen')
      this.#follow(openSubscription(conversation, { message, text: read.text }, this.#answer));
    else this.#answerAll(conversation, read);
  }

  #findSession(place: SessionPlace): ClientSession | undefined {
    const ids = readFieldValues(this.#parts.context.exchange.headers, 'mcp-session-id');
    if (ids.length > 1) {
      this.#refuse(400, 'bad_request', noSession, 'Bad Request: several Mcp-Session-Id headers');
      return undefined;
    }
    if (ids.length === 0) {
      this.#refuse(400, 'bad_request', noSession, 'Bad Request: Mcp-Session-Id header is required');
      return undefined;
    }
    const session = ClientSession.find(place, ids[0]!);
    if (session === undefined) this.#refuse(404, 'session_gone', unknownSession, 'Session not found');
    return session;
  }

  async #initialize(
    message: RequestMessage,
    place: SessionPlace,
    base: SpeakerBase,
    open: (speaker: Speaker, session: ClientSession) => Conversation,
  ): Promise<void> {
    const { id, params } = message;
    const { protocolVersion, clientInfo, capabilities } = params;
    if (typeof protocolVersion !== 'string')
      return this.#refuse(200, 'message_malformed', rpcCodes.invalidParams, 'The message has no protocolVersion.');
    const version = legacyVersions.includes(protocolVersion) ? protocolVersion : legacyVersions[0]!;
    const session = ClientSession.begin(place, {
      version,
      clientInfo: isJsonObject(clientInfo) ? JSON.stringify(clientInfo) : undefined,
      capabilities: isJsonObject(capabilities) ? JSON.stringify(capabilities) : '{}',
    });
    const { federation, speaker } = open(speakInSession(base, session), session);
    const introduction = await introduceAll(federation, speaker, this.#note);
    if (this.#isAborted) return;
    if (!introduction.ok) {
      const { code, message: text, data } = introduction;
      return this.#answer.respond(formatError(id, code, text, data));
    }
    const result = writeInitializeResult(version, introduction);
    const json = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
    this.#answer.respond(json, 200, ['mcp-session-id', session.seal()]);
  }

  async #endSession(session: ClientSession, { federation, speaker }: Conversation): Promise<void> {
    // Targets end what they know of the session; afterwards its id is one that never existed.
    await Promise.allSettled(Array.from(federation.members, ({ target }) => target.endSession(speaker)));
    session.end();
    federation.endStreams(session.name);
    this.#answer.respondEmpty(200);
  }

  // ---- what is asked

  #openGet(conversation: Conversation, session: ClientSession): undefined {
    const { headers } = this.#parts.context.exchange;
    if (!takesEvents(headers))
      return this.#refuse(406, 'bad_request', noSession, 'Not Acceptable: Client must accept text/event-stream');
    const [lastEventId, ...others] = readFieldValues(headers, 'last-event-id').filter((value) => value !== '');
    if (others.length > 0)
      return this.#refuse(400, 'bad_request', noSession, 'Bad Request: several Last-Event-ID headers');
    // Only events of calls have ids.
    if (lastEventId === undefined) return this.#follow(openGetStream(conversation, this.#answer));
    const running = resumeCall(conversation, session, lastEventId, this.#answer);
    // Not 404, which would tell the client to begin a new session; and no new stream, on which it would wait for what never comes.
    if (running === undefined)
      return this.#refuse(400, 'bad_request', noSession, 'Bad Request: the Last-Event-ID is none of this session');
    this.#follow(running);
  }

  #answerAll(conversation: Conversation, read: ReadBody): void {
    const { context } = this.#parts;
    const { headers } = context.exchange;
    const isModern = conversation.speaker.era === 'modern';
    const takes = takesEvents(headers);
    if (!read.isBatch) {
      const single = new SingleSink(this.#answer, isModern, takes);
      const [message] = read.messages;
      this.#take(conversation, message, read.text, single, false);
      // The answer to a question of a server may turn out to be none.
      if (message.kind === 'notification') this.#answer.respondEmpty(202);
      return;
    }
    const requests = read.messages.filter(({ kind }) => kind === 'request').length;
    const batch = new BatchSink(this.#answer, requests, takes);
    for (const [index, message] of read.messages.entries()) {
      const { start, end } = read.spans[index]!;
      const sink = message.kind === 'request' ? batch.open() : undefined;
      this.#take(conversation, message, read.text.slice(start, end), sink, true);
    }
    if (requests === 0) this.#answer.respondEmpty(202);
  }

  /** `sink`: where the answer to a request goes. */
  #take(
    conversation: Conversation,
    message: Message,
    text: string,
    sink: MessageSink | undefined,
    isInBatch: boolean,
  ): void {
    if (message.kind === 'notification') notify(conversation, { message, text });
    else if (message.kind === 'response') this.#passAnswer(conversation, text, isInBatch);
    else this.#follow(answerOne(conversation, { message, text }, sink!));
  }

  #passAnswer(conversation: Conversation, text: string, isInBatch: boolean): void {
    answerQuestion(conversation, text)
      .then((problem) => {
        if (isInBatch || this.#isAborted) return;
        if (problem === undefined) this.#answer.respondEmpty(202);
        else this.#refuse(problem.status, problem.reason, rpcCodes.invalidRequest, problem.message);
      })
      .catch((error: unknown) => this.#fail(error));
  }

  // ---- refusals

  #refuseVersion(requested: string): undefined {
    const supported = [...modernVersions, ...legacyVersions];
    const json = formatError(this.#findId(), unsupportedVersion, `Unsupported protocol version: ${requested}`, {
      supported,
      requested,
    });
    this.#note({ reason: 'message_malformed', detail: 'the protocol version is not supported' });
    this.#answer.respond(json, 400);
  }

  #refuse(status: number, reason: Reason, code: number, message: string): undefined {
    this.#note({ reason, detail: message });
    const json = formatRpcError(this.#findId(), { code, message });
    this.#answer.respond(json, status);
  }

  #findId(): MessageId | undefined {
    const read = this.#read;
    const first = read?.isBatch === false ? read.messages[0] : undefined;
    return first?.kind === 'request' ? first.id : undefined;
  }
}
