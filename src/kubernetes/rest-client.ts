// The client of client.ts over HTTP: path, verb and parameters of each call.
import { isJsonObject } from '../base/json-object.ts';
import type { ReadAccess } from './access.ts';
import { type ApiRequest, createApiTransport } from './api-transport.ts';
import { ApiError, ApiUnreachableError, type KubernetesClient, type KubernetesObject, type Scope } from './client.ts';
import { describeCollection, describeObject, formatCollectionPath, formatObjectPath } from './request-path.ts';
import { formatApiVersion, type ResourceType } from './resource-type.ts';
import { readWatchEvents } from './watch-stream.ts';

interface RestClientOptions {
  /** http(s)://host:port, optionally with a path in front of the API's own. */
  readonly server: string;
  /** User-Agent and field manager. */
  readonly name: string;
  readonly readAccess: ReadAccess;
  /** An HTTP proxy to go through. */
  readonly proxy?: string | undefined;
  /** How long a call, or the head of a watch, may take. Default 30 s. */
  readonly timeoutMs?: number;
  /** For tests: the duration of a watch is random. */
  readonly random?: () => number;
}

const pageSize = 500;
const minWatchSeconds = 300;

const partialMetadata = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const partialMetadataList = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Creates a client. Sends nothing yet. */
export function createRestClient(options: RestClientOptions): KubernetesClient {
  const { name: manager, random = Math.random } = options;
  const transport = createApiTransport({
    server: options.server,
    userAgent: manager,
    readAccess: options.readAccess,
    proxy: options.proxy,
    timeoutMs: options.timeoutMs ?? 30_000,
  });

  async function callForObject(request: ApiRequest, signal: AbortSignal | undefined): Promise<KubernetesObject> {
    const answer = await transport.call(request, signal);
    if (isJsonObject(answer) && isJsonObject(answer['metadata'])) return answer as KubernetesObject;
    throw new ApiUnreachableError(`cannot ${request.what}: the answer of ${options.server} is not an object`);
  }

  return {
    server: options.server,
    get: async (type, name, signal) =>
      callForObject(
        { method: 'GET', path: formatObjectPath(type, name), what: `get ${describeObject(type, name)}` },
        signal,
      ),
    async list(type, scope, page = {}, signal) {
      const what = `list ${describeCollection(type, scope)}`;
      const limit = page.limit ?? pageSize;
      const request: ApiRequest = {
        method: 'GET',
        path: formatCollectionPath(type, scope.namespace),
        // No resourceVersion: the most recent state, never one older than seen before.
        query: {
          ...formatScope(scope),
          limit: limit === 0 ? undefined : String(limit),
          continue: page.continue,
        },
        accept: scope.metadataOnly === true ? `${partialMetadataList},application/json` : undefined,
        what,
      };
      const answer = await transport.call(request, signal);
      if (!isJsonObject(answer) || !isJsonObject(answer['metadata']) || !isListOrNull(answer['items']))
        throw new ApiUnreachableError(`cannot ${what}: the answer of ${options.server} is not a list`);
      const { resourceVersion, continue: next } = answer['metadata'];
      return {
        items: (answer['items'] ?? []).map((item) => completeObject(type, scope, item)),
        resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
        continue: typeof next === 'string' && next !== '' ? next : undefined,
      };
    },
    async *watch(type, scope, resourceVersion, signal, onOpen) {
      const request: ApiRequest = {
        method: 'GET',
        path: formatCollectionPath(type, scope.namespace),
        query: {
          ...formatScope(scope),
          watch: 'true',
          allowWatchBookmarks: 'true',
          resourceVersion,
          // With jitter, so that the watches of all controllers do not end at the same time.
          timeoutSeconds: String(Math.round(minWatchSeconds * (1 + random()))),
        },
        accept: scope.metadataOnly === true ? `${partialMetadata},application/json` : undefined,
        what: `watch ${describeCollection(type, scope)}`,
      };
      const body = await transport.stream(request, signal);
      try {
        onOpen?.();
        for await (const event of readWatchEvents(body as AsyncIterable<Buffer>))
          yield event.type === 'ERROR' ? event : { ...event, object: completeObject(type, scope, event.object) };
      } catch (error) {
        throw transport.explain(request, error, signal);
      } finally {
        // A consumer that stops early must not leave the connection open.
        body.on('error', () => {}).destroy();
      }
    },
    create: async (type, object, signal) =>
      callForObject(
        {
          method: 'POST',
          path: formatCollectionPath(type, type.namespaced ? (object.metadata.namespace ?? '') : undefined),
          // As apply does by default: unknown fields are refused, not dropped.
          query: { fieldManager: manager, fieldValidation: 'Strict' },
          body: withType(type, object),
          what: `create ${describeObject(type, object.metadata)}`,
        },
        signal,
      ),
    apply: async (type, object, { force = false, dryRun = false } = {}, signal) =>
      callForObject(
        {
          method: 'PATCH',
          path: formatObjectPath(type, object.metadata),
          query: { fieldManager: manager, force: String(force), dryRun: dryRun ? 'All' : undefined },
          // JSON is YAML.
          contentType: 'application/apply-patch+yaml',
          body: withType(type, object),
          what: `apply ${describeObject(type, object.metadata)}`,
        },
        signal,
      ),
    replace: async (type, object, signal) =>
      callForObject(
        {
          method: 'PUT',
          path: formatObjectPath(type, object.metadata),
          query: { fieldManager: manager },
          body: withType(type, object),
          what: `update ${describeObject(type, object.metadata)}`,
        },
        signal,
      ),
    replaceStatus: async (type, object, signal) =>
      callForObject(
        {
          method: 'PUT',
          path: formatObjectPath(type, object.metadata, 'status'),
          query: { fieldManager: manager },
          body: withType(type, object),
          what: `update the status of ${describeObject(type, object.metadata)}`,
        },
        signal,
      ),
    mergePatch: async (type, name, patch, signal) =>
      callForObject(
        {
          method: 'PATCH',
          path: formatObjectPath(type, name),
          query: { fieldManager: manager },
          contentType: 'application/merge-patch+json',
          body: patch,
          what: `patch ${describeObject(type, name)}`,
        },
        signal,
      ),
    async delete(type, name, preconditions, signal) {
      const request: ApiRequest = {
        method: 'DELETE',
        path: formatObjectPath(type, name),
        body: {
          kind: 'DeleteOptions',
          apiVersion: 'v1',
          propagationPolicy: 'Background',
          ...(preconditions !== undefined && { preconditions }),
        },
        what: `delete ${describeObject(type, name)}`,
      };
      try {
        await transport.call(request, signal);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status.code !== 404) throw error;
      }
    },
    async post(path, body, signal) {
      const answer = await transport.call({ method: 'POST', path, body, what: `post to ${path}` }, signal);
      // Reviews are not stored, and need no metadata.
      if (isJsonObject(answer)) return { metadata: { name: '' }, ...answer };
      throw new ApiUnreachableError(`cannot post to ${path}: the answer of ${options.server} is not an object`);
    },
    getPath: async (path, signal) => transport.call({ method: 'GET', path, what: `get ${path}` }, signal),
    close: () => transport.close(),
  };
}

function formatScope({ labelSelector, fieldSelector }: Scope): Readonly<Record<string, string | undefined>> {
  return { labelSelector, fieldSelector };
}

function isListOrNull(value: unknown): value is KubernetesObject[] | null | undefined {
  return value === undefined || value === null || (Array.isArray(value) && value.every(isObject));
}

function isObject(value: unknown): value is KubernetesObject {
  return isJsonObject(value) && isJsonObject(value['metadata']);
}

/** Adds apiVersion and kind: list items may lack them, and metadata-only objects have PartialObjectMetadata instead. */
function completeObject(type: ResourceType, { metadataOnly }: Scope, object: KubernetesObject): KubernetesObject {
  const [apiVersion, kind] = [formatApiVersion(type), type.kind];
  if (metadataOnly === true) return { apiVersion, kind, metadata: object.metadata };
  return object.apiVersion === undefined || object.kind === undefined ? { apiVersion, kind, ...object } : object;
}

function withType(type: ResourceType, object: KubernetesObject): KubernetesObject {
  return { ...object, apiVersion: formatApiVersion(type), kind: type.kind };
}
