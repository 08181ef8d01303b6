// InferencePools: what became of them at each Gateway of ours that leads to them.
import type { KubernetesObject } from '../../kubernetes/client.ts';
import { readMember, readText } from '../../translate/read-raw.ts';
import { type ClusterView, listObjects } from './cluster-view.ts';
import { combineStates, judgeConditions } from './judge-conditions.ts';
import { splitEntries } from './ownership.ts';
import type { ProblemList } from './problem-list.ts';
import type { StatusPool } from './status-report.ts';

/** The pools that one of our Gateways leads to. Others may be somebody else's, and say nothing about us. */
export function describePools(
  view: ClusterView,
  problems: ProblemList,
): { readonly pools: readonly StatusPool[]; readonly ofOthers: number } {
  const all = listObjects(view, 'InferencePool');
  const pools = all.flatMap((object) => describePool(object, problems) ?? []);
  return { pools, ofOthers: all.length - pools.length };
}

function describePool(object: KubernetesObject, problems: ProblemList): StatusPool | undefined {
  const { metadata, status } = object;
  const { name, namespace = '', generation } = metadata;
  const parents = splitEntries(status, 'parents').ours.map((entry) => {
    const ref = readMember(entry, 'parentRef');
    return {
      gateway: `${readText(ref, 'namespace') ?? namespace}/${readText(ref, 'name') ?? ''}`,
      ...judgeConditions('inferencePoolParent', entry, generation),
    };
  });
  if (parents.length === 0) return undefined;
  for (const { gateway, ...judged } of parents)
    problems.addConditions(
      { kind: 'InferencePool', namespace, name, part: `at Gateway ${gateway}`, gateway },
      'inferencePoolParent',
      judged,
    );
  return {
    namespace,
    name,
    state: combineStates(parents.map(({ state }) => state)),
    picker: describePicker(object),
    parents,
  };
}

function describePicker(object: KubernetesObject): string {
  const ref = readMember(object, 'spec', 'endpointPickerRef');
  const name = readText(ref, 'name');
  if (name === undefined) return '';
  const port = readMember(ref, 'port', 'number');
  const mode = readText(ref, 'failureMode') ?? 'FailClose';
  return `${readText(ref, 'kind') ?? 'Service'} ${name}${typeof port === 'number' ? `:${port}` : ''}, ${mode}`;
}
