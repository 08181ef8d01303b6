// Which findings follow from which: a Gateway that is not served because of its class, the policy that no Gateway leads to because of that. Pure.
import type { InvalidResource, Resources } from '../api/resources.ts';
import { readList, readMember, readText } from '../translate/read-raw.ts';
import type { StatusFinding } from './status-findings.ts';
import { type FieldPath, findField, splitMessage } from './finding-field.ts';
import { suggestExisting } from './finding-suggestion.ts';

/** A finding with its field, and what it follows from: another finding, or a resource that did not validate. */
export interface PlacedFinding extends StatusFinding {
  readonly path: FieldPath;
  /** Undefined: it is a cause itself, as far as can be told. */
  readonly cause: PlacedFinding | InvalidResource | undefined;
}

/** Resources on which others depend come first. */
const kindOrder = ['GatewayClass', 'Gateway', 'HTTPRoute', 'Service', 'InferencePool', 'ProxyBackend', 'ProxyPolicy'];

/** Causes first, in the order of their kinds, each followed by what follows from it. What follows from an invalid resource comes at the end. */
export function placeFindings(findings: readonly StatusFinding[], resources: Resources): PlacedFinding[] {
  const all = findings.flatMap((finding) =>
    splitMessage(finding.message).map((message): StatusFinding => ({
      ...finding,
      message: addSuggestion(message, resources),
    })),
  );
  const unique = dropRepeated(all);
  const causes = new CauseFinder(unique, resources);
  const placed = new Map<StatusFinding, PlacedFinding>();
  const place = (finding: StatusFinding): PlacedFinding => {
    const known = placed.get(finding);
    if (known !== undefined) return known;
    const root = causes.findRoot(finding);
    const cause = root === undefined || isInvalid(root) ? root : place(root);
    const made = { ...finding, path: findField(finding, resources), cause };
    placed.set(finding, made);
    return made;
  };
  const list = unique.map(place).toSorted((left, right) => rank(left) - rank(right));
  const followers = Map.groupBy(list, ({ cause }) => cause);
  const listFollowers = (cause: PlacedFinding | InvalidResource): PlacedFinding[] =>
    dropSummaries(cause, followers.get(cause) ?? []);
  return [
    ...(followers.get(undefined) ?? []).flatMap((root) => [root, ...listFollowers(root)]),
    ...resources.invalid.flatMap(listFollowers),
  ];
}

/** Of what follows from one cause, one finding per resource is enough; its other conditions say the same in other words. */
function dropSummaries(cause: PlacedFinding | InvalidResource, findings: readonly PlacedFinding[]): PlacedFinding[] {
  const byResource = Map.groupBy(findings, ({ kind, namespace, name }) => formatKey(kind, namespace, name));
  byResource.delete(isInvalid(cause) ? '' : formatKey(cause.kind, cause.namespace, cause.name));
  return [...byResource.values()].flatMap((own) => own.slice(0, 1));
}

function addSuggestion(message: string, resources: Resources): string {
  const suggestion = suggestExisting(message, resources);
  return suggestion === '' ? message : `${message.replace(/\.$/, '')}${suggestion}`;
}

/** Whether a cause is a resource that did not validate. */
export function isInvalid(cause: PlacedFinding | StatusFinding | InvalidResource): cause is InvalidResource {
  return 'problems' in cause;
}

function rank({ kind }: StatusFinding): number {
  const index = kindOrder.indexOf(kind);
  return index < 0 ? kindOrder.length : index;
}

/** What is wrong with a route is said once, and not for each of its parents. */
function dropRepeated(findings: readonly StatusFinding[]): StatusFinding[] {
  const seen = new Set<string>();
  return findings.filter(({ kind, namespace, name, part, message }) => {
    const key = JSON.stringify([kind, namespace, name, part.startsWith('listener ') ? part : '', message]);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

class CauseFinder {
  readonly #resources: Resources;
  readonly #findings: ReadonlyMap<string, readonly StatusFinding[]>;
  readonly #invalid: ReadonlyMap<string, InvalidResource>;
  readonly #routes: readonly RouteLinks[];

  constructor(findings: readonly StatusFinding[], resources: Resources) {
    this.#resources = resources;
    this.#findings = Map.groupBy(findings, ({ kind, namespace, name }) => formatKey(kind, namespace, name));
    this.#invalid = new Map(resources.invalid.map((each) => [formatKey(each.kind, each.namespace, each.name), each]));
    this.#routes = listRouteLinks(resources);
  }

  /** What a finding follows from in the end; undefined when it is a cause itself. */
  findRoot(finding: StatusFinding): StatusFinding | InvalidResource | undefined {
    const seen = new Set<StatusFinding>([finding]);
    let root: StatusFinding | undefined;
    for (let cause = this.#findCause(finding, seen); cause !== undefined; cause = this.#findCause(root, seen)) {
      if (isInvalid(cause)) return cause;
      seen.add(cause);
      root = cause;
    }
    return root;
  }

  #findCause(finding: StatusFinding, seen: ReadonlySet<StatusFinding>): StatusFinding | InvalidResource | undefined {
    const { kind, namespace, name, part, condition, message } = finding;
    const own = (this.#findings.get(formatKey(kind, namespace, name)) ?? []).filter((each) => !seen.has(each));
    for (const [key, invalid] of this.#invalid) if (message.includes(`${key} exists but is invalid`)) return invalid;
    switch (kind) {
      case 'Gateway':
        if (part === '') return this.#findGatewayCause(finding, own);
        if (condition?.reason === 'Pending') return own.find((each) => each.part === '');
        if (condition?.type !== 'Programmed' && condition?.reason !== 'NoValidCACertificate') return undefined;
        return own.find((each) => each.part === part && each.condition?.type !== 'Programmed');
      case 'HTTPRoute':
        if (condition?.reason === 'Pending') return this.#findOf(listParents(finding), seen);
        if (condition?.type !== 'ResolvedRefs') return undefined;
        return this.#findOf([/(?:ProxyBackend|InferencePool) \S+(?=: )/.exec(message)?.[0] ?? ''], seen);
      case 'InferencePool':
        if (condition?.reason !== 'HTTPRouteNotAccepted') return undefined;
        return this.#findOf(
          this.#routes.map(({ key }) => key).filter((key) => message.includes(key.slice('HTTPRoute '.length))),
          seen,
        );
      case 'ProxyPolicy':
        return this.#findPolicyCause(finding, seen);
      default:
        return undefined;
    }
  }

  #findGatewayCause({ name, namespace, condition }: StatusFinding, own: readonly StatusFinding[]) {
    switch (condition?.reason) {
      case 'ListenersNotValid':
      case 'ListenersNotResolved':
        return own.find(({ part }) => part !== '');
      case 'Invalid':
        return own.find(({ part, condition: other }) => part === '' && other?.type === 'Accepted') ?? own[0];
      case 'Pending': {
        const gateway = this.#resources.gateways.find(
          ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
        );
        return this.#invalid.get(formatKey('GatewayClass', '', gateway?.spec.gatewayClassName ?? ''));
      }
      default:
        return undefined;
    }
  }

  /** A target that did not validate; or one that no Gateway serves, because of the Gateway, of the route to it, or of itself. */
  #findPolicyCause({ namespace, condition, reference }: StatusFinding, seen: ReadonlySet<StatusFinding>) {
    if (reference === undefined) return undefined;
    const target = formatKey(reference.kind, reference.namespace ?? namespace, reference.name);
    if (condition?.reason === 'TargetNotFound') return this.#invalid.get(target);
    if (condition?.reason !== 'Pending' && condition?.reason !== 'WaitingForGateway') return undefined;
    const routes = this.#routes.filter(({ key, backends }) => key === target || backends.includes(target));
    return this.#findOf([...routes.flatMap(({ gateways }) => gateways), ...routes.map(({ key }) => key), target], seen);
  }

  /** The first of these resources with something wrong. */
  #findOf(keys: readonly string[], seen: ReadonlySet<StatusFinding>): StatusFinding | InvalidResource | undefined {
    for (const key of keys) {
      const found = this.#invalid.get(key) ?? this.#findings.get(key)?.find((each) => !seen.has(each));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** What a route names: the keys of its Gateways and of its backends. */
interface RouteLinks {
  readonly key: string;
  readonly gateways: readonly string[];
  readonly backends: readonly string[];
}

/** Of valid routes, and of invalid ones as far as they can be read. */
function listRouteLinks({ httpRoutes, invalid }: Resources): RouteLinks[] {
  const written = [
    ...httpRoutes.map(({ metadata, spec }) => ({ ...metadata, spec: spec as unknown })),
    ...invalid
      .filter(({ kind }) => kind === 'HTTPRoute')
      .map(({ namespace, name, raw }) => ({ namespace, name, spec: readMember(raw, 'spec') })),
  ];
  return written.map(({ namespace, name, spec }) => ({
    key: formatKey('HTTPRoute', namespace, name),
    gateways: (readList(spec, 'parentRefs') ?? []).map((each) => readKey(each, 'Gateway', namespace)),
    backends: (readList(spec, 'rules') ?? []).flatMap((rule) =>
      (readList(rule, 'backendRefs') ?? []).map((each) => readKey(each, 'Service', namespace)),
    ),
  }));
}

function readKey(reference: unknown, defaultKind: string, defaultNamespace: string): string {
  const read = (name: string, otherwise: string): string => readText(reference, name) ?? otherwise;
  return formatKey(read('kind', defaultKind), read('namespace', defaultNamespace), read('name', ''));
}

function listParents({ namespace, reference }: StatusFinding): string[] {
  if (reference === undefined) return [];
  return [formatKey(reference.kind, reference.namespace ?? namespace, reference.name)];
}

function formatKey(kind: string, namespace: string, name: string): string {
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`}`;
}
