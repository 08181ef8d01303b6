// What the files of a volume contain now: Secrets, ConfigMaps, fields of the pod, and ServiceAccount tokens.
import { ContainerConfigError, type EnvironmentSources, readField } from './environment.ts';
import type { VolumeFile } from './atomic-files.ts';
import type { DownwardFile, KeyToPath, Volume, VolumeSource } from './pod.ts';

/** The content of a Secret or ConfigMap, undefined when there is none. */
export type ReadContent = (name: string) => Promise<ReadonlyMap<string, Buffer> | undefined>;

/** Where files come from. */
export interface ContentSources {
  readonly fields: Omit<EnvironmentSources, 'readSecret' | 'readConfigMap'>;
  readonly readSecret: ReadContent;
  readonly readConfigMap: ReadContent;
  readonly readToken: (audience: string | undefined, expirationSeconds: number) => Promise<string>;
  /** Who owns the files. */
  readonly fsGroup: number | undefined;
  /** The user of all containers, when they have the same: tokens are theirs alone. */
  readonly onlyUser: number | undefined;
}

const defaultMode = 0o644;
const hour = 3600;

/** The files of a volume. Throws ContainerConfigError when something that it needs is not there. */
export async function collectFiles(volume: Volume, sources: ContentSources): Promise<ReadonlyMap<string, VolumeFile>> {
  const { secret, configMap, downwardAPI, projected } = volume;
  if (secret !== undefined) {
    const { secretName: name, ...rest } = secret;
    return collectSources([{ secret: { name, ...rest } }], secret.defaultMode, sources);
  }
  if (configMap !== undefined) return collectSources([{ configMap }], configMap.defaultMode, sources);
  if (downwardAPI !== undefined) return collectSources([{ downwardAPI }], downwardAPI.defaultMode, sources);
  return collectSources(projected?.sources ?? [], projected?.defaultMode, sources);
}

async function collectSources(
  parts: readonly VolumeSource[],
  mode = defaultMode,
  sources: ContentSources,
): Promise<ReadonlyMap<string, VolumeFile>> {
  const files = new Map<string, VolumeFile>();
  const add = (path: string, content: Buffer, fileMode: number): void =>
    void files.set(path, assign(content, fileMode, sources));
  for (const { secret, configMap, downwardAPI, serviceAccountToken } of parts) {
    if (secret !== undefined)
      addKeys(`secret ${secret.name}`, secret, await sources.readSecret(secret.name), mode, add);
    if (configMap !== undefined) {
      addKeys(`configmap ${configMap.name}`, configMap, await sources.readConfigMap(configMap.name), mode, add);
    }
    for (const file of downwardAPI?.items ?? []) addField(file, mode, sources, add);
    if (serviceAccountToken !== undefined) {
      const { audience, expirationSeconds = hour, path } = serviceAccountToken;
      files.set(path, assignToken(Buffer.from(await sources.readToken(audience, expirationSeconds)), mode, sources));
    }
  }
  return files;
}

type AddFile = (path: string, content: Buffer, mode: number) => void;

function addKeys(
  what: string,
  { items, optional = false }: { readonly items?: readonly KeyToPath[]; readonly optional?: boolean },
  content: ReadonlyMap<string, Buffer> | undefined,
  mode: number,
  add: AddFile,
): void {
  if (content === undefined) {
    if (optional) return;
    throw new ContainerConfigError(`${what} not found`);
  }
  const wanted = items ?? [...content.keys()].map((key): KeyToPath => ({ key, path: key }));
  for (const { key, path, mode: own = mode } of wanted) {
    const value = content.get(key);
    if (value !== undefined) add(path, value, own);
    else if (!optional) throw new ContainerConfigError(`${what} has no key ${key}`);
  }
}

function addField(
  { path, fieldRef, mode: own }: DownwardFile,
  mode: number,
  sources: ContentSources,
  add: AddFile,
): void {
  if (fieldRef === undefined) throw new ContainerConfigError(`the test cluster knows no resource fields (${path})`);
  add(path, Buffer.from(readField(fieldRef.fieldPath, sources.fields)), own ?? mode);
}

/** With fsGroup, files belong to that group, and it may read them. */
function assign(content: Buffer, mode: number, { fsGroup }: ContentSources): VolumeFile {
  return fsGroup === undefined ? { content, mode } : { content, mode: mode | 0o440, group: fsGroup };
}

/** As the kubelet does it: for the one user, for the group, or for everyone, in this order. */
function assignToken(content: Buffer, mode: number, { fsGroup, onlyUser }: ContentSources): VolumeFile {
  if (fsGroup !== undefined) return { content, mode: 0o640, group: fsGroup };
  if (onlyUser !== undefined) return { content, mode: 0o600, owner: onlyUser };
  return { content, mode };
}
