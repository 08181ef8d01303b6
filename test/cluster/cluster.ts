// A running test cluster, as a test sees it.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient, ApiObject } from './api-client.ts';
import type { ClusterAddresses } from './cluster-addresses.ts';
import { readNamespace } from './file-namespace.ts';
import type { Kubectl } from './kubectl.ts';
import type { ImageTable } from './image-table.ts';
import { ObjectWriter } from './object-writer.ts';
import type { BlackHole, ContainerName, ExecOptions, ExecResult, ProcessUsage } from './supervisor-commands.ts';
import type { SupervisorProcess } from './supervisor-process.ts';
import { authorizationRecordFile } from './supervisor/authorization-record.ts';
import type { Component } from './supervisor/control-plane.ts';
import { waitFor, type WaitOptions } from '../kit/wait-for.ts';

/** How to reach the API server as cluster-admin. */
export interface ClusterAccess {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
  readonly kubeconfigFile: string;
  readonly kubectlProgram: string;
}

/** What the API server asked its authorizers: whether the recorded user may do something to a resource. */
export interface AskedAuthorization {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: of the whole cluster, or in all namespaces. */
  readonly namespace: string;
  /** Empty: no single object. */
  readonly name: string;
}

/** What a cluster is made of. */
export interface ClusterParts {
  readonly folder: string;
  readonly addresses: ClusterAddresses;
  readonly supervisor: SupervisorProcess;
  readonly api: ApiClient;
  readonly access: ClusterAccess;
  readonly kubectl: Kubectl;
  readonly gatewayApiFolder: string;
  readonly inferenceExtensionFolder: string | undefined;
  readonly stop: () => Promise<void>;
}

/** A cluster. All methods throw with what the API server, kubectl or the supervisor said. */
export class Cluster {
  readonly #parts: ClusterParts;
  readonly #writer: ObjectWriter;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.#writer = new ObjectWriter(parts.api);
  }

  /** The API as cluster-admin: paths as in the API reference, `/api/v1/namespaces/default/pods`. */
  get api(): ApiClient {
    return this.#parts.api;
  }

  get access(): ClusterAccess {
    return this.#parts.access;
  }

  /** Credentials and logs of this run. */
  get folder(): string {
    return this.#parts.folder;
  }

  /** Ranges and addresses; `host` is where pods reach a server of the test process. */
  get addresses(): ClusterAddresses {
    return this.#parts.addresses;
  }

  /** Holds `conformance.test`, `echo-basic` and `crds/`. */
  get gatewayApiFolder(): string {
    return this.#parts.gatewayApiFolder;
  }

  /** Holds `conformance.test`, `lwepp` and `crds/`; only of a cluster that was started with `hasInferenceExtension`. */
  get inferenceExtensionFolder(): string {
    const { inferenceExtensionFolder } = this.#parts;
    if (inferenceExtensionFolder === undefined) throw new Error('The cluster has no Inference Extension.');
    return inferenceExtensionFolder;
  }

  /** Runs kubectl as cluster-admin. */
  get kubectl(): Kubectl {
    return this.#parts.kubectl;
  }

  /** Applies YAML or objects as `kubectl apply --server-side` does. */
  apply(manifests: string | object | readonly object[]): Promise<void> {
    return this.#writer.apply(manifests, readNamespace());
  }

  /** Applies every YAML file of a folder. */
  async applyFolder(folder: string): Promise<void> {
    const files = (await readdir(folder)).filter((file) => /\.ya?ml$/.test(file)).toSorted();
    const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
    await this.apply(texts.join('\n---\n'));
  }

  /** Deletes what YAML or objects name, and waits until it is gone. What does not exist is gone. */
  delete(manifests: string | object | readonly object[]): Promise<void> {
    return this.#writer.delete(manifests, readNamespace());
  }

  /** Waits until a probe says anything but undefined and false; what the pods say is part of the message when it does not. */
  waitFor<T>(probe: () => Promise<T | undefined | false> | T | undefined | false, options: WaitOptions): Promise<T> {
    return waitFor(probe, { retryErrors: true, describe: () => this.describe(), ...options });
  }

  /** Waits until an object is as wanted, and returns it. `path` as in the API reference. */
  waitForObject<T extends ApiObject = ApiObject>(
    path: string,
    isAsWanted: (object: T) => boolean,
    options: Partial<WaitOptions> = {},
  ): Promise<T> {
    let seen: T | undefined;
    return this.waitFor(
      async () => {
        seen = await this.api.get<T>(path);
        return isAsWanted(seen) ? seen : undefined;
      },
      {
        what: `${path} is as wanted`,
        ...options,
        describe: async () => `Last seen: ${JSON.stringify(seen, undefined, 1)}\n${await this.describe()}`,
      },
    );
  }

  /** Adds images or replaces them, for containers that start from now on. */
  addImages(images: ImageTable): Promise<void> {
    return this.#parts.supervisor.call('addImages', images);
  }

  /** Lets a name resolve to an address in all pods, `idp.example.com` for example; without an address it goes away. */
  setName(name: string, address?: string): Promise<void> {
    return this.#parts.supervisor.call('setName', { name, ...(address === undefined ? {} : { address }) });
  }

  /** Renews the ServiceAccount tokens of all pods now, and not when they are old. */
  renewTokens(): Promise<void> {
    return this.#parts.supervisor.call('renewTokens');
  }

  /** Starts a part of the control plane that was stopped, and waits until it is ready. */
  startComponent(component: Component): Promise<void> {
    return this.#parts.supervisor.call('startComponent', component);
  }

  /** Ends a part of the control plane. It stays away until `startComponent`. */
  stopComponent(component: Component, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    return this.#parts.supervisor.call('stopComponent', { component, signal });
  }

  /** Ends a part of the control plane and starts it again. */
  async restartComponent(component: Component, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.stopComponent(component, signal);
    await this.startComponent(component);
  }

  /** Stops a part of the control plane without closing its connections (SIGSTOP). */
  pauseComponent(component: Component): Promise<void> {
    return this.#parts.supervisor.call('pauseComponent', component);
  }

  resumeComponent(component: Component): Promise<void> {
    return this.#parts.supervisor.call('resumeComponent', component);
  }

  /** Makes etcd forget the past: a watch resumed from before is answered with 410. */
  compactHistory(): Promise<void> {
    return this.#parts.supervisor.call('compactHistory');
  }

  /** Loses traffic between two addresses without a word, established connections too. Returns what ends it. */
  async blackHole(hole: BlackHole): Promise<() => Promise<void>> {
    const id = await this.#parts.supervisor.call('addBlackHole', hole);
    return () => this.#parts.supervisor.call('removeBlackHole', id);
  }

  /** Runs a command inside a container. */
  exec(options: ExecOptions): Promise<ExecResult> {
    return this.#parts.supervisor.call('exec', options);
  }

  /** Sends a signal to the first process of a container: SIGKILL is a crash. */
  signalContainer(name: ContainerName, signal: NodeJS.Signals): Promise<void> {
    return this.#parts.supervisor.call('signalContainer', { ...name, signal });
  }

  /** Memory and processor time of a container's first process. */
  readUsage(name: ContainerName): Promise<ProcessUsage> {
    return this.#parts.supervisor.call('readUsage', name);
  }

  /** What all containers of a pod have written, through all restarts; also after the pod is gone. */
  async logs(namespace: string, pod: string): Promise<string> {
    const folder = join(this.#parts.folder, 'logs', 'pods', namespace);
    const files = (await readdir(folder).catch(() => [])).filter((file) => file.startsWith(`${pod}.`)).toSorted();
    return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('');
  }

  /** The log of a part of the control plane. */
  componentLog(component: Component): Promise<string> {
    return readFile(join(this.#parts.folder, 'logs', `${component}.log`), 'utf8');
  }

  /** What was asked about the recorded user so far, in order; only for clusters that were started with one. */
  async readAuthorizations(): Promise<readonly AskedAuthorization[]> {
    const text = await readFile(join(this.#parts.folder, 'logs', authorizationRecordFile), 'utf8');
    const specs = text.split('\n').slice(0, -1);
    return specs.flatMap((line) => {
      const { resourceAttributes } = JSON.parse(line) as { resourceAttributes?: Partial<AskedAuthorization> };
      if (resourceAttributes === undefined) return [];
      const nothing = { verb: '', group: '', resource: '', subresource: '', namespace: '', name: '' };
      return [{ ...nothing, ...resourceAttributes }];
    });
  }

  /** What runs and what it said last, for the message of a test that fails. */
  async describe(): Promise<string> {
    try {
      const { stdout } = await this.kubectl(['get', 'pods', '--all-namespaces', '-o', 'wide', '--request-timeout=5s']);
      const pods = await this.api.list('/api/v1/pods');
      const tails = await Promise.all(
        pods.map(async ({ metadata: { namespace = '', name } }) => {
          const lines = (await this.logs(namespace, name)).trimEnd().split('\n');
          return `-- ${namespace}/${name}\n${lines.slice(-15).join('\n')}`;
        }),
      );
      const notes = (await readFile(join(this.#parts.folder, 'supervisor.log'), 'utf8')).trimEnd().split('\n');
      return `${stdout}\n${tails.join('\n')}\n-- the node\n${notes.slice(-20).join('\n')}`;
    } catch (error) {
      return `The cluster cannot be described: ${String(error)}`;
    }
  }

  /** Whether the process stays for as long as the cluster is there, which is so at first. */
  setBinding(isBound: boolean): void {
    this.#parts.supervisor.setBinding(isBound);
  }

  /** Ends everything and waits until nothing is left. */
  async stop(): Promise<void> {
    await this.api.close();
    await this.#parts.stop();
  }
}
