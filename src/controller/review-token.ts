// Asks the API server whose ServiceAccount token it is (TokenReview), and remembers the answer for a moment: every gateway that reconnects asks.
import { hash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { cutText } from '../base/cut-text.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { readTokenClaims } from './read-token-claims.ts';

/** What tokens for this controller must be for. */
const xdsAudience = 'proxy-xds';

/** Whose token it is, or why that is not known. The reason has nothing of the token in it. */
export type TokenReview =
  | {
      readonly ok: true;
      readonly username: string;
      readonly pod: BoundPod | undefined;
      /** Milliseconds since 1970; undefined: it does not say. */
      readonly expiresAt: number | undefined;
    }
  | {
      readonly ok: false;
      readonly code: 'unauthenticated' | 'permission_denied' | 'unavailable';
      readonly reason: string;
    };

/** The pod that a token was made for, and dies with. */
export interface BoundPod {
  readonly name: string;
  readonly uid: string;
}

export interface TokenReviewerOptions {
  readonly client: Pick<KubernetesClient, 'post'>;
  readonly clock: Clock;
}

/** What is asked: whether this token is of that account. */
export interface TokenQuestion {
  readonly token: string;
  /** The username that it must be of. */
  readonly expected: string;
  /** Where it came from. */
  readonly peerAddress: string;
}

const path = '/apis/authentication.k8s.io/v1/tokenreviews';
const goodForMs = 30_000;
const badForMs = 5_000;
const maxRemembered = 10_000;
/** Guesses of a flood of tokens must not become a flood at the API server... */
const maxAtOnce = 64;
/** ...nor one address keep the others from being heard. */
const maxAtOncePerAddress = 16;
const maxTokenLength = 16_384;

/**
 * Reviews tokens. Two reviews of one token at the same time are one. What cannot be good by its own words is not reviewed at all, and tokens that
 * were good before do not wait behind those that nobody has seen.
 */
export class TokenReviewer {
  readonly #options: TokenReviewerOptions;
  /** Apart, so that guesses do not push out what is known. Good ones stay when they are to be asked again. */
  readonly #good = new Map<string, Remembered>();
  readonly #bad = new Map<string, Remembered>();
  readonly #asking = new Map<string, Promise<TokenReview>>();
  readonly #askingUnknown = new Map<string, number>();

  constructor(options: TokenReviewerOptions) {
    this.#options = options;
  }

  review(question: TokenQuestion): Promise<TokenReview> {
    const { token } = question;
    const refusal = checkShape(question);
    if (refusal !== undefined) return Promise.resolve(refusal);
    // The token itself is not kept.
    const key = hash('sha256', token, 'base64url');
    const known = this.#good.get(key) ?? this.#bad.get(key);
    if (known !== undefined && known.until > this.#options.clock.now()) return Promise.resolve(known.review);
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    const release = this.#good.has(key) ? () => {} : this.#takePlace(question.peerAddress);
    if (release === undefined)
      return Promise.resolve({ ok: false, code: 'unavailable', reason: 'too many tokens are being reviewed' });
    const review = this.#ask(key, token).finally(() => {
      this.#asking.delete(key);
      release();
    });
    this.#asking.set(key, review);
    return review;
  }

  /** A place for a token that was not seen before; returns what gives it back. */
  #takePlace(address: string): (() => void) | undefined {
    const count = this.#askingUnknown.get(address) ?? 0;
    let total = 0;
    for (const each of this.#askingUnknown.values()) total += each;
    if (count >= maxAtOncePerAddress || total >= maxAtOnce) return undefined;
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
      // Nobody is let in on doubt, and nothing is remembered: the next try may be answered.
      const reason = error instanceof Error ? error.message : String(error);
      return { ok: false, code: 'unavailable', reason: `the token cannot be reviewed: ${reason}` };
    }
    const review = readAnswer(answer, readTokenClaims(token)?.expiresAt);
    const until = this.#options.clock.now() + (review.ok ? goodForMs : badForMs);
    this.#good.delete(key);
    this.#bad.delete(key);
    const remembered = review.ok ? this.#good : this.#bad;
    remembered.set(key, { review, until });
    if (remembered.size > maxRemembered) remembered.delete(remembered.keys().next().value!);
    return review;
  }
}

interface Remembered {
  readonly review: TokenReview;
  readonly until: number;
}

/** By what it says itself. Whoever makes tokens up can say what we want to hear; whoever has another one by mistake is told at once. */
function checkShape({ token, expected }: TokenQuestion): TokenReview | undefined {
  if (token.length > maxTokenLength)
    return { ok: false, code: 'unauthenticated', reason: 'the token is too long to be one' };
  const claims = readTokenClaims(token);
  if (claims === undefined)
    return { ok: false, code: 'unauthenticated', reason: 'the token is no token of a ServiceAccount' };
  if (!claims.audiences.includes(xdsAudience))
    return { ok: false, code: 'unauthenticated', reason: `the token is not for the audience ${xdsAudience}` };
  return claims.subject === expected
    ? undefined
    : { ok: false, code: 'permission_denied', reason: `the token must be of ${expected}` };
}

function readAnswer(answer: unknown, expiresAt: number | undefined): TokenReview {
  const status = readMember(answer, 'status');
  const error = readMember(status, 'error');
  if (readMember(status, 'authenticated') !== true) {
    const detail = typeof error === 'string' && error !== '' ? `: ${cutText(error, 300)}` : '';
    return { ok: false, code: 'unauthenticated', reason: `the API server does not accept the token${detail}` };
  }
  // An API server that does not know audiences leaves them out, and would take a token for anybody.
  const audiences = readMember(status, 'audiences');
  if (!Array.isArray(audiences) || !audiences.includes(xdsAudience))
    return { ok: false, code: 'unauthenticated', reason: `the token is not for the audience ${xdsAudience}` };
  const user = readMember(status, 'user');
  const username = readMember(user, 'username');
  if (typeof username !== 'string' || username === '')
    return { ok: false, code: 'unauthenticated', reason: 'the API server does not say whose token it is' };
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
