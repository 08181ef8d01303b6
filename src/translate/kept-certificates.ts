// Listeners whose Secret is missing or unusable, and which gateways serve with the last good certificate: what statuses say about them.
import { createCondition, type Condition, type GatewayStatus, type ListenerStatus } from './conditions.ts';
import type { FactsView } from './facts-view.ts';
import type { KeptCertificates } from './gateway-facts.ts';
import { noListenerMessage } from './gateway-status.ts';
import { createStatusMaker, findCondition, replaceCondition } from './replace-condition.ts';

interface Difference {
  readonly processes: number;
  /** By name of the listener. */
  readonly kept: Readonly<Record<string, KeptCertificates>>;
}

/** The status of a Gateway, with what its processes keep. Whether they have applied the rest is not judged here. */
export function describeKeptCertificates(status: GatewayStatus, { gateway, facts }: FactsView): GatewayStatus {
  const kept: Record<string, KeptCertificates> = {};
  for (const { name, conditions } of status.listeners) {
    const own = facts?.keptCertificates?.get(`${gateway}/${name}`);
    if (own !== undefined && findCondition(conditions, 'ResolvedRefs')?.status === 'False') kept[name] = own;
  }
  if (facts === undefined || Object.keys(kept).length === 0) return status;
  return makeStatus(status, { processes: facts.processes, kept });
}

/** Completes "Secret default/web does not exist; ". */
export function describeKept({ processes, since, expiresAt }: KeptCertificates, all: number): string {
  const who = processes >= all ? 'gateways keep' : `${processes} of ${all} gateway processes keep`;
  const times = `since ${formatTime(since)}, until it expires at ${formatTime(expiresAt)}`;
  const others = processes >= all ? '' : '; the others have none and refuse handshakes';
  return `${who} serving the last good certificate, ${times}${others}`;
}

function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

const makeStatus = createStatusMaker((original: GatewayStatus, { processes, kept }: Difference): GatewayStatus => {
  const served: string[] = [];
  const listeners = original.listeners.map((listener): ListenerStatus => {
    const own = Object.hasOwn(kept, listener.name) ? kept[listener.name] : undefined;
    if (own === undefined) return listener;
    const refs = findCondition(listener.conditions, 'ResolvedRefs')!;
    const told = replaceCondition(listener.conditions, {
      ...refs,
      message: `${refs.message}; ${describeKept(own, processes)}`,
    });
    const programmed = findCondition(told, 'Programmed');
    // All of them, or some clients find a closed port.
    if (own.processes < processes || programmed?.status === 'True') return { ...listener, conditions: told };
    served.push(listener.name);
    const message = 'It is served with the last good certificate.';
    const generation = programmed?.observedGeneration ?? 0;
    const condition = createCondition('listener', 'Programmed', 'True', 'Programmed', message, generation);
    return { ...listener, conditions: replaceCondition(told, condition) };
  });
  return { ...original, listeners, conditions: describeGateway(original, listeners, served) };
});

function describeGateway(
  { conditions }: GatewayStatus,
  listeners: readonly ListenerStatus[],
  kept: readonly string[],
): readonly Condition[] {
  const programmed = findCondition(conditions, 'Programmed');
  const accepted = findCondition(conditions, 'Accepted');
  if (kept.length === 0 || programmed === undefined || accepted === undefined) return conditions;
  const isUp = (each: ListenerStatus): boolean => findCondition(each.conditions, 'Programmed')?.status === 'True';
  const served = listeners.filter(isUp).map(({ name }) => name);
  const closed = listeners.filter((each) => !isUp(each)).map(({ name }) => name);
  const generation = programmed.observedGeneration;
  const message = `Listeners that are served: ${served.join(', ')}.`;
  // Another reason than its listeners stays.
  const isTheirs = programmed.status === 'True' || programmed.message === noListenerMessage;
  const next = isTheirs
    ? replaceCondition(conditions, createCondition('gateway', 'Programmed', 'True', 'Programmed', message, generation))
    : conditions;
  if (accepted.reason !== 'ListenersNotValid') return next;
  const others = closed.length === 0 ? '' : `; listeners that cannot be served: ${closed.join(', ')}`;
  const told = `listeners that are served with the last good certificate: ${kept.join(', ')}${others}`;
  return replaceCondition(next, createCondition('gateway', 'Accepted', 'True', 'ListenersNotValid', told, generation));
}
