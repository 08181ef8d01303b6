// What parameters of a Gateway must not have unless the class delegates pods: another image, another container, code of their own in the gateway's container.
// With any of them the controller would make a pod for somebody who perhaps may not. Of pods and containers everything is refused that is not listed here.
import type { Delegation } from '../api/delegation.ts';
import type { GatewayParametersSpec } from '../api/gateway-parameters.ts';
import { isMapping } from '../api/mapping.ts';
import { findForbidden, type Limit } from './forbidden-value.ts';
import { allowsPodMetadata } from './pod-metadata.ts';
import { readText } from './read-raw.ts';

const template = 'overlays.deployment.spec.template';
const pod = `${template}.spec`;
const container = `${pod}.containers[]`;

/** Where the pods run and how they end; what is limited further is limited in parameter-limits.ts or below. */
const podFields: ReadonlySet<string> = new Set([
  '$patch',
  'affinity',
  'automountServiceAccountToken',
  'containers',
  'dnsPolicy',
  'enableServiceLinks',
  'hostIPC',
  'hostNetwork',
  'hostPID',
  'hostUsers',
  'imagePullSecrets',
  'nodeSelector',
  'preemptionPolicy',
  'priorityClassName',
  'schedulerName',
  'securityContext',
  'serviceAccount',
  'serviceAccountName',
  'terminationGracePeriodSeconds',
  'tolerations',
  'topologySpreadConstraints',
  'volumes',
]);

const containerFields: ReadonlySet<string> = new Set([
  '$patch',
  // Both have a rule of their own.
  'args',
  'command',
  'env',
  'imagePullPolicy',
  'lifecycle',
  'livenessProbe',
  'name',
  'ports',
  'readinessProbe',
  'resizePolicy',
  'resources',
  'securityContext',
  'startupProbe',
  'terminationMessagePolicy',
  'volumeMounts',
]);

/** Node and the C library obey many variables, some of which load code. These do not. */
const plainVariables =
  /^(?:(?:MCP_GATEHOUSE|OTEL)_.*|NODE_EXTRA_CA_CERTS|TZ|HTTPS?_PROXY|NO_PROXY|https?_proxy|no_proxy)$/;
const isPlainVariable = (name: unknown): boolean => typeof name === 'string' && plainVariables.test(name);

/** Nothing of the image and of the controller is there. */
const isPlainMount = (path: unknown): boolean =>
  typeof path === 'string' && /^\/extra(\/|$)/.test(path) && !path.split('/').includes('..');

/** Volumes that the controller makes: the token, the authority of the controller, the last configuration, what the store needs. */
const ownVolumes: ReadonlySet<unknown> = new Set(['token', 'snapshot', 'controller-ca', 'store-password', 'store-ca']);

const plainSources: ReadonlySet<string> = new Set(['configMapKeyRef', 'fieldRef', 'resourceFieldRef', 'secretKeyRef']);

const isAbsent = (value: unknown): boolean => value === null;
const isEmptyList = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);
const only =
  (keys: ReadonlySet<string>): Limit[2] =>
  (_value, key) =>
    keys.has(key);
const variableRule =
  'begin with MCP_GATEHOUSE_ or OTEL_, or be HTTPS_PROXY, HTTP_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS or TZ';

const limits: readonly Limit[] = [
  ['env[].name', variableRule, isPlainVariable],
  ['overlays.serviceAccount', 'be absent', isAbsent],
  [`${template}.*`, 'be absent', only(new Set(['metadata', 'spec', '$patch']))],
  [`${template}.metadata.*`, 'be absent', only(new Set(['labels', 'annotations', '$patch']))],
  [`${pod}.*`, 'be absent', (value, key) => podFields.has(key) || isEmptyList(value)],
  [
    `${pod}.priorityClassName`,
    'not begin with system-',
    (value) => !(typeof value === 'string' && value.startsWith('system-')),
  ],
  [`${pod}.volumes[].name`, 'not be a volume that the controller makes', (value) => !ownVolumes.has(value)],
  [container, 'be the container gateway', (value) => !isMapping(value) || readText(value, 'name') === 'gateway'],
  [`${container}.$patch`, 'be merge or absent', (value) => value === 'merge'],
  [`${container}.*`, 'be absent', only(containerFields)],
  [`${container}.env`, 'be a list', Array.isArray],
  // Without the variables that the controller sets the gateway would be another one.
  [`${container}.env[].$patch`, 'be merge, delete or absent', (value) => value !== 'replace'],
  [`${container}.env[].name`, variableRule, isPlainVariable],
  [`${container}.env[].valueFrom.*`, 'be absent', only(plainSources)],
  [`${container}.volumeMounts[].mountPath`, 'be /extra or below it', isPlainMount],
  [`${container}.lifecycle.*`, 'be absent', (value, key) => value === null || key === 'preStop'],
  [`${container}.lifecycle.preStop.*`, 'be absent', (value, key) => value === null || key === 'sleep'],
  ...['startupProbe', 'livenessProbe', 'readinessProbe'].flatMap((probe): Limit[] => [
    [`${container}.${probe}.exec`, 'be absent', isAbsent],
    [`${container}.${probe}.httpGet.host`, 'be absent', isAbsent],
    [`${container}.${probe}.tcpSocket.host`, 'be absent', isAbsent],
  ]),
];

/** What parameters of a Gateway have of pods that is not delegated to them, in words. */
export function findForbiddenPods(spec: GatewayParametersSpec, delegation: Delegation | undefined): readonly string[] {
  if (delegation?.pods === true) return [];
  const metadata: Limit[2] = (value, key) => value === null || key === '$patch' || allowsPodMetadata(key, delegation);
  const must = 'have no domain, or one of delegation.podMetadata of the class';
  return [
    ...findForbiddenImage(spec.image, delegation?.images ?? []),
    ...findForbidden(spec, [
      ...['podTemplate', `${template}.metadata`].flatMap((path): Limit[] => [
        [`${path}.labels.*`, must, metadata],
        [`${path}.annotations.*`, must, metadata],
      ]),
      ...limits,
    ]),
  ];
}

function findForbiddenImage(image: GatewayParametersSpec['image'], allowed: readonly string[]): readonly string[] {
  const { registry, repository } = image ?? {};
  if (registry === undefined && repository === undefined) return [];
  if (registry !== undefined && repository !== undefined && allowed.includes(`${registry}/${repository}`)) return [];
  const fields = Object.entries({ registry, repository }).filter(([, value]) => value !== undefined);
  return fields.map(
    ([field]) =>
      `spec.image.${field} must be absent, or registry and repository be one of delegation.images of the class`,
  );
}
