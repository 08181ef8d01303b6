// What the process that has the configuration and its workers say to each other. All of it is plain data: it travels through the channel of a child process.
import type { LogFormat, LogLevel } from '../../base/log.ts';
import type { CompileProblem } from '../config/compile/compile-problem.ts';
import type { UpstreamLimits } from '../forward/upstream/upstream-limits.ts';
import type { JournaledRequest } from '../observe/journaled-request.ts';
import type { ListenLimits } from '../listen/limits.ts';
import type { BindProblem } from '../listen/listeners.ts';
import type { ClientDocumentResult, DocumentRegistrationResult } from '../config/shared-logins.ts';
import type { DiscoveryState, FoundDiscovery } from '../authentication/login/idp/metadata-source.ts';
import type { KeySnapshot } from '../authentication/token/key-source.ts';
import type { SentConfiguration } from './configuration-relay.ts';
import type { RelayedStep } from './flow-relay.ts';

/** What a worker has to know before anything else. */
export interface WorkerSettings {
  /** From 1 on, for the log. */
  readonly number: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly accessLog: boolean;
  /** Its share, where a limit is one of the whole gateway. */
  readonly listenLimits: ListenLimits;
  readonly upstreamLimits: UpstreamLimits;
  readonly maxHeldBytes: number;
  readonly trustedProxies: readonly string[];
  /** What nobody reaches through the gateway. */
  readonly localGuard: { readonly ownPorts: readonly number[]; readonly allowsLocal: boolean };
  /** How long streams may go on when nobody is there any more to say so. */
  readonly drainTimeoutMs: number;
  /** The same for all: any of them may get the POST to a message URL that another one has signed. */
  readonly legacySseKey: Uint8Array;
}

/** A configuration for a worker. */
export interface WorkerConfiguration extends SentConfiguration {
  /** Ports that belong to somebody else: they are not opened. */
  readonly blockedPorts: readonly string[];
}

/** What became of it there. */
export interface WorkerReport {
  readonly problems: readonly CompileProblem[];
  readonly bindProblems: readonly BindProblem[];
}

/** What workers are asked and told. */
export interface WorkerCalls {
  /** Answered when the worker is ready for a configuration. */
  start(settings: WorkerSettings): Promise<void>;
  /** `snapshot` undefined: nobody needs these keys any more. */
  takeKeys(news: { readonly id: string; readonly snapshot: KeySnapshot | undefined }): void;
  takeMetadata(news: { readonly id: string; readonly discovery: FoundDiscovery | undefined }): void;
  apply(configuration: WorkerConfiguration): Promise<WorkerReport>;
  /** From now on, whoever has logged in is counted. */
  watchFlow(agent: string): void;
  setLogLevel(level: LogLevel): void;
  readMetrics(nothing: undefined): Promise<string>;
  listRequests(nothing: undefined): readonly JournaledRequest[];
  /** All of them, before any of them drains: a client that is sent away must not come back to a port that is about to close. */
  stopAccepting(nothing: undefined): Promise<void>;
  /** The worker ends when all is closed. */
  drain(timeoutMs: number): void;
}

/** Who may register, or who does it already. */
export type RegistrationClaim =
  | { readonly kind: 'known'; readonly result: DocumentRegistrationResult }
  /** Nobody has: it is up to who asked, and is to be told. */
  | { readonly kind: 'yours' };

/** What the process with the configuration is asked and told. */
export interface SupervisorCalls {
  /** Answered when the keys are here, or cannot be had at the moment. */
  loadKeys(id: string): Promise<void>;
  /** False: they were fetched anew a moment ago. */
  refetchKeys(id: string): Promise<boolean>;
  getMetadata(id: string): Promise<DiscoveryState>;
  takeRegistration(taken: { readonly id: string; readonly address: string; readonly perMinute: number }): number;
  loadDocument(asked: {
    readonly url: string;
    readonly address: string;
    readonly perMinute: number;
  }): Promise<ClientDocumentResult>;
  claimRegistration(name: string): Promise<RegistrationClaim>;
  /** `result` undefined: there is none, and somebody else may try. */
  settleRegistration(settled: { readonly name: string; readonly result: DocumentRegistrationResult | undefined }): void;
  forgetRegistration(name: string): void;
  tellFlow(step: RelayedStep): void;
  /** The last numbers of a worker that is about to end. */
  sayGoodbye(metrics: string): void;
}
