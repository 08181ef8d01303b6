// The ports of a gateway's own in its pod. Listeners come first: a port that one of them has is not ours to take.

/** Where the gateway serves what is not traffic. */
export interface OwnPorts {
  readonly admin: number;
  readonly metrics: number;
  readonly readiness: number;
}

const usual: OwnPorts = { admin: 15_000, metrics: 15_020, readiness: 15_021 };

/** The usual ports, unless listeners have them. */
export function chooseOwnPorts(listeners: readonly { readonly port: number }[]): OwnPorts {
  const taken = new Set(listeners.map(({ port }) => port));
  const take = (wanted: number): number => {
    let port = wanted;
    // At most 64 listeners: there is always one.
    while (taken.has(port)) port += 100;
    taken.add(port);
    return port;
  };
  return { admin: take(usual.admin), metrics: take(usual.metrics), readiness: take(usual.readiness) };
}
