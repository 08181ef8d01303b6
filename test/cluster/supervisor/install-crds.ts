// Installs CRDs, and waits until the API server serves their kinds.
import { readFile } from 'node:fs/promises';
import type { ApiClient, ApiObject } from '../api-client.ts';
import { waitFor } from '../../kit/wait-for.ts';

interface Crd extends ApiObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

/** Where the kinds are that the folders have. */
const places: Readonly<Record<string, string>> = {
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
};

/** Creates what these YAML files have. The API server reads a megabyte of YAML in a tenth of the time that it takes us. */
export async function installCrds(client: ApiClient, files: readonly string[]): Promise<void> {
  const texts = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).flatMap((text) =>
    text.split(/^---$/m),
  );
  const documents = texts.flatMap((text) => {
    const kind = /^kind: (\w+)$/m.exec(text)?.[1];
    return kind === undefined ? [] : [{ kind, text }];
  });
  const made = await Promise.all(
    documents.map(({ kind, text }) => {
      const place = places[kind];
      if (place === undefined) throw new Error(`install-crds.ts does not know the kind ${kind}`);
      return client.call<Crd>('POST', `${place}?fieldManager=test`, text, 'application/yaml');
    }),
  );
  const crds = made.filter(({ kind }) => kind === 'CustomResourceDefinition');
  await waitFor(async () => (await listUnserved(client, crds)).length === 0, {
    retryErrors: true,
    // All of them together are megabytes: they are not asked for again, and what is asked for is not asked too often.
    intervalMs: 50,
    what: 'all CRDs are served',
  });
}

/** Those that the API server does not name yet: it does a moment after it has established them. */
async function listUnserved(client: ApiClient, crds: readonly Crd[]): Promise<readonly Crd[]> {
  const locate = ({ spec }: Crd): string => `/apis/${spec.group}/${spec.versions.find(({ served }) => served)!.name}`;
  const served = new Set<string>();
  for (const place of new Set(crds.map(locate))) {
    const { resources } = await client.get<{ resources: readonly { readonly name: string }[] }>(place);
    for (const { name } of resources) served.add(`${place}/${name}`);
  }
  return crds.filter((crd) => !served.has(`${locate(crd)}/${crd.spec.names.plural}`));
}
