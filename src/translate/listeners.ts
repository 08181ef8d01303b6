// Listeners: protocol, conflicts, certificates and the kinds of routes they take, as messages and statuses.
import { create } from '@bufbuild/protobuf';
import type { GatewayListener } from '../api/gateway.ts';
import { type Listener, type Secret, ListenerProtocol, ListenerSchema } from '../ir/gen/config_pb.ts';
import { formatListenerKey, formatSecretKey } from '../ir/resource-keys.ts';
import { type ClientValidation, resolveClientValidation } from './client-validation.ts';
import { createCondition, type Condition, type ConditionReason, type ListenerStatus } from './conditions.ts';
import { type Gateways, type ResolvedGateway, canServe } from './gateways.ts';
import { type Conflict, type PlacedListener, findConflicts } from './listener-conflicts.ts';
import { type Derived, type Memory, keepEqual } from './memory.ts';
import type { Placement } from './placement.ts';
import { gatewayGroup } from './references.ts';
import type { Secrets } from './secrets.ts';

const protocols = new Map([
  ['HTTP', ListenerProtocol.HTTP],
  ['HTTPS', ListenerProtocol.HTTPS],
]);

/** A listener of a Gateway of ours, and what became of it. */
export interface ResolvedListener {
  readonly key: string;
  readonly gateway: ResolvedGateway;
  readonly spec: GatewayListener;
  /** Whether HTTPRoutes may attach, as far as allowedRoutes.kinds goes. */
  readonly takesHttpRoutes: boolean;
  readonly references: References;
  /** None: it cannot be served, except with what gateways had before. */
  readonly certificates: readonly Secret[];
  /** Undefined: clients are not asked for a certificate. */
  readonly clientValidation: ClientValidation | undefined;
  readonly conflict: Conflict | undefined;
  /** Keys of HTTPS listeners on its port with overlapping host names. */
  readonly overlaps: readonly string[];
  /** Whether it could be served if its Gateway can. */
  readonly isValid: boolean;
  /**
   * Whether it is served itself, and not only there to reserve its hostname. A listener that is not valid only because Secrets are missing or unusable is
   * served, too: by gateways that have their last good certificate. So its routes and policies must be there.
   */
  readonly isServed: boolean;
  /** HTTPS without a usable certificate: it serves nothing, but a wider listener on its port must not take over its hostname. */
  readonly lacksCertificate: boolean;
  /** Without certificates it refuses every handshake for its hostname. */
  readonly message: Listener;
}

/** Keys of the Secrets that a listener may use. */
interface CertificateKeys {
  /** In the order of certificateRefs. */
  readonly all: readonly string[];
  /** Those that are missing or unusable. */
  readonly awaited: readonly string[];
}

interface References {
  readonly reason: ConditionReason<'listener', 'ResolvedRefs'>;
  readonly message: string;
}

/** Resolves the listeners of our Gateways, by namespace/name of the Gateway. */
export function prepareListeners(
  memory: Memory,
  gateways: Gateways,
  secrets: Secrets,
  placement: Placement,
): Derived<readonly ResolvedListener[]> {
  const shared = memory.derive(() => findConflicts(gateways.list().filter(canServe).flatMap(placeListeners)));
  const conflictOf = memory.derive((key) => shared.get('').conflicts.get(key));
  const overlapsOf = memory.derive((key) => shared.get('').overlaps.get(key) ?? []);
  return memory.derive<readonly ResolvedListener[]>((name, previous) => {
    const gateway = gateways.find.get(name);
    if (gateway === undefined || gateway.pending !== undefined) return [];
    const own = placement === 'pods' ? findConflicts(placeListeners(gateway)) : undefined;
    return gateway.gateway.spec.listeners.map((spec) => {
      const key = formatKey(gateway, spec);
      const conflict = own === undefined ? conflictOf.get(key) : own.conflicts.get(key);
      const overlaps = own === undefined ? overlapsOf.get(key) : (own.overlaps.get(key) ?? []);
      const known = previous?.find((each) => each.key === key);
      return keepEqual(known, resolveListener(secrets, gateway, spec, key, conflict, overlaps, known));
    });
  });
}

function resolveListener(
  secrets: Secrets,
  gateway: ResolvedGateway,
  spec: GatewayListener,
  key: string,
  conflict: Conflict | undefined,
  overlaps: readonly string[],
  previous: ResolvedListener | undefined,
): ResolvedListener {
  const clientValidation =
    spec.protocol === 'HTTPS' ? resolveClientValidation(secrets, gateway.gateway, spec.port) : undefined;
  const { certificates, keys, references } = resolveReferences(secrets, gateway, spec, clientValidation);
  const isValid =
    protocols.has(spec.protocol) && conflict === undefined && (spec.protocol !== 'HTTPS' || certificates.length > 0);
  return {
    key,
    gateway,
    spec,
    takesHttpRoutes: listKinds(spec).length > 0,
    references,
    certificates,
    clientValidation,
    conflict,
    overlaps,
    isValid,
    isServed: (isValid || (conflict === undefined && keys.awaited.length > 0)) && canServe(gateway),
    lacksCertificate:
      spec.protocol === 'HTTPS' && conflict === undefined && certificates.length === 0 && canServe(gateway),
    message: keepEqual(previous?.message, createListener(gateway, spec, key, keys, clientValidation)),
  };
}

/** The listeners that have messages: those that are served, and those that reserve their hostname against a wider one. */
export function listMessageListeners(resolved: readonly ResolvedListener[]): readonly ResolvedListener[] {
  const ports = new Set(resolved.filter(({ isServed }) => isServed).map(formatSharedPort));
  return resolved.filter(
    (listener) => listener.isServed || (listener.lacksCertificate && ports.has(formatSharedPort(listener))),
  );
}

// On a host a port is shared by all Gateways.
function formatSharedPort({ gateway, spec }: ResolvedListener): string {
  return `${gateway.placement === 'pods' ? gateway.name : ''} ${spec.port}`;
}

function createListener(
  { name, placement, binding }: ResolvedGateway,
  spec: GatewayListener,
  key: string,
  certificates: CertificateKeys,
  clientValidation: ClientValidation | undefined,
): Listener {
  return create(ListenerSchema, {
    key,
    gateway: name,
    name: spec.name,
    addresses: placement === 'host' && binding.usable ? [...binding.addresses] : [],
    port: spec.port,
    protocol: protocols.get(spec.protocol) ?? ListenerProtocol.UNSPECIFIED,
    hostname: spec.hostname ?? '',
    certificates: [...certificates.all],
    awaitedCertificates: [...certificates.awaited],
    ...(clientValidation !== undefined &&
      certificates.all.length > 0 && {
        clientValidation: {
          ca: clientValidation.authorities.map((authority) => authority.key),
          allowInsecureFallback: clientValidation.allowsInsecureFallback,
        },
      }),
  });
}

/** The status of a listener. */
export function describeListener(listener: ResolvedListener, attachedRoutes: number): ListenerStatus {
  const { references, overlaps } = listener;
  const generation = listener.gateway.gateway.metadata.generation ?? 0;
  const conditions = [
    describeAccepted(listener, generation),
    describeConflicted(listener, generation),
    createCondition(
      'listener',
      'ResolvedRefs',
      references.reason === 'ResolvedRefs' ? 'True' : 'False',
      references.reason,
      references.message,
      generation,
    ),
    describeProgrammed(listener, generation),
  ];
  if (overlaps.length > 0) {
    const message = `host names overlap with ${overlaps.join(', ')} on the same port; a client that reuses a connection across them is answered with 421`;
    conditions.push(
      createCondition('listener', 'OverlappingTLSConfig', 'True', 'OverlappingHostnames', message, generation),
    );
  }
  return { name: listener.spec.name, supportedKinds: listKinds(listener.spec), attachedRoutes, conditions };
}

function describeAccepted({ spec, conflict, clientValidation }: ResolvedListener, generation: number): Condition {
  if (!protocols.has(spec.protocol)) {
    const message = `protocol ${spec.protocol} is not supported; use HTTP or HTTPS`;
    return createCondition('listener', 'Accepted', 'False', 'UnsupportedProtocol', message, generation);
  }
  if (conflict !== undefined)
    return createCondition('listener', 'Accepted', 'False', conflict.reason, conflict.message, generation);
  if (clientValidation?.authorities.length === 0) {
    const message = 'client certificates are required, but none of the certificate authorities can be used';
    return createCondition('listener', 'Accepted', 'False', 'NoValidCACertificate', message, generation);
  }
  return createCondition(
    'listener',
    'Accepted',
    'True',
    'Accepted',
    'Port, protocol and hostname are accepted.',
    generation,
  );
}

function describeConflicted({ conflict }: ResolvedListener, generation: number): Condition {
  if (conflict === undefined || conflict.reason === 'PortUnavailable')
    return createCondition(
      'listener',
      'Conflicted',
      'False',
      'NoConflicts',
      'No other listener is in conflict with it.',
      generation,
    );
  return createCondition('listener', 'Conflicted', 'True', conflict.reason, conflict.message, generation);
}

function describeProgrammed(
  { gateway, spec, conflict, references, isValid, isServed }: ResolvedListener,
  generation: number,
): Condition {
  if (isServed && isValid)
    return createCondition('listener', 'Programmed', 'True', 'Programmed', `Port ${spec.port} is served.`, generation);
  if (conflict !== undefined)
    return createCondition('listener', 'Programmed', 'False', conflict.reason, conflict.message, generation);
  if (isValid)
    return createCondition(
      'listener',
      'Programmed',
      'False',
      'Pending',
      `Gateway ${gateway.name} is not served; its own conditions say why.`,
      generation,
    );
  const message = protocols.has(spec.protocol) ? references.message : `protocol ${spec.protocol} is not supported`;
  return createCondition('listener', 'Programmed', 'False', 'Invalid', message, generation);
}

function placeListeners(gateway: ResolvedGateway): readonly PlacedListener[] {
  const { binding, placement } = gateway;
  const addresses = placement === 'host' && binding.usable ? binding.addresses : [];
  return gateway.gateway.spec.listeners
    .filter(({ protocol }) => protocols.has(protocol))
    .map((spec) => ({
      key: formatKey(gateway, spec),
      gateway: gateway.name,
      addresses,
      port: spec.port,
      protocol: spec.protocol,
      hostname: spec.hostname ?? '',
    }));
}

function resolveReferences(
  secrets: Secrets,
  { gateway }: ResolvedGateway,
  spec: GatewayListener,
  clientValidation: ClientValidation | undefined,
): { readonly certificates: readonly Secret[]; readonly keys: CertificateKeys; readonly references: References } {
  const certificates: Secret[] = [];
  const [all, awaited] = [new Set<string>(), new Set<string>()];
  const problems: References[] = [...(clientValidation?.problems ?? [])];
  if (spec.protocol === 'HTTPS') {
    const from = { group: gatewayGroup, kind: 'Gateway', namespace: gateway.metadata.namespace };
    const wanted = spec.tls?.certificateRefs ?? [];
    if (wanted.length === 0)
      problems.push({ reason: 'InvalidCertificateRef', message: 'HTTPS needs tls.certificateRefs with a Secret' });
    for (const reference of wanted) {
      const resolution = secrets.resolveCertificate(from, reference);
      if (!resolution.found) {
        problems.push({
          reason: resolution.permitted ? 'InvalidCertificateRef' : 'RefNotPermitted',
          message: resolution.message,
        });
        // What is not permitted must not be served any more, whatever gateways have.
        if (!resolution.permitted || reference.group !== '' || reference.kind !== 'Secret') continue;
        const key = formatSecretKey('Secret', reference.namespace ?? from.namespace, reference.name);
        all.add(key);
        awaited.add(key);
      } else if (!all.has(resolution.secret.key)) {
        all.add(resolution.secret.key);
        certificates.push(resolution.secret);
      }
    }
    // No client could be validated, so every handshake must fail.
    if (clientValidation?.authorities.length === 0) for (const each of [all, awaited]) each.clear();
    if (all.size === 0) certificates.length = 0;
  }
  const keys = { all: [...all], awaited: [...awaited] };
  const unsupported = (spec.allowedRoutes.kinds ?? []).filter((each) => !isHttpRoute(each));
  if (protocols.has(spec.protocol) && unsupported.length > 0) {
    const names = unsupported.map(({ group, kind }) => `${group}/${kind}`).join(', ');
    problems.push({
      reason: 'InvalidRouteKinds',
      message: `allowedRoutes.kinds: ${names} cannot be served; use HTTPRoute`,
    });
  }
  const [first] = problems;
  if (first === undefined)
    return { certificates, keys, references: { reason: 'ResolvedRefs', message: 'All references are resolved.' } };
  return {
    certificates,
    keys,
    references: { reason: first.reason, message: problems.map(({ message }) => message).join('; ') },
  };
}

function listKinds({
  protocol,
  allowedRoutes,
}: GatewayListener): readonly { readonly group: string; readonly kind: string }[] {
  if (!protocols.has(protocol)) return [];
  const { kinds } = allowedRoutes;
  const isAllowed = kinds === undefined || kinds.length === 0 || kinds.some(isHttpRoute);
  return isAllowed ? [{ group: gatewayGroup, kind: 'HTTPRoute' }] : [];
}

function isHttpRoute({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return group === gatewayGroup && kind === 'HTTPRoute';
}

function formatKey({ gateway }: ResolvedGateway, { name }: GatewayListener): string {
  return formatListenerKey(gateway.metadata.namespace, gateway.metadata.name, name);
}
