// The servers of federations, as they are configured and as this gateway finds them. Pure; also part of the JSON of the admin port.
import type { FederationConfig, FederationTarget } from '../config/federation-config.ts';
import type { RuntimeConfig } from '../config/runtime-config.ts';
import type { FederationState } from '../mcp/federation/federation-state.ts';
import type { TargetState } from '../mcp/federation/target.ts';
import { formatEndpointName } from './endpoint-name.ts';

/** A ProxyBackend with several servers. */
export interface DescribedFederation {
  /** Key of the backend. */
  readonly backend: string;
  /** In the order of the resource. */
  readonly targets: readonly DescribedTarget[];
  /** Names that several servers claim, and that none of them serves. */
  readonly contested: FederationState['contested'];
}

/** One of the servers. */
export interface DescribedTarget {
  readonly name: string;
  /** Null: its names are as they are. */
  readonly prefix: string | null;
  readonly failureMode: 'FailOpen' | 'FailClosed';
  /** unknown: nobody has asked it yet. */
  readonly health: TargetState['health'];
  /** The version of MCP that it spoke last; null: not known. */
  readonly version: string | null;
  readonly serverInfo: { readonly name: string; readonly version: string } | null;
  /** The number of tools that it listed last. */
  readonly tools: number | null;
  /** The newest, also when it is fine again. */
  readonly lastError: { readonly time: string; readonly message: string } | null;
  /** Why it cannot be used as it is configured. */
  readonly problem: string | null;
  readonly endpoints: readonly string[];
}

/** All of them, in the order of the configuration. */
export function describeFederations(
  { backends }: Pick<RuntimeConfig, 'backends'>,
  states: readonly FederationState[],
): readonly DescribedFederation[] {
  const known = new Map(states.map((state) => [state.backend, state]));
  return [...backends.values()].flatMap(({ key, federation }) => {
    if (federation === undefined) return [];
    const { targets: found = [], contested = [] } = known.get(key) ?? {};
    const byName = new Map(found.map((state) => [state.name, state]));
    const targets = federation.targets.map((target) => describeTarget(federation, target, byName.get(target.name)));
    return [{ backend: key, targets, contested }];
  });
}

function describeTarget(
  { naming }: FederationConfig,
  { name, prefix, failsClosed, unusable, backend }: FederationTarget,
  state: TargetState | undefined,
): DescribedTarget {
  const { lastFailure } = state ?? {};
  return {
    name,
    prefix: naming === 'always' ? prefix : null,
    failureMode: failsClosed ? 'FailClosed' : 'FailOpen',
    health: unusable === undefined ? (state?.health ?? 'unknown') : 'down',
    version: state?.version ?? null,
    serverInfo: state?.serverInfo ?? null,
    tools: state?.tools ?? null,
    lastError:
      lastFailure === undefined
        ? null
        : { time: new Date(lastFailure.atMs).toISOString(), message: lastFailure.detail },
    problem: unusable ?? null,
    endpoints: backend.endpoints.map(formatEndpointName),
  };
}
