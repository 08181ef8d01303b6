// Finds the API server and the credentials for it: inside a pod from its ServiceAccount, elsewhere from the kubeconfig.
import { delimiter, join } from 'node:path';
import type { Log } from '../base/log.ts';
import type { ApiEndpoint, EndpointResult } from './api-endpoint.ts';
import type { KubernetesClient } from './client.ts';
import { findInCluster, serviceAccountFolder } from './in-cluster.ts';
import { loadKubeconfig } from './kubeconfig.ts';
import { createRestClient } from './rest-client.ts';

export interface ConnectOptions {
  readonly log: Log;
  /** Environment variables: KUBERNETES_SERVICE_HOST, KUBECONFIG, HOME. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A kubeconfig file; otherwise KUBECONFIG, then the pod's ServiceAccount, then ~/.kube/config. */
  readonly kubeconfig?: string | undefined;
  /** A context of the kubeconfig; if set, the pod's ServiceAccount is not considered, because it has no contexts. */
  readonly context?: string | undefined;
  /** Sent as User-Agent and used as field manager: `mcp-gateway-controller`. */
  readonly name: string;
  /** For tests: where the ServiceAccount's files are. */
  readonly serviceAccountFolder?: string | undefined;
}

/** No cluster was found, or its configuration cannot be used; the message says where we looked. */
export class ConnectError extends Error {
  readonly code = 'kubernetes_connect';
}

/** A client with its default namespace. */
export interface ConnectedClient extends KubernetesClient {
  readonly namespace: string;
}

/** Makes a client. Sends nothing yet. */
export async function connectKubernetes(options: ConnectOptions): Promise<ConnectedClient> {
  const { server, proxy, namespace, readAccess } = await findEndpoint(options);
  return { ...createRestClient({ server, proxy, readAccess, name: options.name }), namespace };
}

async function findEndpoint(options: ConnectOptions): Promise<ApiEndpoint> {
  const { env, context, log } = options;
  if (options.kubeconfig !== undefined) return take(await loadKubeconfig([options.kubeconfig], context, log));
  const named = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (named.length > 0) return take(await loadKubeconfig(named, context, log));

  const problems: string[] = [];
  if (context === undefined) {
    const inCluster = await findInCluster(env, options.serviceAccountFolder ?? serviceAccountFolder);
    if (inCluster.ok) return inCluster.endpoint;
    problems.push(inCluster.problem);
  }
  const home = env['HOME'] ?? env['USERPROFILE'] ?? '';
  if (home === '') {
    problems.push('HOME is not set, so there is no ~/.kube/config');
  } else {
    const atHome = await loadKubeconfig([join(home, '.kube', 'config')], context, log);
    if (atHome.ok) return atHome.endpoint;
    problems.push(atHome.problem);
  }
  throw new ConnectError(`no Kubernetes cluster found: ${problems.join('; ')}`);
}

function take(result: EndpointResult): ApiEndpoint {
  if (!result.ok) throw new ConnectError(result.problem);
  return result.endpoint;
}
