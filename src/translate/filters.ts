// Filters of a rule or of a backendRef as messages, and their problems.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import type { HeaderModifier, HttpRouteFilter, PathModifier, RequestMirror } from '../api/http-route-filter.ts';
import { type Filter, type PathModifierSchema, FilterSchema } from '../ir/gen/config_pb.ts';
import type { BackendProblem, BackendResolution, Backends } from './backends.ts';
import { type FilterPlace, findFilterProblems } from './filter-problems.ts';
import { createCors } from './policies/cors.ts';
import { isInferencePool, type Referrer } from './references.ts';

/** The messages of a list of filters. */
interface TranslatedFilters {
  readonly filters: Filter[];
  /** References that lead nowhere: mirrors, which are dropped, and extensions, which fail the requests. */
  readonly references: readonly BackendProblem[];
  /** Values that are refused; the rule is invalid. */
  readonly problems: readonly string[];
  /** Set: a filter is not supported; filters must not be skipped, so requests fail. */
  readonly failure: string | undefined;
}

/** Translates filters in their order. `field` is the path of the list, for messages. */
export function translateFilters(
  filters: readonly HttpRouteFilter[],
  place: FilterPlace,
  field: string,
  from: Referrer,
  backends: Backends,
): TranslatedFilters {
  const messages: Filter[] = [];
  const references: BackendProblem[] = [];
  const problems: string[] = [];
  let failure: string | undefined;
  for (const [index, filter] of filters.entries()) {
    const at = `${field}[${index}]`;
    const message = translateSimpleFilter(filter);
    if (message !== undefined) messages.push(message);
    if (filter.requestMirror !== undefined) {
      const { backendRef } = filter.requestMirror;
      const resolution = resolveMirror(from, backendRef, backends);
      if (resolution.found) messages.push(createMirror(filter.requestMirror, resolution.key));
      else
        references.push({
          ...resolution.problem,
          message: `${at}: ${resolution.problem.message}; requests are not mirrored`,
        });
    }
    if (filter.extensionRef !== undefined) {
      const { group, kind, name } = filter.extensionRef;
      failure = `${at}: filter ${group}/${kind} ${name} is not supported, and filters are never skipped`;
      references.push({
        reason: 'InvalidKind',
        message: `${at}: filter ${group}/${kind} ${name} is not supported; requests are answered with 500`,
      });
    }
    for (const problem of findFilterProblems(filter, place)) problems.push(`${at}: ${problem}`);
  }
  return { filters: messages, references, problems, failure };
}

/** Whether requests are answered with a redirect, so that no backend is needed. */
export function hasRedirect(filters: readonly HttpRouteFilter[] | undefined): boolean {
  return (filters ?? []).some(({ requestRedirect }) => requestRedirect !== undefined);
}

/** Whether the target of requests is rewritten. */
export function hasRewrite(filters: readonly HttpRouteFilter[] | undefined): boolean {
  return (filters ?? []).some(({ urlRewrite }) => urlRewrite !== undefined);
}

function translateSimpleFilter(filter: HttpRouteFilter): Filter | undefined {
  const { requestHeaderModifier, responseHeaderModifier, requestRedirect, urlRewrite, cors } = filter;
  if (requestHeaderModifier !== undefined)
    return create(FilterSchema, {
      filter: { case: 'requestHeaderModifier', value: convertHeaders(requestHeaderModifier) },
    });
  if (responseHeaderModifier !== undefined)
    return create(FilterSchema, {
      filter: { case: 'responseHeaderModifier', value: convertHeaders(responseHeaderModifier) },
    });
  if (requestRedirect !== undefined) {
    const { scheme = '', hostname = '', path, port = 0, statusCode } = requestRedirect;
    return create(FilterSchema, {
      filter: { case: 'requestRedirect', value: { scheme, hostname, ...convertPath(path), port, statusCode } },
    });
  }
  if (urlRewrite !== undefined) {
    const { hostname = '', path } = urlRewrite;
    return create(FilterSchema, { filter: { case: 'urlRewrite', value: { hostname, ...convertPath(path) } } });
  }
  if (cors !== undefined) return create(FilterSchema, { filter: { case: 'cors', value: createCors(cors) } });
  return undefined;
}

type MirrorReference = RequestMirror['backendRef'];

/** Mirrors do not ask an endpoint picker, and a pool must not be used without one. A copy for a federation would be a second call of a tool, in a session that nobody has. */
function resolveMirror(from: Referrer, reference: MirrorReference, backends: Backends): BackendResolution {
  if (isInferencePool(reference)) return refuseMirror('an InferencePool', reference, 'a Service');
  const resolution = backends.resolve(from, reference);
  const isFederation = resolution.found && resolution.isFederation;
  if (!isFederation) return resolution;
  return refuseMirror('a ProxyBackend with several targets', reference, 'a Service, or a ProxyBackend with one target');
}

function refuseMirror(what: string, { name }: MirrorReference, remedy: string): BackendResolution {
  const message = `requests cannot be mirrored to ${what}, such as ${name}; use ${remedy}`;
  return { found: false, problem: { reason: 'InvalidKind', message } };
}

function createMirror({ percent, fraction }: RequestMirror, backend: string): Filter {
  const { numerator, denominator } = fraction ?? { numerator: percent ?? 100, denominator: 100 };
  return create(FilterSchema, { filter: { case: 'requestMirror', value: { backend, numerator, denominator } } });
}

function convertHeaders({ set = [], add = [], remove = [] }: HeaderModifier) {
  return { set: keepFirst(set), add: keepFirst(add), remove: [...new Set(remove)] };
}

// "If multiple entries specify equivalent header names, the first entry MUST be considered."
function keepFirst(headers: readonly { readonly name: string; readonly value: string }[]) {
  const names = headers.map(({ name }) => name.toLowerCase());
  return headers
    .filter(({ name }, index) => names.indexOf(name.toLowerCase()) === index)
    .map(({ name, value }) => ({ name, value }));
}

function convertPath(path: PathModifier | undefined): { path?: MessageInitShape<typeof PathModifierSchema> } {
  if (path === undefined) return {};
  return path.type === 'ReplaceFullPath'
    ? { path: { modifier: { case: 'replaceFullPath', value: path.replaceFullPath ?? '' } } }
    : { path: { modifier: { case: 'replacePrefixMatch', value: path.replacePrefixMatch ?? '' } } };
}
