// The API server as a pod sees it: address from the environment, token and authority from the files of its ServiceAccount.
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { CredentialsError, type ReadAccess, rememberAccess } from './access.ts';
import { type ApiEndpoint, defaultNamespace, type EndpointResult } from './api-endpoint.ts';

/** Where Kubernetes mounts it. */
export const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Finds the API server of the pod that this process runs in. */
export async function findInCluster(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<EndpointResult> {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = env['KUBERNETES_SERVICE_PORT_HTTPS'] ?? env['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === '')
    return { ok: false, problem: 'KUBERNETES_SERVICE_HOST is not set, so this process does not run in a pod' };
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  if (!URL.canParse(server))
    return {
      ok: false,
      problem: `KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT do not form a valid address: ${server}`,
    };
  const read = createReadAccess(folder);
  try {
    await read(false);
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
  // Kubernetes always mounts this file; a folder that was made by hand may lack it.
  const namespace = await readText(join(folder, 'namespace')).catch(() => defaultNamespace);
  const endpoint: ApiEndpoint = { server, proxy: undefined, namespace, readAccess: rememberAccess(read) };
  return { ok: true, endpoint };
}

/** The kubelet replaces both files before the old ones expire. */
function createReadAccess(folder: string): ReadAccess {
  return async () => {
    // One after the other: if both are missing, the message always names the same one.
    const token = await readText(join(folder, 'token'));
    const ca = await readText(join(folder, 'ca.crt'));
    return { authorization: `Bearer ${token}`, tls: { ca, rejectUnauthorized: true } };
  };
}

async function readText(file: string): Promise<string> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new CredentialsError(`the ServiceAccount's ${file} cannot be read (${code})`, { cause: error });
  }
  if (text === '') throw new CredentialsError(`the ServiceAccount's ${file} is empty`);
  return text;
}
