// Metrics of the servers of federations. They exist once there is a federation.
import type { CounterCell, Metrics } from '../../../base/metrics.ts';
import type { Sample } from '../../../base/exposition.ts';
import type { FederationState } from './federation-state.ts';
import type { TargetState } from './target.ts';
import type { TargetObserver, TargetResult } from './target-observer.ts';

const results = ['answered', 'aborted', 'down', 'timeout', 'garbage', 'refused', 'no-answer'] as const;
const maxBackends = 500;
/** Of all federations together; names beyond that are "other". */
const maxTargets = 1_000;
/** Servers whose state is shown. */
const maxShown = 2_000;
/** Seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

/** Registers the metrics with the first federation. */
export function createTargetMetrics(metrics: Metrics): TargetObserver {
  let read: () => readonly FederationState[] = () => [];
  let observe: TargetObserver['observe'] | undefined;
  const get = (): TargetObserver['observe'] => (observe ??= register(metrics, () => read()));
  return {
    watch(states) {
      read = states;
      get();
    },
    observe: (backend, target) => get()(backend, target),
  };
}

function register(metrics: Metrics, read: () => readonly FederationState[]): TargetObserver['observe'] {
  const backend = { max: maxBackends };
  const target = { max: maxTargets };
  metrics.gaugeSamplesOf(
    'mcp_gateway_federation_target_up',
    '1: the server was reached last; 0: it is down, and tried again. Absent until it is asked.',
    () => listSamples(read(), ({ health }) => (health === 'unknown' ? undefined : Number(health === 'up'))),
  );
  metrics.gaugeSamplesOf('mcp_gateway_federation_target_tools', 'Tools that the server listed last.', () =>
    listSamples(read(), ({ tools }) => tools),
  );
  const requests = metrics.counter(
    'mcp_gateway_federation_requests_total',
    'Requests to a server of a federation, by result; also those that ask who it is.',
    { backend, target, result: { values: results } },
  );
  const duration = metrics.histogram(
    'mcp_gateway_federation_request_seconds',
    'From a request to a server of a federation to the end of its answer.',
    { backend, target },
    buckets,
  );
  return (backendKey, name) => {
    const seconds = duration.at({ backend: backendKey, target: name });
    const cells = new Map<TargetResult, CounterCell>();
    return (result, taken) => {
      let cell = cells.get(result);
      if (cell === undefined) {
        cell = requests.at({ backend: backendKey, target: name, result });
        cells.set(result, cell);
      }
      cell.value += 1;
      seconds.observe(taken);
    };
  };
}

/** Names come from the configuration, which bounds them. */
function listSamples(
  states: readonly FederationState[],
  choose: (state: TargetState) => number | undefined,
): readonly Sample[] {
  const samples = states.flatMap(({ backend, targets }) =>
    targets.flatMap((state): Sample[] => {
      const value = choose(state);
      return value === undefined ? [] : [{ labels: { backend, target: state.name }, value }];
    }),
  );
  return samples.slice(0, maxShown);
}
