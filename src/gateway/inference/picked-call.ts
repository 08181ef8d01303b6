// A request to an InferencePool: a picker is shown the request while it flows, chooses the endpoint, and is shown the answer. Stands between the forwarder
// and the connection pools as one more transport. If the picker fails, the call continues without it where that is allowed and no data is lost.
import type {
  ImmediateResponse,
  ProcessingResponse,
} from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import type { UpstreamCall, UpstreamEvents } from '../forward/upstream/upstream-call.ts';
import { describeError, PickerError } from '../forward/upstream/upstream-error.ts';
import type { Endpoint } from '../forward/upstream/upstreams.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { readImmediateHead } from './answer-head.ts';
import { AnswerTimer } from './answer-timer.ts';
import { maxKeptBytes, openBodyExchange } from './body-exchange.ts';
import { EndpointQueue } from './endpoint-queue.ts';
import { findCandidates } from './find-candidates.ts';
import { PickedAnswer } from './picked-answer.ts';
import type { PickedCallParts } from './picked-call-parts.ts';
import { PickedRequest } from './picked-request.ts';
import { cutPieces, describeAnswer, describePiece, describeRequest, noBytes } from './picker-messages.ts';
import { PickerStream, type PickerStreamEvents } from './picker-stream.ts';

/** What waits for the endpoint before the picker has to wait. */
const maxQueuedBytes = 256 * 1024;

/** A call to whichever endpoint the picker chooses. */
export class PickedCall implements UpstreamCall, UpstreamEvents, PickerStreamEvents {
  readonly #parts: PickedCallParts;
  readonly #stream: PickerStream | undefined;
  readonly #startedAt: number;
  /** The picker is not asked any more. */
  #isAlone = false;
  #isOver = false;
  #isStartTold = false;
  readonly #timer: AnswerTimer;

  // The request.
  readonly #requestBody = openBodyExchange();
  readonly #request: PickedRequest;
  #shownBytes = 0;
  #isClientDone: boolean;
  #trailers: RawHeaders = [];
  #isHeadAnswered = false;
  /** The client waits for room. */
  #isClientHeld = false;

  // The endpoint.
  #isDecided = false;
  #stopSearch: (() => void) | undefined;
  #candidates: Endpoint[] = [];
  readonly #tried: Endpoint[] = [];
  #endpoint: Endpoint | undefined;
  #inner: UpstreamCall | undefined;
  #isSent = false;
  readonly #queue = new EndpointQueue();
  #isRequestComplete = false;
  #isRequestEnded = false;

  // The answer.
  readonly #answer: PickedAnswer;
  /** The endpoint waits for room. */
  #isInnerHeld = false;

  constructor(parts: PickedCallParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock();
    const { timeoutMs } = parts.config;
    this.#timer = new AnswerTimer(timeoutMs, () => this.onLost(`it did not answer within ${timeoutMs} ms`));
    this.#request = new PickedRequest(parts.request);
    this.#isClientDone = !parts.request.hasBody;
    this.#answer = new PickedAnswer(parts.events);
    this.#stream = parts.picker && new PickerStream(parts.picker, parts.maxRetries, this);
  }

  // ---- what the forwarder asks for

  start(): void {
    if (this.#stream === undefined) this.onLost('it has no ready endpoint');
    else this.#stream.open();
    this.#watch();
  }

  writeBody(chunk: Uint8Array): boolean {
    const hasRoom = this.#isAlone ? this.#enqueue(chunk) : this.#showRequest(chunk) && !this.#isBackedUp();
    this.#isClientHeld = !hasRoom;
    this.#watch();
    return hasRoom;
  }

  endBody(trailers: RawHeaders): void {
    this.#isClientDone = true;
    this.#trailers = trailers;
    if (!this.#isAlone && !this.#requestBody.isShown) this.#show('requestBody', noBytes, true);
    this.#proceed();
  }

  resume(): void {
    this.#answer.isClientPaused = false;
    if (!this.#isAlone) this.#stream!.resume();
    this.#resumeInner();
    this.#watch();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#end();
    this.#stream?.abort();
    this.#inner?.abort();
  }

  // ---- what the picker says

  onOpen(): void {
    this.#stream!.send(describeRequest(this.#request.original));
    this.#tellStart();
    this.#watch();
  }

  onAnswer(answer: ProcessingResponse): boolean {
    this.#timer.restart();
    const problem = this.#take(answer);
    if (problem !== undefined) this.onLost(problem);
    this.#proceed();
    // Its choice may come after all of the body, and what it says about the answer after what it says about the request.
    return !this.#answer.isClientPaused && (this.#answer.hasBegun || !this.#isBackedUp());
  }

  onDrain(): void {
    if (!this.#isBackedUp()) this.#letClientGoOn();
    this.#resumeInner();
  }

  /** Returns why an answer is not valid. */
  #take({ response, dynamicMetadata }: ProcessingResponse): string | undefined {
    switch (response.case) {
      case 'requestHeaders':
        if (this.#isHeadAnswered) return 'it answered the head of the request twice';
        this.#isHeadAnswered = true;
        return this.#request.change(response.value.response, dynamicMetadata);
      case 'requestBody': {
        const common = response.value.response;
        const answer = this.#requestBody.answer(common);
        if (!answer.ok) return answer.detail;
        if (answer.isChanged) this.#request.noteBodyChange();
        if (this.#queue.bytes > maxKeptBytes) return 'it sent more of the body than the gateway can buffer';
        if (answer.bytes !== undefined) this.#enqueue(answer.bytes);
        // What has gone cannot be changed.
        return this.#isSent ? undefined : this.#request.change(common, dynamicMetadata);
      }
      case 'responseHeaders':
        return this.#answer.changeHead(response.value.response?.headerMutation);
      case 'responseBody':
        return this.#answer.changeBody(response.value.response);
      // Trailers are not shown to it.
      case 'requestTrailers':
      case 'responseTrailers':
        return undefined;
      case 'immediateResponse':
        return this.#answerInPlace(response.value);
      case undefined:
        return 'it sent an answer of an unknown kind';
    }
  }

  /** Whatever is possible by now. */
  #proceed(): void {
    if (this.#isOver) return;
    const isBodyAnswered = this.#isClientDone && (!this.#parts.request.hasBody || this.#requestBody.isAnswered);
    if (!this.#isAlone && !this.#isDecided && this.#isHeadAnswered) {
      // How the picker answers bodies says whether the length stays what it is.
      const isLengthKnown = isBodyAnswered || this.#requestBody.mode !== 'unknown';
      const { destination } = this.#request;
      if (destination === undefined) {
        if (isBodyAnswered) this.onLost('it chose no endpoint');
      } else if (isLengthKnown && this.#stopSearch === undefined) {
        const { findPool, clock } = this.#parts;
        this.#stopSearch = findCandidates(destination, findPool, clock, (found) => this.#decide(destination, found));
      }
    }
    this.#isRequestComplete ||= this.#isAlone ? this.#isClientDone : this.#isDecided && isBodyAnswered;
    this.#flush();
    if (!this.#isOver && this.#answer.isComplete(this.#isAlone)) {
      this.#end();
      this.#stream?.finish();
      return this.#parts.events.onEnd(this.#answer.trailers!);
    }
    this.#watch();
  }

  #decide(destination: string, [next, ...others]: readonly Endpoint[]): void {
    const { pool, observer, config } = this.#parts;
    observer.picked(pool.config.key, next === undefined ? 'refused' : 'picked', this.#readSeconds());
    if (next !== undefined) {
      this.#isDecided = true;
      this.#candidates = others;
      this.#connect(next);
      return this.#proceed();
    }
    const detail = `${this.#stream!.name}: no endpoint of the pool is called ${JSON.stringify(destination.slice(0, 200))}`;
    if (config.failsOpen) this.#fallBack('refused', detail);
    else this.#fail(new PickerError('PICKER_ENDPOINT_REFUSED', detail));
  }

  /** The picker answers the request itself. */
  #answerInPlace(answer: ImmediateResponse): string | undefined {
    if (this.#answer.isHeadDelivered) {
      this.#fail(new PickerError('PICKER_UNAVAILABLE', `${this.#stream!.name}: it stopped the answer`));
      return undefined;
    }
    const head = readImmediateHead(answer);
    if (!head.ok) return head.detail;
    const { pool, observer, request } = this.#parts;
    if (!this.#isDecided) observer.picked(pool.config.key, 'immediate', this.#readSeconds());
    this.#end();
    this.#inner?.abort();
    this.#stream!.finish();
    this.#answer.replace(head.status, head.headers, request.method === 'HEAD' ? noBytes : answer.body);
    return undefined;
  }

  // ---- what the endpoint does

  onStart(): void {
    this.#isSent = true;
    this.#requestBody.commit();
    this.#tellStart();
    this.#proceed();
  }

  onInformational(status: number, headers: RawHeaders): void {
    this.#parts.events.onInformational(status, headers);
  }

  onHead(status: number, headers: RawHeaders): void {
    const { isBodyless } = this.#answer.begin(this.#parts.request.method, status, headers);
    if (this.#isAlone) return this.#answer.passHead();
    this.#stream!.send(describeAnswer(status, headers, isBodyless, this.#endpoint!.pool.name));
    // From here on its answers to the answer matter, whatever is left of the request.
    this.#stream!.resume();
    this.#watch();
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#isAlone) return this.#answer.deliver(chunk);
    let hasRoom = true;
    for (const piece of cutPieces(chunk)) hasRoom = this.#show('responseBody', piece, false) && hasRoom;
    this.#watch();
    this.#isInnerHeld = !hasRoom || this.#answer.isClientPaused;
    return !this.#isInnerHeld;
  }

  onEnd(trailers: RawHeaders): void {
    const isToBeTold = this.#answer.end(trailers);
    if (!this.#isAlone && isToBeTold) this.#show('responseBody', noBytes, true);
    this.#proceed();
  }

  onUpgrade(...upgrade: Parameters<UpstreamEvents['onUpgrade']>): void {
    this.#end();
    this.#stream?.finish();
    this.#parts.events.onUpgrade(...upgrade);
  }

  onBodyDrain(): void {
    this.#queue.noteDrain();
    this.#proceed();
  }

  onBodyRefused(): void {
    // An endpoint that could not be reached; the next one may take it.
    if (!this.#isSent) return;
    this.#queue.replace([]);
    this.#isRequestEnded = true;
    this.#parts.events.onBodyRefused();
  }

  onError(error: Error): void {
    if (this.#isOver) return;
    const { pool, config, maxRetries } = this.#parts;
    const next = this.#isSent ? undefined : this.#candidates.shift();
    if (next !== undefined) return this.#connect(next);
    if (!this.#isSent && (this.#isAlone || config.failsOpen) && this.#tried.length <= maxRetries) {
      const other = pool.pick(this.#tried);
      if (other !== undefined && this.#isAlone) return this.#connect(other);
      if (other !== undefined) return this.#fallBack('unreachable', `${this.#endpoint!.pool.name} cannot be reached`);
    }
    this.#fail(this.#isSent ? error : new PickerError('PICKED_ENDPOINT_UNREACHABLE', describeError(error), error));
  }

  // ---- the ways

  #connect(endpoint: Endpoint): void {
    this.#endpoint = endpoint;
    this.#tried.push(endpoint);
    this.#parts.onEndpoint(endpoint);
    this.#inner = endpoint.pool.createCall(this.#request.changed, this);
    this.#inner.start();
  }

  #showRequest(chunk: Uint8Array): boolean {
    const { contentLength } = this.#parts.request;
    let hasRoom = true;
    for (const piece of cutPieces(chunk)) {
      this.#shownBytes += piece.length;
      hasRoom = this.#show('requestBody', piece, this.#shownBytes === contentLength) && hasRoom;
    }
    return hasRoom;
  }

  #show(what: 'requestBody' | 'responseBody', piece: Uint8Array, isLast: boolean): boolean {
    (what === 'requestBody' ? this.#requestBody : this.#answer.body).show(piece, isLast);
    return this.#stream!.send(describePiece(what, piece, isLast));
  }

  #enqueue(bytes: Uint8Array): boolean {
    if (this.#isRequestEnded) return true;
    this.#queue.push(bytes);
    this.#flush();
    return this.#queue.hasRoom;
  }

  /** Sends on what the endpoint takes. */
  #flush(): void {
    if (!this.#isSent || this.#isOver || this.#isRequestEnded) return;
    this.#queue.sendTo(this.#inner!);
    if (!this.#queue.hasRoom) return;
    if (this.#isRequestComplete && this.#parts.request.hasBody) {
      this.#isRequestEnded = true;
      this.#inner!.endBody(this.#trailers);
    }
    if (!this.#isAlone && !this.#answer.isClientPaused) this.#stream!.resume();
    this.#letClientGoOn();
  }

  /** The endpoint has to take what there is before there can be more. */
  #isBackedUp(): boolean {
    return this.#isDecided && this.#queue.bytes > maxQueuedBytes;
  }

  #letClientGoOn(): void {
    if (!this.#isClientHeld || this.#isOver) return;
    this.#isClientHeld = false;
    this.#parts.events.onBodyDrain();
  }

  #resumeInner(): void {
    if (this.#answer.isClientPaused || (!this.#isAlone && !this.#isInnerHeld)) return;
    this.#isInnerHeld = false;
    this.#inner?.resume();
  }

  #tellStart(): void {
    if (this.#isStartTold) return;
    this.#isStartTold = true;
    this.#parts.events.onStart();
  }

  // ---- without the picker

  /** The picker is lost, or its answer is not valid. */
  onLost(problem: string): void {
    if (this.#isOver || this.#isAlone) return;
    const { pool, observer, config, onTrouble } = this.#parts;
    const name = this.#stream?.name ?? 'the picker';
    const detail = problem.startsWith(name) ? problem : `${name}: ${problem}`;
    if (!this.#isDecided) {
      observer.picked(pool.config.key, 'unavailable', this.#readSeconds());
      if (config.failsOpen) this.#fallBack('unavailable', detail);
      else this.#fail(new PickerError('PICKER_UNAVAILABLE', detail));
      return;
    }
    // It has made its choice. Its missing answers about bodies do not matter where it lets them pass unchanged.
    const request = this.#requestBody.isAnswered ? [] : this.#requestBody.takeOriginal();
    const answer = this.#answer.body.takeOriginal();
    if (request === undefined || answer === undefined) return this.#fail(new PickerError('PICKER_UNAVAILABLE', detail));
    this.#isAlone = true;
    this.#stream?.abort();
    onTrouble(detail);
    if (!this.#requestBody.isAnswered && !this.#isSent) {
      // No byte was sent: the whole request is sent as the client sent it.
      this.#inner?.abort();
      this.#queue.replace([]);
      this.#request.forgetBodyChange();
    }
    for (const piece of request) this.#enqueue(piece);
    if (!this.#requestBody.isAnswered && !this.#isSent) this.#connect(this.#endpoint!);
    this.#answer.passHead();
    for (const piece of answer) this.#answer.deliver(piece);
    this.#proceed();
    this.#resumeInner();
  }

  /** Sends the client's original request to an endpoint that the gateway chooses. */
  #fallBack(reason: 'unavailable' | 'refused' | 'unreachable', detail: string): void {
    const { pool, observer, onTrouble } = this.#parts;
    const body = this.#requestBody.takeOriginal();
    const endpoint = pool.pick(this.#tried);
    if (body === undefined || endpoint === undefined)
      return this.#fail(
        new PickerError(reason === 'refused' ? 'PICKER_ENDPOINT_REFUSED' : 'PICKER_UNAVAILABLE', detail),
      );
    observer.fellBack(pool.config.key, reason);
    onTrouble(detail);
    this.#stopSearch?.();
    this.#isAlone = true;
    this.#isDecided = true;
    this.#stream?.abort();
    this.#request.forgetChanges();
    this.#queue.replace(body);
    this.#isRequestComplete = this.#isClientDone;
    this.#connect(endpoint);
    this.#watch();
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#end();
    this.#stream?.abort();
    this.#inner?.abort();
    this.#parts.events.onError(error);
  }

  #end(): void {
    this.#isOver = true;
    this.#timer.run(false);
    this.#stopSearch?.();
    this.#requestBody.release();
    this.#answer.body.release();
    this.#queue.replace([]);
  }

  /** Whether an answer of the picker is due. None is due while the picker waits for others. */
  #isAwaited(): boolean {
    if (this.#isAlone || this.#isOver || this.#answer.isClientPaused) return false;
    if (this.#stream?.isFull === true) return !this.#isBackedUp();
    const { hasBody } = this.#parts.request;
    const isShown = !hasBody || this.#requestBody.isShown;
    const owesRequest = !this.#isHeadAnswered || (hasBody && !this.#requestBody.isAnswered);
    if (!this.#isStartTold || (isShown && owesRequest && !this.#queue.isFull)) return true;
    return this.#answer.isAwaited;
  }

  #watch(): void {
    this.#timer.run(this.#isAwaited());
  }

  #readSeconds(): number {
    return (this.#parts.clock() - this.#startedAt) / 1_000;
  }
}
