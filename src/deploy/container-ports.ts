// The ports that a gateway's pod uses for admin, metrics and readiness. Ports of listeners take precedence.

/** The ports for everything except traffic. */
interface OwnPorts {
  readonly admin: number;
  readonly metrics: number;
  readonly readiness: number;
}

const usual: OwnPorts = { admin: 15_000, metrics: 15_020, readiness: 15_021 };

/** The default ports, or others where listeners use these. */
export function chooseOwnPorts(listeners: readonly { readonly port: number }[]): OwnPorts {
  const taken = new Set(listeners.map(({ port }) => port));
  const take = (wanted: number): number => {
    let port = wanted;
    // A Gateway has at most 64 listeners, so a free port is always found.
    while (taken.has(port)) port += 100;
    taken.add(port);
    return port;
  };
  return { admin: take(usual.admin), metrics: take(usual.metrics), readiness: take(usual.readiness) };
}
