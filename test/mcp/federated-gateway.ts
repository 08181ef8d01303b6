// A gateway with several MCP servers behind one endpoint.
import { gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayProcessRun, type GatewayRun, runGateway, runGatewayProcess } from '../kit/run-gateway.ts';

export interface FederatedTargetOptions {
  /** The URL of the MCP endpoint. */
  readonly url: string;
  readonly protocol?: 'StreamableHTTP' | 'SSE';
  /** Further members of the target. */
  readonly settings?: object;
}

export interface FederatedGatewayOptions {
  /** By name, which is the prefix as well. */
  readonly targets: Readonly<Record<string, FederatedTargetOptions>>;
  /** Members of `spec.mcp` beside the targets. */
  readonly mcp?: object;
  /** Further resources, such as policies. */
  readonly resources?: readonly object[];
  readonly flags?: readonly string[];
  /** Of the backend; default: all. */
  readonly name?: string;
}

/** Starts one in this process; the endpoint is at `/mcp`, the backend is called `all`, as its route is. */
export function startFederatedGateway(options: FederatedGatewayOptions): Promise<GatewayRun> {
  const { flags = [] } = options;
  return runGateway({ resources: (port) => describeFederation(port, options), flags });
}

/** Starts one as a process of its own. */
export function startFederatedGatewayProcess(options: FederatedGatewayOptions): Promise<GatewayProcessRun> {
  const { flags = [] } = options;
  return runGatewayProcess({ resources: (port) => describeFederation(port, options), flags });
}

/** Its resources, to be changed and written again. */
export function describeFederation(
  port: number,
  { targets, mcp = {}, resources = [], name = 'all' }: FederatedGatewayOptions,
): readonly object[] {
  return [
    gatewayResource(port),
    routeResource('all', [ruleTo('/mcp', name)]),
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyBackend',
      metadata: { name },
      spec: { mcp: { targets: Object.entries(targets).map(formatTarget), ...mcp } },
    },
    ...resources,
  ];
}

function formatTarget([name, { url, protocol, settings = {} }]: [string, FederatedTargetOptions]): object {
  const { hostname, port, pathname } = new URL(url);
  const endpoint = { host: hostname, port: Number(port), path: pathname, ...(protocol !== undefined && { protocol }) };
  return { name, static: endpoint, ...settings };
}
