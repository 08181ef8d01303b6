// The pods of each Gateway that take traffic, as the EndpointSlices of its Service have them. A gateway process is named after its pod, so the two can be
// compared: a process that is lost is gone only when its pod is.
import { type EndpointSlice, serviceNameLabel } from '../api/endpoint-slice.ts';
import { gatewayNameLabel } from '../api/gateway.ts';

/** The pods of one Gateway, by name. */
export interface GatewayPods {
  /** Pods that new connections go to. */
  readonly serving: ReadonlySet<string>;
  /** Pods that are not ready, and do not terminate: they may serve at any moment, as after the restart of a container. */
  readonly unready: ReadonlySet<string>;
  /** Terminating pods, while others serve: no new connections go to them. */
  readonly retiring: ReadonlySet<string>;
}

const byList = new WeakMap<readonly EndpointSlice[], ReadonlyMap<string, GatewayPods>>();

/** The pods by namespace/name of the Service of a Gateway. A Service without endpoints is missing. Cached: most changes are of other resources. */
export function listGatewayPods(slices: readonly EndpointSlice[]): ReadonlyMap<string, GatewayPods> {
  let pods = byList.get(slices);
  if (pods === undefined) {
    pods = groupPods(slices);
    byList.set(slices, pods);
  }
  return pods;
}

function groupPods(slices: readonly EndpointSlice[]): ReadonlyMap<string, GatewayPods> {
  const own = slices.filter(({ metadata: { labels } }) => Object.hasOwn(labels, gatewayNameLabel));
  const byService = Map.groupBy(
    own,
    ({ metadata: { namespace, labels } }) => `${namespace}/${labels[serviceNameLabel]}`,
  );
  return new Map(Array.from(byService, ([service, each]) => [service, choosePods(each)]));
}

/** As kube-proxy chooses: endpoints that are ready; if there are none, those that still serve while they terminate. */
function choosePods(slices: readonly EndpointSlice[]): GatewayPods {
  const ready = new Set<string>();
  const lastResort = new Set<string>();
  const terminating = new Set<string>();
  const unready = new Set<string>();
  for (const { conditions, targetRef } of slices.flatMap(({ endpoints }) => endpoints)) {
    const pod = readPodName(targetRef);
    if (pod === undefined) continue;
    const { ready: isReady = true, serving: isServing = isReady, terminating: isTerminating = false } = conditions;
    if (isReady) ready.add(pod);
    else if (isTerminating) terminating.add(pod);
    else unready.add(pod);
    if (isServing) lastResort.add(pod);
  }
  return ready.size > 0
    ? { serving: ready, unready, retiring: terminating }
    : { serving: lastResort, unready, retiring: new Set() };
}

function readPodName(targetRef: unknown): string | undefined {
  const { kind, name } = (targetRef ?? {}) as { readonly kind?: unknown; readonly name?: unknown };
  return kind === 'Pod' && typeof name === 'string' ? name : undefined;
}
