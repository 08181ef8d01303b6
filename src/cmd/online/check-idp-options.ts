// How `check --online` asks identity providers, whatever their flow.
import type { GuardedFetcher } from '../../base/fetch-json.ts';

export interface CheckIdpOptions {
  readonly fetcher: GuardedFetcher;
  /** The gateway's own, for the client that stands for all; empty: it has none. */
  readonly callbackUrls: readonly string[];
  /** Registers a client, and removes it again where the identity provider offers that. */
  readonly tryRegistration: boolean;
}
