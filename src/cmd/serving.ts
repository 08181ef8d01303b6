// Serves the traffic of a gateway process: in the process itself, or in workers that it starts.
import type { Health } from '../base/health.ts';
import type { LogLevel, RootLog } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Shutdown } from '../base/shutdown.ts';
import type { EndpointState } from '../gateway/forward/upstream/endpoint-state.ts';
import type { FederationState } from '../gateway/mcp/federation/federation-state.ts';
import type { FlowInspector } from '../gateway/observe/flow-inspector.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { LiveRequests } from '../gateway/observe/live-requests.ts';
import type { RequestJournal } from '../gateway/observe/request-journal.ts';
import type { StoreSettings } from '../store/open-store.ts';
import type { FlagValues } from './flags.ts';
import type { gatewayFlags } from './gateway-flags.ts';

/** What there is of a process before it serves. */
export interface ServingContext {
  readonly log: RootLog;
  readonly values: FlagValues<typeof gatewayFlags>;
  readonly registry: Metrics;
  readonly health: Health;
  readonly shutdown: Shutdown;
  readonly flows: FlowInspector;
  /** Gets the gateway's own ports when they are open, before the workers start. */
  readonly localGuard: { readonly ownPorts: readonly number[]; readonly allowsLocal: boolean };
  readonly live: LiveRequests;
  /** Each worker opens it for itself. */
  readonly store: StoreSettings;
}

/** What serves. What is absent is in this process. */
export interface Serving {
  readonly gateway: Gateway;
  /** Begins to serve. Resolves when a configuration can be applied; rejects with a StartError. */
  readonly start?: () => Promise<void>;
  /** The metrics of all processes together. */
  readonly expose?: () => Promise<string>;
  readonly readJournal?: () => Promise<Pick<RequestJournal, 'list' | 'find'>>;
  /** The health of endpoints, as all processes see them. */
  readonly readEndpoints?: () => Promise<readonly EndpointState[]>;
  /** How the servers of federations are, as all processes see them. */
  readonly readFederations?: () => Promise<readonly FederationState[]>;
  readonly tellLogLevel?: (level: LogLevel) => void;
}
