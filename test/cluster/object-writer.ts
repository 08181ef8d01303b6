// Writes objects as `kubectl apply --server-side` and `kubectl delete` do, without a process for each time: tests write some hundred times.
import { parseAllDocuments } from 'yaml';
import { type ApiClient, ApiError, type ApiObject } from './api-client.ts';
import { waitFor } from '../kit/wait-for.ts';

/** An object of any kind, as people write it. */
interface Manifest extends ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
}

interface ResourceKind {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Who wrote it, for the API server. */
const fieldManager = 'test';

/** Applies and deletes objects. */
export class ObjectWriter {
  readonly #api: ApiClient;
  readonly #kinds = new Map<string, readonly ResourceKind[]>();

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** Applies YAML or objects, in their order. Unknown fields are refused. What has no namespace of its own is written to `namespace`. */
  async apply(manifests: string | object | readonly object[], namespace: string): Promise<void> {
    for (const manifest of readManifests(manifests)) {
      const path = await this.#locate(manifest, namespace);
      const query = `fieldManager=${fieldManager}&force=true&fieldValidation=Strict`;
      await this.#api.call('PATCH', `${path}?${query}`, manifest, 'application/apply-patch+yaml');
    }
  }

  /** Deletes what YAML or objects name, and waits until it is gone. What does not exist is gone. */
  async delete(manifests: string | object | readonly object[], namespace: string): Promise<void> {
    const deleted: { readonly path: string; readonly uid: string | undefined }[] = [];
    for (const manifest of readManifests(manifests)) {
      const path = await this.#locate(manifest, namespace);
      const found = await this.#find(path);
      if (found === undefined) continue;
      const { uid } = found.metadata;
      // Only this one: who has made another of the same name meanwhile wants it.
      const options = { propagationPolicy: 'Background', preconditions: { uid } };
      await this.#api.delete(path, options).catch((error: unknown) => {
        if (!(error instanceof ApiError && [404, 409].includes(error.status))) throw error;
      });
      deleted.push({ path, uid });
    }
    for (const { path, uid } of deleted)
      await waitFor(async () => (await this.#find(path))?.metadata.uid !== uid, {
        retryErrors: true,
        what: `${path} is gone`,
      });
  }

  async #find(path: string): Promise<ApiObject | undefined> {
    try {
      return await this.#api.get(path);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #locate({ apiVersion, kind, metadata }: Manifest, namespace: string): Promise<string> {
    const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const { name, namespaced } = await this.#findKind(group, kind);
    const place = namespaced ? `${group}/namespaces/${metadata.namespace ?? namespace}` : group;
    return `${place}/${name}/${metadata.name}`;
  }

  async #findKind(group: string, kind: string): Promise<ResourceKind> {
    const find = (): ResourceKind | undefined =>
      this.#kinds.get(group)?.find((each) => each.kind === kind && !each.name.includes('/'));
    if (find() === undefined) {
      // Kinds come while a cluster runs.
      const { resources } = await this.#api.get<{ resources: readonly ResourceKind[] }>(group);
      this.#kinds.set(group, resources);
    }
    const found = find();
    if (found === undefined) throw new Error(`The API server has no kind ${kind} in ${group}.`);
    return found;
  }
}

/** All objects of a YAML text; objects stay as they are. */
function readManifests(manifests: string | object | readonly object[]): readonly Manifest[] {
  if (typeof manifests !== 'string') return (Array.isArray(manifests) ? manifests : [manifests]) as readonly Manifest[];
  const documents = parseAllDocuments(manifests);
  return documents.flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    const value = document.toJS() as Manifest | null;
    return value === null ? [] : [value];
  });
}
