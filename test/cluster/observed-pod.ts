// Pods that run observed-server.ts, and questions to them, for the harness's own tests.
import { createNodeImage, type ImageTable } from './image-table.ts';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { readNamespace } from './file-namespace.ts';

/** The image of observed pods. */
export const observedImages: ImageTable = { observed: createNodeImage('test/cluster/observed-server.ts') };

/** A pod, as tests read it. */
export interface PodObject extends ApiObject {
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** A container of it. */
export interface ContainerStatus {
  readonly ready: boolean;
  readonly restartCount: number;
  readonly state: Readonly<
    Record<string, { readonly reason?: string; readonly message?: string; readonly exitCode?: number }>
  >;
  readonly lastState: Readonly<Record<string, { readonly exitCode?: number }>>;
}

/** A pod with one container that runs the observed server; `spec` and `container` are added to it. */
export function createObservedPod(
  name: string,
  { container = {}, spec = {}, metadata = {} }: { container?: object; spec?: object; metadata?: object } = {},
): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: readNamespace(), labels: { app: name }, ...metadata },
    spec: {
      // It ends at once when it is asked to, and has time to hear that on a busy machine.
      terminationGracePeriodSeconds: 60,
      ...spec,
      containers: [
        {
          name: 'observed',
          image: 'example.com/test/observed:1',
          readinessProbe: {
            httpGet: { path: '/ready', port: 8080 },
            periodSeconds: 1,
            failureThreshold: 1,
            timeoutSeconds: 10,
          },
          ...container,
        },
      ],
    },
  };
}

/** Where a pod is in the API. */
export function locatePod(name: string): string {
  return `/api/v1/namespaces/${readNamespace()}/pods/${name}`;
}

/** Waits until a pod is Ready. */
export function waitUntilReady(cluster: Cluster, name: string): Promise<PodObject> {
  return cluster.waitForObject<PodObject>(
    locatePod(name),
    ({ status }) => status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false,
    { what: `the pod ${name} is Ready` },
  );
}

/** Asks the observed server at an address; throws when it does not answer 200. */
export async function observe<T>(address: string, question: string, port = 8080): Promise<T> {
  const answer = await fetch(`http://${address}:${port}${question}`, {
    // Every question on its own connection: rules apply to connections.
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(60_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${question} was answered with ${answer.status}: ${text}`);
  return JSON.parse(text) as T;
}

/** Starts an observed pod and returns its address. */
export async function startObservedPod(
  cluster: Cluster,
  ...options: Parameters<typeof createObservedPod>
): Promise<string> {
  await cluster.apply(createObservedPod(...options));
  const { status } = await waitUntilReady(cluster, options[0]);
  return status.podIP ?? '';
}
