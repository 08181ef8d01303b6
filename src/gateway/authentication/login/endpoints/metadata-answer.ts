// Answers with metadata documents (RFC 9728 3.2, RFC 8414 3.2): JSON, not cached where a cache could mix up hosts.
import { formatErrorBody } from '../../../request/answer.ts';
import { reasons } from '../../../http/reasons.ts';
import { formatRetryAfter, type OAuthAnswer, type OAuthRequest } from '../oauth-endpoint.ts';
import type { ProtectedResource } from '../../../config/protected-resource.ts';
import { explainIdpProblem } from '../../idp-problem.ts';
import { dependsOnRequest } from '../../read-base.ts';

/** A metadata document. */
export function answerMetadata(
  resource: Pick<ProtectedResource, 'host'>,
  document: Readonly<Record<string, unknown>>,
): OAuthAnswer {
  const caching = dependsOnRequest(resource)
    ? ['cache-control', 'no-store', 'vary', 'Host, X-Forwarded-Port, X-Forwarded-Proto']
    : ['cache-control', 'max-age=60'];
  return {
    status: 200,
    headers: ['content-type', 'application/json', ...caching],
    body: `${JSON.stringify(document, undefined, 2)}\n`,
  };
}

/**
 * The IdP is unavailable. Always 503: after 4xx or 502, clients try the next URL and finally guess endpoints that do not exist.
 */
export function answerIdpUnavailable(request: OAuthRequest, retryAfterSeconds: number, detail: string): OAuthAnswer {
  const { status, description } = reasons.idp_unavailable;
  const why = explainIdpProblem(detail);
  return {
    status,
    headers: ['content-type', 'application/json', 'cache-control', 'no-store', ...formatRetryAfter(retryAfterSeconds)],
    body: formatErrorBody(
      'temporarily_unavailable',
      why === undefined ? description : `The identity provider ${why}.`,
      request.context.requestId,
    ),
    reason: 'idp_unavailable',
    detail,
  };
}
