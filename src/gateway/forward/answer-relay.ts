// An answer on its way from the upstream to the client: rewritten for the older SSE transport, filtered by rules over messages, and with
// the gateway's own notifications between its events. If none of that applies, the bytes pass unchanged.
import { GrowingBytes } from '../../base/growing-bytes.ts';
import type { Exchange, RawHeaders } from '../http/exchange.ts';
import type { LegacySseRewriter } from '../mcp/sessions/legacy-sse.ts';
import { EventInsertion } from '../mcp/streams/event-stream-insertion.ts';
import { hasContentEncoding, readContentType, withoutBodyFields } from '../mcp/answer/filter-answer-headers.ts';
import {
  asksForSubscription,
  getVoice,
  LegacyVoice,
  type StreamVoice,
  SubscriptionVoice,
} from '../mcp/streams/list-changed-notification.ts';
import type { ListName } from '../mcp/streams/list-changed-rules.ts';
import type { NotificationStream, NotificationStreams } from '../mcp/streams/list-changed.ts';
import type { McpAuthorizationConfig } from '../config/mcp-authorization-config.ts';
import type { MessageVerdict } from '../request/judged-messages.ts';
import type { AnswerTreatment, StreamFilter } from '../http/answer-filter.ts';
import type { Reason } from '../http/reasons.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { ForwardPlan } from './forward-plan.ts';
import { prepareTrailers, withoutFields } from '../http/headers.ts';

/** The request that the answer belongs to. */
export interface RelayOwner {
  /** The client does not take more at the moment. */
  readonly isPaused: boolean;
  /** The header fields as the client gets them. */
  prepareHeaders(received: RawHeaders): RawHeaders;
  /** Ends the request: as an error, or as a broken stream if the answer has begun. */
  breakOff(reason: Reason, detail: string, description?: string): void;
  /** Runs a step that is not triggered by an event of the upstream. */
  run(step: () => void): void;
}

interface RelayParts {
  readonly owner: RelayOwner;
  readonly context: RequestContext;
  readonly plan: ForwardPlan;
  /** The registry of streams that the gateway sends notifications on. */
  readonly streams: NotificationStreams | undefined;
  readonly rewriter: LegacySseRewriter | undefined;
  readonly status: number;
  /** As the upstream sent them. */
  readonly headers: RawHeaders;
}

const noBytes = new Uint8Array(0);
const contentTypeField: ReadonlySet<string> = new Set(['content-type']);
const unreadable = 'The rules of this gateway cannot be applied to the answer of the upstream server.';

/** False for an answer that passes unchanged: it is neither rewritten nor filtered, and the gateway sends no notifications on it. */
export function needsRelay(
  plan: ForwardPlan,
  streams: NotificationStreams | undefined,
  rewriter: LegacySseRewriter | undefined,
): boolean {
  if (rewriter !== undefined || plan.filterAnswer !== undefined) return true;
  if (streams === undefined || plan.backend.mcp === undefined) return false;
  return plan.method === 'GET' || asksForSubscription(plan.method, plan.headers);
}

/** One answer. Order: begin, push*, then complete and end; close when it is over, however. */
export class AnswerRelay implements NotificationStream {
  readonly #parts: RelayParts;
  readonly #exchange: Exchange;
  #filter: StreamFilter | undefined;
  #collection: Collection | undefined;
  #insertion: EventInsertion | undefined;
  #rest: Uint8Array = noBytes;
  #isChanged = false;
  #leave: (() => void) | undefined;
  #isOver = false;

  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#exchange = parts.context.exchange;
  }

  begin(): void {
    const { owner, plan, rewriter, status, streams } = this.#parts;
    const headers = rewriter === undefined ? this.#parts.headers : rewriter.prepareHeaders(this.#parts.headers);
    const treatment = plan.method === 'HEAD' ? undefined : plan.filterAnswer?.(status, headers);
    if (treatment?.kind === 'refuse') return this.#refuse(treatment.detail);
    if (treatment?.kind === 'collect') {
      this.#collection = { treatment, headers, body: new GrowingBytes(treatment.maxBytes) };
      return;
    }
    if (treatment?.kind === 'stream') this.#filter = treatment.filter;
    this.#exchange.sendHead(status, owner.prepareHeaders(this.#filter?.prepareHeaders(headers) ?? headers));
    const voice = streams === undefined ? undefined : this.#findVoice();
    if (voice !== undefined) this.#insertion = new EventInsertion(voice);
    const first = this.#filter?.begin();
    if (first !== undefined) this.#write(first);
    if (voice === undefined) return;
    this.#leave = streams!.open(this);
    // What is new since the request came may have ended it.
    if (this.#isOver) this.#leave();
  }

  /** After `begin`: this answer needs no relay, now or later. */
  get isIdle(): boolean {
    const isRead = this.#filter !== undefined || this.#collection !== undefined || this.#insertion !== undefined;
    return !isRead && this.#parts.rewriter === undefined;
  }

  /** False: no more until the client has taken what it got. */
  push(chunk: Uint8Array): boolean {
    if (this.#collection !== undefined) {
      this.#collect(this.#collection, chunk);
      return true;
    }
    let bytes = chunk;
    if (this.#parts.rewriter !== undefined) {
      const rewritten = this.#parts.rewriter.push(bytes);
      if (!rewritten.ok) {
        this.#parts.owner.breakOff('upstream_protocol_error', rewritten.detail);
        return true;
      }
      ({ bytes } = rewritten);
    }
    return this.#write(this.#filterBytes(this.#filter, bytes));
  }

  /** The upstream has sent everything. False: it cannot be passed on. */
  complete(): boolean {
    if (this.#collection !== undefined) return this.#completeCollection(this.#collection);
    const { rewriter, owner } = this.#parts;
    const rewritten = rewriter?.flush() ?? noBytes;
    if (this.#filter === undefined) {
      this.#rest = rewritten;
      return true;
    }
    const pushed = this.#filterBytes(this.#filter, rewritten);
    const flushed = this.#filter.flush();
    if (!flushed.ok) {
      owner.breakOff('upstream_protocol_error', flushed.detail);
      return false;
    }
    this.#note(flushed.note);
    this.#rest = Buffer.concat([pushed, flushed.bytes]);
    return true;
  }

  /** After `complete`. Trailers may say things of the body that are not true any more once it has changed. */
  end(trailers: RawHeaders): void {
    if (this.#rest.length > 0) this.#exchange.write(this.#rest);
    const isChanged = this.#isChanged || this.#filter?.isChanged === true;
    const prepared = isChanged ? [] : prepareTrailers(trailers);
    if (prepared.length > 0) this.#exchange.end(prepared);
    else this.#exchange.end();
  }

  close(): void {
    this.#isOver = true;
    this.#leave?.();
  }

  /** Sends pending notifications, if the stream is between two events. */
  announce(): void {
    const bytes = this.#parts.owner.isPaused ? undefined : this.#insertion?.take();
    if (bytes !== undefined && bytes.length > 0) this.#exchange.write(bytes);
  }

  // ---- as a stream of notifications

  get backend(): string {
    return this.#parts.plan.backend.key;
  }

  get rules(): McpAuthorizationConfig | undefined {
    return this.#parts.plan.mcpAuthorization;
  }

  changeRules(rules: McpAuthorizationConfig | undefined, lists: readonly ListName[]): void {
    const { owner, plan } = this.#parts;
    owner.run(() => {
      this.#insertion?.add(lists);
      const verdict = plan.judgeAgain?.(rules);
      if (verdict instanceof Promise)
        verdict.then(
          (late) => owner.run(() => this.#comply(late)),
          (error: unknown) => owner.run(() => rethrow(error)),
        );
      else this.#comply(verdict);
    });
  }

  /** Applies a new verdict. Undefined: the stream is not judged, its client is only notified. */
  #comply(verdict: MessageVerdict | undefined): void {
    if (this.#isOver) return;
    if (verdict !== undefined && verdict.kind !== 'continue') {
      const reason = verdict.kind === 'deny' ? verdict.reason : 'rbac_denied';
      return this.#parts.owner.breakOff(reason, 'the rules changed while the stream was open');
    }
    if (verdict !== undefined) {
      const { status, headers } = this.#parts;
      const treatment = verdict.filterAnswer?.(status, headers);
      if (treatment !== undefined && treatment.kind !== 'pass' && treatment.kind !== 'stream')
        return this.#refuse(treatment.kind === 'refuse' ? treatment.detail : 'the stream cannot be filtered');
      this.#changeFilter(treatment?.kind === 'stream' ? treatment.filter : undefined);
    }
    this.announce();
  }

  #changeFilter(filter: StreamFilter | undefined): void {
    const held = this.#filter?.release() ?? noBytes;
    this.#isChanged ||= this.#filter?.isChanged === true;
    filter?.joinAt(this.#insertion!.position);
    this.#filter = filter;
    this.#write(this.#filterBytes(filter, held));
  }

  // ---- bytes

  #filterBytes(filter: StreamFilter | undefined, bytes: Uint8Array): Uint8Array {
    if (filter === undefined || bytes.length === 0) return bytes;
    const filtered = filter.push(bytes);
    if (!filtered.ok) {
      this.#parts.owner.breakOff('upstream_protocol_error', filtered.detail);
      return noBytes;
    }
    this.#note(filtered.note);
    return filtered.bytes;
  }

  #write(bytes: Uint8Array): boolean {
    const passed = this.#insertion === undefined ? bytes : this.#insertion.pass(bytes);
    return passed.length === 0 || this.#exchange.write(passed);
  }

  #collect({ body, treatment: { maxBytes } }: Collection, chunk: Uint8Array): void {
    if (body.size + chunk.length > maxBytes)
      this.#refuse(`an answer of more than ${maxBytes} bytes cannot be filtered`);
    else body.append(chunk);
  }

  #completeCollection({ treatment, headers, body: collected }: Collection): boolean {
    const { owner, context, status } = this.#parts;
    const body = collected.take();
    const filtered = treatment.filter(body);
    if (!filtered.ok) {
      this.#refuse(filtered.detail);
      return false;
    }
    this.#note(filtered.note);
    const { changed } = filtered;
    if (changed === undefined) {
      this.#rest = body;
      this.#exchange.sendHead(status, owner.prepareHeaders(headers));
      return true;
    }
    this.#isChanged = true;
    this.#rest = changed.body;
    const kept = withoutBodyFields(headers);
    const typed = changed.isNew ? [...withoutFields(kept, contentTypeField), 'content-type', 'application/json'] : kept;
    context.status = changed.isNew ? 200 : status;
    this.#exchange.sendHead(
      context.status,
      owner.prepareHeaders([...typed, 'content-length', String(changed.body.length)]),
    );
    return true;
  }

  #refuse(detail: string): void {
    this.#parts.owner.breakOff('upstream_protocol_error', detail, unreadable);
  }

  #note(note: string | undefined): void {
    if (note !== undefined) this.#parts.context.detail ??= note;
  }

  /** Undefined: the gateway sends no notifications on this answer. */
  #findVoice(): StreamVoice | undefined {
    const { plan, status, headers, rewriter } = this.#parts;
    if (plan.backend.mcp === undefined || status !== 200) return undefined;
    if (readContentType(headers) !== 'text/event-stream' || hasContentEncoding(headers)) return undefined;
    if (plan.method === 'GET') return rewriter === undefined ? getVoice : new LegacyVoice();
    return asksForSubscription(plan.method, plan.headers) ? new SubscriptionVoice() : undefined;
  }
}

/** An answer whose head waits for its body. */
interface Collection {
  readonly treatment: Extract<AnswerTreatment, { kind: 'collect' }>;
  readonly headers: RawHeaders;
  readonly body: GrowingBytes;
}

function rethrow(error: unknown): never {
  throw error;
}
