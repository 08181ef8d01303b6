// Request contexts for tests of what watches requests: access log, metrics, traces. Nothing here opens a socket.
import { noPolicies } from '../../src/gateway/config/compile/compile-policies.ts';
import type { Exchange } from '../../src/gateway/http/exchange.ts';
import type { ListenerConfig, RouteConfig } from '../../src/gateway/config/runtime-config.ts';
import { HostTable } from '../../src/gateway/route/table/hostname.ts';
import { type RequestContext, startRequest } from '../../src/gateway/request/request-context.ts';

function refuse(): never {
  throw new Error('this exchange is only looked at');
}

/** An exchange that knows its request and cannot answer it. */
export function buildExchange(overrides: Partial<Exchange> = {}): Exchange {
  return {
    method: 'POST',
    target: '/mcp',
    authority: 'mcp.example:3000',
    scheme: 'http',
    httpVersion: '1.1',
    headers: [],
    remoteAddress: '127.0.0.1',
    remotePort: 50_000,
    localPort: 3_000,
    serverName: undefined,
    hasBody: true,
    upgradeProtocol: undefined,
    headSent: false,
    isClientValidatedBy: refuse,
    readBody: refuse,
    sendInformational: refuse,
    sendHead: refuse,
    write: refuse,
    onDrain: refuse,
    end: refuse,
    respond: refuse,
    abort: refuse,
    acceptUpgrade: refuse,
    onClose: refuse,
    ...overrides,
  };
}

/** A listener of the Gateway default/gw. */
export function buildListener(name = 'http'): ListenerConfig {
  return {
    key: `default/gw/${name}`,
    gateway: 'default/gw',
    name,
    hostname: '',
    port: 3_000,
    clientAuthorities: undefined,
    routes: new HostTable([]),
    protection: new HostTable([]),
  };
}

/** The first rule of an HTTPRoute. */
export function buildRoute(httpRoute = 'default/tickets', overrides: Partial<RouteConfig> = {}): RouteConfig {
  return {
    key: `${httpRoute}/0`,
    httpRoute,
    ruleName: '',
    ruleIndex: 0,
    failure: undefined,
    unprotected: undefined,
    closedByDefault: undefined,
    policies: noPolicies,
    filters: { requestHeaders: [], responseHeaders: [], redirect: undefined, rewrite: undefined, mirrors: [] },
    backends: { entries: [], totalWeight: 0 },
    requestTimeoutMs: 0,
    backendRequestTimeoutMs: 0,
    ...overrides,
  };
}

/** A request that was forwarded and answered 200, unless overridden. */
export function buildContext(
  overrides: Partial<RequestContext> = {},
  exchange: Partial<Exchange> = {},
): RequestContext {
  return {
    ...startRequest(buildExchange(exchange)),
    requestId: 'request-1',
    path: '/mcp',
    hostname: 'mcp.example',
    listener: buildListener(),
    route: buildRoute(),
    backend: 'ProxyBackend/default/tickets',
    endpoint: '127.0.0.1:3001',
    status: 200,
    upstreamMs: 1.25,
    ...overrides,
  };
}
