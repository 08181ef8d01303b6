// What only a running system knows of a Gateway: the controller learns it from its Service and from the gateways that are connected.
import type { Configuration } from '../ir/configuration.ts';
import type { Rollout } from './rollout.ts';

/** The facts about one Gateway. A Gateway without facts has not been deployed yet. */
export interface GatewayFacts {
  /** Where clients reach it. */
  readonly addresses: readonly { readonly type: 'IPAddress' | 'Hostname'; readonly value: string }[];
  /** Set: why it could not be deployed, for its owner. */
  readonly deployProblem: string | undefined;
  /** Set: why a requested address is not available, for its owner. */
  readonly addressProblem: string | undefined;
  /** Gateway processes that are connected. */
  readonly processes: number;
  /** Whether every connected process has answered the current version of the message with ACK or NACK. */
  readonly isSettled: (list: keyof Configuration, key: string) => boolean;
  /** Messages whose current version a process rejects, with its reasons. */
  readonly rejections: readonly MessageRejection[];
  /** Policies whose keys a process cannot load, by key of the Policy message. */
  readonly keyProblems: ReadonlyMap<string, KeysProblem>;
  /** Ports that a process could not open, and why. */
  readonly bindProblems: ReadonlyMap<number, string>;
  /** Its pods are being replaced; undefined: all of them are up to date, or nothing is known. */
  readonly rollout?: Rollout | undefined;
}

/** A message that a process refused. */
export interface MessageRejection {
  readonly list: keyof Configuration;
  readonly key: string;
  readonly reason: string;
}

/** Keys of an issuer that cannot be loaded. */
export interface KeysProblem {
  readonly issuer: string;
  readonly reason: string;
  /** True: requests are answered with 503. False: the previous keys stay in use. */
  readonly neverLoaded: boolean;
}
