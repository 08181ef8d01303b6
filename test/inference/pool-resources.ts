// An InferencePool on loopback as resources of a file: the pool, its Pod, and the Service of its picker.
import { resource, serviceOf } from '../integration/gateway-fixture.ts';

export interface PoolOptions {
  /** The ports of the Pod's model servers. */
  readonly ports: readonly number[];
  /** The port of the picker. */
  readonly picker: number;
  /** Of the picker's Service. Default: kubernetes.io/h2c, which is plaintext; undefined: none. */
  readonly appProtocol?: string | undefined;
  readonly failureMode?: 'FailOpen' | 'FailClose';
  readonly annotations?: Readonly<Record<string, string>>;
  /** Of the Pod. Default: ready. */
  readonly isReady?: boolean;
}

/** A pool, with everything that belongs to it. */
export function poolOf(name: string, options: PoolOptions): object[] {
  const { appProtocol = 'kubernetes.io/h2c', failureMode = 'FailClose', isReady = true } = options;
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
  const isPlain = 'appProtocol' in options ? options.appProtocol !== undefined : true;
  return [
    {
      apiVersion: 'inference.networking.k8s.io/v1',
      kind: 'InferencePool',
      metadata: { name, annotations: options.annotations ?? {} },
      spec: {
        selector: { matchLabels: { app: name } },
        targetPorts: options.ports.map((number) => ({ number })),
        endpointPickerRef: { name: `${name}-picker`, port: { number: 80 }, failureMode },
      },
    },
    resource(
      'v1',
      'Pod',
      `${name}-1`,
      { spec: { containers: [] }, status: { phase: 'Running', podIP: '127.0.0.1', conditions } },
      { labels: { app: name } },
    ),
    ...serviceOf(`${name}-picker`, [options.picker], isPlain ? { appProtocol } : {}),
  ];
}

/** A backendRef to such a pool. */
export function poolRef(name: string): object {
  return { group: 'inference.networking.k8s.io', kind: 'InferencePool', name };
}
