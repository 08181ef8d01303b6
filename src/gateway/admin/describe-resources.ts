// The configuration in force in the words of the resources it came from: Gateways, HTTPRoutes, ProxyBackends, ProxyPolicies, with the names and fields that
// operators write. Pure. Values are the effective ones, defaults included; what messages no longer know (labels, selectors) is not shown.
import { formatDuration } from '../../base/format-duration.ts';
import { isJsonObject } from '../../base/json-object.ts';
import type { Configuration } from '../../ir/configuration.ts';
import {
  type Backend,
  type FederatedTarget,
  type ItemSelection,
  type Listener,
  type McpTarget,
  McpTransport,
  NamePrefix,
  PickerFailureMode,
  type Policy,
  type Route,
  SessionRouting,
  TargetFailureMode,
  type Upstream,
} from '../../ir/gen/config_pb.ts';
import { allPolicyKinds, findPolicyContent, findPolicyKind, policyTargetNames } from '../../ir/policy-kinds.ts';
import { redactNamedValues, summariseSecret } from './dump-config.ts';
import { describePolicyField } from './describe-policy-field.ts';
import { describeRule } from './describe-rule.ts';
import { formatEndpointName } from './endpoint-name.ts';
import type { YamlValue } from './format-yaml.ts';
import { findGroup, listOrNone, readReference, textOrNone } from './resource-words.ts';

/** One resource. */
export interface DescribedResource {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: YamlValue;
  /** What does not work as it is written. */
  readonly problems: readonly string[];
}

/** All of them: by kind in the order in which a request meets them, then by name. */
export function describeResources(configuration: Configuration): readonly DescribedResource[] {
  const { listeners, routes, backends, policies, secrets } = configuration;
  return [
    ...[...Map.groupBy(listeners, ({ gateway }) => gateway)].map(([name, own]) => describeGateway(name, own)),
    ...policies.filter(({ needsAuthentication }) => needsAuthentication).map(describeDenial),
    ...[...Map.groupBy(routes, ({ httpRoute }) => httpRoute)].map(([name, own]) => describeHttpRoute(name, own)),
    ...backends.map(describeBackend),
    ...[
      ...Map.groupBy(
        policies.filter(({ needsAuthentication }) => !needsAuthentication),
        ({ source }) => source,
      ),
    ].map(([name, own]) => describePolicy(name, own)),
    ...secrets.map((secret) => {
      const { key, ...content } = summariseSecret(secret);
      const { kind, namespace, name } = readKey(String(key));
      return { kind, namespace, name, spec: content as YamlValue, problems: [] };
    }),
  ].map((resource) => ({ ...resource, spec: redact(resource.spec) }));
}

/** Messages have the same names for what must not be shown as resources do. */
function redact(spec: YamlValue): YamlValue {
  return redactNamedValues(JSON.parse(JSON.stringify(spec ?? null)) as Parameters<typeof redactNamedValues>[0]);
}

function readKey(key: string): Pick<DescribedResource, 'kind' | 'namespace' | 'name'> {
  const [kind = '', namespace = '', ...name] = key.split('/');
  return { kind, namespace, name: name.join('/') };
}

function splitName(qualified: string): { readonly namespace: string; readonly name: string } {
  const at = qualified.indexOf('/');
  return { namespace: qualified.slice(0, Math.max(at, 0)), name: qualified.slice(at + 1) };
}

const protocols: Readonly<Record<number, string>> = { 1: 'HTTP', 2: 'HTTPS' };

function describeGateway(gateway: string, listeners: readonly Listener[]): DescribedResource {
  const names = splitName(gateway);
  const addresses = [...new Set(listeners.flatMap((listener) => listener.addresses))];
  const validated = [
    ...Map.groupBy(
      listeners.filter(({ clientValidation }) => clientValidation !== undefined),
      ({ port }) => port,
    ),
  ];
  return {
    kind: 'Gateway',
    ...names,
    problems: [],
    spec: {
      addresses: listOrNone(addresses.map((value) => ({ type: 'IPAddress', value }))),
      listeners: listeners.map(({ name, hostname, port, protocol, certificates }) => ({
        name,
        hostname: textOrNone(hostname),
        port,
        protocol: protocols[protocol] ?? 'unknown',
        tls:
          certificates.length === 0
            ? undefined
            : { certificateRefs: certificates.map((key) => readReference(key, names.namespace)) },
      })),
      tls:
        validated.length === 0
          ? undefined
          : {
              frontend: {
                perPort: validated.map(([port, [listener]]) => ({
                  port,
                  tls: {
                    validation: {
                      caCertificateRefs: (listener?.clientValidation?.ca ?? []).map((key) =>
                        readReference(key, names.namespace),
                      ),
                      mode:
                        listener?.clientValidation?.allowInsecureFallback === true
                          ? 'AllowInsecureFallback'
                          : 'AllowValidOnly',
                    },
                  },
                })),
              },
            },
    },
  };
}

function describeHttpRoute(httpRoute: string, rules: readonly Route[]): DescribedResource {
  const names = splitName(httpRoute);
  const parents = rules[0]?.parents ?? [];
  const hostnames = [...new Set(parents.flatMap((parent) => parent.hostnames))];
  const sorted = rules.toSorted((left, right) => left.ruleIndex - right.ruleIndex);
  return {
    kind: 'HTTPRoute',
    ...names,
    spec: {
      parentRefs: parents.map(({ listener }) => {
        const [namespace = '', name = '', sectionName = ''] = listener.split('/');
        return { namespace: namespace === names.namespace ? undefined : namespace, name, sectionName };
      }),
      hostnames: listOrNone(hostnames),
      rules: sorted.map((rule) => describeRule(rule, names.namespace)),
    },
    problems: sorted.flatMap(({ ruleIndex, failure, backends }) => [
      ...(failure === undefined
        ? []
        : [`rules[${ruleIndex}] answers ${failure.status} ${failure.reason}: ${failure.message}`]),
      ...backends.flatMap(({ failure: own }, index) =>
        own === undefined
          ? []
          : [`rules[${ruleIndex}].backendRefs[${index}] answers ${own.status} ${own.reason}: ${own.message}`],
      ),
    ]),
  };
}

function describeBackend({ key, kind }: Backend): DescribedResource {
  const { kind: kindName, namespace, name: whole } = readKey(key);
  const [name = '', port] = whole.split('/');
  const resource = { kind: kindName, namespace, name, problems: [] };
  switch (kind.case) {
    case 'mcp': {
      const { targets, sessionRouting } = kind.value;
      return {
        ...resource,
        spec: {
          mcp: {
            targets: targets.map((target) => describeTarget(target, namespace)),
            sessionRouting: nameRouting(sessionRouting),
            timeouts: describeTimeouts(targets[0]?.upstream),
          },
        },
      };
    }
    case 'federation': {
      const { targets, sessionRouting, namePrefix, serverInfo } = kind.value;
      return {
        ...resource,
        spec: {
          mcp: {
            mode: 'Federated',
            targets: targets.map((target) => describeFederatedTarget(target, namespace)),
            names: { prefix: namePrefix === NamePrefix.NEVER ? 'Never' : 'Always' },
            sessionRouting: nameRouting(sessionRouting),
            serverInfo: {
              name: serverInfo?.name,
              title: textOrNone(serverInfo?.title ?? ''),
              version: textOrNone(serverInfo?.version ?? ''),
              instructions: textOrNone(serverInfo?.instructions ?? ''),
            },
            timeouts: describeTimeouts(targets.find(({ failure }) => failure === undefined)?.server?.upstream),
          },
        },
        problems: targets.flatMap(({ server, failure }) =>
          failure === undefined ? [] : [`target ${server?.name} counts as down: ${failure.message}`],
        ),
      };
    }
    case 'inference': {
      const { upstream, picker } = kind.value;
      return {
        ...resource,
        spec: {
          ...describeUpstream(upstream, namespace),
          endpointPicker: {
            ...describeUpstream(picker?.upstream, namespace),
            failureMode: picker?.failureMode === PickerFailureMode.FAIL_OPEN ? 'FailOpen' : 'FailClose',
          },
        },
      };
    }
    default:
      return {
        ...resource,
        spec: { port: port === undefined ? undefined : Number(port), ...describeUpstream(kind.value, namespace) },
      };
  }
}

function describeTarget({ name, path, transport, upstream }: McpTarget, namespace: string) {
  return {
    name,
    path,
    protocol: transport === McpTransport.SSE ? 'SSE' : 'StreamableHTTP',
    ...describeUpstream(upstream, namespace),
  };
}

function describeFederatedTarget(
  { server, prefix, failureMode, tools, prompts, resources, failure }: FederatedTarget,
  namespace: string,
) {
  return {
    // Where it cannot be used, its address is not known.
    ...(failure === undefined && server !== undefined ? describeTarget(server, namespace) : { name: server?.name }),
    prefix,
    failureMode: failureMode === TargetFailureMode.FAIL_CLOSED ? 'FailClosed' : 'FailOpen',
    tools: describeSelection(tools),
    prompts: describeSelection(prompts),
    resources: describeSelection(resources),
  };
}

function describeSelection(selection: ItemSelection | undefined): YamlValue {
  if (selection === undefined) return undefined;
  return { include: listOrNone(selection.include), exclude: listOrNone(selection.exclude) };
}

function nameRouting(routing: SessionRouting): string {
  return routing === SessionRouting.STATELESS ? 'Stateless' : 'Stateful';
}

function describeUpstream(upstream: Upstream | undefined, namespace: string): { readonly [name: string]: YamlValue } {
  const { endpoints = [], tls } = upstream ?? {};
  return {
    endpoints: endpoints.map(formatEndpointName),
    tls:
      tls === undefined
        ? undefined
        : {
            sni: textOrNone(tls.serverName),
            caCertificateRef: tls.ca === '' ? undefined : readReference(tls.ca, namespace),
            insecureSkipVerify: tls.insecureSkipVerify ? true : undefined,
          },
  };
}

function describeTimeouts(upstream: Upstream | undefined): YamlValue {
  if (upstream === undefined) return undefined;
  return {
    connect: formatDuration(upstream.connectTimeoutMs),
    request: formatDuration(upstream.requestTimeoutMs),
    idle: formatDuration(upstream.idleTimeoutMs),
  };
}

/** What closes routes that nothing protects: a flag, or parameters that the controller read. */
function describeDenial({ source, target }: Policy): DescribedResource {
  const gateway = target?.name === undefined || target.name === '' ? undefined : `${target.namespace}/${target.name}`;
  const [kind = '', name = ''] = source.split(' ');
  return {
    kind: kind.startsWith('--') ? 'Flag' : kind,
    ...(kind.startsWith('--') ? { namespace: '', name: kind } : splitName(name)),
    spec: { unprotectedRoutes: 'Deny', gateway },
    problems: [],
  };
}

function describePolicy(source: string, policies: readonly Policy[]): DescribedResource {
  const names = splitName(source);
  const targets = new Map<string, YamlValue>();
  const spec: Record<string, YamlValue> = {};
  const problems: string[] = [];
  for (const policy of policies.toSorted(compareKinds)) {
    const { target } = policy;
    if (target !== undefined && target.name !== '') {
      const kind = policyTargetNames.get(target.kind) ?? 'unknown';
      const reference = {
        group: findGroup(kind),
        kind,
        name: target.name,
        sectionName: textOrNone(target.sectionName),
      };
      targets.set(JSON.stringify(reference), reference);
    }
    if (policy.spec.case === 'failure') problems.push(`fails closed: ${policy.spec.value.message}`);
    const content = findPolicyContent(policy);
    if (content !== undefined)
      place(spec, content.kind.split('.'), describePolicyField(content.kind, policy, names.namespace));
  }
  return {
    kind: 'ProxyPolicy',
    ...names,
    spec: {
      targetRefs: listOrNone([...targets.values()]),
      enforcement: policies.some(({ isOverride }) => isOverride) ? 'Override' : undefined,
      ...spec,
    },
    problems: [...new Set(problems)],
  };
}

/** In the order in which a request meets them. */
function compareKinds(left: Policy, right: Policy): number {
  const rank = (policy: Policy): number => allPolicyKinds.findIndex((kind) => kind === findPolicyKind(policy));
  return rank(left) - rank(right);
}

/** Puts a value at a path, beside what is there. */
function place(spec: Record<string, YamlValue>, [name = '', ...rest]: readonly string[], value: YamlValue): void {
  if (rest.length === 0) {
    spec[name] = value;
    return;
  }
  const inner = isJsonObject(spec[name]) ? (spec[name] as Record<string, YamlValue>) : {};
  spec[name] = inner;
  place(inner, rest, value);
}
