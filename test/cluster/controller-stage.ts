// A controller whose rights change, on a cluster with one resource of each kind: how it is restarted, what it says, and what it is to look after.
import { createSigningKey } from '../idp/signing-keys.ts';
import type { Cluster } from './cluster.ts';
import {
  createEcho,
  createGateway,
  createInferencePool,
  createPolicy,
  createProxyBackend,
  createRoute,
  toInferencePool,
  toProxyBackend,
  toService,
} from './cluster-resources.ts';
import { installationNamespace, installController, type InstalledController } from './installed-controller.ts';
import { listShortcomings } from './resource-conditions.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';
import { ApiError, type ApiObject } from './api-client.ts';

/** Debug: what is tried again and again is said only there. TLS: without it no ConfigMap is deployed. The extension, the certificate and network policies: values with more rights. */
export const stageValues = {
  controller: { logLevel: 'debug', xds: { tls: { enabled: true, generate: true } } },
  inferenceExtension: { enabled: true },
  networkPolicy: { enabled: true },
};

/** One resource of each kind that has a status. */
export const toldResources: readonly ResourceName[] = [
  { kind: 'GatewayClass', name: 'proxy' },
  { kind: 'Gateway', name: 'web' },
  { kind: 'HTTPRoute', name: 'guarded' },
  { kind: 'ProxyBackend', name: 'tools' },
  { kind: 'ProxyPolicy', name: 'guard' },
  { kind: 'InferencePool', name: 'models' },
];

/** The other class of our controller. */
export const otherClass = 'second';

/** The controller, and what is there for it. */
export class ControllerStage {
  readonly cluster: Cluster;
  readonly controller: InstalledController;
  readonly #jwks: string;
  readonly #pods = new Set<string>();

  constructor(cluster: Cluster, controller: InstalledController, jwks: string) {
    this.cluster = cluster;
    this.controller = controller;
    this.#jwks = jwks;
  }

  /** Changes the installation. */
  async install(more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.#notePods();
    await installController(this.cluster, { values: { ...stageValues, ...more } });
  }

  /** New processes in place of those that run. Resolves when they answer, whether they are ready or not. */
  async restart(): Promise<void> {
    const old = await this.#notePods();
    for (const name of old)
      await this.cluster.api.delete(locateResource({ kind: 'Pod', name, namespace: installationNamespace }));
    await this.cluster.waitFor(
      async () => {
        const pods = await this.controller.listPods();
        await this.controller.readReadiness();
        return pods.length === old.length && pods.every(({ metadata }) => !old.includes(metadata.name));
      },
      { what: 'the new pods of the controller answer' },
    );
  }

  async scale(replicas: number): Promise<void> {
    await this.#notePods();
    const path = locateResource({ kind: 'Deployment', name: 'proxy', namespace: installationNamespace });
    await this.cluster.api.patch(path, { spec: { replicas } });
  }

  /** How often all pods that there ever were have said something, in a line with all of these words. */
  async countLines(...words: readonly string[]): Promise<number> {
    return (await this.listLines(...words)).length;
  }

  /** What all pods that there ever were have said, in lines with all of these words. */
  async listLines(...words: readonly string[]): Promise<readonly string[]> {
    await this.#notePods();
    const logs = await Promise.all(Array.from(this.#pods, (name) => this.cluster.logs(installationNamespace, name)));
    const lines = logs
      .join('')
      .replaceAll(String.raw`\"`, '"')
      .split('\n');
    return lines.filter((line) => words.every((word) => line.includes(word)));
  }

  async exists(resource: ResourceName): Promise<boolean> {
    return (await this.find(resource)) !== undefined;
  }

  async find(resource: ResourceName): Promise<ApiObject | undefined> {
    try {
      return await this.cluster.api.get(locateResource(resource));
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async isWell(resource: ResourceName): Promise<boolean> {
    const found = await this.find(resource);
    return found !== undefined && listShortcomings(found).length === 0;
  }

  /** As if nobody had ever said anything about it. */
  async wipeStatus(resource: ResourceName): Promise<void> {
    const lists = new Set(['conditions', 'listeners', 'addresses', 'parents', 'ancestors']);
    const { status = {} } = (await this.find(resource)) as { readonly status?: object };
    const empty = Object.fromEntries(Object.keys(status).map((key) => [key, lists.has(key) ? [] : null]));
    await this.cluster.api.patch(`${locateResource(resource)}/status`, { status: empty });
  }

  /** A rule for tokens, the same each time. */
  get protection(): object {
    const jwks = { inline: this.#jwks };
    return {
      jwtAuthentication: {
        providers: [{ name: 'company', issuer: 'https://idp.example.com', audiences: ['api'], jwks }],
      },
    };
  }

  async #notePods(): Promise<readonly string[]> {
    const names = (await this.controller.listPods()).map(({ metadata }) => metadata.name);
    for (const name of names) this.#pods.add(name);
    return names;
  }
}

/** Installs the controller, and one resource of each kind. */
export async function buildStage(cluster: Cluster): Promise<ControllerStage> {
  const controller = await installController(cluster, { values: stageValues });
  const jwks = JSON.stringify({ keys: [(await createSigningKey()).publicJwk] });
  const stage = new ControllerStage(cluster, controller, jwks);
  await cluster.apply([
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'GatewayClass',
      metadata: { name: otherClass },
      spec: { controllerName: 'gateway.proxy/controller' },
    },
    ...createEcho('echo'),
    createGateway('web'),
    createProxyBackend('tools', { service: toService('echo') }),
    createRoute('tools', { path: '/tools', to: toProxyBackend('tools') }),
    createPolicy('guard', { kind: 'HTTPRoute', name: 'guarded' }, { traffic: stage.protection }),
    createRoute('guarded', { path: '/guarded', to: toService('echo') }),
    createInferencePool('models', { app: 'echo', port: 3000, picker: { name: 'echo', port: 80 } }),
    createRoute('models', { path: '/models', to: toInferencePool('models') }),
    createRoute('open', { path: '/open', to: toService('echo') }),
  ]);
  return stage;
}
