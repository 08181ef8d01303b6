// The address of the API server and the way to it.
import type { ReadAccess } from './access.ts';

/** The namespace if none is configured. */
export const defaultNamespace = 'default';

export interface ApiEndpoint {
  readonly server: string;
  /** An HTTP proxy to go through. */
  readonly proxy: string | undefined;
  /** The default namespace, as for kubectl: that of the context or of the pod, or `default`. */
  readonly namespace: string;
  readonly readAccess: ReadAccess;
}

/** The endpoint, or why there is none: a sentence without a full stop. */
export type EndpointResult =
  | { readonly ok: true; readonly endpoint: ApiEndpoint }
  | { readonly ok: false; readonly problem: string };
