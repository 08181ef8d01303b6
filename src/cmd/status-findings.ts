// Conditions that are not as they should be, and notices, as data: what translation says about resources that are valid as such.
import type { Condition, ParentReference } from '../translate/conditions.ts';
import type { Translation } from '../translate/translate.ts';

/** One thing that is not as it should be. */
export interface StatusFinding {
  readonly kind: string;
  /** Empty for kinds without one. */
  readonly namespace: string;
  readonly name: string;
  /** Which part of the resource: "listener http", "at Gateway public"; empty for all of it. */
  readonly part: string;
  /** What the part is, where it is another resource or a part of one. */
  readonly reference: ParentReference | undefined;
  /** Undefined for a notice. */
  readonly condition: Condition | undefined;
  readonly message: string;
}

/** All findings, by kind and name. A condition that only repeats another one's message is left out. */
export function listStatusFindings({ statuses, notices }: Translation): StatusFinding[] {
  const findings: StatusFinding[] = [];
  const add = (
    kind: string,
    fullName: string,
    part: string,
    conditions: readonly Condition[],
    reference?: ParentReference,
  ): void => {
    const { namespace, name } = splitName(fullName);
    const said = new Set<string>();
    for (const condition of conditions) {
      if (!isBadCondition(condition) || said.has(condition.message)) continue;
      said.add(condition.message);
      findings.push({ kind, namespace, name, part, reference, condition, message: condition.message });
    }
  };
  for (const [name, { conditions }] of Object.entries(statuses.gatewayClasses))
    add('GatewayClass', name, '', conditions);
  for (const [name, { conditions, listeners }] of Object.entries(statuses.gateways)) {
    add('Gateway', name, '', conditions);
    for (const listener of listeners) add('Gateway', name, `listener ${listener.name}`, listener.conditions);
  }
  for (const [name, { parents }] of Object.entries(statuses.httpRoutes)) {
    for (const { parentRef, conditions } of parents)
      add('HTTPRoute', name, describeReference(parentRef), conditions, parentRef);
  }
  for (const [name, { conditions }] of Object.entries(statuses.proxyBackends))
    add('ProxyBackend', name, '', conditions);
  for (const [name, { ancestors }] of Object.entries(statuses.proxyPolicies)) {
    for (const { ancestorRef, conditions } of ancestors)
      add('ProxyPolicy', name, describeReference(ancestorRef), conditions, ancestorRef);
  }
  for (const [name, { parents }] of Object.entries(statuses.inferencePools)) {
    for (const { parentRef, conditions } of parents)
      add('InferencePool', name, describeReference(parentRef), conditions, parentRef);
  }
  for (const notice of notices) findings.push({ ...notice, part: '', reference: undefined, condition: undefined });
  return findings;
}

/** Most conditions are good when True; a few say that something is wrong. OverlappingTLSConfig and Open are remarks: 421 handles the one, the other may be wanted. */
export function isBadCondition({ type, status }: Pick<Condition, 'type' | 'status'>): boolean {
  if (type === 'OverlappingTLSConfig' || type === 'Open') return false;
  // Unknown until a client has led a gateway to the servers: nothing is wrong.
  if (type === 'TargetsHealthy') return status === 'False';
  const isGoodWhenFalse = ['Conflicted', 'PartiallyInvalid', 'InsecureFrontendValidationMode', 'RolloutStuck'].includes(
    type,
  );
  return isGoodWhenFalse ? status === 'True' : status !== 'True';
}

function describeReference({ kind, namespace, name, sectionName, port }: ParentReference): string {
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  const section = sectionName === undefined ? '' : `, ${sectionName}`;
  return `at ${kind} ${place}${section}${port === undefined ? '' : `, port ${port}`}`;
}

function splitName(fullName: string): { namespace: string; name: string } {
  const slash = fullName.indexOf('/');
  return slash < 0
    ? { namespace: '', name: fullName }
    : { namespace: fullName.slice(0, slash), name: fullName.slice(slash + 1) };
}
