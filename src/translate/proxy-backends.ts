// ProxyBackends as messages: each target with its endpoints and trust anchors, and what is wrong with the references of targets.
import { isIPv6 } from 'node:net';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { isFederation } from '../api/federation.ts';
import type { McpTarget as McpTargetSpec, ProxyBackend } from '../api/proxy-backend.ts';
import {
  type Backend,
  type McpTarget,
  type Secret,
  type Upstream,
  type UpstreamTls,
  BackendSchema,
  McpTargetSchema,
  McpTransport,
  SessionRouting,
  UpstreamProtocol,
  UpstreamSchema,
  UpstreamTlsSchema,
} from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../ir/resource-keys.ts';
import { createCondition, type ProxyBackendStatus } from './conditions.ts';
import { createFederation, type FederationMember } from './federations.ts';
import { proxyGroup } from './references.ts';
import type { ResourceIndex } from './resource-index.ts';
import type { Secrets } from './secrets.ts';
import { createEndpoints, resolveServicePort, type ServiceProblem, type ServiceUpstream } from './service-upstream.ts';
import { type ConfiguredTarget, describeUnaskedTargets } from './targets-healthy.ts';
import { convertTimeouts } from './timeouts.ts';

/** A problem of a ProxyBackend. */
export interface ProxyBackendProblem {
  readonly reason: ServiceProblem['reason'] | 'InvalidCACertificateRef';
  readonly message: string;
}

/** The message of a backend with the trust anchors that it uses. */
export interface TranslatedBackend {
  readonly message: Backend;
  readonly secrets: readonly Secret[];
}

/** A ProxyBackend that can be used, perhaps with a problem of some targets; or what is wrong with it. */
export type ProxyBackendResolution = {
  /** Undefined: it is no federation. */
  readonly federated: readonly ConfiguredTarget[] | undefined;
} & (
  | ({ readonly found: true; readonly problem: ProxyBackendProblem | undefined } & TranslatedBackend)
  | { readonly found: false; readonly problem: ProxyBackendProblem }
);

/** Translates a ProxyBackend. In a federation, a target whose references cannot be resolved closes only itself, unless none is left. */
export function translateProxyBackend(
  index: ResourceIndex,
  anchors: Secrets,
  resource: ProxyBackend,
): ProxyBackendResolution {
  const { metadata, spec } = resource;
  const { namespace, name } = metadata;
  const limits = convertTimeouts(spec.mcp.timeouts);
  const members: FederationMember[] = [];
  const secrets: Secret[] = [];
  const problems: ProxyBackendProblem[] = [];
  for (const target of spec.mcp.targets) {
    const resolution = translateTarget(index, anchors, namespace, target);
    if (resolution.found) {
      const upstream = create(UpstreamSchema, { ...resolution.upstream, ...limits });
      const server = create(McpTargetSchema, { ...resolution.endpoint, name: target.name, upstream });
      members.push({ target, server, problem: undefined });
      secrets.push(...resolution.secrets);
    } else {
      const { reason, message } = resolution.problem;
      members.push({ target, server: create(McpTargetSchema, { name: target.name }), problem: message });
      problems.push({ reason, message: `target ${target.name}: ${message}` });
    }
  }
  const problem = joinProblems(problems);
  const federated = isFederation(spec.mcp)
    ? members.map((member) => ({ name: member.target.name, problem: member.problem }))
    : undefined;
  if (problem !== undefined && problems.length === members.length) return { found: false, problem, federated };
  const routing = spec.mcp.sessionRouting === 'Stateless' ? SessionRouting.STATELESS : SessionRouting.STATEFUL;
  const kind: MessageInitShape<typeof BackendSchema>['kind'] = federated
    ? { case: 'federation', value: createFederation(resource, members, routing) }
    : { case: 'mcp', value: { targets: members.map(({ server }) => server), sessionRouting: routing } };
  const message = create(BackendSchema, { key: formatProxyBackendKey(namespace, name), kind });
  return { found: true, problem, message, secrets, federated };
}

/** A condition has one reason: that of the first. */
function joinProblems(problems: readonly ProxyBackendProblem[]): ProxyBackendProblem | undefined {
  const [first] = problems;
  return first && { reason: first.reason, message: problems.map(({ message }) => message).join('; ') };
}

type TargetResolution =
  | {
      readonly found: true;
      readonly upstream: Pick<Upstream, 'endpoints' | 'protocol' | 'hostHeader'> & { tls?: UpstreamTls };
      readonly endpoint: Pick<McpTarget, 'path' | 'transport'>;
      readonly secrets: readonly Secret[];
    }
  | { readonly found: false; readonly problem: ProxyBackendProblem };

function translateTarget(
  index: ResourceIndex,
  anchors: Secrets,
  namespace: string,
  target: McpTargetSpec,
): TargetResolution {
  const place = locateTarget(index, namespace, target);
  if (!place.found) return place;
  const { upstream, hostHeader, settings } = place;
  const secrets: Secret[] = [];
  let tls: UpstreamTls | undefined;
  if (target.tls !== undefined) {
    if (upstream.protocol === UpstreamProtocol.H2C)
      return refuse(
        'UnsupportedProtocol',
        'appProtocol kubernetes.io/h2c means HTTP/2 without TLS, but tls is set; remove one of the two',
      );
    const { sni, caCertificateRef, insecureSkipVerify } = target.tls;
    tls = create(UpstreamTlsSchema, { serverName: sni ?? upstream.serverName, insecureSkipVerify });
    if (caCertificateRef !== undefined) {
      const resolution = anchors.resolveCaCertificates(namespace, caCertificateRef);
      if (!resolution.found) return refuse('InvalidCACertificateRef', resolution.message);
      tls.ca = resolution.secret.key;
      secrets.push(resolution.secret);
    }
  }
  const transport = settings.protocol === 'SSE' ? McpTransport.SSE : McpTransport.STREAMABLE_HTTP;
  return {
    found: true,
    upstream: {
      endpoints: createEndpoints(upstream.endpoints),
      protocol: upstream.protocol,
      hostHeader,
      ...(tls === undefined ? {} : { tls }),
    },
    endpoint: { path: settings.path, transport },
    secrets,
  };
}

type TargetPlace =
  | {
      readonly found: true;
      readonly upstream: ServiceUpstream;
      readonly hostHeader: string;
      readonly settings: { readonly path: string; readonly protocol: 'StreamableHTTP' | 'SSE' };
    }
  | { readonly found: false; readonly problem: ProxyBackendProblem };

function locateTarget(index: ResourceIndex, namespace: string, target: McpTargetSpec): TargetPlace {
  if (target.static !== undefined) {
    const { host, port } = target.static;
    return {
      found: true,
      upstream: { endpoints: [{ host, port }], protocol: UpstreamProtocol.HTTP1, serverName: host },
      hostHeader: formatHostHeader(host, port, target.tls !== undefined),
      settings: target.static,
    };
  }
  if (target.backendRef === undefined) return refuse('BackendNotFound', 'neither static nor backendRef is set');
  const resolution = resolveServicePort(
    index,
    { group: proxyGroup, kind: 'ProxyBackend', namespace },
    target.backendRef,
  );
  if (!resolution.found) return resolution;
  return { found: true, upstream: resolution.upstream, hostHeader: '', settings: target.backendRef };
}

// The Host that a direct client would send. Servers with protection against DNS rebinding refuse any other.
function formatHostHeader(host: string, port: number, isSecure: boolean): string {
  const name = isIPv6(host) ? `[${host}]` : host;
  return port === (isSecure ? 443 : 80) ? name : `${name}:${port}`;
}

/** The status of a ProxyBackend with this problem, before gateways have asked its servers. `federated`: the targets of a federation. */
export function describeProxyBackend(
  generation: number,
  problem: ProxyBackendProblem | undefined,
  federated: readonly ConfiguredTarget[] | undefined,
): ProxyBackendStatus {
  const accepted = createCondition(
    'proxyBackend',
    'Accepted',
    'True',
    'Accepted',
    'The ProxyBackend is valid.',
    generation,
  );
  const resolved =
    problem === undefined
      ? createCondition(
          'proxyBackend',
          'ResolvedRefs',
          'True',
          'ResolvedRefs',
          'All references are resolved.',
          generation,
        )
      : createCondition('proxyBackend', 'ResolvedRefs', 'False', problem.reason, problem.message, generation);
  const healthy = federated === undefined ? [] : [describeUnaskedTargets(federated, generation)];
  return { conditions: [accepted, resolved, ...healthy] };
}

function refuse<R extends ProxyBackendProblem['reason']>(
  reason: R,
  message: string,
): { readonly found: false; readonly problem: { readonly reason: R; readonly message: string } } {
  return { found: false, problem: { reason, message } };
}
