// ProxyPolicies and ProxyBackends: what became of them at each Gateway.
import type { KubernetesObject } from '../../kubernetes/client.ts';
import { readList, readMember, readText } from '../../translate/read-raw.ts';
import { type ClusterView, listObjects } from './cluster-view.ts';
import { combineStates, judgeConditions } from './judge-conditions.ts';
import { type Ownership, splitEntries } from './ownership.ts';
import type { ProblemList } from './problem-list.ts';
import type { StatusBackend, StatusPolicy } from './status-report.ts';

/** All policies: the kind is ours. */
export function describePolicies(
  view: ClusterView,
  ownership: Ownership,
  problems: ProblemList,
): readonly StatusPolicy[] {
  return listObjects(view, 'ProxyPolicy').map((object) => describePolicy(object, ownership, problems));
}

function describePolicy(object: KubernetesObject, ownership: Ownership, problems: ProblemList): StatusPolicy {
  const { metadata, status } = object;
  const { name, namespace = '', generation } = metadata;
  const ancestors = splitEntries(status, 'ancestors').ours.map((entry) => {
    const ref = readMember(entry, 'ancestorRef');
    const kind = readText(ref, 'kind') ?? 'Gateway';
    const own = readText(ref, 'name') ?? '';
    return {
      kind,
      name: kind === 'Namespace' ? own : `${readText(ref, 'namespace') ?? namespace}/${own}`,
      section: readText(ref, 'sectionName') ?? '',
      ...judgeConditions('policyAncestor', entry, generation),
    };
  });
  for (const { kind, name: ancestor, section, ...judged } of ancestors) {
    const part = `at ${kind} ${ancestor}${section === '' ? '' : `, ${section}`}`;
    const gateway = kind === 'Gateway' ? ancestor : undefined;
    problems.addConditions({ kind: 'ProxyPolicy', namespace, name, part, gateway }, 'policyAncestor', judged);
  }
  const isForeign = ancestors.length === 0 && targetsOnlyOthers(object, namespace, ownership);
  if (isForeign)
    problems.add(
      { kind: 'ProxyPolicy', namespace, name, part: '' },
      'It targets Gateways of another controller, which does not know this kind: it protects nothing.',
      'Target a Gateway whose class is one of this controller.',
    );
  else if (ancestors.length === 0)
    problems.addConditions({ kind: 'ProxyPolicy', namespace, name, part: '' }, 'policyAncestor', {
      state: 'untouched',
      conditions: [],
    });
  const state = isForeign ? 'unwell' : 'untouched';
  return {
    namespace,
    name,
    state: ancestors.length === 0 ? state : combineStates(ancestors.map((ancestor) => ancestor.state)),
    targets: listTargets(object),
    ancestors,
  };
}

function targetsOnlyOthers(object: KubernetesObject, namespace: string, ownership: Ownership): boolean {
  const refs = readList(object, 'spec', 'targetRefs') ?? [];
  return (
    refs.length > 0 &&
    refs.every(
      (ref) =>
        readText(ref, 'kind') === 'Gateway' &&
        ownership.findGateway(namespace, readText(ref, 'name') ?? '') === 'of-another',
    )
  );
}

function listTargets(object: KubernetesObject): readonly string[] {
  const refs = (readList(object, 'spec', 'targetRefs') ?? []).map((ref) => {
    const section = readText(ref, 'sectionName');
    return `${readText(ref, 'kind') ?? ''} ${readText(ref, 'name') ?? ''}${section === undefined ? '' : `, ${section}`}`;
  });
  const selectors = (readList(object, 'spec', 'targetSelectors') ?? []).map((selector) => {
    const labels = readMember(selector, 'matchLabels');
    const pairs = typeof labels === 'object' && labels !== null ? Object.entries(labels) : [];
    return `${readText(selector, 'kind') ?? ''} ${pairs.map(([key, value]) => `${key}=${String(value)}`).join(',')}`;
  });
  return [...refs, ...selectors];
}

/** All backends: the kind is ours. */
export function describeBackends(view: ClusterView, problems: ProblemList): readonly StatusBackend[] {
  return listObjects(view, 'ProxyBackend').map((object) => {
    const { metadata, status } = object;
    const { name, namespace = '', generation } = metadata;
    const judged = judgeConditions('proxyBackend', status, generation);
    problems.addConditions({ kind: 'ProxyBackend', namespace, name, part: '' }, 'proxyBackend', judged);
    const targets = (readList(object, 'spec', 'mcp', 'targets') ?? []).map(describeTarget);
    return { namespace, name, targets, ...judged };
  });
}

function describeTarget(target: unknown): string {
  const name = readText(target, 'name') ?? '';
  const fixed = readMember(target, 'static');
  const ref = readMember(target, 'backendRef');
  const number = readMember(fixed ?? ref, 'port');
  const port = typeof number === 'number' ? number : '';
  if (fixed !== undefined) {
    const host = readText(fixed, 'host') ?? '';
    return `${name} ${host.includes(':') ? `[${host}]` : host}:${port}${readText(fixed, 'path') ?? ''}`;
  }
  const service = [readText(ref, 'namespace'), readText(ref, 'name')].filter((part) => part !== undefined).join('/');
  return `${name} ${readText(ref, 'kind') ?? 'Service'} ${service}:${port}`;
}
