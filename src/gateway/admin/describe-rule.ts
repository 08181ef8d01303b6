// A rule of an HTTPRoute as operators write it, from its message.
import { formatDuration } from '../../base/format-duration.ts';
import {
  type Filter,
  type HeaderModifier,
  type PathModifier,
  PathMatchType,
  type Route,
  type RouteMatch,
  type ValueMatch,
  ValueMatchType,
} from '../../ir/gen/config_pb.ts';
import { describeCors } from './describe-policy-field.ts';
import type { YamlValue } from './format-yaml.ts';
import { listOrNone, readReference, textOrNone } from './resource-words.ts';

/** Describes a rule; references are seen from the namespace of its route. */
export function describeRule(rule: Route, namespace: string): YamlValue {
  const { requestTimeoutMs, backendRequestTimeoutMs } = rule;
  return {
    name: textOrNone(rule.ruleName),
    matches: rule.matches.map(describeMatch),
    filters: listOrNone(rule.filters.map((filter) => describeFilter(filter, namespace))),
    backendRefs: listOrNone(
      rule.backends.map(({ backend, weight, filters }) => ({
        ...(backend === '' ? { kind: 'not usable' } : readReference(backend, namespace)),
        weight: rule.backends.length === 1 && weight === 1 ? undefined : weight,
        filters: listOrNone(filters.map((filter) => describeFilter(filter, namespace))),
      })),
    ),
    timeouts:
      requestTimeoutMs === 0 && backendRequestTimeoutMs === 0
        ? undefined
        : {
            request: requestTimeoutMs === 0 ? undefined : formatDuration(requestTimeoutMs),
            backendRequest: backendRequestTimeoutMs === 0 ? undefined : formatDuration(backendRequestTimeoutMs),
          },
  };
}

const pathTypes: Readonly<Record<number, string>> = {
  [PathMatchType.EXACT]: 'Exact',
  [PathMatchType.PREFIX]: 'PathPrefix',
  [PathMatchType.REGULAR_EXPRESSION]: 'RegularExpression',
};

function describeMatch({ path, method, headers, queryParams }: RouteMatch): YamlValue {
  return {
    path: path === undefined ? undefined : { type: pathTypes[path.type] ?? 'unknown', value: path.value },
    method: textOrNone(method),
    headers: listOrNone(headers.map(describeValue)),
    queryParams: listOrNone(queryParams.map(describeValue)),
  };
}

function describeValue({ name, type, value }: ValueMatch): YamlValue {
  return { name, type: type === ValueMatchType.REGULAR_EXPRESSION ? 'RegularExpression' : 'Exact', value };
}

function describeFilter({ filter }: Filter, namespace: string): YamlValue {
  switch (filter.case) {
    case 'requestHeaderModifier':
      return { type: 'RequestHeaderModifier', requestHeaderModifier: describeHeaders(filter.value) };
    case 'responseHeaderModifier':
      return { type: 'ResponseHeaderModifier', responseHeaderModifier: describeHeaders(filter.value) };
    case 'requestRedirect': {
      const { scheme, hostname, path, port, statusCode } = filter.value;
      return {
        type: 'RequestRedirect',
        requestRedirect: {
          scheme: textOrNone(scheme),
          hostname: textOrNone(hostname),
          path: describePath(path),
          port: port === 0 ? undefined : port,
          statusCode,
        },
      };
    }
    case 'urlRewrite': {
      const { hostname, path } = filter.value;
      return { type: 'URLRewrite', urlRewrite: { hostname: textOrNone(hostname), path: describePath(path) } };
    }
    case 'requestMirror': {
      const { backend, numerator, denominator } = filter.value;
      return {
        type: 'RequestMirror',
        requestMirror: {
          backendRef: readReference(backend, namespace),
          fraction: numerator === denominator ? undefined : { numerator, denominator },
        },
      };
    }
    case 'cors':
      return { type: 'CORS', cors: describeCors(filter.value) };
    default:
      return { type: 'unknown' };
  }
}

function describeHeaders({ set, add, remove }: HeaderModifier): YamlValue {
  const list = (headers: HeaderModifier['set']): YamlValue =>
    listOrNone(headers.map(({ name, value }) => ({ name, value })));
  return { set: list(set), add: list(add), remove: listOrNone(remove) };
}

function describePath(path: PathModifier | undefined): YamlValue {
  switch (path?.modifier.case) {
    case 'replaceFullPath':
      return { type: 'ReplaceFullPath', replaceFullPath: path.modifier.value };
    case 'replacePrefixMatch':
      return { type: 'ReplacePrefixMatch', replacePrefixMatch: path.modifier.value };
    default:
      return undefined;
  }
}
