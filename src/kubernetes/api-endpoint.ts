// Which API server, and how to get at it.
import type { ReadAccess } from './access.ts';

export interface ApiEndpoint {
  readonly server: string;
  /** An HTTP proxy on the way. */
  readonly proxy: string | undefined;
  readonly readAccess: ReadAccess;
}

/** Found, or why not: a sentence without a full stop. */
export type EndpointResult =
  | { readonly ok: true; readonly endpoint: ApiEndpoint }
  | { readonly ok: false; readonly problem: string };
