// Authorizes xDS peers. A gateway gets the configuration of its own Gateway if it shows the ServiceAccount token of its pod, from the address of that
// pod; another replica of this controller may relay. All other peers are refused, also when a check cannot be completed.
import type { Clock } from '../base/clock.ts';
import { ApiError, type KubernetesClient } from '../kubernetes/client.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { PeerRequest, PeerVerdict } from '../xds/server.ts';
import { formatUsername } from './own-username.ts';
import { normalizeAddress, type PodFacts, readPod } from './pod-facts.ts';
import { TokenReviewer } from './review-token.ts';

export interface PeerAuthorizerOptions {
  readonly client: Pick<KubernetesClient, 'get' | 'post'>;
  readonly clock: Clock;
  readonly installationNamespace: string;
  /** Whether a token must be bound to a pod and the peer must connect from an address of that pod. */
  readonly verifyPodAddress: boolean;
  /** The username of this controller; all replicas have the same. */
  readonly findOwnUsername: () => Promise<string>;
  /** The ServiceAccount of a Gateway's pods. */
  readonly findServiceAccount: (gateway: string) => ServiceAccountLookup;
}

/** The ServiceAccount of a Gateway, in the Gateway's namespace. */
export type ServiceAccountLookup =
  | { readonly state: 'known'; readonly name: string }
  | { readonly state: 'unknown' }
  /** The controller has not read the cluster yet. */
  | { readonly state: 'not-synced' };

export interface PeerAuthorizer {
  authorizeGateway(peer: PeerRequest): Promise<PeerVerdict>;
  authorizeReplica(peer: PeerRequest): Promise<PeerVerdict>;
}

const podCacheMs = 30_000;
const maxPods = 10_000;

/** Creates the authorizer for peers of the xDS server. */
export function createPeerAuthorizer(options: PeerAuthorizerOptions): PeerAuthorizer {
  const { client, clock, installationNamespace } = options;
  const reviewer = new TokenReviewer({ client, clock });
  const pods = new Map<string, { readonly pod: PodFacts; readonly until: number }>();

  const findPod = async (namespace: string, name: string): Promise<PodFacts> => {
    const key = `${namespace}/${name}`;
    const known = pods.get(key);
    if (known !== undefined && known.until > clock.now()) return known.pod;
    const pod = readPod(await client.get(resourceTypes.Pod, { namespace, name }));
    pods.delete(key);
    // A pod without an address is not cached: it gets one any moment.
    if (pod.addresses.length > 0) pods.set(key, { pod, until: clock.now() + podCacheMs });
    if (pods.size > maxPods) pods.delete(pods.keys().next().value!);
    return pod;
  };

  /** Undefined: the peer is the pod that the token is bound to. */
  const findPodProblem = async (
    namespace: string,
    name: string,
    uid: string,
    peerAddress: string,
  ): Promise<PeerVerdict | undefined> => {
    let pod: PodFacts;
    try {
      pod = await findPod(namespace, name);
    } catch (error) {
      if (error instanceof ApiError && error.status.reason === 'NotFound')
        return refuse('permission_denied', `there is no pod ${namespace}/${name}`);
      return refuse('unavailable', `pod ${namespace}/${name} cannot be read: ${readMessage(error)}`);
    }
    if (uid !== '' && pod.uid !== uid)
      return refuse('permission_denied', `the token belongs to an earlier pod ${namespace}/${name}`);
    if (pod.addresses.length === 0) return refuse('unavailable', `pod ${namespace}/${name} has no address yet`);
    if (!pod.addresses.includes(normalizeAddress(peerAddress)))
      return refuse('permission_denied', `${peerAddress} is not an address of pod ${namespace}/${name}`);
    return undefined;
  };

  const checkPeer = async (peer: PeerRequest, namespace: string, expected: string): Promise<PeerVerdict> => {
    if (peer.token === undefined || peer.token === '')
      return refuse('unauthenticated', 'there is no token: send `authorization: Bearer <token>`');
    const { token, nodeId, peerAddress } = peer;
    const review = await reviewer.review({ token, expected, peerAddress });
    if (!review.ok) return refuse(review.code, review.reason);
    const { username, pod, expiresAt } = review;
    if (username !== expected)
      return refuse('permission_denied', `the token belongs to ${username}, but must belong to ${expected}`);
    const verdict: PeerVerdict = { allowed: true, ...(expiresAt !== undefined && { expiresAt }) };
    // Anyone with the right to create tokens for the account can make an unbound token and use it from anywhere.
    if (pod === undefined)
      return options.verifyPodAddress
        ? refuse('permission_denied', 'the token is not bound to a pod: use the token that is projected into the pod')
        : verdict;
    if (pod.name !== nodeId)
      return refuse('permission_denied', `the token belongs to pod ${pod.name}, not to ${nodeId}`);
    const problem = options.verifyPodAddress
      ? await findPodProblem(namespace, pod.name, pod.uid, peerAddress)
      : undefined;
    return problem ?? verdict;
  };

  return {
    async authorizeGateway(peer) {
      const account = options.findServiceAccount(peer.gateway);
      if (account.state === 'not-synced') return refuse('unavailable', 'the controller is still reading the cluster');
      if (account.state === 'unknown')
        return refuse('permission_denied', `Gateway ${peer.gateway} is not served by this controller`);
      const namespace = peer.gateway.slice(0, peer.gateway.indexOf('/'));
      return checkPeer(peer, namespace, formatUsername(namespace, account.name));
    },
    async authorizeReplica(peer) {
      let own: string;
      try {
        own = await options.findOwnUsername();
      } catch (error) {
        return refuse('unavailable', `this controller cannot read its own username: ${readMessage(error)}`);
      }
      return checkPeer(peer, installationNamespace, own);
    },
  };
}

function refuse(code: 'unauthenticated' | 'permission_denied' | 'unavailable', reason: string): PeerVerdict {
  return { allowed: false, code, reason };
}

function readMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
