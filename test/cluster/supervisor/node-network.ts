// The network of the node, inside the cluster's own namespace: a bridge with the node's address, and one namespace with a veth
// pair for each pod. Pods have /32 addresses and reach everything through the node, so that the node's rules see all traffic.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AddressPool, type ClusterAddresses } from '../cluster-addresses.ts';
import { innerLink } from '../host-link.ts';
import { quote } from '../agent/container-script.ts';
import { runCommand } from '../run-command.ts';

/** The network of one pod. */
export interface PodNetwork {
  readonly address: string;
  /** A file that stands for the namespace: `nsenter --net=<file>`. */
  readonly namespaceFile: string;
  remove(): Promise<void>;
}

/** The node's network. */
export interface NodeNetwork {
  /** Makes the namespace of a pod. `sysctls` are those of its spec. */
  createPodNetwork(sysctls: readonly { readonly name: string; readonly value: string }[]): Promise<PodNetwork>;
}

/** Thrown when there are more pods than addresses. */
export class NoFreeAddressError extends Error {
  readonly code = 'NO_FREE_ADDRESS';
}

const bridge = 'cbr0';
/**
 * Without one of its own, a bridge has the lowest of its links: with a pod that comes or goes it may become another, and whoever has talked to the node
 * before, the test process above all, talks to nobody for a minute or more.
 */
const bridgeAddress = '02:00:00:00:00:01';

/** A namespace lives as long as its sockets: those that nobody owns any more must not wait minutes for a peer that is gone. */
const ownSysctls = [
  { name: 'net.ipv4.tcp_orphan_retries', value: '1' },
  { name: 'net.ipv4.tcp_fin_timeout', value: '1' },
];

/** Sets the bridge up. The link to the machine must be in this namespace already. */
export async function createNodeNetwork(addresses: ClusterAddresses, stateFolder: string): Promise<NodeNetwork> {
  const folder = join(stateFolder, 'network');
  await mkdir(folder, { recursive: true });
  const nodeSysctls = [
    ...ownSysctls,
    { name: 'net.ipv4.ip_forward', value: '1' },
    // Pods are on one link but must not talk past the node.
    { name: 'net.ipv4.conf.all.send_redirects', value: '0' },
    { name: 'net.ipv4.conf.default.send_redirects', value: '0' },
  ];
  for (const { name, value } of nodeSysctls) await writeFile(locateSysctl(name), value);
  await stopBridgeRules();
  await runScript([
    'link set lo up',
    `link add ${bridge} address ${bridgeAddress} type bridge`,
    `link set ${bridge} up`,
    `address add ${addresses.node}/32 dev ${bridge}`,
    `link set ${innerLink} master ${bridge} up`,
    `route add ${addresses.podRange} dev ${bridge} src ${addresses.node}`,
    // Addresses of Services never arrive anywhere: rules replace them. A route must exist for the node's own connections.
    `route add ${addresses.serviceRange} dev ${bridge} src ${addresses.node}`,
  ]);

  const pool = new AddressPool(addresses.firstPod, addresses.lastPod);
  let count = 0;
  return {
    async createPodNetwork(sysctls) {
      const address = pool.take();
      if (address === undefined) throw new NoFreeAddressError(`All addresses of ${addresses.podRange} are in use.`);
      count += 1;
      const [link, namespaceFile] = [`pod${count}`, join(folder, `pod${count}`)];
      await writeFile(namespaceFile, '');
      await runCommand('unshare', [`--net=${namespaceFile}`, 'true']);
      await runScript([
        `link add ${link} type veth peer name eth0 netns ${namespaceFile}`,
        `link set ${link} master ${bridge} up`,
      ]);
      await runInNamespace(namespaceFile, [
        'link set lo up',
        `address add ${address}/32 dev eth0`,
        'link set eth0 up',
        `route add ${addresses.node} dev eth0 src ${address}`,
        `route add default via ${addresses.node} dev eth0 src ${address}`,
      ]);
      await setSysctls(namespaceFile, [...ownSysctls, ...sysctls]);
      return {
        address,
        namespaceFile,
        async remove() {
          await runCommand('ip', ['link', 'delete', link]);
          await runCommand('umount', [namespaceFile]);
          await rm(namespaceFile);
          pool.release(address);
        },
      };
    },
  };
}

/** Where the kernel applies IP rules to bridged packets, rules would see packets twice and take short cuts between pods. */
async function stopBridgeRules(): Promise<void> {
  await writeFile('/proc/sys/net/bridge/bridge-nf-call-iptables', '0').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** Many `ip` commands in one process. */
async function runScript(lines: readonly string[]): Promise<void> {
  await runCommand('ip', ['-batch', '-'], { input: `${lines.join('\n')}\n` });
}

async function runInNamespace(namespaceFile: string, lines: readonly string[]): Promise<void> {
  await runCommand('nsenter', [`--net=${namespaceFile}`, 'ip', '-batch', '-'], { input: `${lines.join('\n')}\n` });
}

async function setSysctls(
  namespaceFile: string,
  sysctls: readonly { readonly name: string; readonly value: string }[],
): Promise<void> {
  const lines = sysctls.map(({ name, value }) => `echo ${quote(value)} > ${quote(locateSysctl(name))}`);
  await runCommand('nsenter', [`--net=${namespaceFile}`, 'sh', '-e'], { input: `${lines.join('\n')}\n` });
}

function locateSysctl(name: string): string {
  return `/proc/sys/${name.replaceAll('.', '/')}`;
}
