// The life of one pod on the node: network, volumes, containers, status, end.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, ApiError } from '../api-client.ts';
import type { ClusterAddresses } from '../cluster-addresses.ts';
import { findImage, type ImageTable } from '../image-table.ts';
import type { NodeNetwork, PodNetwork } from '../supervisor/node-network.ts';
import { ContainerRunner } from './container-runner.ts';
import type { ContentReader } from './content-reader.ts';
import { ContainerConfigError, type EnvironmentSources } from './environment.ts';
import { findHostname, findUserId, planContainer } from './plan-container.ts';
import { type Container, listUnsupportedFields, type Pod } from './pod.ts';
import { type ContainerSituation, describePod } from './pod-status.ts';
import { PodVolumes } from './pod-volumes.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';
import { formatHostsFile, formatResolverFile, type ServiceNames } from './service-names.ts';

/** What a pod needs from its node. */
export interface NodeServices {
  readonly client: ApiClient;
  readonly network: NodeNetwork;
  readonly content: ContentReader;
  readonly addresses: ClusterAddresses;
  readonly nodeName: string;
  readonly stateFolder: string;
  readonly logFolder: string;
  readonly readImages: () => ImageTable;
  readonly readNames: () => ServiceNames;
  readonly recordEvent: (pod: Pod, reason: string, message: string) => void;
}

const retryInterval = 250;
const defaultGrace = 30;

/** One pod. */
export class PodWorker {
  readonly #services: NodeServices;
  readonly #folder: string;
  readonly #startedAt = new Date();
  readonly #conditionTimes = new Map<string, { readonly status: string; readonly since: string }>();
  readonly #tokens: ServiceAccountTokens;
  readonly #ended = Promise.withResolvers<void>();
  readonly #prepared: Promise<void>;
  #pod: Pod;
  #network: PodNetwork | undefined;
  #volumes: PodVolumes | undefined;
  #initRunners: readonly ContainerRunner[] = [];
  #runners: readonly ContainerRunner[] = [];
  #problem: string | undefined;
  #isEnding = false;
  #isGone = false;
  #statusWanted = 0;
  #statusWriter: Promise<void> | undefined;
  #hostsText = '';

  constructor(pod: Pod, services: NodeServices) {
    this.#pod = pod;
    this.#services = services;
    this.#folder = join(services.stateFolder, 'pods', pod.metadata.uid ?? pod.metadata.name);
    this.#tokens = new ServiceAccountTokens(services.client, pod);
    this.#prepared = this.#prepare();
    void this.#run();
  }

  get pod(): Pod {
    return this.#pod;
  }

  /** Resolves when nothing of it is left. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Takes a newer version of the object. */
  update(pod: Pod): void {
    this.#pod = pod;
    if (pod.metadata.deletionTimestamp !== undefined) {
      void this.#end(pod.metadata.deletionGracePeriodSeconds ?? defaultGrace);
    } else {
      // Labels and annotations may be in files.
      void this.refreshVolumes();
    }
  }

  /** The object is gone: so must be the rest, at once. */
  drop(): void {
    this.#isGone = true;
    void this.#end(0);
  }

  /** A container by name; without one, the first. */
  findContainer(name: string | undefined): ContainerRunner | undefined {
    const all = [...this.#runners, ...this.#initRunners];
    return name === undefined ? all[0] : all.find(({ situation }) => situation.name === name);
  }

  /** Writes what has changed in Secrets, ConfigMaps and tokens. */
  async refreshVolumes(): Promise<void> {
    if (!this.#isEnding) await this.#volumes?.update().catch(() => undefined);
  }

  /** Renews tokens that are due, or all. */
  async refreshTokens(all: boolean): Promise<void> {
    if (all) this.#tokens.expire();
    if (this.#tokens.isRenewalDue) await this.refreshVolumes();
  }

  /** Writes the hosts file when names have changed. */
  async refreshHosts(): Promise<void> {
    if (this.#network === undefined) return;
    const { metadata, spec } = this.#pod;
    const self = {
      hostname: findHostname(this.#pod),
      address: this.#network.address,
      namespace: metadata.namespace ?? '',
    };
    const text = formatHostsFile(self, spec.hostAliases ?? [], this.#services.readNames());
    if (text === this.#hostsText || this.#isEnding) return;
    this.#hostsText = text;
    const file = join(this.#folder, 'network', 'hosts');
    await writeFile(`${file}.next`, text);
    await rename(`${file}.next`, file);
  }

  async #run(): Promise<void> {
    const { spec } = this.#pod;
    try {
      await this.#prepared;
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
      return;
    }
    if (this.#isEnding) return;
    // Made at once, so that the status has all of them from the beginning.
    this.#initRunners = (spec.initContainers ?? []).map((container) => this.#createRunner(container, true));
    this.#runners = spec.containers.map((container) => this.#createRunner(container, false));
    this.#reportStatus();
    for (const runner of this.#initRunners) {
      await runner.run();
      const { state } = runner.situation;
      if (this.#isEnding || !('terminated' in state) || state.terminated.exitCode !== 0) return;
    }
    await Promise.all(this.#runners.map((runner) => runner.run()));
  }

  async #prepare(): Promise<void> {
    const { network, addresses, readImages } = this.#services;
    const { metadata, spec } = this.#pod;
    const unsupported = listUnsupportedFields(spec);
    if (unsupported.length > 0) {
      throw new ContainerConfigError(`the test cluster does not support ${unsupported.join(', ')}`);
    }
    await mkdir(join(this.#folder, 'network'), { recursive: true });
    await mkdir(join(this.#folder, 'volumes'), { recursive: true });
    this.#network = await network.createPodNetwork(spec.securityContext?.sysctls ?? []);
    const resolver = formatResolverFile(addresses.node, metadata.namespace ?? '');
    await writeFile(join(this.#folder, 'network', 'resolv.conf'), resolver);
    await this.refreshHosts();

    const users = new Set(
      [...(spec.initContainers ?? []), ...spec.containers].map((container) =>
        findUserId(container, this.#pod, findImage(readImages(), container.image)),
      ),
    );
    this.#volumes = new PodVolumes(join(this.#folder, 'volumes'), this.#pod, {
      fields: this.#makeSources(),
      ...this.#makeReaders(),
      readToken: (audience, seconds) => this.#tokens.read(audience, seconds),
      fsGroup: spec.securityContext?.fsGroup,
      onlyUser: users.size === 1 ? [...users][0] : undefined,
    });
    await this.#createVolumes(this.#volumes);
  }

  async #createVolumes(volumes: PodVolumes): Promise<void> {
    let told = '';
    while (!this.#isEnding) {
      try {
        await volumes.create();
        return;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (message !== told) this.#services.recordEvent(this.#pod, 'FailedMount', (told = message));
        await sleep(retryInterval);
      }
    }
  }

  #createRunner(container: Container, isInit: boolean): ContainerRunner {
    const { metadata, spec } = this.#pod;
    const network = this.#network!;
    const policy = spec.restartPolicy ?? 'Always';
    return new ContainerRunner({
      container,
      restartPolicy: isInit && policy === 'Always' ? 'OnFailure' : policy,
      graceSeconds: spec.terminationGracePeriodSeconds ?? defaultGrace,
      address: network.address,
      networkNamespaceFile: network.namespaceFile,
      logFile: join(this.#services.logFolder, metadata.namespace ?? '', `${metadata.name}.${container.name}.log`),
      onChange: () => this.#reportStatus(),
      onEvent: (reason, message) => this.#services.recordEvent(this.#pod, reason, message),
      makePlan: () => this.#plan(container),
    });
  }

  #plan(container: Container): ReturnType<typeof planContainer> {
    const { addresses, readImages } = this.#services;
    if (this.#volumes === undefined) throw new ContainerConfigError('the volumes are not there');
    return planContainer({
      container,
      sources: { ...this.#makeSources(), ...this.#makeReaders() },
      images: readImages(),
      volumes: this.#volumes,
      scratch: join(this.#folder, 'containers', container.name),
      networkFolder: join(this.#folder, 'network'),
      apiService: { address: addresses.kubernetesService, port: 443 },
    });
  }

  #makeSources(): Omit<EnvironmentSources, 'readSecret' | 'readConfigMap'> {
    const { nodeName, addresses } = this.#services;
    const readPod = (): Pod => this.#pod;
    return {
      get pod() {
        return readPod();
      },
      podAddress: this.#network?.address ?? '',
      nodeName,
      nodeAddress: addresses.node,
    };
  }

  #makeReaders(): Pick<EnvironmentSources, 'readSecret' | 'readConfigMap'> {
    const namespace = this.#pod.metadata.namespace ?? '';
    const { content } = this.#services;
    return {
      readSecret: (name) => content.readSecret(namespace, name),
      readConfigMap: (name) => content.readConfigMap(namespace, name),
    };
  }

  async #end(graceSeconds: number): Promise<void> {
    if (this.#isEnding) {
      // Asked again with less patience.
      if (graceSeconds === 0) await this.#stopContainers(0);
      return;
    }
    this.#isEnding = true;
    await this.#prepared.catch(() => undefined);
    await this.#stopContainers(graceSeconds);
    this.#reportStatus();
    await this.#statusWriter;
    await this.#volumes?.remove();
    await this.#network?.remove();
    // A refresh that was under way may still be writing there.
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    if (!this.#isGone) await this.#deleteObject();
    this.#ended.resolve();
  }

  async #stopContainers(graceSeconds: number): Promise<void> {
    await Promise.all([...this.#initRunners, ...this.#runners].map((runner) => runner.stop(graceSeconds)));
  }

  /** Lets the API server forget the pod, as the last step. */
  async #deleteObject(): Promise<void> {
    while (!this.#isGone) {
      try {
        await this.#services.client.delete(this.#path(), {
          gracePeriodSeconds: 0,
          preconditions: { uid: this.#pod.metadata.uid },
        });
        return;
      } catch (error) {
        if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return;
        await sleep(retryInterval);
      }
    }
  }

  #fail(problem: string): void {
    this.#problem = problem;
    this.#services.recordEvent(this.#pod, 'Failed', problem);
    this.#reportStatus();
  }

  /** Status is written one at a time, the newest last. */
  #reportStatus(): void {
    this.#statusWanted += 1;
    this.#statusWriter ??= this.#writeStatus().finally(() => (this.#statusWriter = undefined));
  }

  async #writeStatus(): Promise<void> {
    let written = 0;
    while (written !== this.#statusWanted && !this.#isGone) {
      const wanted = this.#statusWanted;
      const body = { metadata: { uid: this.#pod.metadata.uid }, status: this.#describe() };
      try {
        await this.#services.client.patch(`${this.#path()}/status`, body);
        written = wanted;
      } catch (error) {
        if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return;
        await sleep(retryInterval);
      }
    }
  }

  #describe(): Readonly<Record<string, unknown>> {
    const fallback = ({ name, image }: Container): ContainerSituation => ({
      name,
      image,
      state: {
        waiting:
          this.#problem === undefined
            ? { reason: 'ContainerCreating' }
            : { reason: 'CreateContainerConfigError', message: this.#problem },
      },
      restartCount: 0,
      isStarted: false,
      isReady: false,
      isOver: false,
    });
    const { spec } = this.#pod;
    const hasRunners = this.#runners.length > 0;
    return describePod({
      pod: this.#pod,
      nodeAddress: this.#services.addresses.node,
      address: this.#network?.address,
      startedAt: this.#startedAt,
      conditionTimes: this.#conditionTimes,
      initContainers: hasRunners
        ? this.#initRunners.map(({ situation }) => situation)
        : (spec.initContainers ?? []).map(fallback),
      containers: hasRunners ? this.#runners.map(({ situation }) => situation) : spec.containers.map(fallback),
    });
  }

  #path(): string {
    const { namespace, name } = this.#pod.metadata;
    return `/api/v1/namespaces/${namespace}/pods/${name}`;
  }
}
