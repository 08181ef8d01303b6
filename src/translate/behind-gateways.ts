// Sentences about gateways that are behind: how many have something, and which pods do not.
import type { BehindGateway } from './gateway-facts.ts';

/** More names than this are only counted. */
const maxNames = 3;

/** `1 of 2 gateways has this. Pod edge-1 takes traffic, but ...`. `processes` are all of them. */
export function describeBehind(behind: readonly BehindGateway[], processes: number): string {
  const having = processes - behind.length;
  const lost = behind.filter(({ isConnected }) => !isConnected);
  const slow = behind.filter(({ isConnected }) => isConnected);
  return [
    `${having} of ${processes} gateways ${having > 1 ? 'have' : 'has'} this.`,
    ...(lost.length === 0 ? [] : [describeLost(lost)]),
    ...(slow.length === 0
      ? []
      : [`${listPods(slow)} ${slow.length > 1 ? 'are' : 'is'} connected, but did not answer yet.`]),
  ].join(' ');
}

/** Pods that take traffic without a connection. */
export function describeLost(lost: readonly BehindGateway[]): string {
  return lost.length > 1
    ? `${listPods(lost)} take traffic without a connection to the controller: they enforce what they last received.`
    : `${listPods(lost)} takes traffic without a connection to the controller: it enforces what it last received.`;
}

function listPods(gateways: readonly BehindGateway[]): string {
  const names = gateways.slice(0, maxNames).map(({ name }) => name);
  const more = gateways.length - names.length;
  return `${gateways.length > 1 ? 'Pods' : 'Pod'} ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
