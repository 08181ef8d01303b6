// Certificates, keys and tokens of a test cluster, fresh for each, in a folder that only root can read.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuthority, createCertificate } from '../../self-signed-certificate.ts';
import type { ClusterAddresses } from '../cluster-addresses.ts';

/** Files of the control plane, and what its clients need. */
export interface Credentials {
  readonly ca: string;
  readonly adminToken: string;
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly serviceAccountKeyFile: string;
  readonly serviceAccountPublicKeyFile: string;
  readonly tokenFile: string;
  /** For kubectl and tests: cluster-admin. */
  readonly kubeconfigFile: string;
  /** For kube-controller-manager. */
  readonly controllerManagerKubeconfigFile: string;
}

/** Writes everything; `server` is where the API server will be. */
export async function createCredentials(
  folder: string,
  server: string,
  addresses: ClusterAddresses,
): Promise<Credentials> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const authority = createAuthority('test-cluster');
  const service = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  const names = [...service, 'kubernetes.default.svc.cluster.local', 'localhost'];
  const { cert, key } = createCertificate({
    names: [...names, addresses.node, addresses.kubernetesService, '127.0.0.1'],
    issuer: authority,
  });
  const signing = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const [adminToken, controllerManagerToken] = [randomToken(), randomToken()];
  const tokens = [
    `${adminToken},admin,admin,"system:masters"`,
    `${controllerManagerToken},system:kube-controller-manager,controller-manager,"system:masters"`,
  ];
  const write = async (name: string, content: string): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, content, { mode: 0o600 });
    return file;
  };
  return {
    ca: authority.cert,
    adminToken,
    caFile: await write('ca.crt', authority.cert),
    certFile: await write('apiserver.crt', cert),
    keyFile: await write('apiserver.key', key),
    serviceAccountKeyFile: await write(
      'service-account.key',
      signing.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    ),
    serviceAccountPublicKeyFile: await write(
      'service-account.pub',
      signing.publicKey.export({ type: 'spki', format: 'pem' }),
    ),
    tokenFile: await write('tokens.csv', `${tokens.join('\n')}\n`),
    kubeconfigFile: await write('kubeconfig', formatKubeconfig(server, authority.cert, adminToken)),
    controllerManagerKubeconfigFile: await write(
      'controller-manager.kubeconfig',
      formatKubeconfig(server, authority.cert, controllerManagerToken),
    ),
  };
}

/** A kubeconfig with one user who shows a token. */
export function formatKubeconfig(server: string, ca: string, token: string): string {
  // JSON is YAML.
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'user', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'user' } }],
    'current-context': 'test',
  });
}

function randomToken(): string {
  return randomBytes(24).toString('base64url');
}
