// Caches verified tokens, so that a token costs one lookup per request and only one verification.
import { BoundedCache, type CacheLimits } from './bounded-cache.ts';
import type { AcceptedAudiences, TokenVerdict } from './verified-token.ts';

export interface CachedToken {
  readonly verdict: Extract<TokenVerdict, { readonly ok: true }>;
  readonly audiences: readonly string[];
  /** The audience list that it was last accepted for; lists are immutable. */
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

  /** By the whole token. A new version drops everything. */
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

  /** Not kept past its expiry, even with clock skew: an expired token is judged anew each time. */
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
