// Whether metadata documents of clients can be fetched from here, as far as the last fetches show. Clients that see documents offered use them always, and are
// stuck where the gateway cannot get to them; where they are not offered, the same clients register.
import type { FetchOutcome, GuardedFetcher } from '../../../../base/fetch-json.ts';

/** After an answer, one failure may be the client's own fault: this many in a row are the gateway's. */
const failuresAfterAnswer = 3;
/** How long an answer speaks for the way out. */
const answerLifetimeMs = 3_600_000;
/** How long documents are not offered after a failure. */
const closedMs = 600_000;

/** One for each fetcher. */
export class DocumentEgress {
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #closedAtMs: number | undefined;
  #failures = 0;

  /** Takes note of a fetch. Returns what it changed. */
  note(outcome: FetchOutcome, nowMs: number): 'opened' | 'closed' | undefined {
    // The gateway refused to call it, which says nothing about the way out.
    if (!outcome.ok && outcome.code === 'blocked') return undefined;
    const wasClosed = this.#closedAtMs !== undefined;
    if (outcome.ok || (outcome.code !== 'unreachable' && outcome.code !== 'timeout')) {
      this.#answeredAtMs = nowMs;
      this.#closedAtMs = undefined;
      this.#failures = 0;
      return wasClosed ? 'opened' : undefined;
    }
    this.#failures += 1;
    const isTrusted = nowMs - this.#answeredAtMs < answerLifetimeMs;
    if (isTrusted && this.#failures < failuresAfterAnswer) return undefined;
    this.#closedAtMs = nowMs;
    return wasClosed ? undefined : 'closed';
  }

  /** Whether documents can be offered. After a while they are offered again, until the next failure. */
  isOpen(nowMs: number): boolean {
    return this.#closedAtMs === undefined || nowMs - this.#closedAtMs >= closedMs;
  }
}

const known = new WeakMap<GuardedFetcher, DocumentEgress>();

/** What is known of the way out of a fetcher. */
export function findDocumentEgress(fetcher: GuardedFetcher): DocumentEgress {
  const found = known.get(fetcher);
  if (found !== undefined) return found;
  const egress = new DocumentEgress();
  known.set(fetcher, egress);
  return egress;
}
