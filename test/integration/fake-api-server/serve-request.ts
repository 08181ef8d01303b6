// One request to the fake API server: which kind it is about, what it wants, and the answer.
import type { KubernetesObject } from '../../../src/kubernetes/client.ts';
import type { SeenRequest, Verb } from './fault.ts';
import type { ObjectStore } from './object-store.ts';
import { parseSelectors } from './object-selectors.ts';
import { renderList, renderObject, type View } from './render-object.ts';
import type { ServedKind } from './served-kind.ts';
import { expired, StatusError } from './status-error.ts';
import type { WatchRequest } from './watch-hub.ts';

/** Where a path points. */
export interface ParsedPath {
  readonly kind: ServedKind;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Finds what a path is about; undefined: nothing that is served. */
export function parsePath(path: string, kinds: Iterable<ServedKind>): ParsedPath | undefined {
  const steps = path
    .split('/')
    .slice(1)
    .map((step) => decodeURIComponent(step));
  const isCore = steps[0] === 'api';
  if (!isCore && steps[0] !== 'apis') return undefined;
  const [group, version, ...rest] = isCore ? ['', ...steps.slice(1)] : steps.slice(1);
  const list = [...kinds];
  const find = (plural: string | undefined, namespaced: boolean): ServedKind | undefined =>
    list.find(
      (kind) =>
        kind.group === group &&
        kind.plural === plural &&
        kind.versions.includes(version ?? '') &&
        (!namespaced || kind.namespaced),
    );
  if (rest[0] === 'namespaces' && rest.length >= 3) {
    const kind = find(rest[2], true);
    if (kind !== undefined) return { kind, version: version!, namespace: rest[1], name: rest[3], subresource: rest[4] };
  }
  const kind = find(rest[0], false);
  if (kind === undefined) return undefined;
  return { kind, version: version!, namespace: undefined, name: rest[1], subresource: rest[2] };
}

/** What a request wants, in the words of RBAC. */
export function readVerb(
  method: string,
  parsed: ParsedPath | undefined,
  query: URLSearchParams,
  contentType: string,
): Verb {
  if (method === 'PUT') return 'update';
  if (method === 'DELETE') return 'delete';
  if (method === 'PATCH') return contentType.startsWith('application/apply-patch') ? 'apply' : 'patch';
  if (method === 'POST') return parsed === undefined ? 'post' : 'create';
  if (parsed === undefined || parsed.name !== undefined) return 'get';
  return query.get('watch') === 'true' || query.get('watch') === '1' ? 'watch' : 'list';
}

/** An answer with a body, or a watch to open. */
export type Outcome =
  | { readonly type: 'answer'; readonly code: number; readonly body: object }
  | { readonly type: 'watch'; readonly request: WatchRequest };

/** The rest of lists that were cut into pages. */
export class ContinueTokens {
  readonly #pages = new Map<
    string,
    { readonly items: readonly KubernetesObject[]; readonly resourceVersion: string }
  >();
  #count = 0;

  save(items: readonly KubernetesObject[], resourceVersion: string): string {
    const token = `continue-${(this.#count += 1)}`;
    this.#pages.set(token, { items, resourceVersion });
    return token;
  }

  take(token: string): { readonly items: readonly KubernetesObject[]; readonly resourceVersion: string } {
    const page = this.#pages.get(token);
    if (page === undefined)
      throw expired('The provided continue parameter is too old to display a consistent list result.');
    return page;
  }

  expire(): void {
    this.#pages.clear();
  }
}

/** Serves a request for a resource. Throws a StatusError when the answer is no. */
export function serveResource(
  request: SeenRequest,
  parsed: ParsedPath,
  store: ObjectStore,
  tokens: ContinueTokens,
): Outcome {
  const { kind, version, namespace, name, subresource } = parsed;
  const { query } = request;
  const accept = String(request.headers['accept'] ?? '');
  const view: View = { kind, version, metadataOnly: accept.includes('as=PartialObjectMetadata') };
  const options = {
    manager: query.get('fieldManager') ?? String(request.headers['user-agent'] ?? 'unknown').split('/')[0]!,
    dryRun: query.get('dryRun') === 'All',
  };
  const answer = (object: KubernetesObject, code = 200): Outcome => ({
    type: 'answer',
    code,
    body: renderObject(view, object),
  });
  if (subresource !== undefined && (subresource !== 'status' || !kind.hasStatus))
    throw new StatusError(404, 'NotFound', 'the server could not find the requested resource');
  const part = subresource === 'status' ? 'status' : 'object';
  switch (request.verb) {
    case 'get':
      return answer(store.get(kind, namespace, name!));
    case 'list':
      return { type: 'answer', code: 200, body: listObjects(view, namespace, query, store, tokens) };
    case 'watch':
      return {
        type: 'watch',
        request: {
          view,
          namespace,
          matches: parseSelectors(query.get('labelSelector'), query.get('fieldSelector')),
          resourceVersion: query.get('resourceVersion') ?? '',
          bookmarks: query.get('allowWatchBookmarks') === 'true',
          timeoutSeconds: query.has('timeoutSeconds') ? Number(query.get('timeoutSeconds')) : undefined,
        },
      };
    case 'create':
      return answer(store.create(kind, readObject(request.body, parsed), options), 201);
    case 'update':
      return answer(store.replace(kind, readObject(request.body, parsed), part, options));
    case 'apply': {
      if (!query.has('fieldManager'))
        throw new StatusError(
          400,
          'BadRequest',
          'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
        );
      const isNew = store.find(kind, namespace, name!) === undefined;
      const applied = store.apply(kind, readObject(request.body, parsed), query.get('force') === 'true', options);
      return answer(applied, isNew ? 201 : 200);
    }
    case 'patch': {
      const contentType = String(request.headers['content-type']);
      if (!contentType.startsWith('application/merge-patch+json'))
        throw new StatusError(415, 'UnsupportedMediaType', `the fake API server has no ${contentType}`);
      return answer(store.mergePatch(kind, namespace, name!, request.body, part, options));
    }
    case 'delete': {
      const { preconditions } = (request.body ?? {}) as { preconditions?: { uid?: string; resourceVersion?: string } };
      return answer(store.delete(kind, namespace, name!, preconditions));
    }
    default:
      throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
  }
}

function listObjects(
  view: View,
  namespace: string | undefined,
  query: URLSearchParams,
  store: ObjectStore,
  tokens: ContinueTokens,
): object {
  const token = query.get('continue') ?? '';
  const matches = parseSelectors(query.get('labelSelector'), query.get('fieldSelector'));
  const { items, resourceVersion } =
    token === ''
      ? {
          items: store
            .list(view.kind)
            .filter((object) => namespace === undefined || object.metadata.namespace === namespace)
            .filter((object) => matches(object)),
          resourceVersion: String(store.resourceVersion),
        }
      : tokens.take(token);
  const limit = Number(query.get('limit') ?? '0');
  if (limit === 0 || items.length <= limit) return renderList(view, items, { resourceVersion });
  const rest = items.slice(limit);
  return renderList(view, items.slice(0, limit), {
    resourceVersion,
    continue: tokens.save(rest, resourceVersion),
    remainingItemCount: rest.length,
  });
}

/** The object of a body, which must fit its path. */
function readObject(body: unknown, { kind, namespace, name }: ParsedPath): KubernetesObject {
  if (typeof body !== 'object' || body === null || !('metadata' in body))
    throw new StatusError(400, 'BadRequest', 'the body of the request is no object');
  const object = body as KubernetesObject;
  if (object.kind !== kind.kind)
    throw new StatusError(
      400,
      'BadRequest',
      `the kind in the data (${object.kind}) does not match the expected kind (${kind.kind})`,
    );
  if (name !== undefined && object.metadata.name !== name)
    throw new StatusError(400, 'BadRequest', 'the name of the object does not match the name on the URL');
  if (object.metadata.namespace !== undefined && object.metadata.namespace !== namespace)
    throw new StatusError(
      400,
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  if (kind.namespaced && namespace === undefined)
    throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
  return { ...object, metadata: { ...object.metadata, ...(namespace !== undefined && { namespace }) } };
}
