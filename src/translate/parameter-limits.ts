// Fields that GatewayParameters of a Gateway must not set. Their author may lack the permission to create pods or to read Secrets, and the controller
// would do it for them. GatewayParameters of a GatewayClass belong to an administrator and are not limited; they may delegate pods, and then what is here
// stays refused. pod-limits.ts has what else is refused without that.
import { reservedVariables } from '../api/container-environment.ts';
import type { Delegation } from '../api/delegation.ts';
import type { GatewayParametersSpec } from '../api/gateway-parameters.ts';
import { isMapping } from '../api/mapping.ts';
import { findForbidden, type Limit, listValues } from './forbidden-value.ts';
import { findForbiddenPods } from './pod-limits.ts';
import { readList, readMember, readText } from './read-raw.ts';

const isFalse = (value: unknown): boolean => value === false;
/** Null removes a field, which is harmless where the default is. */
const isOff = (value: unknown): boolean => value === false || value === null;
const isNull = (value: unknown): boolean => value === null;
const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0);
const never = (): boolean => false;
const isConfined = (value: unknown): boolean => value !== 'Unconfined';

/** The SELinux types that the Pod Security Standards (Baseline) allow. */
const plainSeLinuxTypes: ReadonlySet<unknown> = new Set([
  null,
  '',
  'container_t',
  'container_init_t',
  'container_kvm_t',
  'container_engine_t',
]);

/** Volumes that reveal nothing new to the author: no Secrets, no tokens, no disks of others, nothing of the node. */
const plainVolumes: ReadonlySet<string> = new Set(['name', '$patch', 'emptyDir', 'configMap', 'downwardAPI']);

const isReserved = (value: unknown): boolean => typeof value === 'string' && reservedVariables.includes(value);

const appArmorAnnotation = 'container.apparmor.security.beta.kubernetes.io/';

/** A mapping with hardened fields: removing or replacing it would remove them. */
function keep(path: string): readonly Limit[] {
  return [
    [path, 'stay a mapping', isMapping],
    [`${path}.$patch`, 'be merge or absent', (value) => value === 'merge'],
  ];
}

/** Of a security context, that of pods or of a container. */
function limitSecurityContext(path: string): readonly Limit[] {
  return [
    ...keep(path),
    [`${path}.runAsNonRoot`, 'be true or absent', (value) => value === true],
    [`${path}.runAsUser`, 'not be 0', (value) => value !== 0],
    [`${path}.seccompProfile`, 'stay a mapping', isMapping],
    [`${path}.seccompProfile.type`, 'not be Unconfined', isConfined],
    [`${path}.appArmorProfile.type`, 'not be Unconfined', isConfined],
    [`${path}.seLinuxOptions.type`, 'be a container type', (value) => plainSeLinuxTypes.has(value)],
    [`${path}.seLinuxOptions.user`, 'be absent', isEmpty],
    [`${path}.seLinuxOptions.role`, 'be absent', isEmpty],
    [`${path}.windowsOptions.hostProcess`, 'be false or absent', isOff],
    [`${path}.sysctls`, 'be empty or absent', isEmpty],
  ];
}

function limitAnnotations(path: string): Limit {
  const allows = (value: unknown, key: string): boolean =>
    !key.startsWith(appArmorAnnotation) || value !== 'unconfined';
  return [`${path}.*`, 'not be unconfined', allows];
}

const template = 'overlays.deployment.spec.template';
const pod = `${template}.spec`;
const containerLists = ['containers', 'initContainers', 'ephemeralContainers'];

function limitContainers(path: string): readonly Limit[] {
  const context = `${path}.securityContext`;
  return [
    ...limitSecurityContext(context),
    [`${context}.privileged`, 'be false or absent', isOff],
    [`${context}.allowPrivilegeEscalation`, 'be false', isFalse],
    ...keep(`${context}.capabilities`),
    [`${context}.capabilities.add`, 'be empty or absent', isEmpty],
    [`${context}.capabilities.drop`, 'include ALL', (value) => Array.isArray(value) && value.includes('ALL')],
    [`${context}.procMount`, 'be Default or absent', (value) => value === null || value === 'Default'],
    [`${path}.ports[].hostPort`, 'be absent', (value) => value === null || value === 0],
    [`${path}.env[].valueFrom.secretKeyRef`, 'be absent', isNull],
    [`${path}.env[].name`, 'not be a variable that the controller sets', (value) => !isReserved(value)],
    [`${path}.envFrom[].secretRef`, 'be absent', isNull],
  ];
}

/** From `spec` of the GatewayParameters on. */
const limits: readonly Limit[] = [
  ['delegation', 'be absent', never],
  ['allowLocalUpstreams', 'be false or absent', isOff],
  // Its password would go to whatever server the author names.
  ['store', 'be absent', never],
  ['env[].valueFrom.secretKeyRef', 'be absent', isNull],
  limitAnnotations('podTemplate.annotations'),
  ...limitSecurityContext('podTemplate.securityContext'),
  // Traffic to these addresses would come to the gateway from the whole cluster.
  ['overlays.service.spec.externalIPs', 'be empty or absent', isEmpty],
  ['overlays.serviceAccount.automountServiceAccountToken', 'be false or absent', isOff],
  ...keep('overlays.deployment.spec'),
  ...keep(template),
  limitAnnotations(`${template}.metadata.annotations`),
  ...keep(pod),
  [`${pod}.hostNetwork`, 'be false or absent', isOff],
  [`${pod}.hostPID`, 'be false or absent', isOff],
  [`${pod}.hostIPC`, 'be false or absent', isOff],
  // Without a name it would be the account `default`, which may be able to do something.
  [`${pod}.serviceAccountName`, 'be absent', never],
  [`${pod}.serviceAccount`, 'be absent', never],
  [`${pod}.automountServiceAccountToken`, 'be false', isFalse],
  ...limitSecurityContext(`${pod}.securityContext`),
  [`${pod}.volumes[].*`, 'be absent', (value, key) => value === null || plainVolumes.has(key)],
  ...containerLists.flatMap((list) => limitContainers(`${pod}.${list}[]`)),
];

const mostNamed = 5;

/** The forbidden fields that parameters of a Gateway set, as a sentence; undefined: none. `delegation` is that of the class. */
export function findForbiddenParameters(
  spec: GatewayParametersSpec,
  delegation: Delegation | undefined,
): string | undefined {
  const found = [
    ...findForbidden(spec, limits),
    ...listCommands(spec).map((where) => `${where} must be absent`),
    ...listUnhardened(spec).map((where) => `${where}.securityContext.allowPrivilegeEscalation must be false`),
    ...findForbiddenPods(spec, delegation),
  ];
  if (found.length === 0) return undefined;
  const more = found.length > mostNamed ? `, and ${found.length - mostNamed} more` : '';
  return `${found.slice(0, mostNamed).join(', ')}${more}; only parameters of the GatewayClass may set this`;
}

/** The command and arguments of the gateway: flags could override its environment variables. */
function listCommands(spec: GatewayParametersSpec): readonly string[] {
  return listValues(spec, `${pod}.containers[]`)
    .filter(({ value }) => isMapping(value) && readText(value, 'name') === 'gateway')
    .flatMap(({ where, value }) =>
      ['command', 'args'].filter((field) => readMember(value, field) !== undefined).map((field) => `${where}.${field}`),
    );
}

/**
 * Containers that an overlay adds without allowPrivilegeEscalation, whose default is true. The container `gateway` is hardened already, unless the
 * overlay replaces the list or that item.
 */
function listUnhardened(spec: GatewayParametersSpec): readonly string[] {
  const podSpec = readMember(spec, ...pod.split('.'));
  return containerLists.flatMap((list) => {
    const items = readList(podSpec, list) ?? [];
    const isMerged = items.every((item) => [undefined, 'merge'].includes(readText(item, '$patch')));
    return items.flatMap((item, index) => {
      const isHardened = list === 'containers' && isMerged && readText(item, 'name') === 'gateway';
      if (isHardened || isDirective(item)) return [];
      const said = readMember(item, 'securityContext', 'allowPrivilegeEscalation');
      return said === undefined ? [`spec.${pod}.${list}[${index}]`] : [];
    });
  });
}

/** An item that only removes something. */
function isDirective(item: unknown): boolean {
  if (!isMapping(item)) return true;
  return item['$patch'] === 'delete' || (item['$patch'] === 'replace' && Object.keys(item).length === 1);
}
