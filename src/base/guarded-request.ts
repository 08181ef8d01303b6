// The request and the outcome of a guarded call.
import type { AddressChoice } from './address-guard.ts';

/** A call to an identity provider, or for a document that a client names. */
export interface GuardedRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * Who chose the address. Link-local and metadata addresses are refused always; loopback unless the operator chose it, and private ones when a client
   * did. What the name resolves to counts, at the time of the connection (DNS rebinding).
   */
  readonly chosenBy: AddressChoice;
  /** PEM; in place of the system's roots. */
  readonly ca?: string | undefined;
  /** http is allowed beyond loopback and cluster-local names. */
  readonly allowInsecureHttp?: boolean;
  /** Default 5 s, for everything together. */
  readonly timeoutMs?: number;
  /** Default 1 MiB. */
  readonly maxBytes?: number;
}

/** Why there is no answer. */
export type FetchFailureCode =
  | 'blocked' // the address or scheme must not be called
  | 'timeout'
  | 'unreachable' // DNS, TCP, TLS
  | 'redirect' // a 3xx; redirects are never followed
  | 'too_large'
  | 'broken'; // the answer is not HTTP, or ended early

/** What became of a request. */
export type FetchOutcome =
  | {
      readonly ok: true;
      readonly status: number;
      /** Lower-case names; several lines of one name joined with ', '. */
      readonly headers: ReadonlyMap<string, string>;
      readonly body: string;
    }
  | FetchFailure;

/** A call without an answer that can be used. */
export interface FetchFailure {
  readonly ok: false;
  readonly code: FetchFailureCode;
  readonly message: string;
}

/** The limit of the whole call: the signal aborts at the timeout, or when the gateway shuts down. */
export interface CallLimit {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  isTimedOut: boolean;
}

/** The URL as it may be shown: queries can hold credentials. */
export function nameUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/** A failure. */
export function fail(code: FetchFailureCode, message: string): FetchFailure {
  return { ok: false, code, message };
}
