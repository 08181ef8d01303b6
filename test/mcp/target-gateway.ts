// A gateway with one route per MCP server behind it.
import { gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import {
  type GatewayProcessRun,
  type GatewayRun,
  type GatewayRunOptions,
  runGateway,
  runGatewayProcess,
} from '../kit/run-gateway.ts';

/** An MCP server to put behind the gateway. */
export interface GatewayTarget {
  /** The URL of the MCP endpoint, or of the event stream of a legacy SSE server. */
  readonly url: string;
  readonly protocol?: 'StreamableHTTP' | 'SSE';
}

/** What the gateway should serve. */
export interface TargetGatewayOptions {
  /** Targets by name; `tickets` is served at `/tickets`. */
  readonly targets: Readonly<Record<string, GatewayTarget>>;
  /** Further flags of `mcp-gatehouse run`. */
  readonly flags?: readonly string[];
}

/** Starts one in this process. `urlOf(name)` is where clients reach a target. */
export function startTargetGateway(options: TargetGatewayOptions): Promise<GatewayRun> {
  return runGateway(describe(options));
}

/** Starts one as a process of its own. */
export function startTargetGatewayProcess(options: TargetGatewayOptions): Promise<GatewayProcessRun> {
  return runGatewayProcess(describe(options));
}

function describe({ targets, flags = [] }: TargetGatewayOptions): GatewayRunOptions {
  return {
    resources: (port) => [gatewayResource(port), ...Object.entries(targets).flatMap(formatTarget)],
    flags,
  };
}

function formatTarget([name, { url, protocol = 'StreamableHTTP' }]: [string, GatewayTarget]): readonly object[] {
  const { hostname, port, pathname } = new URL(url);
  const target = { name, static: { host: hostname, port: Number(port), path: pathname, protocol } };
  return [
    routeResource(name, [ruleTo(`/${name}`, name)]),
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyBackend',
      metadata: { name },
      spec: { mcp: { targets: [target] } },
    },
  ];
}
