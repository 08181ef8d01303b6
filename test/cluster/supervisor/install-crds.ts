// Installs CRDs, and waits until the API server serves their kinds.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient, ApiObject } from '../api-client.ts';
import { ObjectWriter } from '../object-writer.ts';
import { waitFor } from '../wait-for.ts';

interface Crd extends ApiObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Applies all YAML files of these folders. */
export async function installCrds(client: ApiClient, folders: readonly string[]): Promise<void> {
  const writer = new ObjectWriter(client);
  const files = (await Promise.all(folders.map(listFiles))).flat();
  await Promise.all(files.map(async (file) => writer.apply(await readFile(file, 'utf8'), 'default')));
  await waitFor(
    async () => {
      const crds = await client.list<Crd>('/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
      return crds.every(isEstablished) && (await Promise.all(crds.map((crd) => isServed(client, crd)))).every(Boolean);
    },
    { what: 'all CRDs are established and served' },
  );
}

async function listFiles(folder: string): Promise<readonly string[]> {
  const files = (await readdir(folder)).filter((file) => /\.ya?ml$/.test(file));
  return files.map((file) => join(folder, file));
}

function isEstablished({ status }: Crd): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Established' && value === 'True') ?? false;
}

/** The API server names a kind a moment after it has established it. */
async function isServed(client: ApiClient, { spec }: Crd): Promise<boolean> {
  const { name } = spec.versions.find(({ served }) => served)!;
  const { resources } = await client.get<{ resources: readonly { readonly name: string }[] }>(
    `/apis/${spec.group}/${name}`,
  );
  return resources.some((resource) => resource.name === spec.names.plural);
}
