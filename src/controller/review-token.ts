// Asks the API server who owns a ServiceAccount token (TokenReview) and caches the answer briefly: every gateway that reconnects causes a review.
import { hash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { cutText } from '../base/cut-text.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { readTokenClaims } from './read-token-claims.ts';

/** The audience that tokens for this controller must have. */
const xdsAudience = 'proxy-xds';

/** The owner of the token, or why the token is refused. The reason contains nothing of the token. */
type TokenReview =
  | {
      readonly ok: true;
      readonly username: string;
      readonly pod: BoundPod | undefined;
      /** Milliseconds since 1970; undefined: the token has no expiry. */
      readonly expiresAt: number | undefined;
    }
  | {
      readonly ok: false;
      readonly code: 'unauthenticated' | 'permission_denied' | 'unavailable';
      readonly reason: string;
    };

/** The pod that a token is bound to. */
interface BoundPod {
  readonly name: string;
  readonly uid: string;
}

interface TokenReviewerOptions {
  readonly client: Pick<KubernetesClient, 'post'>;
  readonly clock: Clock;
}

/** The question whether a token belongs to an account. */
interface TokenQuestion {
  readonly token: string;
  /** The username that the token must belong to. */
  readonly expected: string;
  /** The address that the token came from. */
  readonly peerAddress: string;
}

const path = '/apis/authentication.k8s.io/v1/tokenreviews';
const acceptedCacheMs = 30_000;
const rejectedCacheMs = 5_000;
const maxCached = 10_000;
/** A flood of guessed tokens must not become a flood at the API server... */
const maxConcurrent = 64;
/** ...and one address must not starve the others. */
const maxConcurrentPerAddress = 16;
const maxTokenLength = 16_384;

/**
 * Reviews tokens. Concurrent reviews of the same token share one request. A token whose own claims do not fit is refused without a review, and tokens that
 * were accepted before do not count against the limits for unknown tokens.
 */
export class TokenReviewer {
  readonly #options: TokenReviewerOptions;
  /** Two caches, so that guesses do not evict accepted tokens. An accepted token stays in its cache when it is due for another review. */
  readonly #accepted = new Map<string, CachedReview>();
  readonly #rejected = new Map<string, CachedReview>();
  readonly #asking = new Map<string, Promise<TokenReview>>();
  readonly #askingUnknown = new Map<string, number>();

  constructor(options: TokenReviewerOptions) {
    this.#options = options;
  }

  review(question: TokenQuestion): Promise<TokenReview> {
    const { token } = question;
    const refusal = checkClaims(question);
    if (refusal !== undefined) return Promise.resolve(refusal);
    // Only a hash of the token is kept.
    const key = hash('sha256', token, 'base64url');
    const known = this.#accepted.get(key) ?? this.#rejected.get(key);
    if (known !== undefined && known.until > this.#options.clock.now()) return Promise.resolve(known.review);
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    const release = this.#accepted.has(key) ? () => {} : this.#reserveSlot(question.peerAddress);
    if (release === undefined)
      return Promise.resolve({
        ok: false,
        code: 'unavailable',
        reason: 'too many tokens are being reviewed: try again',
      });
    const review = this.#ask(key, token).finally(() => {
      this.#asking.delete(key);
      release();
    });
    this.#asking.set(key, review);
    return review;
  }

  /** Reserves a slot for an unknown token; returns the function that frees it. Undefined: all slots are taken. */
  #reserveSlot(address: string): (() => void) | undefined {
    const count = this.#askingUnknown.get(address) ?? 0;
    let total = 0;
    for (const each of this.#askingUnknown.values()) total += each;
    if (count >= maxConcurrentPerAddress || total >= maxConcurrent) return undefined;
    this.#askingUnknown.set(address, count + 1);
    return () => {
      const left = this.#askingUnknown.get(address)! - 1;
      if (left === 0) this.#askingUnknown.delete(address);
      else this.#askingUnknown.set(address, left);
    };
  }

  async #ask(key: string, token: string): Promise<TokenReview> {
    let answer: unknown;
    try {
      answer = await this.#options.client.post(path, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token, audiences: [xdsAudience] },
      });
    } catch (error) {
      // Fail closed, without caching: the next review may succeed.
      const reason = error instanceof Error ? error.message : String(error);
      return { ok: false, code: 'unavailable', reason: `the token cannot be reviewed: ${reason}` };
    }
    const review = readAnswer(answer, readTokenClaims(token)?.expiresAt);
    const until = this.#options.clock.now() + (review.ok ? acceptedCacheMs : rejectedCacheMs);
    this.#accepted.delete(key);
    this.#rejected.delete(key);
    const cache = review.ok ? this.#accepted : this.#rejected;
    cache.set(key, { review, until });
    if (cache.size > maxCached) cache.delete(cache.keys().next().value!);
    return review;
  }
}

interface CachedReview {
  readonly review: TokenReview;
  readonly until: number;
}

/** Checks the unverified claims. That stops no forger, but explains a wrong token at once and without the API server. */
function checkClaims({ token, expected }: TokenQuestion): TokenReview | undefined {
  if (token.length > maxTokenLength) return { ok: false, code: 'unauthenticated', reason: 'the token is too long' };
  const claims = readTokenClaims(token);
  if (claims === undefined)
    return { ok: false, code: 'unauthenticated', reason: 'the token is not a ServiceAccount token' };
  if (!claims.audiences.includes(xdsAudience))
    return { ok: false, code: 'unauthenticated', reason: `the token is not for the audience ${xdsAudience}` };
  return claims.subject === expected
    ? undefined
    : { ok: false, code: 'permission_denied', reason: `the token must belong to ${expected}` };
}

function readAnswer(answer: unknown, expiresAt: number | undefined): TokenReview {
  const status = readMember(answer, 'status');
  const error = readMember(status, 'error');
  if (readMember(status, 'authenticated') !== true) {
    const detail = typeof error === 'string' && error !== '' ? `: ${cutText(error, 300)}` : '';
    return { ok: false, code: 'unauthenticated', reason: `the API server does not accept the token${detail}` };
  }
  // An API server that does not support audiences leaves them out, and would accept a token for any audience.
  const audiences = readMember(status, 'audiences');
  if (!Array.isArray(audiences) || !audiences.includes(xdsAudience))
    return { ok: false, code: 'unauthenticated', reason: `the token is not for the audience ${xdsAudience}` };
  const user = readMember(status, 'user');
  const username = readMember(user, 'username');
  if (typeof username !== 'string' || username === '')
    return { ok: false, code: 'unauthenticated', reason: 'the API server does not name the owner of the token' };
  const extra = readMember(user, 'extra');
  const name = readFirst(extra, 'authentication.kubernetes.io/pod-name');
  const uid = readFirst(extra, 'authentication.kubernetes.io/pod-uid');
  return { ok: true, username, pod: name === undefined ? undefined : { name, uid: uid ?? '' }, expiresAt };
}

function readFirst(value: unknown, name: string): string | undefined {
  const list = readMember(value, name);
  const [first]: unknown[] = Array.isArray(list) ? list : [];
  return typeof first === 'string' ? first : undefined;
}

function readMember(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
