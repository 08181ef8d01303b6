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
  /** Gateway processes that are connected, and pods that take traffic although theirs is not. */
  readonly processes: number;
  /** Whether each of these has answered the current version of the message with ACK or NACK. */
  readonly isSettled: (list: keyof Configuration, key: string) => boolean;
  /** Those without the whole present configuration, for longer than an update takes; sorted by name. */
  readonly behind: readonly BehindGateway[];
  /** Those without the present version of the message; empty while each of them may just be applying it. */
  readonly listBehind: (list: keyof Configuration, key: string) => readonly BehindGateway[];
  /** Messages whose current version a process rejects, with its reasons. */
  readonly rejections: readonly MessageRejection[];
  /** Policies whose keys a process cannot load, by key of the Policy message. */
  readonly keyProblems: ReadonlyMap<string, KeysProblem>;
  /** Ports that a process could not open, and why. */
  readonly bindProblems: ReadonlyMap<number, string>;
  /** Its pods are being replaced; undefined: all of them are up to date, or nothing is known. */
  readonly rollout?: Rollout | undefined;
  /** Certificates that processes serve although their Secret is missing or unusable, by key of the Listener message. Absent: none. */
  readonly keptCertificates?: ReadonlyMap<string, KeptCertificates>;
  /** Servers of federations that processes have asked, by key of the Backend message and name of the target. Absent: none. */
  readonly targets?: ReadonlyMap<string, ReadonlyMap<string, TargetFacts>>;
}

/** One server of a federation, as the processes of a Gateway see it. */
export interface TargetFacts {
  /** How many processes say that it is down; 0: it is up for all that have asked it. */
  readonly down: number;
  /** When the first of them lost it, in milliseconds since 1970. */
  readonly since: number;
  /** Empty while it is up. */
  readonly error: string;
}

/** The last good certificates of a listener. Times are milliseconds since 1970. */
export interface KeptCertificates {
  /** How many processes serve them. */
  readonly processes: number;
  readonly since: number;
  /** When the first of them expires. */
  readonly expiresAt: number;
}

/** A gateway process that enforces an earlier configuration, or none that is known. */
export interface BehindGateway {
  /** Of its pod. */
  readonly name: string;
  /** False: its pod takes traffic, but no controller hears from it. */
  readonly isConnected: boolean;
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
