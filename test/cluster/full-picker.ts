// The full endpoint picker of the Inference Extension (epp) as resources, with the rights and probes that its own chart gives it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installEndpointPicker, installInferenceExtension } from '../../scripts/install-inference-extension.ts';
import type { Cluster } from './cluster.ts';
import { readNamespace } from './file-namespace.ts';
import { createBinaryImage, type ImageTable } from './image-table.ts';

/** The image `epp`, and what its pods need of the cluster. */
export interface FullPicker {
  readonly images: ImageTable;
  /** Installs the CRD of InferencePools, and those that it watches beside that. */
  installCrds(cluster: Cluster): Promise<void>;
}

/** Builds the picker, once per machine. */
export async function buildFullPicker(report: (line: string) => void = console.log): Promise<FullPicker> {
  const folder = await installEndpointPicker(report);
  // The pools are those of the version that the cluster has.
  const names = ['inferenceobjectives', 'inferencemodelrewrites'];
  return {
    images: { epp: createBinaryImage(join(folder, 'epp')) },
    async installCrds(cluster) {
      await cluster.applyFolder(join(await installInferenceExtension(report), 'crds'));
      for (const name of names) {
        await cluster.apply(await readFile(join(folder, 'crds', `inference.networking.x-k8s.io_${name}.yaml`), 'utf8'));
        await cluster.kubectl(['wait', '--for=condition=Established', `crd/${name}.inference.networking.x-k8s.io`]);
      }
    },
  };
}

/** The port of its Service, on which it serves TLS with a certificate of its own making. */
export const fullPickerPort = 9002;

/** A picker for a pool of the same namespace: ServiceAccount, rights, Deployment and Service. */
export function createFullPicker(name: string, pool: string, namespace = readNamespace()): object[] {
  const metadata = { name, namespace };
  const labels = { app: name };
  const verbs = ['get', 'watch', 'list'];
  const grpc = { port: 9003, service: 'inference-extension' };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: [
        { apiGroups: [''], resources: ['pods'], verbs },
        { apiGroups: ['inference.networking.k8s.io'], resources: ['inferencepools'], verbs },
        {
          apiGroups: ['inference.networking.x-k8s.io'],
          resources: ['inferenceobjectives', 'inferencemodelrewrites'],
          verbs,
        },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        strategy: { type: 'Recreate' },
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: name,
            containers: [
              {
                name: 'epp',
                image: 'epp',
                args: [
                  `--pool-name=${pool}`,
                  `--pool-namespace=${namespace}`,
                  '--tracing=false',
                  '--metrics-endpoint-auth=false',
                  // Its default, twenty times a second, is much for a small machine.
                  '--refresh-metrics-interval=250ms',
                ],
                livenessProbe: { grpc, initialDelaySeconds: 5, periodSeconds: 10 },
                readinessProbe: { grpc, periodSeconds: 2 },
                env: [
                  { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
                  { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
                ],
              },
            ],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ name: 'grpc-ext-proc', port: fullPickerPort }] },
    },
  ];
}
