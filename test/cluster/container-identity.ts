// What the first process of a container really is, as the kernel says: its user, what it may do, what it was told.
import assert from 'node:assert/strict';
import type { Cluster } from './cluster.ts';
import { installationNamespace } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';

/** A process. */
export interface ContainerIdentity {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly hasNoNewPrivileges: boolean;
  /** The bits of all that it can ever have. */
  readonly capabilities: bigint;
  readonly isRootReadOnly: boolean;
  /** Below it, ports are root's. */
  readonly firstOpenPort: number;
  readonly environment: ReadonlyMap<string, string>;
  /** Who it is for the API server: `system:serviceaccount:proxy-system:proxy`. */
  readonly username: string;
}

/** Looks into a pod of the controller. */
export async function identifyContainer(cluster: Cluster, { metadata }: PodObject): Promise<ContainerIdentity> {
  const read = async (file: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await cluster.exec({
      namespace: installationNamespace,
      pod: metadata.name,
      command: ['cat', file],
    });
    assert.equal(exitCode, 0, stderr);
    return stdout;
  };
  const status = await read('/proc/1/status');
  const field = (name: string): string => new RegExp(`^${name}:(.*)$`, 'm').exec(status)?.[1]?.trim() ?? '';
  const mounts = (await read('/proc/1/mountinfo')).split('\n').map((line) => line.split(' '));
  const variables = (await read('/proc/1/environ')).split('\0').filter((text) => text !== '');
  const token = await read('/var/run/secrets/kubernetes.io/serviceaccount/token');
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sub: string };
  return {
    uid: Number(field('Uid').split('\t')[0]),
    gid: Number(field('Gid').split('\t')[0]),
    groups: field('Groups')
      .split(' ')
      .filter((text) => text !== '')
      .map(Number),
    hasNoNewPrivileges: field('NoNewPrivs') === '1',
    capabilities: BigInt(`0x${field('CapBnd')}`),
    isRootReadOnly:
      mounts
        .findLast(([, , , , place]) => place === '/')?.[5]
        ?.split(',')
        .includes('ro') ?? false,
    firstOpenPort: Number(await read('/proc/sys/net/ipv4/ip_unprivileged_port_start')),
    environment: new Map(
      variables.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
    ),
    username: claims.sub,
  };
}
