// The query of a request on its way out of the gateway: upstream, or back to the client in a redirect.
import { withoutParameter } from '../authentication/token/token-parameter.ts';
import type { RequestContext } from './request-context.ts';

/** The query that leaves the gateway: without a token that is not forwarded. */
export function readForwardedQuery({ query, jwt }: Pick<RequestContext, 'query' | 'jwt'>): string {
  return jwt?.removedQueryParameter === undefined ? query : withoutParameter(query, jwt.removedQueryParameter);
}
