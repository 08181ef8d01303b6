// Serves the gateway's own OAuth endpoints: methods, CORS, bodies and errors are the same for all of them; each endpoint only handles.
import { answerRequest, denyRequest } from '../../../request/answer.ts';
import { recordEndpointStep } from '../flow-recorder.ts';
import { findHeader } from '../../../http/headers.ts';
import type { RawHeaders } from '../../../http/exchange.ts';
import type { RequestContext } from '../../../request/request-context.ts';
import { findEndpoint } from './endpoints.ts';
import type { EndpointForm } from '../../../../ir/endpoint-paths.ts';
import { answerIdpUnavailable } from './metadata-answer.ts';
import type { OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import type { ProtectedResource } from '../../../config/protected-resource.ts';
import { readBase } from '../../read-base.ts';
import { readRequestBody } from './read-request-body.ts';

interface OwnEndpointCall {
  readonly context: RequestContext;
  readonly resource: ProtectedResource;
  readonly form: EndpointForm;
  readonly isRootForm: boolean;
  readonly now?: () => number;
}

/** Answers one request. A rejection is a bug of the gateway, not an error of the client or the IdP. */
export async function serveOwnEndpoint(call: OwnEndpointCall): Promise<void> {
  const { context, resource } = call;
  const { exchange } = context;
  const { endpoint, needsFlow, isOffered } = findEndpoint(call.form);
  const cors = endpoint.cors ? corsHeaders : [];
  const allowed = listMethods(endpoint);
  if (exchange.method === 'OPTIONS')
    return answerRequest(context, 204, [...describeOptions(endpoint, allowed, exchange.headers), ...cors], '');
  if (!allowed.includes(exchange.method))
    return denyRequest(context, 'method_not_allowed', { headers: ['allow', allowed.join(', '), ...cors] });

  const maxBodyBytes = exchange.method === 'POST' ? endpoint.maxBodyBytes(resource) : 0;
  const body = maxBodyBytes === 0 ? { ok: true as const, text: '' } : await readRequestBody(exchange, maxBodyBytes);
  if (!body.ok) {
    if (body.problem === 'gone') return undefined;
    return denyRequest(context, body.problem, { headers: cors });
  }
  const request: OAuthRequest = {
    context,
    resource,
    base: readBase(context, resource),
    isRootForm: call.isRootForm,
    query: new URLSearchParams(context.query),
    body: body.text,
    contentType: readMediaType(exchange.headers),
    cookies: readCookies(exchange.headers),
    now: call.now ?? Date.now,
  };
  const refusal = needsFlow === undefined ? undefined : await findFlowRefusal(request, needsFlow);
  if (refusal === 'no_route')
    return denyRequest(context, 'no_route', { detail: 'not part of the login flow in force', headers: cors });
  if (isOffered?.(resource) === false)
    return denyRequest(context, 'no_route', { detail: 'only with a store of sessions', headers: cors });
  const answer = refusal ?? (await endpoint.handle(request));
  recordEndpointStep(endpoint, request, answer);
  context.reason = answer.reason;
  context.detail = answer.detail ?? context.detail;
  return answerRequest(context, answer.status, [...answer.headers, ...cors], answer.body);
}

/** Endpoints exist only while their flow is in force, which depends on the IdP's metadata. */
async function findFlowRefusal(
  request: OAuthRequest,
  needed: readonly string[],
): Promise<'no_route' | ReturnType<typeof answerIdpUnavailable> | undefined> {
  const { idp } = request.resource.config;
  let choice = idp.getFlow();
  if (choice === undefined) {
    const state = await idp.getMetadata();
    if (!state.ok) return answerIdpUnavailable(request, state.retryAfterSeconds, state.detail);
    choice = idp.getFlow();
  }
  return choice !== undefined && needed.includes(choice.flow) ? undefined : 'no_route';
}

// Any origin, and never with credentials: nothing here depends on cookies.
const corsHeaders: RawHeaders = [
  'access-control-allow-origin',
  '*',
  'access-control-expose-headers',
  'Retry-After, WWW-Authenticate, X-Request-Id',
];

/** HEAD works where GET does. */
function listMethods({ methods }: OAuthEndpoint): readonly string[] {
  return [...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'];
}

function describeOptions(endpoint: OAuthEndpoint, allowed: readonly string[], headers: RawHeaders): string[] {
  const answer = ['allow', allowed.join(', ')];
  if (!endpoint.cors || findHeader(headers, 'access-control-request-method') === undefined) return answer;
  const asked = findHeader(headers, 'access-control-request-headers') ?? '';
  return [
    ...answer,
    'access-control-allow-methods',
    allowed.join(', '),
    'access-control-allow-headers',
    // A literal '*' does not cover Authorization, and older browsers do not know it.
    /^[\w!#$%&'*+\-.^`|~]+(?:[ \t]*,[ \t]*[\w!#$%&'*+\-.^`|~]+)*$/.test(asked) ? asked : '*, Authorization',
    'access-control-max-age',
    '7200',
    'vary',
    'Access-Control-Request-Headers',
  ];
}

function readMediaType(headers: RawHeaders): string {
  return (findHeader(headers, 'content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** By name; of two with one name the first counts, as it does in most servers. */
function readCookies(headers: RawHeaders): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.toLowerCase() !== 'cookie') continue;
    for (const pair of headers[i + 1]!.split(';')) {
      const at = pair.indexOf('=');
      const name = pair.slice(0, at).trim();
      if (at > 0 && name !== '' && !cookies.has(name)) cookies.set(name, pair.slice(at + 1).trim());
    }
  }
  return cookies;
}
