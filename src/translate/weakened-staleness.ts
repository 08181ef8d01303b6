// `onStale: Close` of a GatewayClass is a limit: GatewayParameters of a Gateway may make it stricter, and must not weaken it.
import { parseDuration } from '../api/duration.ts';
import type { GatewayParametersSpec } from '../api/gateway-parameters.ts';

/** How parameters of a Gateway weaken those of its class, as a sentence; undefined: they do not. */
export function findWeakenedStaleness(
  own: GatewayParametersSpec,
  ofClass: GatewayParametersSpec | undefined,
): string | undefined {
  if (ofClass?.onStale !== 'Close' || ofClass.maxStaleness === undefined) return undefined;
  const isLonger =
    own.maxStaleness !== undefined && parseDuration(own.maxStaleness) > parseDuration(ofClass.maxStaleness);
  const found = [
    isLonger ? `spec.maxStaleness must be ${ofClass.maxStaleness} or shorter` : undefined,
    own.onStale === 'Unready' ? 'spec.onStale must be Close or absent' : undefined,
  ].filter((each) => each !== undefined);
  if (found.length === 0) return undefined;
  return `${found.join(', ')}; parameters of the GatewayClass close stale gateways, and a Gateway cannot weaken that`;
}
