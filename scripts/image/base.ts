// The contents that all images share: Node, the libraries that it needs, certificate authorities, a user, and nothing to log in with.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { parseEnv } from 'node:util';
import { authoritiesPackage, bundleAuthorities } from './ca-certificates.ts';
import { authoritiesFile, imageUser } from './components.ts';
import { DebianPackages } from './debian-packages.ts';
import { withoutDebugSections } from './elf.ts';
import { findPlatform, type ImagePlatform, ImageUnavailableError } from './platform.ts';
import { plainFile, programFile, type RootEntry, type RootFiles } from './root-files.ts';
import type { Distribution, SbomPart } from './sbom.ts';
import { collectLibraries } from './shared-libraries.ts';

/** Files, and what they are from. */
export interface ImageBase {
  readonly files: RootFiles;
  readonly parts: readonly SbomPart[];
}

/** Where Node is in an image. */
export const nodeProgram = '/usr/local/bin/node';

/** The licences of Debian packages: their copyright files are for people, and go into the image as they are. */
const licences: Readonly<Record<string, string>> = {
  libc6: 'LGPL-2.1-or-later',
  'libstdc++6': 'GPL-3.0-or-later WITH GCC-exception-3.1',
  'libgcc-s1': 'GPL-3.0-or-later WITH GCC-exception-3.1',
  libatomic1: 'GPL-3.0-or-later WITH GCC-exception-3.1',
  'ca-certificates': 'MPL-2.0 AND GPL-2.0-or-later',
};

/** Puts the base together. */
export async function makeBase(): Promise<ImageBase> {
  const platform = findPlatform();
  const node = await readNode(platform);
  return DebianPackages.open(platform.architecture, async (packages) => {
    const libraries = await collectLibraries(node.program, { packages, libraryFolder: platform.libraryFolder });
    const names = [...libraries.packages, authoritiesPackage].toSorted();
    const documents: Record<string, RootEntry> = {};
    const cpe = `cpe:2.3:a:nodejs:node.js:${node.version}:*:*:*:*:*:*:*`;
    const parts: SbomPart[] = [{ kind: 'generic', name: 'node', version: node.version, licence: 'MIT', cpe }];
    const distribution = await readDistribution();
    for (const name of names) {
      const { version, architecture, source, copyright } = await packages.find(name);
      documents[`/usr/share/doc/${name}/copyright`] = plainFile(copyright);
      parts.push({ kind: 'deb', name, version, licence: licences[name]!, distribution, architecture, source });
    }
    return {
      files: {
        [nodeProgram]: programFile(node.program),
        '/usr/share/doc/node/copyright': plainFile(node.licenceText),
        ...libraries.files,
        ...documents,
        [authoritiesFile]: plainFile(await bundleAuthorities(packages)),
        '/etc/passwd': plainFile(
          `root:x:0:0:root:/:/sbin/nologin\nnonroot:x:${imageUser}:${imageUser}:nonroot:/:/sbin/nologin\n`,
        ),
        '/etc/group': plainFile(`root:x:0:\nnonroot:x:${imageUser}:\n`),
        // Without it the C library would ask DNS before it looks at /etc/hosts.
        '/etc/nsswitch.conf': plainFile('hosts: files dns\n'),
        '/tmp': { kind: 'folder', mode: 0o1777 },
      },
      parts,
    };
  });
}

interface NodePackage {
  readonly version: string;
  readonly program: Buffer;
  readonly licenceText: string;
}

async function readNode({ nodePackage }: ImagePlatform): Promise<NodePackage> {
  let folder: string;
  try {
    folder = dirname(createRequire(import.meta.url).resolve(`${nodePackage}/package.json`));
  } catch (error) {
    throw new ImageUnavailableError(`${nodePackage} is not installed; run npm ci without --omit=optional.`, {
      cause: error,
    });
  }
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  return {
    version,
    program: withoutDebugSections(await readFile(join(folder, 'bin', 'node'))),
    licenceText: await readFile(join(folder, 'LICENSE'), 'utf8'),
  };
}

async function readDistribution(): Promise<Distribution> {
  const { ID: name = 'debian', VERSION_ID: version = '' } = parseEnv(await readFile('/etc/os-release', 'utf8'));
  return { name, version };
}
