// Where the host of a protected resource comes from. It is configured, and a request only selects among configured hosts: a client that could choose it
// freely would decide which tokens are valid and where logins end.
import { isLoopbackAddress } from '../base/local-names.ts';
import { type Listener, LoginFlow, type McpAuthentication } from './gen/config_pb.ts';

/**
 * `exact`: the hostname itself. `loopback`: the names of this machine, because only local clients reach the listener. `open`: requests could name any
 * host, so the configuration has to name the resource.
 */
type ResourceHostKind = 'exact' | 'loopback' | 'open';

/** The host of what a route serves on a listener, by one of the route's hostnames there ('': any). */
export function classifyResourceHost(listener: Pick<Listener, 'addresses'>, hostname: string): ResourceHostKind {
  const isAny = hostname === '' || hostname === '*';
  if (!isAny) return hostname.startsWith('*.') ? 'open' : 'exact';
  const { addresses } = listener;
  return addresses.length > 0 && addresses.every(isLoopbackAddress) ? 'loopback' : 'open';
}

/** Direct with audiences: tokens are compared with those, and clients log in at the identity provider itself. */
export function needsNoHost({ flow, audiences }: Pick<McpAuthentication, 'flow' | 'audiences'>): boolean {
  return flow === LoginFlow.DIRECT && audiences.length > 0;
}
