// Streams a request to the chosen backend and its answer back: nothing is buffered unless rules over messages have to
// read it (answer-relay.ts), backpressure works in both directions, and the end of one side ends the other. A request is retried only while no byte of it was sent.
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import { denyRequest } from '../request/answer.ts';
import { silentPickObserver } from '../inference/pick-observer.ts';
import type { BodyFlow, BodySink, Exchange, RawHeaders } from '../http/exchange.ts';
import type { Reason } from '../http/reasons.ts';
import type { RequestContext } from '../request/request-context.ts';
import { AnswerRelay, needsRelay, type RelayOwner } from './answer-relay.ts';
import { createChosenCall } from './chosen-call.ts';
import type { ForwardPlan } from './forward-plan.ts';
import type { ForwarderOptions, ForwarderSettings } from './forwarder-options.ts';
import {
  findUnsendableHeader,
  isEventStream,
  prepareResponseHeaders,
  prepareTrailers,
  withoutFields,
} from '../http/headers.ts';
import { startMirrors, type Mirror } from './mirror-request.ts';
import { passToClient, passToUpstream } from './upstream/pass-chunk.ts';
import { routeUpstreamRequest, type RoutedRequest } from './route-upstream-request.ts';
import type { SilenceWatch, Watched } from './upstream/silence-watch.ts';
import { joinUpgrade, prepareUpgrade, type UpgradeAnswer } from './upgrade-request.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from './upstream/upstream-call.ts';
import { classifyUpstreamError, describeError, PickerError, type UpstreamPhase } from './upstream/upstream-error.ts';
import type { Endpoint } from './upstream/upstreams.ts';

/** Carries out a plan. Never throws; everything that can go wrong becomes an answer or a broken-off stream, with its reason in the context. */
type Forward = (context: RequestContext, plan: ForwardPlan) => void;

/** Makes the function that forwards all requests of a gateway. */
export function createForwarder(options: ForwarderOptions): Forward {
  const settings: ForwarderSettings = {
    upstreams: options.upstreams,
    log: options.log,
    clock: options.clock ?? (() => performance.now()),
    legacySseKey: options.legacySseKey ?? crypto.getRandomValues(new Uint8Array(32)),
    onStream: options.onStream ?? (() => () => {}),
    streams: options.streams,
    anonymous: options.anonymous,
    picks: options.picks ?? silentPickObserver,
    federations: options.federations,
  };
  return (context, plan) => {
    const forwarding = new Forwarding(settings, context, plan);
    forwarding.run(() => forwarding.start());
  };
}

/** Informational answers per request that are forwarded. They have no backpressure, so their number is limited. */
const maxInformational = 100;

const noEndpoints: readonly Endpoint[] = [];
const requestIdField: ReadonlySet<string> = new Set(['x-request-id']);

class Forwarding implements UpstreamEvents, BodySink, RelayOwner, Watched {
  place = -1;
  silentLooks = 0;
  readonly #settings: ForwarderSettings;
  readonly #context: RequestContext;
  #plan: ForwardPlan;
  readonly #exchange: Exchange;
  #request: UpstreamRequest | undefined;
  #routed: RoutedRequest | undefined;
  #upgrade: UpgradeAnswer | undefined;
  /** Those before `endpoint`. */
  #tried: readonly Endpoint[] = noEndpoints;
  #endpoint: Endpoint | undefined;
  #call: UpstreamCall | undefined;
  #phase: UpstreamPhase = 'connecting';
  #attemptStartedAt = 0;
  #flow: BodyFlow | undefined;
  #mirrors: readonly Mirror[] = [];
  /** Undefined: the answer passes as it comes. */
  #relay: AnswerRelay | undefined;
  #informational = 0;
  /** The client is slower than the upstream: silence is not the upstream's fault. */
  #paused = false;
  #requestTimer: NodeJS.Timeout | undefined;
  #attemptTimer: NodeJS.Timeout | undefined;
  #silence: SilenceWatch | undefined;
  #done = false;

  constructor(settings: ForwarderSettings, context: RequestContext, plan: ForwardPlan) {
    this.#settings = settings;
    this.#context = context;
    this.#plan = plan;
    this.#exchange = context.exchange;
  }

  /** Runs every step of this request, so that a bug of the gateway fails one request and not the process. */
  run(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#failInside(error);
    }
  }

  #failInside(error: unknown): void {
    const { log } = this.#settings;
    log.error({ request_id: this.#context.requestId, err: error }, 'the gateway failed to forward a request');
    this.#fail('internal_error', error instanceof Error ? describeError(error) : String(error));
  }

  start(): void {
    const { upstreams, clock, legacySseKey, anonymous } = this.#settings;
    const plan = this.#plan;
    this.#exchange.onClose((clean) => this.#onClientClosed(clean));
    // The client may have left while policies were at work, and the route may have been closed.
    if (!this.#done) anonymous?.add(this, this.#context);
    if (this.#done) return;

    const unsendable =
      plan.areHeadersSendable === true ? undefined : findUnsendableHeader(['host', plan.host, ...plan.headers]);
    if (unsendable !== undefined)
      return this.#fail('bad_request', `the value of ${unsendable} cannot be sent in a header`);
    const backend = upstreams.get(plan.backend.key);
    const isFederation = plan.backend.federation !== undefined;
    if (backend === undefined || (backend.endpoints.length === 0 && !isFederation)) return this.#fail('no_endpoints');
    const routed = routeUpstreamRequest(this.#context, plan, backend, legacySseKey);
    if (routed.kind === 'refused') return this.#fail(routed.reason, routed.detail);
    this.#routed = routed;
    this.#silence = backend.silence;
    this.#upgrade = prepareUpgrade(this.#exchange, routed.request);
    this.#request = this.#upgrade?.request ?? routed.request;

    if (plan.requestTimeoutMs > 0) {
      const spent = clock() - this.#context.startedAt;
      this.#requestTimer = setTimeout(
        () => this.#giveUp('request_timeout'),
        Math.max(0, plan.requestTimeoutMs - spent),
      );
    }
    if (plan.mirrors.length > 0)
      this.#mirrors = startMirrors(plan.mirrors, this.#request, plan.body, upstreams, this.#settings.log);
    const chosen = createChosenCall({
      settings: this.#settings,
      context: this.#context,
      plan,
      backend,
      request: this.#request,
      events: this,
      onEndpoint: (endpoint) => this.#noteEndpoint(endpoint),
    });
    if (chosen === undefined) this.#attempt(routed.endpoint ?? backend.pick(this.#tried));
    else this.#startCall(chosen);
  }

  #attempt(endpoint: Endpoint | undefined): void {
    if (endpoint === undefined) return this.#fail('no_endpoints');
    this.#noteEndpoint(endpoint);
    this.#startCall(endpoint.pool.createCall(this.#request!, this));
  }

  #noteEndpoint(endpoint: Endpoint): void {
    this.#endpoint = endpoint;
    this.#context.endpoint = endpoint.pool.name;
  }

  #startCall(call: UpstreamCall): void {
    const { backend, backendRequestTimeoutMs } = this.#plan;
    this.#attemptStartedAt = this.#settings.clock();
    // Both cover the answer to its end.
    const timeout = backendRequestTimeoutMs > 0 ? backendRequestTimeoutMs : backend.requestTimeoutMs;
    if (timeout > 0) this.#attemptTimer = setTimeout(() => this.#giveUp('upstream_timeout'), timeout);
    this.#call = call;
    call.start();
  }

  // ---- the request on its way

  onStart(): void {
    this.#phase = 'sent';
    if (!this.#done) this.#silence?.begin(this);
    if (!this.#request!.hasBody) return;
    try {
      if (this.#plan.body === undefined) this.#flow = this.#exchange.readBody(this);
      else this.#sendBody(this.#plan.body);
    } catch (error) {
      this.#failInside(error);
    }
  }

  /** Sends a buffered body and keeps it for a retry. Mirrors have their own copy. */
  #sendBody(body: Uint8Array): void {
    this.#call!.writeBody(body);
    this.#call!.endBody([]);
  }

  /** Releases the body: there is no retry after this, and the answer may be a stream that lasts for hours. */
  #forgetBody(): void {
    if (this.#plan.body === undefined) return;
    const { body: _body, read: _read, releaseBody, ...rest } = this.#plan;
    this.#plan = rest;
    releaseBody?.();
  }

  write(chunk: Uint8Array): boolean {
    this.#context.glance?.(chunk);
    for (const mirror of this.#mirrors) mirror.write(chunk);
    this.silentLooks = 0;
    if (this.#call === undefined) return true;
    return this.#mirrors.length === 0 ? passToUpstream(chunk, this.#call) : this.#call.writeBody(chunk);
  }

  end(trailers: RawHeaders): void {
    const { removedFields } = this.#plan;
    const allowed = prepareTrailers(trailers);
    const prepared = removedFields === undefined ? allowed : withoutFields(allowed, removedFields);
    for (const mirror of this.#mirrors) mirror.end(prepared);
    try {
      this.#call?.endBody(prepared);
    } catch (error) {
      this.#failInside(error);
    }
  }

  fail(error: Error): void {
    if (this.#done) return;
    this.#call?.abort();
    this.#finish();
    this.#context.reason ??= 'client_disconnected';
    this.#context.detail ??= `the request body ended early: ${describeError(error)}`;
    this.#exchange.abort();
  }

  onBodyDrain(): void {
    this.#flow?.resume();
  }

  onBodyRefused(): void {
    this.#flow?.discard();
  }

  // ---- the answer on its way

  onInformational(status: number, headers: RawHeaders): void {
    if (this.#done) return;
    this.silentLooks = 0;
    this.#informational += 1;
    if (this.#informational > maxInformational) return;
    this.run(() => this.#exchange.sendInformational(status, prepareResponseHeaders(headers, [], [])));
  }

  onHead(status: number, headers: RawHeaders): void {
    if (this.#done) return;
    try {
      this.#beginAnswer(status);
      this.#forgetBody();
      if (isEventStream(headers)) this.#countStream();
      const rewriter = this.#routed!.rewriteAnswer?.(status, headers, this.#endpoint!);
      const { streams } = this.#settings;
      if (needsRelay(this.#plan, streams, rewriter)) {
        const plan = this.#plan;
        this.#relay = new AnswerRelay({
          owner: this,
          context: this.#context,
          plan,
          streams,
          rewriter,
          status,
          headers,
        });
        this.#relay.begin();
        if (this.#relay.isIdle) this.#relay = undefined;
      } else {
        this.#exchange.sendHead(status, this.prepareHeaders(headers));
      }
      this.silentLooks = 0;
    } catch (error) {
      this.#failInside(error);
    }
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#done) return true;
    this.silentLooks = 0;
    try {
      const relay = this.#relay;
      if (relay === undefined ? passToClient(chunk, this.#exchange) : relay.push(chunk)) return true;
    } catch (error) {
      this.#failInside(error);
      return true;
    }
    this.#paused = true;
    this.#exchange.onDrain(() => this.#onClientDrain());
    return false;
  }

  onEnd(trailers: RawHeaders): void {
    if (this.#done) return;
    try {
      const relay = this.#relay;
      if (relay === undefined) {
        this.#finish();
        this.#exchange.end(prepareTrailers(trailers));
        return;
      }
      relay.complete();
      // It may have found that it cannot be passed on.
      if (this.#done) return;
      this.#finish();
      relay.end(trailers);
    } catch (error) {
      this.#failInside(error);
    }
  }

  onUpgrade(status: number, headers: RawHeaders, stream: Duplex): void {
    if (this.#done) {
      stream.destroy();
      return;
    }
    this.run(() => {
      const refusal = this.#upgrade?.check(headers);
      if (refusal !== undefined || this.#upgrade === undefined) {
        stream.destroy();
        return this.#fail('upgrade_failed', refusal ?? 'the upstream switched protocols without being asked');
      }
      this.#beginAnswer(status);
      this.#countStream();
      this.#finish();
      joinUpgrade({
        context: this.#context,
        client: this.#exchange.acceptUpgrade(status, this.prepareHeaders(this.#upgrade.answer(headers))),
        upstream: stream,
        idleTimeoutMs: this.#plan.backend.idleTimeoutMs,
        anonymous: this.#settings.anonymous,
      });
    });
  }

  onError(error: Error): void {
    if (this.#done) return;
    clearTimeout(this.#attemptTimer);
    const detail = error instanceof PickerError ? error.message : `${this.#context.endpoint}: ${describeError(error)}`;
    const reason = classifyUpstreamError(error, this.#phase);
    // No byte was sent and nothing of the body was read. A session lives on one endpoint: another one could only refuse it.
    const mayGoElsewhere = this.#routed?.endpoint === undefined && this.#plan.backend.picker === undefined;
    if (this.#phase === 'connecting' && reason !== 'internal_error' && mayGoElsewhere) {
      const { upstreams, log } = this.#settings;
      this.#tried = [...this.#tried, this.#endpoint!];
      const next =
        this.#tried.length <= upstreams.limits.maxRetries
          ? upstreams.get(this.#plan.backend.key)?.pick(this.#tried)
          : undefined;
      if (next !== undefined) {
        this.#context.retries += 1;
        upstreams.observer.retried(this.#plan.backend.key);
        log.debug({ request_id: this.#context.requestId, detail, next: next.pool.name }, 'trying another endpoint');
        return this.run(() => this.#attempt(next));
      }
    }
    this.#fail(reason, detail);
  }

  #beginAnswer(status: number): void {
    this.#phase = 'answering';
    this.#context.status = status;
    this.#context.upstreamMs = this.#settings.clock() - this.#attemptStartedAt;
  }

  #countStream(): void {
    this.#exchange.onClose(this.#settings.onStream(this.#context));
  }

  // ---- calls of the relay of the answer

  get isPaused(): boolean {
    return this.#paused;
  }

  prepareHeaders(received: RawHeaders): RawHeaders {
    const { responseHeaders, extraResponseHeaders } = this.#plan;
    const tagged = this.#routed!.rewriteSession?.(received, this.#endpoint!) ?? received;
    return prepareResponseHeaders(tagged, responseHeaders, extraResponseHeaders);
  }

  breakOff(reason: Reason, detail: string, description?: string): void {
    this.#call?.abort();
    this.#fail(reason, detail, description);
  }

  // ---- ends

  onSilence(): void {
    if (!this.#paused) this.#giveUp('upstream_idle_timeout');
  }

  #onClientDrain(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.silentLooks = 0;
    this.run(() => this.#relay?.announce());
    this.#call?.resume();
  }

  #onClientClosed(clean: boolean): void {
    if (this.#done) return;
    this.#call?.abort();
    this.#finish();
    if (!clean) this.#context.reason ??= 'client_disconnected';
  }

  /** A timeout of the gateway expired. */
  #giveUp(reason: Reason): void {
    if (this.#done) return;
    this.#call?.abort();
    this.#fail(reason, `${this.#context.endpoint ?? this.#plan.backend.key}: ${this.#phase} when the timeout expired`);
  }

  #fail(reason: Reason, detail?: string, description?: string): void {
    if (this.#done) return;
    this.#finish();
    this.#call?.abort();
    this.#flow?.discard();
    this.#context.reason = reason;
    this.#context.detail ??= detail;
    if (this.#exchange.headSent) {
      this.#exchange.abort();
      return;
    }
    // denyRequest writes the request id itself.
    const headers = withoutFields(this.#plan.extraResponseHeaders, requestIdField);
    denyRequest(this.#context, reason, { headers, ...(description === undefined ? {} : { description }) });
  }

  #finish(): void {
    this.#done = true;
    this.#settings.anonymous?.remove(this);
    this.#relay?.close();
    clearTimeout(this.#requestTimer);
    clearTimeout(this.#attemptTimer);
    this.#silence?.end(this);
    for (const mirror of this.#mirrors) mirror.stop();
  }
}
