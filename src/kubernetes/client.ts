// The Kubernetes API as this program uses it: plain REST over undici, JSON in and out. Independent of kinds.
import type { ResourceType } from './resource-type.ts';

/** An object as the API server returns it. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** The metadata that we read. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly [field: string]: unknown;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** The name of an object. `namespace` is undefined for cluster-scoped kinds. */
export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** What a list or a watch covers. */
export interface Scope {
  /** Undefined: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Names, labels and annotations only (PartialObjectMetadata). */
  readonly metadataOnly?: boolean | undefined;
}

/** One page of a list. */
interface ListPage {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
  /** Set: there are more pages. */
  readonly continue: string | undefined;
}

/** One event of a watch. */
export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: KubernetesObject }
  | { readonly type: 'ERROR'; readonly status: ApiStatus };

/** metav1.Status */
export interface ApiStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly retryAfterSeconds: number | undefined;
  /** Refused (Forbidden) because the namespace is being deleted: nothing new is accepted in it, whoever asks. */
  readonly isNamespaceTerminating?: boolean;
}

/** The API server refused a request. `status.reason` is NotFound, AlreadyExists, Conflict, Forbidden, Expired, Invalid, TooManyRequests... */
export class ApiError extends Error {
  readonly code = 'kubernetes_api';
  readonly status: ApiStatus;

  constructor(message: string, status: ApiStatus) {
    super(message);
    this.status = status;
  }
}

/** No answer from the API server. */
export class ApiUnreachableError extends Error {
  readonly code = 'kubernetes_unreachable';
}

/**
 * Calls reject with an ApiError or an ApiUnreachableError that names the request (verb, resource, object) and never contains credentials;
 * or with the reason of their signal. A call without an answer fails after 30 seconds.
 */
export interface KubernetesClient {
  /** The URL of the API server, for messages. */
  readonly server: string;
  get(type: ResourceType, name: ObjectName, signal?: AbortSignal): Promise<KubernetesObject>;
  /** One page of 500 items, or of `limit`; 0: everything at once. Items have their apiVersion and kind, also where the API server leaves them out. */
  list(
    type: ResourceType,
    scope: Scope,
    page?: { readonly continue?: string | undefined; readonly limit?: number | undefined },
    signal?: AbortSignal,
  ): Promise<ListPage>;
  /** With bookmarks. Ends when the server ends it; throws when the connection breaks. `onOpen` is called when the server has accepted it. */
  watch(
    type: ResourceType,
    scope: Scope,
    resourceVersion: string,
    signal: AbortSignal,
    onOpen?: () => void,
  ): AsyncIterable<WatchEvent>;
  create(type: ResourceType, object: KubernetesObject, signal?: AbortSignal): Promise<KubernetesObject>;
  /**
   * Server-side apply with our field manager. `force` takes fields over from other managers. A metadata.uid in the object is a precondition:
   * Conflict if there is no such object, Invalid if another object has the name.
   */
  apply(
    type: ResourceType,
    object: KubernetesObject,
    options?: { readonly force?: boolean; readonly dryRun?: boolean },
    signal?: AbortSignal,
  ): Promise<KubernetesObject>;
  /** Replaces; a metadata.resourceVersion in the object is a precondition. */
  replace(type: ResourceType, object: KubernetesObject, signal?: AbortSignal): Promise<KubernetesObject>;
  /** Replaces the status subresource; the resourceVersion is a precondition. */
  replaceStatus(type: ResourceType, object: KubernetesObject, signal?: AbortSignal): Promise<KubernetesObject>;
  /** JSON merge patch. */
  mergePatch(type: ResourceType, name: ObjectName, patch: object, signal?: AbortSignal): Promise<KubernetesObject>;
  /** Background propagation; the preconditions must hold. Resolves also if the object does not exist. */
  delete(
    type: ResourceType,
    name: ObjectName,
    preconditions?: { readonly uid?: string; readonly resourceVersion?: string },
    signal?: AbortSignal,
  ): Promise<void>;
  /** POST to a subresource or a review, such as TokenReview. */
  post(path: string, body: object, signal?: AbortSignal): Promise<KubernetesObject>;
  /** GET of any path, parsed as JSON: /version, /apis/GROUP/VERSION. */
  getPath(path: string, signal?: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}
