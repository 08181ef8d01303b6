// Remembers tokens whose signature was wrong, so that a client that goes on sending one costs a lookup and no verification. Nothing is refused because
// of it that would not be refused without: the same text under the same keys has the same signature.
import { BoundedCache, type CacheLimits } from './bounded-cache.ts';
import type { TokenRefusal } from './verified-token.ts';

interface RefusedToken {
  readonly refusal: TokenRefusal;
  readonly untilMs: number;
}

/** A verification that failed for a reason of this machine is repeated after this time. */
const maxAgeMs = 60_000;

/** Far fewer than verified tokens: who makes them up can make up as many as they like. */
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

  /** By the whole token. Other keys than before may have made it: a version other than the one before drops everything. */
  get(token: string, version: unknown, nowMs: number): TokenRefusal | undefined {
    if (version !== this.#version) {
      this.clear();
      return undefined;
    }
    // While nobody sends any, it costs nothing.
    const refused = this.#tokens.size === 0 ? undefined : this.#tokens.get(token);
    if (refused === undefined || nowMs < refused.untilMs) return refused?.refusal;
    this.#tokens.delete(token);
    return undefined;
  }

  /** `expiresAtMs`: from then on there is something else to say about the token. */
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
