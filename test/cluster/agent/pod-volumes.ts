// The volumes of one pod: made before its containers, kept current while they run, removed with the pod.
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../run-command.ts';
import { type VolumeFile, writeAtomically } from './atomic-files.ts';
import { ContainerConfigError } from './environment.ts';
import type { Pod, Volume } from './pod.ts';
import { collectFiles, type ContentSources } from './volume-content.ts';

/** The volumes of a pod. */
export class PodVolumes {
  readonly #folder: string;
  readonly #volumes: readonly Volume[];
  readonly #sources: ContentSources;
  readonly #written = new Map<string, ReadonlyMap<string, VolumeFile>>();
  readonly #mounted: string[] = [];
  #updating: Promise<void> = Promise.resolve();

  constructor(folder: string, pod: Pod, sources: ContentSources) {
    this.#folder = folder;
    this.#volumes = pod.spec.volumes ?? [];
    this.#sources = sources;
  }

  /** The folder of a volume. */
  locate(name: string): string {
    return join(this.#folder, name);
  }

  /** Makes all volumes. Throws ContainerConfigError when something that they need is not there yet; ask again then. */
  async create(): Promise<void> {
    for (const volume of this.#volumes) {
      const folder = this.locate(volume.name);
      const isNew = (await mkdir(folder, { recursive: true })) !== undefined;
      if (volume.emptyDir === undefined) await this.#write(volume);
      else if (isNew) await this.#createEmpty(folder, volume.emptyDir.sizeLimit);
    }
  }

  /** Writes what has changed. What has gone away keeps its last content, as with the kubelet. */
  update(): Promise<void> {
    this.#updating = this.#updating.then(async () => {
      for (const volume of this.#volumes) {
        if (volume.emptyDir !== undefined || !this.#written.has(volume.name)) continue;
        try {
          await this.#write(volume);
        } catch (error) {
          if (!(error instanceof ContainerConfigError)) throw error;
        }
      }
    });
    return this.#updating;
  }

  /** Unmounts what has been mounted; the folder itself goes with the pod's. */
  async remove(): Promise<void> {
    for (const folder of this.#mounted) await runCommand('umount', ['--lazy', folder]);
  }

  async #createEmpty(folder: string, sizeLimit: string | undefined): Promise<void> {
    if (sizeLimit !== undefined && sizeLimit !== '0') {
      const size = `size=${parseQuantity(sizeLimit)},mode=0777`;
      await runCommand('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', folder]);
      this.#mounted.push(folder);
    }
    const { fsGroup } = this.#sources;
    if (fsGroup !== undefined) await chown(folder, 0, fsGroup);
    await chmod(folder, fsGroup === undefined ? 0o777 : 0o2777);
  }

  async #write(volume: Volume): Promise<void> {
    const files = await collectFiles(volume, this.#sources);
    if (isEqual(files, this.#written.get(volume.name))) return;
    await writeAtomically(this.locate(volume.name), files);
    this.#written.set(volume.name, files);
  }
}

/** Bytes of a quantity such as 64Mi. */
export function parseQuantity(text: string): number {
  const [, digits = '', suffix = ''] = /^([\d.]+)([A-Za-z]*)$/.exec(text) ?? [];
  const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti'].indexOf(suffix);
  const decimal = ['', 'k', 'M', 'G', 'T'].indexOf(suffix);
  if (digits === '' || (binary < 0 && decimal < 0)) throw new ContainerConfigError(`${text} is not a size`);
  return Math.ceil(Number(digits) * (binary >= 0 ? 1024 ** binary : 1000 ** decimal));
}

function isEqual(left: ReadonlyMap<string, VolumeFile>, right: ReadonlyMap<string, VolumeFile> | undefined): boolean {
  if (left.size !== right?.size) return false;
  return [...left].every(([path, file]) => right.get(path)?.content.equals(file.content) ?? false);
}
