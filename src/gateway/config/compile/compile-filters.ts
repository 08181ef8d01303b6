// Filter messages -> the filters of a rule or of one of its backends. A filter that cannot be applied must not be skipped
// (HTTPRouteFilter.type of Gateway API): it throws, and the rule fails closed.
import { getHttp } from '../../../base/node-parts.ts';
import type { Filter, HeaderModifier, PathModifier, RequestRedirect, UrlRewrite } from '../../../ir/gen/config_pb.ts';
import { compileCors } from '../../policies/cors.ts';
import { readHostname } from '../../route/table/hostname.ts';
import { readTarget } from '../../http/request-target.ts';
import type { BackendPolicies, CompiledCors, MirrorConfig, RouteFilters } from '../runtime-config.ts';

/** The filters of a rule. The request path treats CORS as a policy, also when a filter configured it. */
export interface CompiledFilters {
  readonly filters: RouteFilters;
  readonly cors: CompiledCors | undefined;
}

/** The filter cannot be applied. */
export class FilterError extends Error {
  readonly code = 'invalid_filter';
}

/** No filters at all. */
export const noFilters: RouteFilters = {
  requestHeaders: [],
  responseHeaders: [],
  redirect: undefined,
  rewrite: undefined,
  mirrors: [],
};

/** The policies of a mirror's backend; undefined when it must not receive copies. */
export type FindMirror = (backend: string) => BackendPolicies | undefined;

/** Compiles filters, or throws. Mirrors that `findMirror` does not find are dropped. */
export function compileFilters(filters: readonly Filter[], findMirror: FindMirror): CompiledFilters {
  if (filters.length === 0) return { filters: noFilters, cors: undefined };
  const requestHeaders: HeaderModifier[] = [];
  const responseHeaders: HeaderModifier[] = [];
  const mirrors: MirrorConfig[] = [];
  let redirect: RouteFilters['redirect'];
  let rewrite: RouteFilters['rewrite'];
  let cors: CompiledCors | undefined;
  for (const { filter } of filters) {
    switch (filter.case) {
      case 'requestHeaderModifier':
        requestHeaders.push(checkHeaderModifier(filter.value));
        break;
      case 'responseHeaderModifier':
        responseHeaders.push(checkHeaderModifier(filter.value));
        break;
      case 'requestRedirect':
        if (redirect !== undefined) throw new FilterError('there are two redirect filters; keep one');
        redirect = checkRedirect(filter.value);
        break;
      case 'urlRewrite':
        if (rewrite !== undefined) throw new FilterError('there are two URL rewrite filters; keep one');
        rewrite = compileRewrite(filter.value);
        break;
      case 'requestMirror': {
        const { backend, numerator, denominator } = filter.value;
        if (denominator === 0) throw new FilterError('the fraction of a mirror has the denominator 0');
        const policies = findMirror(backend);
        if (policies !== undefined) mirrors.push({ backend, numerator, denominator, policies });
        break;
      }
      case 'cors':
        if (cors !== undefined) throw new FilterError('there are two CORS filters; keep one');
        cors = compileCors(filter.value);
        break;
      default:
        throw new FilterError('this gateway does not support the type of a filter');
    }
  }
  if (redirect !== undefined && rewrite !== undefined)
    throw new FilterError('a redirect and a URL rewrite exclude each other');
  return { filters: { requestHeaders, responseHeaders, redirect, rewrite, mirrors }, cors };
}

/** True when the filters replace a matched prefix, which a regular expression does not have. */
export function replacesPrefix({ redirect, rewrite }: RouteFilters): boolean {
  return (
    redirect?.path?.modifier.case === 'replacePrefixMatch' || rewrite?.path?.modifier.case === 'replacePrefixMatch'
  );
}

function checkHeaderModifier(modifier: HeaderModifier): HeaderModifier {
  const { validateHeaderName, validateHeaderValue } = getHttp();
  try {
    for (const { name, value } of [...modifier.set, ...modifier.add]) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    for (const name of modifier.remove) validateHeaderName(name);
  } catch (error) {
    throw new FilterError(
      `a header modifier cannot be applied: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
  return modifier;
}

const redirectStatusCodes: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function checkRedirect(redirect: RequestRedirect): RequestRedirect {
  if (!['', 'http', 'https'].includes(redirect.scheme))
    throw new FilterError(`the scheme ${JSON.stringify(redirect.scheme)} of a redirect is neither http nor https`);
  if (redirect.hostname !== '') checkHostname(redirect.hostname);
  if (redirect.port > 65_535) throw new FilterError(`the port ${redirect.port} of a redirect is above 65535`);
  if (!redirectStatusCodes.has(redirect.statusCode)) {
    throw new FilterError(`the status ${redirect.statusCode} of a redirect is not 301, 302, 303, 307 or 308`);
  }
  if (redirect.path !== undefined) checkPathModifier(redirect.path);
  return redirect;
}

function compileRewrite({ hostname, path }: UrlRewrite): NonNullable<RouteFilters['rewrite']> {
  if (hostname !== '') checkHostname(hostname);
  if (path !== undefined) checkPathModifier(path);
  return { hostname, path };
}

function checkHostname(hostname: string): void {
  if (readHostname(hostname) === undefined) throw new FilterError(`${JSON.stringify(hostname)} is not a hostname`);
}

function checkPathModifier({ modifier }: PathModifier): void {
  if (modifier.case === undefined) throw new FilterError('this gateway does not support the type of a path modifier');
  // An empty prefix is how the specification spells "remove the prefix".
  if (modifier.value === '' && modifier.case === 'replacePrefixMatch') return;
  const target = readTarget(modifier.value);
  if (!target.ok)
    throw new FilterError(`the path ${JSON.stringify(modifier.value)} cannot be requested: ${target.detail}`);
  if (target.query !== '') throw new FilterError(`the path ${JSON.stringify(modifier.value)} has a query`);
}
