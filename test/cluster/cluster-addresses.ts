// The addresses of a test cluster. Several clusters can run on one machine: each takes a slot, a sixteenth of 10.244.0.0/16 for
// its pods and load balancers and a sixteenth of 10.96.0.0/16 for its Services.

/** How many clusters fit on a machine. */
export const slotCount = 16;

/** The addresses that one cluster uses. */
export interface ClusterAddresses {
  readonly slot: number;
  /** Pods, the node, the host and load balancers. */
  readonly podRange: string;
  readonly serviceRange: string;
  /** The node: gateway of every pod, and where the API server listens. */
  readonly node: string;
  /** The test process, as pods see it: a server of a test listens here. */
  readonly host: string;
  /** The first and last address of pods. */
  readonly firstPod: string;
  readonly lastPod: string;
  /** Addresses of Services of type LoadBalancer. */
  readonly loadBalancerRange: string;
  readonly firstLoadBalancer: string;
  readonly lastLoadBalancer: string;
  /** The Service kubernetes.default. */
  readonly kubernetesService: string;
}

/** The addresses of a slot. */
export function assignAddresses(slot: number): ClusterAddresses {
  const first = slot * (256 / slotCount);
  const last = first + 256 / slotCount - 1;
  return {
    slot,
    podRange: `10.244.${first}.0/20`,
    serviceRange: `10.96.${first}.0/20`,
    node: `10.244.${first}.1`,
    host: `10.244.${first}.2`,
    firstPod: `10.244.${first}.16`,
    lastPod: `10.244.${last - 1}.255`,
    loadBalancerRange: `10.244.${last}.0/24`,
    firstLoadBalancer: `10.244.${last}.1`,
    lastLoadBalancer: `10.244.${last}.254`,
    kubernetesService: `10.96.${first}.1`,
  };
}

/** An IPv4 address as a number. */
export function parseAddress(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** A number as an IPv4 address. */
export function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

/** Hands out addresses of a range; the one that has been free for longest comes first. */
export class AddressPool {
  readonly #free: string[] = [];
  readonly #known: ReadonlySet<string>;

  constructor(first: string, last: string) {
    for (let value = parseAddress(first); value <= parseAddress(last); value += 1)
      this.#free.push(formatAddress(value));
    this.#known = new Set(this.#free);
  }

  /** Takes a given address, or any; undefined when there is none. */
  take(wanted?: string): string | undefined {
    if (wanted === undefined) return this.#free.shift();
    const index = this.#free.indexOf(wanted);
    if (index < 0) return undefined;
    this.#free.splice(index, 1);
    return wanted;
  }

  /** Gives an address back. */
  release(address: string): void {
    if (this.#known.has(address) && !this.#free.includes(address)) this.#free.push(address);
  }
}
