// Keeps rules, names and load balancers of the node as the Services and EndpointSlices say.
import { type ApiClient, ApiError } from '../api-client.ts';
import { AddressPool, type ClusterAddresses } from '../cluster-addresses.ts';
import { runCommand } from '../run-command.ts';
import type { BlackHole } from '../supervisor-commands.ts';
import { startDnsServer } from './dns-server.ts';
import { nameKey, ObjectCache } from './object-cache.ts';
import { formatBlackHoles, formatServiceRules } from './service-rules.ts';
import {
  type EndpointSlice,
  listServiceNames,
  nameServiceOf,
  type Service,
  type ServiceNames,
} from './service-names.ts';

/** What the network of Services needs. */
export interface ServiceNetworkOptions {
  readonly client: ApiClient;
  readonly addresses: ClusterAddresses;
  readonly signal: AbortSignal;
  /** Called when names have changed. */
  readonly onNames: () => void;
  readonly onProblem: (text: string) => void;
}

/** Services as the node sees them. */
export class ServiceNetwork {
  readonly #options: ServiceNetworkOptions;
  readonly #services: ObjectCache<Service>;
  readonly #slices: ObjectCache<EndpointSlice>;
  readonly #pool: AddressPool;
  readonly #balanced = new Map<string, string>();
  readonly #extraNames = new Map<string, string>();
  readonly #holes = new Map<number, BlackHole>();
  #names: ServiceNames = new Map();
  #lastHole = 0;
  #isWanted = false;
  #isApplying = false;

  constructor(options: ServiceNetworkOptions) {
    const { client, signal, addresses } = options;
    this.#options = options;
    this.#services = new ObjectCache(client, '/api/v1/services', signal);
    this.#slices = new ObjectCache(client, '/apis/discovery.k8s.io/v1/endpointslices', signal);
    this.#pool = new AddressPool(addresses.firstLoadBalancer, addresses.lastLoadBalancer);
  }

  /** Begins; resolves when what is there is in force. */
  async start(): Promise<void> {
    // Says at once when the kernel has no nftables.
    await this.#load(formatBlackHoles([]));
    await Promise.all([this.#services.waitSynced(), this.#slices.waitSynced()]);
    await startDnsServer(this.#options.addresses.node, () => this.#names);
    this.#services.subscribe((key, service) => {
      this.#balance(key, service);
      this.#apply();
    });
    this.#slices.subscribe(() => this.#apply());
  }

  readNames(): ServiceNames {
    return this.#names;
  }

  /** Adds a name for all pods; undefined removes it. */
  setName(name: string, address: string | undefined): void {
    if (address === undefined) this.#extraNames.delete(name);
    else this.#extraNames.set(name, address);
    this.#apply();
  }

  async addBlackHole(hole: BlackHole): Promise<number> {
    this.#lastHole += 1;
    this.#holes.set(this.#lastHole, hole);
    await this.#load(formatBlackHoles(this.#holes.values()));
    return this.#lastHole;
  }

  async removeBlackHole(id: number): Promise<void> {
    this.#holes.delete(id);
    await this.#load(formatBlackHoles(this.#holes.values()));
  }

  /** Changes that come together are applied together, and one at a time. */
  #apply(): void {
    this.#isWanted = true;
    if (this.#isApplying) return;
    this.#isApplying = true;
    setImmediate(() => void this.#applyAll());
  }

  async #applyAll(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      try {
        const slices = Map.groupBy(this.#slices.values(), nameServiceOf);
        this.#names = listServiceNames(this.#services.values(), slices, this.#extraNames);
        this.#options.onNames();
        await this.#load(formatServiceRules(this.#services.values(), slices, this.#options.addresses));
      } catch (error) {
        this.#options.onProblem(`The rules of Services cannot be loaded: ${String(error)}`);
      }
    }
    this.#isApplying = false;
  }

  async #load(rules: string): Promise<void> {
    await runCommand('nft', ['-f', '-'], { input: rules });
  }

  /** Gives a Service of type LoadBalancer its address, the wished one if there is a wish, and takes it back. */
  #balance(key: string, service: Service | undefined): void {
    const held = this.#balanced.get(key);
    const isWanted = service?.spec.type === 'LoadBalancer' && service.spec.loadBalancerClass === undefined;
    const wish = service?.spec.loadBalancerIP || undefined;
    if (held !== undefined && (!isWanted || (wish !== undefined && wish !== held))) {
      this.#pool.release(held);
      this.#balanced.delete(key);
      // Someone may have wished for it.
      setImmediate(() => this.#balanceWaiting());
    }
    if (service === undefined) return;
    const address = isWanted ? (this.#balanced.get(key) ?? this.#pool.take(wish)) : undefined;
    if (address !== undefined) this.#balanced.set(key, address);
    const shown = service.status?.loadBalancer?.ingress?.[0]?.ip;
    if (shown === address) return;
    void this.#writeAddress(service, address);
  }

  #balanceWaiting(): void {
    for (const service of this.#services.values()) {
      if (!this.#balanced.has(nameKey(service))) this.#balance(nameKey(service), service);
    }
  }

  async #writeAddress(service: Service, address: string | undefined): Promise<void> {
    const { namespace, name } = service.metadata;
    const ingress = address === undefined ? null : [{ ip: address, ipMode: 'VIP' }];
    try {
      await this.#options.client.patch(`/api/v1/namespaces/${namespace}/services/${name}/status`, {
        status: { loadBalancer: { ingress } },
      });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return;
      // The API server is away or busy: again, unless the Service has changed meanwhile.
      setTimeout(() => {
        const current = this.#services.get(nameKey(service));
        if (current !== undefined) this.#balance(nameKey(service), current);
      }, 500);
    }
  }
}
