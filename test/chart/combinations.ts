// Values as people combine them, each with the release and the namespace that go with it.
import type { RenderOptions, Values } from './helm.ts';

export interface Combination extends RenderOptions {
  readonly name: string;
  readonly values: Values;
}

export const combinations: readonly Combination[] = [
  {
    name: 'highly-available',
    values: {
      controller: {
        replicaCount: 2,
        podDisruptionBudget: { minAvailable: 1 },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        xds: { tls: { enabled: true } },
      },
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 1,
              podAffinityTerm: {
                topologyKey: 'kubernetes.io/hostname',
                labelSelector: { matchLabels: { 'app.kubernetes.io/component': 'controller' } },
              },
            },
          ],
        },
      },
    },
  },
  {
    name: 'private-registry',
    values: {
      image: { registry: 'registry.example.com:5000/mcp', tag: '1.2.3', pullPolicy: 'Always' },
      imagePullSecrets: [{ name: 'registry' }],
      controller: { image: { repository: 'team/controller', pullPolicy: 'IfNotPresent' } },
    },
  },
  {
    name: 'some-namespaces',
    release: 'edge',
    namespace: 'edge-system',
    values: {
      discoveryNamespaceSelectors: [
        { matchLabels: { gateways: 'edge' } },
        { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['internal'] }] },
      ],
      gatewayClassParametersRefs: { proxy: { name: 'edge', namespace: 'edge-system' } },
    },
  },
  {
    name: 'other-ports-with-tls',
    values: {
      controller: {
        service: { type: 'NodePort', ports: { proxyGrpc: 443, health: 8080, metrics: 8081 } },
        xds: { tls: { enabled: true } },
        logLevel: 'trace',
      },
      podAnnotations: { 'prometheus.io/port': '8081' },
    },
  },
  {
    name: 'account-of-somebody-else',
    values: {
      serviceAccount: { create: false, name: 'platform' },
      fullnameOverride: 'gateways',
      controller: { extraEnv: { HTTPS_PROXY: 'http://proxy.example.com:3128', NO_PROXY: '10.0.0.0/8' } },
    },
  },
  {
    name: 'openshift',
    namespace: 'openshift-gateways',
    values: {
      podSecurityContext: { runAsUser: null, runAsGroup: null },
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      serviceAccount: { annotations: { 'example.com/scc': 'restricted-v2' } },
    },
  },
  {
    name: 'own-nodes',
    values: {
      nodeSelector: { 'node-role.kubernetes.io/infra': '' },
      tolerations: [{ key: 'node-role.kubernetes.io/infra', operator: 'Exists' }],
      resources: { requests: { cpu: 0.5, memory: '256Mi' }, limits: { cpu: 2, memory: '1Gi' } },
      deploymentAnnotations: { 'example.com/owner': 'platform' },
      podAnnotations: { 'example.com/owner': 'platform' },
    },
  },
  {
    name: 'variables-over-values',
    values: {
      controller: {
        logLevel: 'warn',
        extraEnv: {
          MCP_GATEHOUSE_LOG_LEVEL: 'error',
          MCP_GATEHOUSE_IMAGE_TAG: { valueFrom: { configMapKeyRef: { name: 'versions', key: 'gateway' } } },
        },
      },
      image: { tag: 'stable' },
    },
  },
  {
    name: 'another-name-twice',
    release: 'mcp',
    namespace: 'team-a',
    values: {
      nameOverride: 'gw',
      serviceAccount: { name: 'gw' },
      controller: { podDisruptionBudget: { maxUnavailable: 1 } },
    },
  },
  {
    name: 'inference',
    values: {
      inferenceExtension: { enabled: true },
      controller: { image: { tag: 'next' } },
      global: { anything: 'goes' },
    },
  },
];
