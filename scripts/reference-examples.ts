// Examples in the reference: complete on their own, loaded by the tests of the documentation.

/** Two pods with more room, a load balancer that keeps addresses, and a budget for disruptions. */
export const gatewayParametersExample = `apiVersion: gateway.proxy/v1alpha1
kind: GatewayParameters
metadata:
  name: public
spec:
  replicas: 2
  resources:
    requests:
      cpu: 500m
      memory: 256Mi
  logging:
    level: debug
  service:
    externalTrafficPolicy: Local
  trustedProxies:
  - 10.0.0.0/8
  shutdown:
    drain: 2m
  overlays:
    podDisruptionBudget: {}
    deployment:
      spec:
        template:
          spec:
            priorityClassName: edge
`;

/** A local server, one behind TLS, and one behind a Service. */
export const proxyBackendExample = `apiVersion: gateway.proxy/v1alpha1
kind: ProxyBackend
metadata:
  name: tickets
spec:
  mcp:
    targets:
    - name: tickets
      static:
        host: 127.0.0.1
        port: 3001
        path: /mcp
---
apiVersion: gateway.proxy/v1alpha1
kind: ProxyBackend
metadata:
  name: orders
spec:
  mcp:
    targets:
    - name: orders
      static:
        host: 192.0.2.10
        port: 8443
      tls:
        sni: orders.example.com
    timeouts:
      connect: 2s
---
apiVersion: gateway.proxy/v1alpha1
kind: ProxyBackend
metadata:
  name: legacy
spec:
  mcp:
    targets:
    - name: legacy
      backendRef:
        name: legacy
        port: 80
        path: /sse
        protocol: SSE
---
apiVersion: v1
kind: Service
metadata:
  name: legacy
spec:
  ports:
  - port: 80
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: legacy-1
  labels:
    kubernetes.io/service-name: legacy
addressType: IPv4
endpoints:
- addresses: [127.0.0.1]
ports:
- port: 3002
`;

/** A policy with a login, one that lets the pages of one origin call, and what they target. */
export const proxyPolicyExample = `apiVersion: gateway.proxy/v1alpha1
kind: ProxyPolicy
metadata:
  name: login
spec:
  targetRefs:
  - group: gateway.proxy
    kind: ProxyBackend
    name: tickets
  backend:
    mcp:
      authentication:
        issuer: https://idp.example.com/realms/mcp
        audiences:
        - tickets
        requiredScopes:
        - tickets
      authorization:
        action: Allow
        policy:
          matchExpressions:
          - '"support" in jwt.groups && mcp.tool.name.startsWith("ticket_")'
        scopes:
        - tools:
          - ticket_close*
          scopes:
          - tickets:write
---
apiVersion: gateway.proxy/v1alpha1
kind: ProxyPolicy
metadata:
  name: browsers
spec:
  targetRefs:
  - group: gateway.networking.k8s.io
    kind: HTTPRoute
    name: tickets
  traffic:
    cors:
      allowOrigins:
      - https://app.example.com
      allowMethods:
      - DELETE
      allowHeaders:
      - authorization
      - content-type
      - mcp-protocol-version
      - mcp-session-id
      exposeHeaders:
      - mcp-session-id
      maxAge: 600
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: public
spec:
  gatewayClassName: proxy
  listeners:
  - name: http
    port: 3000
    protocol: HTTP
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: tickets
spec:
  parentRefs:
  - name: public
  rules:
  - matches:
    - path:
        type: PathPrefix
        value: /mcp
    backendRefs:
    - group: gateway.proxy
      kind: ProxyBackend
      name: tickets
---
apiVersion: gateway.proxy/v1alpha1
kind: ProxyBackend
metadata:
  name: tickets
spec:
  mcp:
    targets:
    - name: tickets
      static:
        host: 127.0.0.1
        port: 3001
`;
