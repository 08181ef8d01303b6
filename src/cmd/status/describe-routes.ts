// HTTPRoutes: what became of them at each of their parents.
import type { KubernetesObject } from '../../kubernetes/client.ts';
import { readList, readMember, readText } from '../../translate/read-raw.ts';
import { gatewayGroup } from '../../translate/references.ts';
import { adviseUntouched } from './advice.ts';
import { type ClusterView, listObjects } from './cluster-view.ts';
import { combineStates, type JudgedConditions, judgeConditions } from './judge-conditions.ts';
import { type Ownership, splitEntries } from './ownership.ts';
import type { ProblemList } from './problem-list.ts';
import type { StatusRoute } from './status-report.ts';

/** A parentRef with its defaults filled in. */
interface Parent {
  readonly namespace: string;
  readonly name: string;
  readonly section: string;
  readonly port: number | null;
}

/** The routes that have a parent of ours, or one that nobody has. */
export function describeRoutes(
  view: ClusterView,
  ownership: Ownership,
  problems: ProblemList,
): { readonly routes: readonly StatusRoute[]; readonly ofOthers: number } {
  const all = listObjects(view, 'HTTPRoute');
  const { controllerNamespace } = view;
  const routes = all.flatMap((object) => describeRoute(object, ownership, problems, controllerNamespace) ?? []);
  return { routes, ofOthers: all.length - routes.length };
}

function describeRoute(
  object: KubernetesObject,
  ownership: Ownership,
  problems: ProblemList,
  controllerNamespace: string,
): StatusRoute | undefined {
  const { metadata, status } = object;
  const { name, namespace = '', generation } = metadata;
  const { ours, others } = splitEntries(status, 'parents');
  const refs = readList(object, 'spec', 'parentRefs') ?? [];
  const parents: { readonly parent: Parent; readonly judged: JudgedConditions }[] = [];
  for (const ref of refs) {
    const parent = readParent(ref, namespace);
    if (parent === undefined) continue;
    const entry = findEntry(ours, parent, namespace);
    const owner = ownership.findGateway(parent.namespace, parent.name);
    const isElsewhere = findEntry(others, parent, namespace) !== undefined || owner === 'of-another';
    if (entry === undefined && isElsewhere) continue;
    const judged = judgeConditions('routeParent', entry, generation);
    parents.push({ parent, judged });
    const subject = { kind: 'HTTPRoute', namespace, name, part: describePart(parent) };
    if (judged.state === 'untouched' && owner === 'missing')
      problems.add(
        subject,
        `Gateway ${parent.namespace}/${parent.name} does not exist.`,
        'Create the Gateway, or correct name and namespace of the parentRef.',
      );
    else if (judged.state === 'untouched' && owner === 'out-of-sight')
      problems.add(
        subject,
        'No controller has said anything about the route at this parent.',
        `See whether Gateway ${parent.namespace}/${parent.name} exists: mcp-gatehouse status -n ${parent.namespace}. ${adviseUntouched(controllerNamespace)}`,
        'untouched',
      );
    else problems.addConditions(subject, 'routeParent', judged);
  }
  if (parents.length === 0 && refs.length > 0) return undefined;
  if (refs.length === 0)
    problems.add(
      { kind: 'HTTPRoute', namespace, name, part: '' },
      'The route has no parentRefs, so no Gateway serves it.',
      'Name a Gateway in spec.parentRefs.',
    );
  return {
    namespace,
    name,
    state: refs.length === 0 ? 'unwell' : combineStates(parents.map(({ judged }) => judged.state)),
    hostnames: (readList(object, 'spec', 'hostnames') ?? []).filter((host) => typeof host === 'string'),
    parents: parents.map(({ parent, judged }) => ({
      gateway: `${parent.namespace}/${parent.name}`,
      section: parent.section,
      port: parent.port,
      ...judged,
    })),
  };
}

/** Undefined: no Gateway. */
function readParent(ref: unknown, ownNamespace: string): Parent | undefined {
  const name = readText(ref, 'name');
  const port = readMember(ref, 'port');
  if (name === undefined || (readMember(ref, 'group') ?? gatewayGroup) !== gatewayGroup) return undefined;
  if ((readText(ref, 'kind') ?? 'Gateway') !== 'Gateway') return undefined;
  return {
    namespace: readText(ref, 'namespace') ?? ownNamespace,
    name,
    section: readText(ref, 'sectionName') ?? '',
    port: typeof port === 'number' ? port : null,
  };
}

function findEntry(entries: readonly unknown[], parent: Parent, ownNamespace: string): unknown {
  return entries.find((entry) => {
    const other = readParent(readMember(entry, 'parentRef'), ownNamespace);
    return (
      other !== undefined &&
      other.namespace === parent.namespace &&
      other.name === parent.name &&
      other.section === parent.section &&
      other.port === parent.port
    );
  });
}

function describePart({ namespace, name, section, port }: Parent): string {
  const listener = section === '' ? '' : `, listener ${section}`;
  return `at Gateway ${namespace}/${name}${listener}${port === null ? '' : `, port ${port}`}`;
}
