// Which API server, and how to get at it.
import type { ReadAccess } from './access.ts';

/** Where nobody says otherwise. */
export const defaultNamespace = 'default';

export interface ApiEndpoint {
  readonly server: string;
  /** An HTTP proxy on the way. */
  readonly proxy: string | undefined;
  /** What is meant where nobody names a namespace, as for kubectl: that of the context or of the pod, or `default`. */
  readonly namespace: string;
  readonly readAccess: ReadAccess;
}

/** Found, or why not: a sentence without a full stop. */
export type EndpointResult =
  | { readonly ok: true; readonly endpoint: ApiEndpoint }
  | { readonly ok: false; readonly problem: string };
