// The username of this controller at the API server (SelfSubjectReview). All replicas have the same.
import type { KubernetesClient, KubernetesObject } from '../kubernetes/client.ts';

/** Asks once and caches the answer; failures are not cached. */
export function createOwnUsername(client: Pick<KubernetesClient, 'post'>): () => Promise<string> {
  let own: string | undefined;
  return async () => {
    own ??= readUsername(
      await client.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'SelfSubjectReview',
      }),
    );
    if (own === undefined) throw new Error('the API server does not return the username of this controller');
    return own;
  };
}

/** The username of a ServiceAccount. */
export function formatUsername(namespace: string, serviceAccount: string): string {
  return `system:serviceaccount:${namespace}:${serviceAccount}`;
}

function readUsername(review: KubernetesObject): string | undefined {
  const status = review['status'] as { readonly userInfo?: { readonly username?: unknown } } | undefined;
  const username = status?.userInfo?.username;
  return typeof username === 'string' && username !== '' ? username : undefined;
}
