// Tracks a body that is shown to a picker, and the picker's changes to it. A picker either answers every piece with a decision about that piece
// (plain), or sends the body anew (streamed: Envoy's full duplex mode); its first answer shows which of the two. No I/O.
import type { CommonResponse } from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { bodyBudget, type BodyShare } from '../http/body-budget.ts';

/** The bytes that an answer lets through, or why the answer is not valid. */
type BodyAnswer =
  | { readonly ok: true; readonly bytes: Uint8Array | undefined; readonly isChanged: boolean }
  | { readonly ok: false; readonly detail: string };

/** Of one body, while the picker has not said what becomes of it. */
export const maxKeptBytes = 16 * 1024 * 1024;

/** With the limits of this process. */
export function openBodyExchange(): BodyExchange {
  return new BodyExchange(maxKeptBytes, bodyBudget.open());
}

const empty = new Uint8Array(0);
const nothing: BodyAnswer = { ok: true, bytes: undefined, isChanged: false };

/** One body. */
export class BodyExchange {
  readonly #maxBytes: number;
  readonly #share: BodyShare;
  #mode: 'unknown' | 'plain' | 'streamed' = 'unknown';
  /** What was shown, from the first piece that may be needed again; undefined: it was too much to be kept. */
  #pieces: Uint8Array[] | undefined = [];
  /** How many of those are answered. */
  #answered = 0;
  /** How many pieces are not answered, kept or not; those of a body that is sent anew are answered by whatever comes next. */
  #waiting = 0;
  #keptBytes = 0;
  #isCommitted = false;
  #isShown = false;
  #isEnded = false;

  /** Up to `maxBytes` are kept, as far as the share allows. */
  constructor(maxBytes: number, share: BodyShare) {
    this.#maxBytes = maxBytes;
    this.#share = share;
  }

  /** How the picker answers. */
  get mode(): 'unknown' | 'plain' | 'streamed' {
    return this.#mode;
  }

  /** All of it was shown. */
  get isShown(): boolean {
    return this.#isShown;
  }

  /** All of it was shown, and the picker has said what becomes of it. */
  get isAnswered(): boolean {
    return this.#mode === 'streamed' ? this.#isEnded : this.#isShown && this.#waiting === 0;
  }

  /** The picker has not said anything since it was shown a piece. */
  get isAwaited(): boolean {
    return this.#waiting > 0;
  }

  /** One message was sent to the picker. */
  show(piece: Uint8Array, isLast: boolean): void {
    this.#isShown ||= isLast;
    this.#waiting += 1;
    if (this.#pieces === undefined || (this.#mode === 'streamed' && this.#isCommitted)) return;
    const kept = this.#keptBytes + piece.length;
    if (kept > this.#maxBytes || !this.#share.resize(kept)) return this.#drop(undefined);
    this.#keptBytes = kept;
    this.#pieces.push(piece);
  }

  /** What the picker says about the body. */
  answer(response: CommonResponse | undefined): BodyAnswer {
    const mutation = response?.bodyMutation?.mutation;
    if (mutation?.case === 'streamedResponse') {
      if (this.#mode === 'plain') return refuse('it sent the body anew after it had answered pieces of it one by one');
      if (this.#isEnded) return refuse('it sent more of the body after its end');
      this.#mode = 'streamed';
      this.#waiting = 0;
      const { body, endOfStream } = mutation.value;
      if (endOfStream && !this.#isShown) return refuse('it ended the body before it had received all of it');
      this.#isEnded = endOfStream;
      if (this.#isCommitted) this.#drop([]);
      return { ok: true, bytes: body.length === 0 ? undefined : body, isChanged: true };
    }
    if (this.#mode === 'streamed') {
      // Some answer the last piece once more.
      return mutation?.case === 'body' ? refuse('it answered a piece of the body after it had sent it anew') : nothing;
    }
    if (this.#waiting === 0) return refuse('it answered a piece of the body that was not sent');
    this.#mode = 'plain';
    this.#waiting -= 1;
    if (this.#pieces === undefined && mutation?.case === undefined)
      return refuse('the body is too large to be kept until the picker lets it through');
    const piece = this.#pieces?.[this.#answered] ?? empty;
    this.#answered += 1;
    if (this.#isCommitted) this.#forgetAnswered();
    if (mutation?.case === 'body') return { ok: true, bytes: mutation.value, isChanged: true };
    if (mutation?.case === 'clearBody' && mutation.value) return { ok: true, bytes: undefined, isChanged: true };
    return { ok: true, bytes: piece.length === 0 ? undefined : piece, isChanged: false };
  }

  /** Forgets what was let through: only unanswered pieces are still available. */
  commit(): void {
    this.#isCommitted = true;
    if (this.#mode === 'streamed') this.#drop([]);
    else this.#forgetAnswered();
  }

  /** The original body from its beginning, or after `commit` from the first piece that is not answered; undefined: not available. */
  takeOriginal(): readonly Uint8Array[] | undefined {
    if (this.#isCommitted && this.#mode === 'streamed') return this.#isEnded ? [] : undefined;
    return this.#pieces?.filter((piece) => piece.length > 0);
  }

  /** Nothing is kept any more. */
  release(): void {
    this.#pieces = undefined;
    this.#share.release();
  }

  #forgetAnswered(): void {
    if (this.#pieces === undefined) return;
    for (const piece of this.#pieces.splice(0, this.#answered)) this.#keptBytes -= piece.length;
    this.#answered = 0;
    this.#share.resize(this.#keptBytes);
  }

  #drop(pieces: [] | undefined): void {
    this.#pieces = pieces;
    this.#answered = 0;
    this.#keptBytes = 0;
    this.#share.resize(0);
  }
}

function refuse(detail: string): BodyAnswer {
  return { ok: false, detail };
}
