// GatewayClasses and Gateways: which are ours, and how they are.
import { findNearestName, listAlternatives } from '../../base/nearest-name.ts';
import type { KubernetesObject } from '../../kubernetes/client.ts';
import { readList, readMember, readText } from '../../translate/read-raw.ts';
import { installAdvice } from './advice.ts';
import { type ClusterView, listObjects } from './cluster-view.ts';
import { combineStates, findCondition, type JudgedConditions, judgeConditions } from './judge-conditions.ts';
import type { Ownership } from './ownership.ts';
import type { ProblemList } from './problem-list.ts';
import type { StatusGateway, StatusGatewayClass } from './status-report.ts';

/** The classes of this controller. */
export function describeClasses(
  view: ClusterView,
  ownership: Ownership,
  problems: ProblemList,
): readonly StatusGatewayClass[] {
  return listObjects(view, 'GatewayClass')
    .filter(({ metadata }) => ownership.findClass(metadata.name) === 'ours')
    .map(({ metadata, status }) => {
      const { name, generation } = metadata;
      const judged = judgeConditions('gatewayClass', status, generation);
      problems.addConditions({ kind: 'GatewayClass', namespace: '', name, part: '' }, 'gatewayClass', judged);
      return { namespace: '', name, ...judged };
    });
}

/** The Gateways that are not another controller's. */
export function describeGateways(
  view: ClusterView,
  ownership: Ownership,
  problems: ProblemList,
): { readonly gateways: readonly StatusGateway[]; readonly ofOthers: number } {
  const all = listObjects(view, 'Gateway');
  const ours = all.filter((object) => ownership.findClass(readClass(object)) !== 'of-another');
  return {
    gateways: ours.map((object) => describeGateway(object, ownership, problems)),
    ofOthers: all.length - ours.length,
  };
}

function readClass(object: KubernetesObject): string {
  return readText(object, 'spec', 'gatewayClassName') ?? '';
}

function describeGateway(object: KubernetesObject, ownership: Ownership, problems: ProblemList): StatusGateway {
  const { metadata, status } = object;
  const { name, namespace = '', generation } = metadata;
  const gatewayClass = readClass(object);
  const subject = { kind: 'Gateway', namespace, name, part: '', gateway: `${namespace}/${name}` };
  const judged = judgeConditions('gateway', status, generation);
  const reported = new Map((readList(status, 'listeners') ?? []).map((entry) => [readText(entry, 'name'), entry]));
  const listeners = (readList(object, 'spec', 'listeners') ?? []).map((spec) => {
    const listenerName = readText(spec, 'name') ?? '';
    const entry = reported.get(listenerName);
    return {
      name: listenerName,
      protocol: readText(spec, 'protocol') ?? '',
      port: readNumber(spec, 'port'),
      attachedRoutes: readNumber(entry, 'attachedRoutes'),
      judged: judgeConditions('listener', entry, generation),
    };
  });
  const isMissingClass = judged.state === 'untouched' && ownership.findClass(gatewayClass) === 'missing';
  if (isMissingClass)
    problems.add(
      subject,
      `GatewayClass ${gatewayClass} does not exist, so no controller serves the Gateway.`,
      adviseClass(gatewayClass, ownership),
    );
  else {
    // A Gateway whose own conditions are old or absent says nothing more through its listeners.
    const isCurrent = judged.state === 'well' || judged.state === 'unwell';
    const isWaiting = findCondition(judged.conditions, 'Programmed')?.good === false;
    const bad = isCurrent ? listeners.filter((listener) => hasOwnProblem(listener.judged, isWaiting)) : [];
    problems.addConditions(subject, 'gateway', judged, bad.length > 0);
    for (const listener of bad)
      problems.addConditions({ ...subject, part: `listener ${listener.name}` }, 'listener', listener.judged);
  }
  return {
    namespace,
    name,
    state: combineStates([judged.state, ...listeners.map((listener) => listener.judged.state).filter(isUnwell)]),
    gatewayClass,
    addresses: (readList(status, 'addresses') ?? []).flatMap((address) => readText(address, 'value') ?? []),
    listeners: listeners.map(({ judged: own, ...listener }) => ({ ...listener, conditions: own.conditions })),
    conditions: judged.conditions,
  };
}

// A listener that only waits for its Gateway says nothing that the Gateway does not say.
function hasOwnProblem({ state, conditions }: JudgedConditions, gatewayIsWaiting: boolean): boolean {
  const bad = conditions.filter(({ good }) => !good);
  const onlyWaits = bad.length > 0 && bad.every(({ reason }) => reason === 'Pending' || reason === 'GatewayBehind');
  return state === 'unwell' && !(gatewayIsWaiting && onlyWaits);
}

// Listeners without conditions are usual where the Gateway as a whole cannot be used; it says so itself.
function isUnwell(state: string): boolean {
  return state === 'unwell';
}

function adviseClass(wrong: string, { classes }: Ownership): string {
  if (classes.length === 0) return installAdvice.controller;
  const nearest = findNearestName(wrong, classes);
  return nearest === undefined
    ? `Set gatewayClassName to ${listAlternatives(classes)}, or install the controller whose class it is.`
    : `Set gatewayClassName to ${nearest}.`;
}

function readNumber(value: unknown, member: string): number | null {
  const number = readMember(value, member);
  return typeof number === 'number' ? number : null;
}
