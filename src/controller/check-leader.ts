// Makes sure that the leader is a replica of this controller, before it is shown a token in plaintext: who it is and where is only an annotation of a Lease.
import { ApiError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import type { Leader } from '../kubernetes/leader-election.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { formatUsername } from './own-username.ts';
import { normalizeAddress, readPod } from './pod-facts.ts';

/** The Lease names somebody who is none of us. */
export class UnknownLeaderError extends Error {
  readonly code = 'unknown_leader';
}

export interface LeaderCheckOptions {
  readonly client: Pick<KubernetesClient, 'get'>;
  readonly installationNamespace: string;
  readonly findOwnUsername: () => Promise<string>;
}

/** Rejects with an UnknownLeaderError unless a pod of this name, with our ServiceAccount, has this address; or with why that is not known. */
export async function checkLeader({ identity, address = '' }: Leader, options: LeaderCheckOptions): Promise<void> {
  const { client, installationNamespace: namespace, findOwnUsername } = options;
  const own = await findOwnUsername();
  let object: KubernetesObject;
  try {
    object = await client.get(resourceTypes.Pod, { namespace, name: identity });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status.reason !== 'NotFound') throw error;
    throw new UnknownLeaderError(`the Lease names the leader ${identity}, and there is no such pod in ${namespace}`);
  }
  const { addresses, serviceAccount } = readPod(object);
  if (formatUsername(namespace, serviceAccount) !== own)
    throw new UnknownLeaderError(
      `the Lease names the leader ${identity}, whose pod has another ServiceAccount than ours`,
    );
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  if (!addresses.includes(normalizeAddress(host)))
    throw new UnknownLeaderError(
      `the Lease names the address ${address}, which is none of pod ${namespace}/${identity}`,
    );
}
