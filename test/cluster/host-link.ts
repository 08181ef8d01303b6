// The link between the network of the test process and the cluster's: one veth pair, whose inner end is in the cluster's namespace. The
// kernel removes it when that namespace ends, however it ends.
import { type ClusterAddresses, assignAddresses, parseAddress, slotCount } from './cluster-addresses.ts';
import { CommandFailedError, runCommand } from './run-command.ts';

/** Thrown when no slot is free. */
export class NoFreeSlotError extends Error {
  readonly code = 'NO_FREE_SLOT';
}

/** The name of the link inside the cluster's namespace. */
export const innerLink = 'host0';

/** The name of the outer end of the link. */
export function nameHostLink(slot: number): string {
  return `mcpgw-t${slot}`;
}

/**
 * The slots in the order in which this process takes them: the one that it has not had for longest comes first. Connections that it keeps, those of `fetch`
 * above all, do not hear that a cluster has ended. In a cluster with the same addresses they would lead to a pod that knows nothing of them, and be reset.
 */
const slots = Array.from({ length: slotCount }, (_, slot) => slot);

/** Takes a slot by creating its link: the kernel lets only one process have a name. `pid` is in the cluster's namespace. */
export async function createHostLink(pid: number): Promise<ClusterAddresses> {
  const taken = await listRoutes();
  // As it is now: another cluster of this process may take one meanwhile.
  const order = [...slots];
  for (const slot of order) {
    const addresses = assignAddresses(slot);
    if (taken.some((route) => overlaps(route, addresses.podRange) || overlaps(route, addresses.serviceRange))) continue;
    const link = nameHostLink(slot);
    const peer = ['peer', 'name', innerLink, 'netns', String(pid)];
    try {
      await runCommand('ip', ['link', 'add', link, 'type', 'veth', ...peer]);
    } catch (error) {
      if (error instanceof CommandFailedError && error.stderr.includes('File exists')) continue;
      throw error;
    }
    slots.push(...slots.splice(slots.indexOf(slot), 1));
    return addresses;
  }
  throw new NoFreeSlotError(`${slotCount} test clusters run already, or their addresses are in use in this network.`);
}

/** The kernel's number of a link, which no other ever gets; undefined: there is none of this name. */
export async function readLinkIndex(link: string): Promise<string | undefined> {
  try {
    // Not from /sys: in a network of its own, a process still finds the machine's links there.
    const { stdout } = await runCommand('ip', ['-json', 'link', 'show', 'dev', link]);
    const [found] = JSON.parse(stdout) as readonly { readonly ifindex: number }[];
    return found?.ifindex.toString();
  } catch (error) {
    if (error instanceof CommandFailedError && error.stderr.includes('does not exist')) return undefined;
    throw error;
  }
}

/** Gives the outer end its address and routes. The inner end must be up. */
export async function connectHost(addresses: ClusterAddresses): Promise<void> {
  const link = nameHostLink(addresses.slot);
  await runCommand('ip', ['link', 'set', link, 'alias', `mcp-gatehouse test cluster of process ${process.pid}`, 'up']);
  await runCommand('ip', ['address', 'add', `${addresses.host}/32`, 'dev', link]);
  await runCommand('ip', ['route', 'add', addresses.node, 'dev', link, 'src', addresses.host]);
  for (const range of [addresses.podRange, addresses.serviceRange]) {
    await runCommand('ip', ['route', 'add', range, 'via', addresses.node, 'dev', link, 'src', addresses.host]);
  }
}

async function listRoutes(): Promise<readonly string[]> {
  const { stdout } = await runCommand('ip', ['-json', '-4', 'route', 'show']);
  return (JSON.parse(stdout || '[]') as readonly { readonly dst: string }[])
    .map((route) => route.dst)
    .filter((destination) => destination !== 'default');
}

function overlaps(left: string, right: string): boolean {
  const [first, second] = [parseRange(left), parseRange(right)];
  return first.from < second.to && second.from < first.to;
}

function parseRange(range: string): { readonly from: number; readonly to: number } {
  const [address = '', length = '32'] = range.split('/');
  const size = 2 ** (32 - Number(length));
  const from = Math.floor(parseAddress(address) / size) * size;
  return { from, to: from + size };
}
