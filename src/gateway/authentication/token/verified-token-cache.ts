// Remembers tokens that were verified, so that a token costs one lookup per request and one verification in its life.
import { BoundedCache, type CacheLimits } from './bounded-cache.ts';
import type { AcceptedAudiences, TokenVerdict } from './verified-token.ts';

export interface CachedToken {
  readonly verdict: Extract<TokenVerdict, { readonly ok: true }>;
  readonly audiences: readonly string[];
  /** The list that it was accepted for last; a list does not change. */
  acceptedFor: AcceptedAudiences | undefined;
}

/** Bounded. All entries belong to one version of keys and policy. */
export class VerifiedTokenCache {
  readonly #tokens: BoundedCache<CachedToken>;
  #version: unknown;

  constructor(limits: CacheLimits) {
    this.#tokens = new BoundedCache(limits);
  }

  get size(): number {
    return this.#tokens.size;
  }

  /** By the whole token. A version other than the one before drops everything. */
  get(token: string, version: unknown, nowMs: number): CachedToken | undefined {
    if (version !== this.#version) {
      this.clear();
      return undefined;
    }
    const cached = this.#tokens.get(token);
    if (cached === undefined || nowMs < cached.verdict.token.expiresAtMs) return cached;
    this.#tokens.delete(token);
    return undefined;
  }

  /** Never kept past its expiry, whatever skew is granted: what is past it is judged anew each time. */
  set(token: string, version: unknown, cached: CachedToken): void {
    if (version !== this.#version) this.clear();
    this.#version = version;
    this.#tokens.set(token, cached);
  }

  clear(): void {
    this.#tokens.clear();
    this.#version = undefined;
  }
}
