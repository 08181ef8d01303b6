// Remembers tokens that were verified, so that a token costs one hash per request and one verification in its life.
import { hash } from 'node:crypto';
import type { TokenVerdict } from './verified-token.ts';

export interface CachedToken {
  readonly verdict: Extract<TokenVerdict, { readonly ok: true }>;
  readonly audiences: readonly string[];
}

interface Entry extends CachedToken {
  readonly untilMs: number;
  readonly weight: number;
}

export interface CacheLimits {
  readonly maxEntries: number;
  /** Characters of all tokens together: claims take memory in proportion. Default: 16 Mi. */
  readonly maxWeight?: number;
}

/** Bounded; the least recently used goes first. All entries belong to one version of keys and policy. */
export class VerifiedTokenCache {
  readonly #entries = new Map<string, Entry>();
  readonly #maxEntries: number;
  readonly #maxWeight: number;
  #version: unknown;
  #weight = 0;

  constructor({ maxEntries, maxWeight = 16_777_216 }: CacheLimits) {
    this.#maxEntries = maxEntries;
    this.#maxWeight = maxWeight;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The key of a token: over the whole of it, so that two tokens never share an entry. */
  static hashToken(token: string): string {
    return hash('sha256', token, 'base64');
  }

  /** A version other than the one before drops everything. */
  get(key: string, version: unknown, nowMs: number): CachedToken | undefined {
    if (version !== this.#version) {
      this.clear();
      return undefined;
    }
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#remove(key, entry);
    if (nowMs >= entry.untilMs) return undefined;
    this.#insert(key, entry);
    return entry;
  }

  /** Never kept past its expiry, whatever skew is granted: what is past it is judged anew each time. */
  set(key: string, version: unknown, token: CachedToken, weight: number): void {
    if (version !== this.#version) this.clear();
    this.#version = version;
    const previous = this.#entries.get(key);
    if (previous !== undefined) this.#remove(key, previous);
    if (weight > this.#maxWeight || this.#maxEntries < 1) return;
    this.#insert(key, { ...token, untilMs: token.verdict.token.expiresAtMs, weight });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= this.#maxEntries && this.#weight <= this.#maxWeight) break;
      this.#remove(oldest, entry);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
    this.#version = undefined;
  }

  #insert(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#weight += entry.weight;
  }

  #remove(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#weight -= entry.weight;
  }
}
