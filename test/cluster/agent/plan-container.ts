// Works out what a container is from its pod, its image and what they refer to.
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findImage, type Image, type ImageTable } from '../image-table.ts';
import { type Bind, type ContainerPlan, defaultCapabilities } from './container-script.ts';
import {
  ContainerConfigError,
  type EnvironmentSources,
  expandReferences,
  ImagePullError,
  resolveEnvironment,
} from './environment.ts';
import type { Container, Pod } from './pod.ts';
import type { PodVolumes } from './pod-volumes.ts';

/** What the plan is made from. */
export interface PlanInput {
  readonly container: Container;
  readonly sources: EnvironmentSources;
  readonly images: ImageTable;
  readonly volumes: PodVolumes;
  readonly scratch: string;
  readonly networkFolder: string;
  /** The Service kubernetes.default. */
  readonly apiService: { readonly address: string; readonly port: number };
}

const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The plan. Throws ContainerConfigError when something is missing or wrong, ImagePullError when the image is. */
export async function planContainer(input: PlanInput): Promise<ContainerPlan> {
  const { container, sources, images } = input;
  const { pod } = sources;
  const image = findImage(images, container.image);
  if (image === undefined) {
    throw new ImagePullError(
      `the test cluster has no image ${container.image}; it has ${Object.keys(images).join(', ')}`,
    );
  }
  const { user, group } = findUser(container, pod, image);
  const own = container.securityContext ?? {};
  const hostname = findHostname(pod);
  const environment = await resolveEnvironment(container, sources, {
    PATH: defaultPath,
    HOME: user === 0 ? '/root' : '/',
    HOSTNAME: hostname,
    KUBERNETES_SERVICE_HOST: input.apiService.address,
    KUBERNETES_SERVICE_PORT: String(input.apiService.port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(input.apiService.port),
    ...image.env,
  });
  const expand = (text: string): string => expandReferences(text, environment);
  const { fsGroup, supplementalGroups = [] } = pod.spec.securityContext ?? {};
  return {
    scratch: input.scratch,
    root: image.root ?? '/',
    networkFolder: input.networkFolder,
    hostname,
    environment,
    user,
    group,
    supplementalGroups: fsGroup === undefined ? supplementalGroups : [...supplementalGroups, fsGroup],
    isReadOnly: own.readOnlyRootFilesystem ?? false,
    noNewPrivileges: own.allowPrivilegeEscalation === false,
    capabilities: listCapabilities(own.capabilities),
    workingDir: container.workingDir ?? image.workingDir ?? '/',
    command: listCommand(container, image).map((word) => expand(word)),
    binds: [...(await bindImageFiles(image)), ...(await bindVolumes(input))],
  };
}

/** The name that a pod has for itself. */
export function findHostname(pod: Pod): string {
  return (pod.spec.hostname ?? pod.metadata.name).slice(0, 63);
}

/** The user of a container, without looking at runAsNonRoot. */
export function findUserId(container: Container, pod: Pod, image: Image | undefined): number {
  return container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser ?? image?.user ?? 0;
}

function findUser(container: Container, pod: Pod, image: Image): { readonly user: number; readonly group: number } {
  const [own, shared] = [container.securityContext ?? {}, pod.spec.securityContext ?? {}];
  const user = findUserId(container, pod, image);
  if ((own.runAsNonRoot ?? shared.runAsNonRoot ?? false) && user === 0) {
    throw new ContainerConfigError('container has runAsNonRoot and image will run as root');
  }
  const isImageUser = own.runAsUser === undefined && shared.runAsUser === undefined;
  return { user, group: own.runAsGroup ?? shared.runAsGroup ?? (isImageUser ? (image.user ?? 0) : 0) };
}

/** `command` replaces entry point and arguments of the image, `args` the arguments alone. */
function listCommand(container: Container, image: Image): readonly string[] {
  const { command = [], args = [] } = container;
  if (command.length > 0) return [...command, ...args];
  return [...image.entrypoint, ...(args.length > 0 ? args : (image.args ?? []))];
}

function listCapabilities(
  change: { readonly add?: readonly string[]; readonly drop?: readonly string[] } = {},
): readonly string[] {
  const normalize = (name: string): string => name.toLowerCase().replace(/^cap_/, '');
  const [added, dropped] = [(change.add ?? []).map(normalize), new Set((change.drop ?? []).map(normalize))];
  const kept = dropped.has('all') ? [] : defaultCapabilities.filter((capability) => !dropped.has(capability));
  return [...new Set([...kept, ...added])];
}

async function bindImageFiles(image: Image): Promise<readonly Bind[]> {
  const bind = async ([target, source]: [string, string], isReadOnly: boolean): Promise<Bind> => ({
    source,
    target,
    isReadOnly,
    isFolder: await isFolder(source),
  });
  return Promise.all([
    ...Object.entries(image.files ?? {}).map((file) => bind(file, true)),
    ...Object.entries(image.ownFiles ?? {}).map((file) => bind(file, false)),
  ]);
}

async function bindVolumes({ container, sources, volumes }: PlanInput): Promise<readonly Bind[]> {
  // Outer folders first: a volume may be mounted inside another.
  const mounts = (container.volumeMounts ?? []).toSorted(
    (left, right) => left.mountPath.length - right.mountPath.length,
  );
  const emptyFolders = new Set(
    (sources.pod.spec.volumes ?? []).filter(({ emptyDir }) => emptyDir !== undefined).map(({ name }) => name),
  );
  const binds: Bind[] = [];
  for (const { name, mountPath, readOnly = false, subPath } of mounts) {
    const isWritable = emptyFolders.has(name);
    const source = subPath === undefined ? volumes.locate(name) : join(volumes.locate(name), subPath);
    if (subPath !== undefined && isWritable) await mkdir(source, { recursive: true });
    binds.push({ source, target: mountPath, isReadOnly: readOnly || !isWritable, isFolder: await isFolder(source) });
  }
  return binds;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw new ContainerConfigError(`${path} is not there`, { cause: error });
  }
}
