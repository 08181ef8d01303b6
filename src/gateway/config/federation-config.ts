// Several MCP servers behind one endpoint, as the request path uses them: compiled once per change.
import type { BackendConfig } from './runtime-config.ts';

/** The members of one ProxyBackend. To its clients they are one MCP server. */
export interface FederationConfig {
  /** In the order of the resource, which is the order of lists. */
  readonly targets: readonly FederationTarget[];
  /** `always`: names carry the prefix of their target. `never`: names are the servers' own. */
  readonly naming: 'always' | 'never';
  readonly serverInfo: FederatedServerInfo;
}

/** What clients are told about the one server. */
export interface FederatedServerInfo {
  readonly name: string;
  readonly title: string | undefined;
  readonly version: string;
  /** In place of the targets' own instructions. */
  readonly instructions: string | undefined;
}

/** One of the servers. */
export interface FederationTarget {
  /** Unique in the federation. */
  readonly name: string;
  /** Unique in the federation: a lower-case letter, then letters, digits and hyphens. */
  readonly prefix: string;
  /** True: lists and whatever else needs all targets fail while this one is down. False: they leave it out. */
  readonly failsClosed: boolean;
  /** Its endpoints, connections and limits, as for a ProxyBackend with this target alone; `mcp` is set. Key: that of the federation, `/targets/` and the name. */
  readonly backend: BackendConfig;
  /** Which of its tools, prompts and resources are served, by the server's own name. */
  readonly selects: FederatedSelection;
}

/** The items of a target that are served. */
export interface FederatedSelection {
  readonly tool: (name: string) => boolean;
  readonly prompt: (name: string) => boolean;
  readonly resource: (uri: string) => boolean;
}

/** The key by which the connections of a target are found among all upstreams. */
export function formatTargetKey(federation: string, target: string): string {
  return `${federation}/targets/${target}`;
}
