// Without TLS, gateways get keys and secrets in plaintext: the leader warns about it with an Event of the controller's Service, once per process.
import type { ReadonlyWatchable } from '../base/watchable.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { EventRecorder } from '../kubernetes/events.ts';
import type { Leadership } from '../kubernetes/leader-election.ts';
import { formatApiVersion, resourceTypes } from '../kubernetes/resource-type.ts';

interface PlaintextWarningOptions {
  readonly client: Pick<KubernetesClient, 'get'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly leadership: ReadonlyWatchable<Leadership>;
  readonly installationNamespace: string;
  readonly serviceName: string;
}

/** Warns when this replica leads for the first time. */
export function warnOfPlaintext(options: PlaintextWarningOptions): void {
  const { leadership } = options;
  if (leadership.get().role === 'leader') return void record(options);
  const unsubscribe = leadership.subscribe(({ role }) => {
    if (role !== 'leader') return;
    unsubscribe();
    void record(options);
  });
}

async function record({ client, events, installationNamespace, serviceName }: PlaintextWarningOptions): Promise<void> {
  const place = { namespace: installationNamespace, name: serviceName };
  const type = resourceTypes.Service;
  // `kubectl describe` finds Events by uid. Without a uid the Event still shows in the list of Events.
  const uid = await client.get(type, place).then(
    ({ metadata }) => metadata.uid,
    () => undefined,
  );
  events.record({
    subject: { apiVersion: formatApiVersion(type), kind: type.kind, ...place, uid },
    type: 'Warning',
    reason: 'PlaintextXds',
    action: 'Serve',
    note: 'Gateways are served without TLS: keys and secrets in their configuration cross the network in clear. Set controller.xds.tls.enabled and controller.xds.tls.generate, or bring a certificate of your own.',
  });
}
