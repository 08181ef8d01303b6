// What the tests of `status` stand on: an API server with resources in it, a kubeconfig for it, and the command with its terminal.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { statusCommand } from '../../src/cmd/status.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { readObjects, writeStatuses } from '../../src/cmd/status/testing/cluster-case.ts';
import type { KubernetesObject } from '../../src/kubernetes/client.ts';
import {
  type FakeApiServer,
  type FakeApiServerOptions,
  startFakeApiServer,
} from './fake-api-server/fake-api-server.ts';

/** A Gateway, a route, a backend and a policy, all well. */
export const goodResources = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: proxy}
spec: {controllerName: gateway.proxy/controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public}
spec:
  gatewayClassName: proxy
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: tickets}
spec:
  hostnames: [mcp.example.com]
  parentRefs: [{name: public}]
  rules:
  - backendRefs: [{group: gateway.proxy, kind: ProxyBackend, name: tickets}]
---
apiVersion: gateway.proxy/v1alpha1
kind: ProxyBackend
metadata: {name: tickets}
spec:
  mcp: {targets: [{name: tickets, static: {host: tickets.internal, port: 3001, path: /mcp}}]}
---
apiVersion: gateway.proxy/v1alpha1
kind: ProxyPolicy
metadata: {name: browsers}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: tickets}]
  traffic: {cors: {allowOrigins: ["https://app.example.com"]}}
`;

const kindsWithStatus = ['GatewayClass', 'Gateway', 'HTTPRoute', 'ProxyBackend', 'ProxyPolicy', 'InferencePool'];

/** A cluster with these resources, and with the statuses that a controller gave them. */
export async function startCluster(
  t: TestContext,
  resources: string = goodResources,
  options: FakeApiServerOptions = {},
): Promise<{ readonly cluster: FakeApiServer; readonly kubeconfig: string; readonly put: (yaml: string) => void }> {
  const cluster = await startFakeApiServer(t, options);
  const put = (yaml: string): void => {
    const stored = readObjects(yaml).map((object) => cluster.put(object));
    if (stored.length === 0) return;
    // As the controller does: after the fact, and about the generation that it saw.
    const all = [...kindsWithStatus, 'Service']
      .filter((kind) => cluster.isInstalled(kind))
      .flatMap((kind) => cluster.list(kind).map(withoutAge));
    const names = new Set(stored.map(formatObject));
    for (const object of writeStatuses(all)) if (names.has(formatObject(object))) cluster.put(object);
  };
  put(resources);
  return { cluster, kubeconfig: await writeKubeconfig(t, cluster.url), put };
}

/** Which of two is older would depend on when the test ran. Statuses are written anew. */
function withoutAge(object: KubernetesObject): KubernetesObject {
  const { creationTimestamp: _age, ...metadata } = object.metadata;
  return { ...object, metadata, status: undefined };
}

function formatObject({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

/** A kubeconfig file with one context. */
export async function writeKubeconfig(t: TestContext, server: string, namespace = ''): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'status-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'config');
  const context = { cluster: 'test', user: '', ...(namespace !== '' && { namespace }) };
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      contexts: [{ name: 'test', context }],
      clusters: [{ name: 'test', cluster: { server } }],
      users: [],
    }),
  );
  return file;
}

/** What a command did. */
export interface StatusRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** `mcp-gatehouse status`, without a terminal. */
export async function runStatus(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<StatusRun> {
  const running = startStatus(args, { env });
  return { code: await running.ended, out: running.out(), err: running.err() };
}

/** A terminal that tests can make bigger and smaller. */
export interface TestTerminal {
  columns: number;
  rows: number;
  resize(columns: number, rows: number): void;
  readonly listeners: Set<() => void>;
}

export function createTerminal(columns = 120, rows = 50): TestTerminal {
  const listeners = new Set<() => void>();
  return {
    columns,
    rows,
    listeners,
    resize(wide, high) {
      this.columns = wide;
      this.rows = high;
      for (const listener of listeners) listener();
    },
  };
}

export interface RunningStatus {
  out(): string;
  err(): string;
  /** As Ctrl-C does. */
  interrupt(): void;
  readonly ended: Promise<number>;
}

/** `mcp-gatehouse status --watch`. */
export function startStatus(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly terminal?: TestTerminal; color?: boolean } = {},
): RunningStatus {
  const { terminal } = options;
  const interrupt = new AbortController();
  let out = '';
  let err = '';
  const ended = executeCommand(statusCommand, args, {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color: options.color ?? false,
    env: options.env ?? {},
    signal: interrupt.signal,
    terminal:
      terminal === undefined
        ? null
        : {
            getSize: () => ({ columns: terminal.columns, rows: terminal.rows }),
            onResize(listener) {
              terminal.listeners.add(listener);
              return () => void terminal.listeners.delete(listener);
            },
          },
  });
  return { out: () => out, err: () => err, interrupt: () => interrupt.abort(), ended };
}
