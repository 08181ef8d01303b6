// The resources that most tests configure a gateway with.

/** One Gateway on loopback. */
export function gatewayResource(port: number, listener: object = {}): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'test' },
    spec: {
      gatewayClassName: 'proxy',
      addresses: [{ value: '127.0.0.1' }],
      listeners: [{ name: 'http', protocol: 'HTTP', port, ...listener }],
    },
  };
}

/** One HTTPRoute with these rules. */
export function routeResource(name: string, rules: readonly object[], spec: object = {}): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name },
    spec: { parentRefs: [{ name: 'test' }], rules, ...spec },
  };
}

/** One MCP server. */
export function backendResource(name: string, port: number, path = '/mcp', mcp: object = {}): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { name },
    spec: { mcp: { targets: [{ name, static: { host: '127.0.0.1', port, path } }], ...mcp } },
  };
}

/** A rule from a path prefix to a ProxyBackend. */
export function ruleTo(path: string, backend: string, rule: object = {}): object {
  return {
    matches: [{ path: { type: 'PathPrefix', value: path } }],
    backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: backend }],
    ...rule,
  };
}
