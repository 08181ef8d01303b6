// The calls between the process that has the configuration and its workers. All of it is plain data, because it travels through the channel of a child process.
import type { LogFormat, LogLevel } from '../../base/log.ts';
import type { CompileProblem } from '../config/compile/compile-problem.ts';
import type { UpstreamLimits } from '../forward/upstream/upstream-limits.ts';
import type { EndpointState } from '../forward/upstream/endpoint-state.ts';
import type { FederationState } from '../mcp/federation/federation-state.ts';
import type { JournaledRequest } from '../observe/journaled-request.ts';
import type { LiveBatch } from '../observe/live-requests.ts';
import type { ListenLimits } from '../listen/limits.ts';
import type { BindProblem } from '../listen/listeners.ts';
import type { ClientDocumentResult, DocumentRegistrationResult } from '../config/shared-logins.ts';
import type { DiscoveryState, FoundDiscovery } from '../authentication/login/idp/metadata-source.ts';
import type { KeySnapshot } from '../authentication/token/key-source.ts';
import type { StaleState } from '../request/stale-gate.ts';
import type { StoreSettings } from '../../store/open-store.ts';
import type { SentConfiguration } from './configuration-relay.ts';
import type { RelayedStep } from './flow-relay.ts';

/** The settings that a worker needs to start. */
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
  /** Addresses that are never reached through the gateway. */
  readonly localGuard: { readonly ownPorts: readonly number[]; readonly allowsLocal: boolean };
  /** How long streams may go on when the parent process is gone. */
  readonly drainTimeoutMs: number;
  /** The same for all: any of them may get the POST to a message URL that another one has signed. */
  readonly legacySseKey: Uint8Array;
  /** Whether policies may accept test tokens. */
  readonly acceptsTestIssuers: boolean;
  /** The store, which every worker opens for itself. */
  readonly store: StoreSettings;
}

/** A configuration for a worker. */
interface WorkerConfiguration extends SentConfiguration {
  /** Ports that other processes use: they are not opened. */
  readonly blockedPorts: readonly string[];
}

/** The result of applying it in the worker. */
export interface WorkerReport {
  readonly problems: readonly CompileProblem[];
  readonly bindProblems: readonly BindProblem[];
}

/** Calls to workers. */
export interface WorkerCalls {
  /** Answered when the worker is ready for a configuration. */
  start(settings: WorkerSettings): Promise<void>;
  /** `snapshot` undefined: these keys are no longer needed. */
  takeKeys(news: { readonly id: string; readonly snapshot: KeySnapshot | undefined }): void;
  takeMetadata(news: { readonly id: string; readonly discovery: FoundDiscovery | undefined }): void;
  apply(configuration: WorkerConfiguration): Promise<WorkerReport>;
  /** From now on, requests of these logged in clients are counted. */
  watchFlow(agent: string): void;
  setLogLevel(level: LogLevel): void;
  readMetrics(nothing: undefined): Promise<string>;
  listRequests(nothing: undefined): readonly JournaledRequest[];
  listEndpoints(nothing: undefined): Promise<readonly EndpointState[]>;
  listFederations(nothing: undefined): Promise<readonly FederationState[]>;
  /** From now on, requests that end are told; or no longer. */
  watchRequests(isWatched: boolean): void;
  /** As Gateway.setStale. */
  setStale(state: StaleState | undefined): Promise<void>;
  /** Called in all workers before any of them drains: a disconnected client must not reconnect to a port that is about to close. */
  stopAccepting(nothing: undefined): Promise<void>;
  /** The worker ends when all is closed. */
  drain(timeoutMs: number): void;
}

/** Who may register, or who does it already. */
export type RegistrationClaim =
  | { readonly kind: 'known'; readonly result: DocumentRegistrationResult }
  /** No worker has: the caller must register and report the result. */
  | { readonly kind: 'yours' };

/** Calls to the process with the configuration. */
export interface SupervisorCalls {
  /** Answered when the keys are fetched, or not available at the moment. */
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
  /** Whether documents can be fetched, as far as the last fetches show. */
  canFetchDocuments(asked: undefined): boolean;
  claimRegistration(name: string): Promise<RegistrationClaim>;
  /** `result` undefined: there is none, and another worker may try. */
  settleRegistration(settled: { readonly name: string; readonly result: DocumentRegistrationResult | undefined }): void;
  forgetRegistration(name: string): void;
  tellFlow(step: RelayedStep): void;
  /** While somebody watches. */
  tellRequests(batch: LiveBatch): void;
  /** The last numbers of a worker that is about to end. */
  sayGoodbye(metrics: string): void;
}
