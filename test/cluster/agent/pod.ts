// The part of a Pod that the node agent honours, and which fields it does not. A field that it would have to ignore is refused, so
// that a test never passes because the harness looked away.
import type { ObjectMeta } from '../api-client.ts';

/** A pod. */
export interface Pod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** Its specification. */
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  readonly terminationGracePeriodSeconds?: number;
  readonly serviceAccountName?: string;
  readonly securityContext?: PodSecurityContext;
  readonly hostname?: string;
  readonly hostAliases?: readonly { readonly ip: string; readonly hostnames?: readonly string[] }[];
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly schedulerName?: string;
}

/** What holds for all containers of a pod. */
export interface PodSecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly fsGroup?: number;
  readonly supplementalGroups?: readonly number[];
  readonly sysctls?: readonly { readonly name: string; readonly value: string }[];
}

/** One container. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFrom[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: LifecycleHandler };
  readonly securityContext?: ContainerSecurityContext;
}

/** What holds for one container. */
export interface ContainerSecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
}

/** A key of a Secret or a ConfigMap. */
export interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

/** One variable. */
export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly secretKeyRef?: KeyRef;
    readonly configMapKeyRef?: KeyRef;
  };
}

/** All keys of a Secret or a ConfigMap as variables. */
export interface EnvFrom {
  readonly prefix?: string;
  readonly secretRef?: { readonly name: string; readonly optional?: boolean };
  readonly configMapRef?: { readonly name: string; readonly optional?: boolean };
}

/** A volume in a container. */
export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
}

/** A file of a volume. */
export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

/** A file with a field of the pod. */
export interface DownwardFile {
  readonly path: string;
  readonly fieldRef?: { readonly fieldPath: string };
  readonly mode?: number;
}

/** What a projected volume is made of. */
export interface VolumeSource {
  readonly secret?: { readonly name: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly configMap?: { readonly name: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly downwardAPI?: { readonly items?: readonly DownwardFile[] };
  readonly serviceAccountToken?: {
    readonly audience?: string;
    readonly expirationSeconds?: number;
    readonly path: string;
  };
}

/** One volume. */
export interface Volume {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: string; readonly sizeLimit?: string };
  readonly secret?: {
    readonly secretName: string;
    readonly items?: readonly KeyToPath[];
    readonly optional?: boolean;
    readonly defaultMode?: number;
  };
  readonly configMap?: {
    readonly name: string;
    readonly items?: readonly KeyToPath[];
    readonly optional?: boolean;
    readonly defaultMode?: number;
  };
  readonly downwardAPI?: { readonly items?: readonly DownwardFile[]; readonly defaultMode?: number };
  readonly projected?: { readonly sources?: readonly VolumeSource[]; readonly defaultMode?: number };
}

/** What a probe asks. */
export interface ProbeHandler {
  readonly httpGet?: {
    readonly path?: string;
    readonly port: number | string;
    readonly host?: string;
    readonly scheme?: string;
    readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
  };
  readonly tcpSocket?: { readonly port: number | string; readonly host?: string };
  readonly exec?: { readonly command: readonly string[] };
  readonly grpc?: { readonly port: number; readonly service?: string };
}

/** What happens before a container is asked to end. */
export interface LifecycleHandler extends ProbeHandler {
  readonly sleep?: { readonly seconds: number };
}

/** A probe. */
export interface Probe extends ProbeHandler {
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
  /** In place of the pod's, when the probe is why the container is ended. */
  readonly terminationGracePeriodSeconds?: number;
}

/** Fields that are honoured, and after the bar those that mean nothing on one node without limits (README.md lists them). */
const podFields = splitFields(
  `containers initContainers volumes restartPolicy terminationGracePeriodSeconds serviceAccountName securityContext hostname
  hostAliases nodeName nodeSelector schedulerName |
  affinity automountServiceAccountToken dnsPolicy enableServiceLinks imagePullSecrets preemptionPolicy priority
  priorityClassName serviceAccount subdomain tolerations topologySpreadConstraints`,
);
const containerFields = splitFields(
  `name image command args workingDir ports env envFrom volumeMounts startupProbe livenessProbe readinessProbe lifecycle
  securityContext | imagePullPolicy resizePolicy resources terminationMessagePath terminationMessagePolicy`,
);
const podSecurityFields = splitFields(
  'runAsUser runAsGroup runAsNonRoot fsGroup supplementalGroups sysctls | fsGroupChangePolicy seccompProfile',
);
const containerSecurityFields = splitFields(
  'runAsUser runAsGroup runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation capabilities | seccompProfile',
);
const probeFields = splitFields(
  `httpGet tcpSocket exec grpc initialDelaySeconds periodSeconds timeoutSeconds successThreshold failureThreshold
  terminationGracePeriodSeconds`,
);
const volumeFields = splitFields('name emptyDir secret configMap downwardAPI projected');
const mountFields = splitFields('name mountPath readOnly subPath');

/** The fields of a pod that would have to be ignored, as paths. */
export function listUnsupportedFields(spec: PodSpec): readonly string[] {
  const found = [
    ...listUnknown(spec, podFields, 'spec'),
    ...listUnknown(spec.securityContext, podSecurityFields, 'spec.securityContext'),
  ];
  for (const volume of spec.volumes ?? []) found.push(...listUnknown(volume, volumeFields, `volume ${volume.name}`));
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const path = `container ${container.name}`;
    found.push(...listUnknown(container, containerFields, path));
    found.push(...listUnknown(container.securityContext, containerSecurityFields, `${path}: securityContext`));
    for (const mount of container.volumeMounts ?? []) found.push(...listUnknown(mount, mountFields, `${path}: mount`));
    for (const name of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
      found.push(...listUnknown(container[name], probeFields, `${path}: ${name}`));
    }
    found.push(...listUnknown(container.lifecycle, splitFields('preStop'), `${path}: lifecycle`));
    for (const { name, valueFrom } of container.env ?? []) {
      found.push(
        ...listUnknown(valueFrom, splitFields('fieldRef secretKeyRef configMapKeyRef'), `${path}: env ${name}`),
      );
    }
  }
  return found;
}

function splitFields(text: string): ReadonlySet<string> {
  return new Set(text.split(/[\s|]+/).filter((field) => field !== ''));
}

function listUnknown(value: object | undefined, known: ReadonlySet<string>, path: string): readonly string[] {
  return Object.entries(value ?? {})
    .filter(([field, content]) => !known.has(field) && content !== undefined && content !== false)
    .map(([field]) => `${path}.${field}`);
}
