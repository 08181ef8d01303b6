// The field that a finding is about, so that its problem points at the line to edit. Conditions name no fields: their reasons, parts and messages say enough. Pure.
import type { Resources } from '../api/resources.ts';
import type { ParentReference } from '../translate/conditions.ts';
import type { StatusFinding } from './status-findings.ts';

/** From the root of a resource; empty: the resource as a whole. */
export type FieldPath = readonly (string | number)[];

/** The path at the beginning of a message, as translation writes it: `rules[0].backendRefs[1]: ...`, `spec.backend.mcp...: ...`. */
const leadingPath = /^((?:spec|rules)(?:\.[A-Za-z]\w*|\[\d+\])+)(?:: | )/;
const anyPath = /(?:^|\s)((?:spec|rules)(?:\.[A-Za-z]\w*|\[\d+\])+)/;

/** Several problems of one condition, which are joined there: each begins with its own path. */
export function splitMessage(message: string): string[] {
  const parts: string[] = [];
  for (const part of message.split(/; (?=(?:spec\.|rules\[)[\w.[\]]+: )/)) {
    const before = parts.at(-1);
    // What is wrong with another resource belongs to the sentence that says so.
    const isOfAnother = part.startsWith('spec.') && before?.includes(' but is invalid: spec.') === true;
    if (isOfAnother) parts[parts.length - 1] = `${before}; ${part}`;
    else parts.push(part);
  }
  return parts;
}

/** A message without the path that it begins with; the path is shown in front of it. */
export function removePath(message: string): string {
  const found = leadingPath.exec(message);
  return found === null || !found[0].endsWith(': ') ? message : message.slice(found[0].length);
}

/** The field of a finding. */
export function findField(finding: StatusFinding, resources: Resources): FieldPath {
  switch (finding.kind) {
    case 'Gateway':
      return finding.part === '' ? findGatewayField(finding) : findListenerField(finding, resources);
    case 'HTTPRoute':
      return findRouteField(finding, resources);
    case 'ProxyBackend':
      return findBackendField(finding, resources);
    case 'ProxyPolicy':
      return findPolicyField(finding, resources);
    case 'InferencePool': {
      const annotation = /^annotation (\S+) /.exec(finding.message)?.[1];
      return annotation === undefined ? readPath(finding.message) : ['metadata', 'annotations', annotation];
    }
    default:
      return readPath(finding.message);
  }
}

function readPath(message: string): FieldPath {
  // The paths of another resource do not lead to anything in this one.
  const text = anyPath.exec(message.split(/ exists (?:in namespace \S+, )?but is invalid: /)[0] ?? '')?.[1];
  if (text === undefined) return [];
  const steps = [...text.matchAll(/([A-Za-z]\w*)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index));
  return steps[0] === 'rules' ? ['spec', ...steps] : steps;
}

function findGatewayField({ condition, message }: StatusFinding): FieldPath {
  switch (condition?.reason) {
    case undefined:
    case 'Pending':
      return ['spec', 'gatewayClassName'];
    case 'UnsupportedAddress':
    case 'AddressNotAssigned':
    case 'AddressNotUsable':
      return ['spec', 'addresses'];
    case 'ListenersNotValid':
    case 'ListenersNotResolved':
      return ['spec', 'listeners'];
    case 'ConfigurationChanged':
      return ['spec', 'tls', 'frontend'];
    default:
      return readPath(message);
  }
}

function findListenerField({ namespace, name, part, condition, message }: StatusFinding, resources: Resources) {
  const gateway = resources.gateways.find((each) => isNamed(each, namespace, name));
  const index = (gateway?.spec.listeners ?? []).findIndex((each) => `listener ${each.name}` === part);
  const listener = gateway?.spec.listeners[index];
  if (listener === undefined) return [];
  const place = ['spec', 'listeners', index];
  switch (condition?.reason) {
    case 'UnsupportedProtocol':
    case 'ProtocolConflict':
      return [...place, 'protocol'];
    case 'PortUnavailable':
      return [...place, 'port'];
    case 'HostnameConflict':
      return [...place, listener.hostname === undefined ? 'port' : 'hostname'];
    case 'InvalidRouteKinds':
      return [...place, 'allowedRoutes', 'kinds'];
    case 'InvalidCACertificateRef':
    case 'InvalidCACertificateKind':
    case 'NoValidCACertificate':
      return ['spec', 'tls', 'frontend'];
    case 'InvalidCertificateRef':
    case 'RefNotPermitted': {
      const wanted = listener.tls?.certificateRefs ?? [];
      const which = wanted.findIndex((each) => message.includes(` ${each.namespace ?? namespace}/${each.name}`));
      return wanted.length === 0 ? place : [...place, 'tls', 'certificateRefs', Math.max(which, 0)];
    }
    default:
      return place;
  }
}

function findRouteField({ namespace, name, condition, reference, message }: StatusFinding, resources: Resources) {
  const path = readPath(message);
  if (path.length > 0) return path;
  const route = resources.httpRoutes.find((each) => isNamed(each, namespace, name));
  const parents = route?.spec.parentRefs ?? [];
  if (parents.length === 0) return ['spec'];
  const index = parents.findIndex((each) =>
    reference === undefined
      ? message.startsWith(`parentRef ${each.kind} ${each.namespace ?? namespace}/${each.name} `)
      : isSameReference(each, reference),
  );
  const place = ['spec', 'parentRefs', Math.max(index, 0)];
  if (condition?.reason === 'NoMatchingListenerHostname') return ['spec', 'hostnames'];
  if (condition?.reason !== 'NoMatchingParent') return [...place, 'name'];
  return [...place, reference?.sectionName === undefined ? 'port' : 'sectionName'];
}

function findBackendField({ namespace, name, condition, message }: StatusFinding, resources: Resources): FieldPath {
  const backend = resources.proxyBackends.find((each) => isNamed(each, namespace, name));
  const index = (backend?.spec.mcp.targets ?? []).findIndex((each) => message.startsWith(`target ${each.name}: `));
  if (index < 0) return readPath(message);
  const place = ['spec', 'mcp', 'targets', index];
  return condition?.reason === 'InvalidCACertificateRef'
    ? [...place, 'tls', 'caCertificateRef']
    : [...place, 'backendRef'];
}

function findPolicyField({ namespace, name, condition, reference, message }: StatusFinding, resources: Resources) {
  const path = readPath(message);
  if (path.length > 0) return path;
  const policy = resources.proxyPolicies.find((each) => isNamed(each, namespace, name));
  const targets = policy?.spec.targetRefs ?? [];
  const index = targets.findIndex(
    (each) =>
      each.kind === reference?.kind && each.name === reference.name && each.sectionName === reference.sectionName,
  );
  if (index < 0) return ['spec', targets.length === 0 ? 'targetSelectors' : 'targetRefs'];
  const isSectionMissing =
    condition?.reason === 'TargetNotFound' &&
    reference?.sectionName !== undefined &&
    [...resources.gateways, ...resources.httpRoutes].some(
      (each) => each.kind === reference.kind && isNamed(each, namespace, reference.name),
    );
  return ['spec', 'targetRefs', index, isSectionMissing ? 'sectionName' : 'name'];
}

function isNamed(
  { metadata }: { readonly metadata: { readonly namespace?: string | undefined; readonly name: string } },
  namespace: string,
  name: string,
): boolean {
  return metadata.namespace === namespace && metadata.name === name;
}

function isSameReference(left: ParentReferenceLike, right: ParentReference): boolean {
  return (
    left.name === right.name &&
    left.namespace === right.namespace &&
    left.sectionName === right.sectionName &&
    left.port === right.port
  );
}

type ParentReferenceLike = {
  readonly [Name in 'name' | 'namespace' | 'sectionName']?: string | undefined;
} & { readonly port?: number | undefined };
