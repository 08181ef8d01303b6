// The contents of an image as a CycloneDX document. It has no dates and no random numbers: the same image, the same document. Pure.

/** A part of an image. */
export interface SbomPart {
  readonly kind: 'npm' | 'deb' | 'generic';
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly licence: string;
  /** For packages of a distribution: `{ name: 'debian', version: '12' }`. */
  readonly distribution?: Distribution;
  readonly architecture?: string;
  /** The source package, when it has another name. */
  readonly source?: string;
  /** The name under which vulnerabilities of it are published, where there is no package to go by. */
  readonly cpe?: string;
}

/** A distribution of packages. */
export interface Distribution {
  readonly name: string;
  readonly version: string;
}

/** The image. */
export interface SbomImage {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly licence: string;
}

/** The document, as text. */
export function formatSbom(image: SbomImage, parts: readonly SbomPart[]): string {
  const reference = `${image.name}@${image.version}`;
  const components = parts.map((part) => ({
    type: part.kind === 'generic' ? 'platform' : 'library',
    'bom-ref': formatPackageUrl(part),
    name: part.name,
    version: part.version,
    licenses: [{ expression: part.licence }],
    purl: formatPackageUrl(part),
    ...(part.cpe !== undefined && { cpe: part.cpe }),
    ...(part.source !== undefined && { properties: [{ name: 'source', value: part.source }] }),
  }));
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'container',
        'bom-ref': reference,
        name: image.name,
        version: image.version,
        description: image.description,
        licenses: [{ expression: image.licence }],
      },
    },
    components,
    dependencies: [{ ref: reference, dependsOn: components.map(({ purl }) => purl) }],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** The package URL: `pkg:npm/%40bufbuild/cel@0.6.1`. */
export function formatPackageUrl({ kind, name, version, distribution, architecture }: SbomPart): string {
  const path = name.split('/').map((part) => encodeURIComponent(part));
  if (distribution !== undefined) path.unshift(distribution.name);
  const qualifiers = new URLSearchParams({
    ...(architecture !== undefined && { arch: architecture }),
    ...(distribution !== undefined && { distro: `${distribution.name}-${distribution.version}` }),
  }).toString();
  return `pkg:${kind}/${path.join('/')}@${encodeURIComponent(version)}${qualifiers === '' ? '' : `?${qualifiers}`}`;
}
