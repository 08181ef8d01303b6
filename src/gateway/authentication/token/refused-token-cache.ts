// Caches tokens with a wrong signature, so that a client that keeps sending one causes a lookup instead of a verification. The verdict is the same as without
// the cache: the same token under the same keys has the same wrong signature.
import { BoundedCache, type CacheLimits } from './bounded-cache.ts';
import type { TokenRefusal } from './verified-token.ts';

interface RefusedToken {
  readonly refusal: TokenRefusal;
  readonly untilMs: number;
}

/** A verification that failed for a reason of this machine is repeated after this time. */
const maxAgeMs = 60_000;

/** Far fewer than verified tokens, because forged ones can be sent in any number. */
const defaultLimits: CacheLimits = { maxEntries: 1_000, maxWeight: 1_048_576 };

/** Bounded. All entries belong to one version of keys. */
export class RefusedTokenCache {
  readonly #tokens: BoundedCache<RefusedToken>;
  #version: unknown;

  constructor(limits: CacheLimits = defaultLimits) {
    this.#tokens = new BoundedCache(limits);
  }

  get size(): number {
    return this.#tokens.size;
  }

  /** By the whole token. A new version drops everything, because the signature may be valid under new keys. */
  get(token: string, version: unknown, nowMs: number): TokenRefusal | undefined {
    if (version !== this.#version) {
      this.clear();
      return undefined;
    }
    // Skips the lookup while the cache is empty.
    const refused = this.#tokens.size === 0 ? undefined : this.#tokens.get(token);
    if (refused === undefined || nowMs < refused.untilMs) return refused?.refusal;
    this.#tokens.delete(token);
    return undefined;
  }

  /** `expiresAtMs`: from then on the reason is that the token has expired. */
  set(token: string, version: unknown, refusal: TokenRefusal, nowMs: number, expiresAtMs: number): void {
    if (version !== this.#version) this.clear();
    this.#version = version;
    this.#tokens.set(token, { refusal, untilMs: Math.min(expiresAtMs, nowMs + maxAgeMs) });
  }

  clear(): void {
    this.#tokens.clear();
    this.#version = undefined;
  }
}
