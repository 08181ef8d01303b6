// Metrics of endpoint pickers. They exist once a picker was asked.
import type { Metrics } from '../../base/metrics.ts';
import type { PickObserver, PickResult } from './pick-observer.ts';

const results: readonly PickResult[] = ['picked', 'immediate', 'refused', 'unavailable'];
const fallbackReasons = ['unavailable', 'refused', 'unreachable'] as const;
const maxPools = 500;
/** Seconds. A picker may wait for the end of a long prompt, or for an endpoint that has room. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers the metrics with the first pick. */
export function createPickMetrics(metrics: Metrics): PickObserver {
  let registered: PickObserver | undefined;
  const get = (): PickObserver => (registered ??= register(metrics));
  return {
    picked: (pool, result, seconds) => get().picked(pool, result, seconds),
    fellBack: (pool, reason) => get().fellBack(pool, reason),
  };
}

function register(metrics: Metrics): PickObserver {
  const pool = { max: maxPools };
  const picks = metrics.counter('mcp_gateway_picks_total', 'Requests that an endpoint picker was asked about.', {
    pool,
    result: { values: results },
  });
  const seconds = metrics.histogram(
    'mcp_gateway_pick_seconds',
    "From the request to the picker's choice, the time that the body took included.",
    { pool },
    buckets,
  );
  const fallbacks = metrics.counter(
    'mcp_gateway_pick_fallbacks_total',
    "Requests that went to an endpoint without a picker's choice (FailOpen).",
    { pool, reason: { values: fallbackReasons } },
  );
  return {
    picked(key, result, taken) {
      picks.add({ pool: key, result });
      seconds.observe({ pool: key }, taken);
    },
    fellBack: (key, reason) => fallbacks.add({ pool: key, reason }),
  };
}
