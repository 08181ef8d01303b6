// Images and what they stand for. There are no containers here: the last part of an image's repository names an entry, and the
// entry says which program of this machine runs, and which of its files it sees.
import { join } from 'node:path';
import { buildCurrentImages, type ImageRoot } from '../image/current-images.ts';
import { listPodPrograms } from './pod-program.ts';
import { imageEnvironment, imageProgram, imageUser } from '../../scripts/image/components.ts';

/** What an image stands for. */
export interface Image {
  /** The image's entry point; a container's `command` takes its place, `args` follow it. */
  readonly entrypoint: readonly string[];
  /** The image's default arguments; a container's `args` or `command` replace them. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workingDir?: string;
  /** The image's user and group. Root without one. */
  readonly user?: number;
  /** The folder that is the container's root. Without one, containers see the machine's own files. */
  readonly root?: string;
  /** Files and folders of the machine, by the path at which the container sees them, read-only. */
  readonly files?: Readonly<Record<string, string>>;
  /** The same, of this cluster alone: containers may write there. */
  readonly ownFiles?: Readonly<Record<string, string>>;
}

/** Images by the last part of their repository: `example.com/team/controller:1.0` is `controller`. */
export type ImageTable = Readonly<Record<string, Image>>;

export const checkout = join(import.meta.dirname, '..', '..');
/** Of images that do not name another one. */
export const nonRoot = 65_532;

/** An image that runs a TypeScript file of this checkout; `file` is relative to the checkout. */
export function createNodeImage(file: string, args: readonly string[] = []): Image {
  return {
    entrypoint: ['/usr/local/bin/node', `/app/${file}`, ...args],
    workingDir: '/app',
    user: nonRoot,
    files: { '/app': checkout, '/usr/local/bin/node': process.execPath },
  };
}

/** An image that runs one binary. */
export function createBinaryImage(binary: string, args: readonly string[] = []): Image {
  return { entrypoint: ['/program', ...args], user: nonRoot, files: { '/program': binary } };
}

/** An image as users get it: its root and nothing else, started as its Dockerfile says. */
export function createRootImage({ root, component }: ImageRoot): Image {
  return {
    root,
    entrypoint: [imageProgram],
    args: component.defaultArgs,
    env: imageEnvironment,
    user: imageUser,
  };
}

/** `controller` and `gateway` as users get them, made of this checkout as it is: `startCluster({ images: await buildProductImages() })`. */
export async function buildProductImages(): Promise<ImageTable> {
  const built = await buildCurrentImages();
  return Object.fromEntries(built.map((image) => [image.component.name, createRootImage(image)]));
}

/** `controller` and `gateway` as the checkout has them, in a cluster with this folder. */
export function createCheckoutImages(runFolder: string): ImageTable {
  const image = { ...createNodeImage('bin/mcp-gatehouse.mjs'), ownFiles: listPodPrograms(runFolder) };
  return { controller: image, gateway: image };
}

/** What every cluster has. */
export function createDefaultImages(programs: { readonly echoBasic: string; readonly runFolder: string }): ImageTable {
  return {
    ...createCheckoutImages(programs.runFolder),
    'echo-basic': createBinaryImage(programs.echoBasic),
    // A shell and the machine's tools, for probes of the harness itself.
    shell: { entrypoint: ['/bin/sh'], env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' } },
  };
}

/** What a cluster with the Inference Extension has beside them: the picker that its conformance suite deploys. */
export function createInferenceImages(programs: { readonly endpointPicker: string }): ImageTable {
  return { lwepp: createBinaryImage(programs.endpointPicker) };
}

/** The entry of an image reference. */
export function findImage(table: ImageTable, reference: string): Image | undefined {
  const repository = reference.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  return table[repository.slice(repository.lastIndexOf('/') + 1)];
}
