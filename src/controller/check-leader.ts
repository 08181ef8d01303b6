// Makes sure that the leader is a replica of this controller before a token is sent to it in plaintext: its name and address come from a mere Lease.
import { ApiError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import type { Leader } from '../kubernetes/leader-election.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { formatUsername } from './own-username.ts';
import { normalizeAddress, readPod } from './pod-facts.ts';

/** The Lease names a leader that is not a replica of this controller. */
export class UnknownLeaderError extends Error {
  readonly code = 'unknown_leader';
}

interface LeaderCheckOptions {
  readonly client: Pick<KubernetesClient, 'get'>;
  readonly installationNamespace: string;
  readonly findOwnUsername: () => Promise<string>;
}

/** Rejects with an UnknownLeaderError unless a pod of this name, with our ServiceAccount, has this address; or with the error of the API server. */
export async function checkLeader({ identity, address = '' }: Leader, options: LeaderCheckOptions): Promise<void> {
  const { client, installationNamespace: namespace, findOwnUsername } = options;
  const own = await findOwnUsername();
  let object: KubernetesObject;
  try {
    object = await client.get(resourceTypes.Pod, { namespace, name: identity });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status.reason !== 'NotFound') throw error;
    throw new UnknownLeaderError(`the Lease names ${identity} as the leader, but there is no such pod in ${namespace}`);
  }
  const { addresses, serviceAccount } = readPod(object);
  if (formatUsername(namespace, serviceAccount) !== own)
    throw new UnknownLeaderError(
      `the Lease names ${identity} as the leader, but its pod has another ServiceAccount than this controller`,
    );
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  if (!addresses.includes(normalizeAddress(host)))
    throw new UnknownLeaderError(
      `the Lease names the address ${address}, but pod ${namespace}/${identity} does not have it`,
    );
}
