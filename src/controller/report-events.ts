// Events that the owners of resources get in addition to the status: a gateway rejects a message, keys cannot be loaded, a port cannot be opened, a
// gateway is behind, a rollout is stuck, policies conflict, a policy misses its target, a listener is served with its last good certificate. Each is reported when it comes
// up; the recorder counts repetitions.
import type { EventRecord, EventRecorder, EventSubject } from '../kubernetes/events.ts';
import { formatApiVersion, resourceTypes } from '../kubernetes/resource-type.ts';
import { describeLost } from '../translate/behind-gateways.ts';
import type { UnattachedPolicy } from '../translate/close-unprotected.ts';
import type { GatewayFacts, MessageRejection } from '../translate/gateway-facts.ts';
import { describeKept } from '../translate/kept-certificates.ts';
import { formatConflict, type PolicyConflict } from '../translate/policy-conflicts.ts';
import { resourceTypes as messageTypes } from '../xds/resource-types.ts';
import type { Snapshot } from '../xds/snapshot.ts';
import type { StatusKind } from './merge-status.ts';

/** The inputs of Events. */
export interface EventSources {
  readonly facts: ReadonlyMap<string, GatewayFacts>;
  readonly conflicts: readonly PolicyConflict[];
  /** Policies that can refuse requests and miss a target. */
  readonly unattached: readonly UnattachedPolicy[];
  readonly findSnapshot: (gateway: string) => Snapshot | undefined;
  /** Undefined: there is no such object. */
  readonly findUid: (kind: StatusKind, namespace: string, name: string) => string | undefined;
}

type NewEvent = Omit<EventRecord, 'type'>;

/** Reports each Event once while its cause lasts. */
export class EventReporter {
  readonly #recorder: Pick<EventRecorder, 'record'>;
  #reported: ReadonlySet<string> = new Set();

  constructor(recorder: Pick<EventRecorder, 'record'>) {
    this.#recorder = recorder;
  }

  /** Reports what is new since the last call. */
  report(sources: EventSources): void {
    const present = new Map(listEvents(sources).map((event) => [JSON.stringify(event), event]));
    for (const [key, event] of present)
      if (!this.#reported.has(key)) this.#recorder.record({ ...event, type: 'Warning' });
    this.#reported = new Set(present.keys());
  }

  /** Called when another replica leads and reports from now on. */
  forget(): void {
    this.#reported = new Set();
  }
}

function listEvents(sources: EventSources): readonly NewEvent[] {
  const events: NewEvent[] = [];
  const add = (subject: EventSubject | undefined, event: Omit<NewEvent, 'subject'>): void => {
    if (subject !== undefined) events.push({ subject, ...event });
  };
  for (const [gateway, facts] of sources.facts) {
    const { rejections, keyProblems, bindProblems, behind, rollout, keptCertificates = [] } = facts;
    for (const rejection of rejections) {
      const subject = findRejected(sources, gateway, rejection);
      const effect =
        subject?.kind === 'Gateway' ? `Its gateways cannot use ${rejection.key}` : `Gateway ${gateway} cannot use it`;
      add(subject, { reason: 'Rejected', action: 'Program', note: `${effect}: ${rejection.reason}` });
    }
    for (const [key, { issuer, reason, neverLoaded }] of keyProblems) {
      const effect = neverLoaded ? 'requests are answered with 503' : 'the previous keys stay in use';
      const note = `Gateway ${gateway} cannot load the keys of ${issuer}: ${reason}; ${effect}.`;
      const subject = findRejected(sources, gateway, { list: 'policies', key });
      add(subject, { reason: 'KeysUnavailable', action: 'LoadKeys', note });
    }
    for (const [port, reason] of bindProblems) {
      const note = `Port ${port} cannot be opened: ${reason}`;
      add(findObject(sources, 'Gateway', gateway), { reason: 'PortUnavailable', action: 'Listen', note });
    }
    if (rollout?.problem !== undefined) {
      const note = `Pods do not get ready: ${rollout.problem.message}.`;
      add(findObject(sources, 'Gateway', gateway), { reason: 'RolloutStuck', action: 'Deploy', note });
    }
    for (const each of behind) {
      const note = each.isConnected
        ? `Pod ${each.name} is connected, but does not apply the present configuration.`
        : describeLost([each]);
      add(findObject(sources, 'Gateway', gateway), { reason: 'GatewayBehind', action: 'Program', note });
    }
    for (const [listener, kept] of keptCertificates) {
      const name = listener.slice(gateway.length + 1);
      const note = `Listener ${name}: a certificate is missing or unusable; ${describeKept(kept, facts.processes)}.`;
      add(findObject(sources, 'Gateway', gateway), { reason: 'CertificateKept', action: 'Serve', note });
    }
  }
  for (const conflict of sources.conflicts)
    add(findObject(sources, 'ProxyPolicy', conflict.policy), {
      reason: 'Conflicted',
      action: 'Attach',
      note: `${formatConflict(conflict)}.`,
    });
  for (const { policy, message } of sources.unattached)
    add(findObject(sources, 'ProxyPolicy', policy), {
      reason: 'TargetNotFound',
      action: 'Attach',
      note: `${message} It protects less than it should.`,
    });
  return events;
}

/** The resource that a message was translated from; the Gateway, if it came from several. */
function findRejected(
  sources: EventSources,
  gateway: string,
  { list, key }: Pick<MessageRejection, 'list' | 'key'>,
): EventSubject | undefined {
  const typeUrl = messageTypes.find((type) => type.list === list)!.typeUrl;
  const message = sources.findSnapshot(gateway)?.resources.get(typeUrl)?.get(key)?.message;
  if (message?.$typeName.endsWith('.Policy') === true && 'source' in message)
    return findObject(sources, 'ProxyPolicy', message.source);
  if (message !== undefined && 'httpRoute' in message) return findObject(sources, 'HTTPRoute', message.httpRoute);
  if (list === 'backends' && key.startsWith('ProxyBackend/'))
    return findObject(sources, 'ProxyBackend', key.slice('ProxyBackend/'.length));
  if (list === 'backends' && key.startsWith('InferencePool/'))
    return findObject(sources, 'InferencePool', key.slice('InferencePool/'.length));
  return findObject(sources, 'Gateway', gateway);
}

function findObject(
  { findUid }: EventSources,
  kind: Exclude<StatusKind, 'GatewayClass'>,
  fullName: string,
): EventSubject | undefined {
  const slash = fullName.indexOf('/');
  const [namespace, name] = [fullName.slice(0, slash), fullName.slice(slash + 1)];
  const uid = findUid(kind, namespace, name);
  if (uid === undefined) return undefined;
  return { apiVersion: formatApiVersion(resourceTypes[kind]), kind, namespace, name, uid };
}
