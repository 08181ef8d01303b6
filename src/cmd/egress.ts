// The egress proxy of a command, from the variables that other programs read as well.
import { type EgressProxy, readEgressProxy } from '../base/egress-proxy.ts';
import { StartError } from './start-error.ts';

/** Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Throws a StartError that names the variable. */
export function requireEgressProxy(environment: NodeJS.ProcessEnv): EgressProxy | undefined {
  const reading = readEgressProxy(environment);
  if (!reading.ok) throw new StartError(reading.problem);
  return reading.proxy;
}
