// Policies that cannot be enforced: what they protect answers 500 policy_invalid, and nothing else. Stands for any policy that says no.

/** Closes an HTTPRoute, or one rule of it. */
export function closeRoute(name: string, target: string, sectionName?: string): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: {
      targetRefs: [
        {
          group: 'gateway.networking.k8s.io',
          kind: 'HTTPRoute',
          name: target,
          ...(sectionName === undefined ? {} : { sectionName }),
        },
      ],
      traffic: { jwtAuthentication: { mode: 'no such mode' } },
    },
  };
}

/** Closes a ProxyBackend, whatever routes lead to it. */
export function closeBackend(name: string, target: string): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: {
      targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: target }],
      backend: { mcp: { authentication: { mode: 'no such mode' } } },
    },
  };
}
