// The streams of all targets as one: the stream of a GET (up to 2025-11-25) and of `subscriptions/listen` (from 2026-07-28 on). The client's stream lives on while
// targets come and go, and tells of it.
import { createBackoff, type Backoff } from '../../../../base/backoff.ts';
import type { FederatedStream, Member } from '../federation.ts';
import type { ListenFilter, TargetCall } from '../target.ts';
import type { ClientAnswer } from './client-answer.ts';
import type { Conversation, Running } from './federated-request.ts';
import { passOn } from './pass-on.ts';

/** What is open on behalf of one client. */
export interface StreamParts {
  readonly conversation: Conversation;
  readonly answer: ClientAnswer;
  /** What to ask a target for; undefined: nothing. */
  readonly filterFor: (member: Member) => ListenFilter | undefined;
  /** The lists that the client wants to hear of. */
  readonly lists: readonly string[];
  /** Told once for each target: the URIs (JSON of its acknowledgement) that it will tell of; undefined: none. */
  readonly onSettled?: (member: Member, acknowledgement: string | undefined) => void;
  /** The message as this stream carries it. */
  readonly stamp: (json: string) => string;
  /** Sends a message, or keeps it until messages can be sent. False: wait for the client. */
  readonly hold: (json: string) => boolean;
  /** The last message when the gateway ends the stream; undefined: none. */
  readonly farewell: string | undefined;
}

interface Attachment {
  member: Member;
  call: TargetCall | undefined;
  timer: NodeJS.Timeout | undefined;
  readonly backoff: Backoff;
  openedAtMs: number;
  /** It has said what it will tell of, or that it has no stream. */
  isSettled: boolean;
}

const acknowledged = 'notifications/subscriptions/acknowledged';
const backoffOptions = { firstMs: 500, maxMs: 30_000, random: Math.random, jitter: [0.5, 1] } as const;
/** A stream that lasted that long was a good one. */
const goodMs = 10_000;

export class MergedStream implements FederatedStream, Running {
  readonly #parts: StreamParts;
  readonly #attachments = new Map<string, Attachment>();
  readonly #leave: () => void;
  #isOver = false;

  /** After the head of the answer, and what has to be first. */
  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#leave = parts.conversation.federation.openStream(this);
    this.changeMembers();
  }

  get session(): string | undefined {
    return this.#parts.conversation.session?.name;
  }

  resume(): void {
    for (const { call } of this.#attachments.values()) call?.resume();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leave();
    for (const attachment of this.#attachments.values()) stop(attachment);
    this.#attachments.clear();
  }

  end(): void {
    if (this.#isOver) return;
    const { answer, farewell } = this.#parts;
    this.abort();
    if (farewell !== undefined) answer.send(farewell);
    answer.end();
  }

  announceLists(): void {
    if (this.#isOver) return;
    const { hold, lists, stamp } = this.#parts;
    for (const list of lists) hold(stamp(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`));
    // A target that is back should be listened to at once.
    for (const attachment of this.#attachments.values())
      if (attachment.call === undefined && attachment.member.target.describe().health === 'up') this.#open(attachment);
  }

  changeMembers(): void {
    if (this.#isOver) return;
    const { federation } = this.#parts.conversation;
    for (const [name, attachment] of this.#attachments) {
      const member = federation.find(name);
      if (member !== undefined && member.config.backend.fingerprint === attachment.member.config.backend.fingerprint) {
        attachment.member = member;
      } else {
        stop(attachment);
        this.#attachments.delete(name);
      }
    }
    for (const member of federation.members) {
      if (this.#attachments.has(member.config.name)) continue;
      const backoff = createBackoff(backoffOptions);
      const attachment: Attachment = {
        member,
        call: undefined,
        timer: undefined,
        backoff,
        openedAtMs: 0,
        isSettled: false,
      };
      this.#attachments.set(member.config.name, attachment);
      this.#open(attachment);
    }
  }

  #open(attachment: Attachment): void {
    clearTimeout(attachment.timer);
    attachment.timer = undefined;
    const { conversation, filterFor, stamp, hold } = this.#parts;
    const { member } = attachment;
    const filter = filterFor(member);
    if (filter === undefined) return this.#settle(attachment, undefined);
    attachment.openedAtMs = performance.now();
    const isCurrent = (): boolean => !this.#isOver && this.#attachments.get(member.config.name) === attachment;
    attachment.call = member.target.listen(conversation.speaker, filter, {
      onMessage: (message) => {
        // What this one target says of the stream; the client is told of all of them.
        if (message.method === acknowledged) {
          if (isCurrent()) this.#settle(attachment, message.text);
          return true;
        }
        if (!isCurrent() || message.kind === 'response') return true;
        if (message.method?.endsWith('/list_changed') === true) conversation.federation.forgetLists(member.config.name);
        return hold(stamp(passOn(conversation, attachment.member.config, message)));
      },
      // It has no such stream. When it was away, it may be another one afterwards.
      onEnd: () => {
        if (!isCurrent()) return;
        attachment.call = undefined;
        this.#settle(attachment, undefined);
      },
      onFailure: () => {
        if (!isCurrent()) return;
        this.#settle(attachment, undefined);
        this.#openLater(attachment);
      },
    });
  }

  #settle(attachment: Attachment, acknowledgement: string | undefined): void {
    if (attachment.isSettled) return;
    attachment.isSettled = true;
    this.#parts.onSettled?.(attachment.member, acknowledgement);
  }

  #openLater(attachment: Attachment): void {
    attachment.call = undefined;
    if (performance.now() - attachment.openedAtMs >= goodMs) attachment.backoff.reset();
    attachment.timer = setTimeout(() => this.#open(attachment), attachment.backoff.next());
    attachment.timer.unref();
  }
}

function stop(attachment: Attachment): void {
  clearTimeout(attachment.timer);
  attachment.timer = undefined;
  attachment.call?.abort(true);
  attachment.call = undefined;
}
