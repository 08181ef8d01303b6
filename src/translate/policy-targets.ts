// What a ProxyPolicy targets: by name or by labels, in its own namespace, and what can still be read of a policy that is invalid.
import type { Gateway } from '../api/gateway.ts';
import type { HttpRoute } from '../api/http-route.ts';
import { matchesLabels } from '../api/label-selector.ts';
import type { ProxyBackend } from '../api/proxy-backend.ts';
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { InvalidResource } from '../api/resources.ts';
import { PolicyTargetKind } from '../ir/gen/config_pb.ts';
import type { Memory } from './memory.ts';
import { compareText, formatName } from './order.ts';
import { readList, readMember, readText } from './read-raw.ts';
import { gatewayGroup, proxyGroup } from './references.ts';
import type { ResourceIndex } from './resource-index.ts';

/** The kinds that a policy can target. */
type TargetKind = 'Gateway' | 'HTTPRoute' | 'ProxyBackend';

/** An object, or one section of it. */
export interface ObjectTarget {
  readonly kind: TargetKind;
  readonly namespace: string;
  readonly name: string;
  /** Empty: all of it. */
  readonly sectionName: string;
}

/** One target. A policy so broken that its targets cannot be read targets its whole namespace. */
export type PolicyTarget = ObjectTarget | { readonly kind: 'Namespace'; readonly namespace: string };

/** All of them. */
export const targetKinds = ['Gateway', 'HTTPRoute', 'ProxyBackend'] as const;

/** The API group of a target's kind. */
export function readTargetGroup(kind: TargetKind): string {
  return kind === 'ProxyBackend' ? proxyGroup : gatewayGroup;
}

/** The message's name for a target's kind. */
export function convertTargetKind(kind: PolicyTarget['kind']): PolicyTargetKind {
  if (kind === 'Gateway') return PolicyTargetKind.GATEWAY;
  if (kind === 'HTTPRoute') return PolicyTargetKind.HTTP_ROUTE;
  return kind === 'ProxyBackend' ? PolicyTargetKind.PROXY_BACKEND : PolicyTargetKind.NAMESPACE;
}

/** Kind, name and section as part of a key; unique among the targets of one policy. */
export function formatTarget(target: PolicyTarget): string {
  if (target.kind === 'Namespace') return 'Namespace';
  return `${target.kind}/${target.name}${target.sectionName === '' ? '' : `/${target.sectionName}`}`;
}

/** Names of objects with certain labels. */
export interface Selections {
  readonly select: (kind: TargetKind, namespace: string, labels: Readonly<Record<string, string>>) => readonly string[];
}

/** Selects objects by their labels; policies with the same selector share one selection. */
export function prepareSelections(memory: Memory, index: ResourceIndex): Selections {
  const labelled = memory.derive((kind) => indexLabels(listObjects(index, kind as TargetKind)));
  const selections = memory.derive((key) => {
    const [kind, namespace, labels] = JSON.parse(key) as [TargetKind, string, Record<string, string>];
    const [first] = Object.entries(labels);
    const candidates =
      first === undefined
        ? [...listObjects(index, kind)]
        : (labelled.get(kind).get(formatLabel(namespace, first)) ?? []);
    return candidates
      .filter(({ metadata }) => metadata.namespace === namespace)
      .filter(({ metadata }) => matchesLabels({ matchLabels: labels }, metadata.labels))
      .map(({ metadata }) => metadata.name);
  });
  return { select: (kind, namespace, labels) => selections.get(JSON.stringify([kind, namespace, labels])) };
}

type Labelled = Gateway | HttpRoute | ProxyBackend;

function listObjects(index: ResourceIndex, kind: TargetKind): Iterable<Labelled> {
  if (kind === 'Gateway') return index.gateways.values();
  return kind === 'HTTPRoute' ? index.httpRoutes.values() : index.proxyBackends.values();
}

/** namespace/name of every object of a kind. */
export function listTargetNames(index: ResourceIndex, kind: TargetKind): readonly string[] {
  return Array.from(listObjects(index, kind), formatName);
}

function indexLabels(objects: Iterable<Labelled>): ReadonlyMap<string, readonly Labelled[]> {
  const byLabel = new Map<string, Labelled[]>();
  for (const object of objects) {
    for (const label of Object.entries(object.metadata.labels)) {
      const key = formatLabel(object.metadata.namespace, label);
      const known = byLabel.get(key);
      if (known === undefined) byLabel.set(key, [object]);
      else known.push(object);
    }
  }
  return byLabel;
}

function formatLabel(namespace: string, [key, value]: readonly [string, string]): string {
  return `${namespace} ${key}=${value}`;
}

/** The targets of a policy, each once: those that it names, whether they exist or not, and those that it selects. */
export function listTargets(selections: Selections, { metadata, spec }: ProxyPolicy): readonly PolicyTarget[] {
  const { namespace } = metadata;
  const named = (spec.targetRefs ?? []).map(({ kind, name, sectionName }) => ({
    kind,
    namespace,
    name,
    sectionName: sectionName ?? '',
  }));
  const selected = (spec.targetSelectors ?? []).flatMap(({ kind, matchLabels }) =>
    selectTargets(selections, namespace, [kind], matchLabels),
  );
  return sortTargets([...named, ...selected]);
}

/** Whether a target is there, with the section that it names. */
export function hasTarget(index: ResourceIndex, target: PolicyTarget): boolean {
  if (target.kind === 'Namespace') return true;
  const sections = listSections(index, target);
  return sections !== undefined && (target.sectionName === '' || sections.includes(target.sectionName));
}

/** The names that listeners or rules of an object have; undefined when the object is not there. */
export function listSections(
  index: ResourceIndex,
  { kind, namespace, name: ownName }: ObjectTarget,
): readonly string[] | undefined {
  const name = `${namespace}/${ownName}`;
  if (kind === 'ProxyBackend') return index.proxyBackends.has(name) ? [] : undefined;
  if (kind === 'Gateway') return index.gateways.get(name)?.spec.listeners.map((listener) => listener.name);
  return index.httpRoutes.get(name)?.spec.rules.flatMap((rule) => rule.name ?? []);
}

/**
 * The targets of an invalid policy, which fail closed. In doubt more is closed, never less: an unreadable or missing section means the whole
 * target, an unknown kind every kind, an unreadable target the namespace.
 */
export function readTargets(
  index: ResourceIndex,
  selections: Selections,
  { namespace, raw }: InvalidResource,
): readonly PolicyTarget[] {
  const references = readMember(raw, 'spec', 'targetRefs');
  const selectors = readMember(raw, 'spec', 'targetSelectors');
  const listed = [
    ...(references === undefined
      ? []
      : (readList(references) ?? [undefined]).map((each) => readReference(index, namespace, each))),
    ...(selectors === undefined
      ? []
      : (readList(selectors) ?? [undefined]).map((each) => readSelector(selections, namespace, each))),
  ];
  const isUnclear = listed.length === 0 || listed.includes(undefined);
  return sortTargets([
    ...listed.flatMap((targets) => targets ?? []),
    ...(isUnclear ? [{ kind: 'Namespace' as const, namespace }] : []),
  ]);
}

function readReference(
  index: ResourceIndex,
  namespace: string,
  reference: unknown,
): readonly PolicyTarget[] | undefined {
  const name = readText(reference, 'name');
  if (name === undefined) return undefined;
  const sectionName = readText(reference, 'sectionName') ?? '';
  const kind = readKind(reference);
  if (kind !== undefined) {
    const target = { kind, namespace, name, sectionName };
    return [hasTarget(index, target) ? target : { ...target, sectionName: '' }];
  }
  const present = targetKinds
    .map((each) => ({ kind: each, namespace, name, sectionName: '' }))
    .filter((target) => hasTarget(index, target));
  return present.length === 0 ? undefined : present;
}

function readSelector(
  selections: Selections,
  namespace: string,
  selector: unknown,
): readonly PolicyTarget[] | undefined {
  const labels = readMember(selector, 'matchLabels');
  if (typeof labels !== 'object' || labels === null) return undefined;
  const entries = Object.entries(labels);
  if (entries.length === 0 || !entries.every((entry): entry is [string, string] => typeof entry[1] === 'string'))
    return undefined;
  const kind = readKind(selector);
  return selectTargets(selections, namespace, kind === undefined ? targetKinds : [kind], Object.fromEntries(entries));
}

function readKind(value: unknown): TargetKind | undefined {
  return targetKinds.find((kind) => kind === readMember(value, 'kind'));
}

function selectTargets(
  { select }: Selections,
  namespace: string,
  kinds: readonly TargetKind[],
  matchLabels: Readonly<Record<string, string>>,
): readonly PolicyTarget[] {
  return kinds.flatMap((kind) =>
    select(kind, namespace, matchLabels).map((name) => ({ kind, namespace, name, sectionName: '' })),
  );
}

function sortTargets(targets: readonly PolicyTarget[]): readonly PolicyTarget[] {
  if (targets.length < 2) return targets;
  return [...new Map(targets.map((target) => [formatTarget(target), target]))]
    .toSorted(([left], [right]) => compareText(left, right))
    .map(([, target]) => target);
}
