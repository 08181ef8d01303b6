// etcd, kube-apiserver and kube-controller-manager, inside the network namespace of the node: their ports are their own.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { ApiClient } from '../api-client.ts';
import type { ClusterAddresses } from '../cluster-addresses.ts';
import { waitFor } from '../../kit/wait-for.ts';
import { installCrds } from './install-crds.ts';
import { startAuthorizationRecord } from './authorization-record.ts';
import { createCredentials, type Credentials } from './credentials.ts';
import { ManagedProcess } from './managed-process.ts';

/** Where the programs are, and where files go. */
export interface ControlPlaneOptions {
  readonly addresses: ClusterAddresses;
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  /** Credentials and logs. */
  readonly folder: string;
  /** etcd's data. */
  readonly stateFolder: string;
  /** Set: what the API server is asked about this user is written down. */
  readonly recordedUser?: string;
  readonly admissionPlugins: readonly string[];
  /** YAML files with CRDs, and what goes with them, that are there before anything else is. */
  readonly crdFiles: readonly string[];
}

/** The programs that tests can stop, pause and start. */
export type Component = 'etcd' | 'apiserver' | 'controller-manager';

/** The running control plane. */
export interface ControlPlane {
  readonly credentials: Credentials;
  readonly server: string;
  /** With the rights of cluster-admin. */
  readonly client: ApiClient;
  readonly processes: Readonly<Record<Component, ManagedProcess>>;
  /** Waits until a component answers. */
  waitReady(component: Component): Promise<void>;
  /** Forgets the history of objects: whoever resumes a watch from before is told 410. */
  compactHistory(): Promise<void>;
}

/** Clusters live for a minute or two: memory costs less than looking for what is not used any more. */
const runtime = { GOGC: '400', GOMEMLIMIT: '2GiB' };

const etcdClient = 'http://127.0.0.1:2379';
const etcdPeer = 'http://127.0.0.1:2380';
const apiServerPort = 6443;
const controllerManagerPort = 10_257;

/** Starts everything and waits until it is ready. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { addresses, folder, stateFolder } = options;
  const server = `https://${addresses.node}:${apiServerPort}`;
  const credentials = await createCredentials(join(folder, 'credentials'), server, addresses);
  const logs = join(folder, 'logs');
  await mkdir(logs, { recursive: true });
  const authorizationFlag =
    options.recordedUser === undefined
      ? '--authorization-mode=RBAC'
      : `--authorization-config=${await startAuthorizationRecord({ user: options.recordedUser, configFolder: join(folder, 'credentials'), logFolder: logs })}`;
  const plugins = options.admissionPlugins.map((plugin) => `--enable-admission-plugins=${plugin}`);
  const optionalFlags = [authorizationFlag, ...plugins];

  const manage = (name: Component, command: string, args: readonly string[]): ManagedProcess =>
    new ManagedProcess({
      name,
      command,
      args,
      logFile: join(logs, `${name}.log`),
      env: { ...process.env, ...runtime },
    });
  const processes = {
    etcd: manage('etcd', options.etcd, etcdFlags(join(stateFolder, 'etcd'))),
    apiserver: manage('apiserver', options.apiServer, [...apiServerFlags(addresses, credentials), ...optionalFlags]),
    'controller-manager': manage(
      'controller-manager',
      options.controllerManager,
      controllerManagerFlags(addresses, credentials),
    ),
  };
  const client = new ApiClient({ server, ca: credentials.ca, token: credentials.adminToken });
  const waitReady = (component: Component): Promise<void> => waitUntilReady(component, processes[component], client);

  processes.etcd.start();
  processes.apiserver.start();
  await waitReady('apiserver');
  // Before the controller manager, which looks only twice a minute for kinds that have come, and collects no garbage of others until then.
  await installCrds(client, options.crdFiles);
  processes['controller-manager'].start();
  await waitReady('controller-manager');
  return {
    credentials,
    server,
    client,
    processes,
    waitReady,
    compactHistory,
  };
}

async function waitUntilReady(component: Component, managed: ManagedProcess, client: ApiClient): Promise<void> {
  const ended = new AbortController();
  await waitFor(
    async () => {
      // The controller manager gives up when the API server is not there yet: it is started again, as a kubelet would.
      if (component === 'controller-manager') managed.start();
      else if (!managed.isRunning) ended.abort();
      switch (component) {
        case 'etcd':
          return (await request(`${etcdClient}/health`)).statusCode === 200;
        case 'apiserver':
          return (await client.call<string>('GET', '/readyz')) === 'ok';
        case 'controller-manager':
          return isControllerManagerReady(client);
      }
    },
    { retryErrors: true, what: `${component} is ready`, timeoutMs: 120_000, signal: ended.signal },
  ).catch((error: unknown) => {
    managed.throwIfEnded();
    throw error;
  });
}

/** It works when namespaces get their ServiceAccount. */
async function isControllerManagerReady(client: ApiClient): Promise<boolean> {
  await client.get('/api/v1/namespaces/default/serviceaccounts/default');
  await client.get('/api/v1/namespaces/default/configmaps/kube-root-ca.crt');
  return true;
}

async function compactHistory(): Promise<void> {
  const post = async (path: string, body: unknown): Promise<{ header?: { revision?: string } }> => {
    const answer = await request(`${etcdClient}${path}`, { method: 'POST', body: JSON.stringify(body) });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`etcd refused ${path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text) as { header?: { revision?: string } };
  };
  const { header } = await post('/v3/kv/range', { key: Buffer.from('compact_rev_key').toString('base64') });
  await post('/v3/kv/compaction', { revision: header?.revision ?? '0', physical: true });
}

function etcdFlags(dataFolder: string): readonly string[] {
  return [
    '--name=test',
    `--data-dir=${dataFolder}`,
    `--listen-client-urls=${etcdClient}`,
    `--advertise-client-urls=${etcdClient}`,
    `--listen-peer-urls=${etcdPeer}`,
    `--initial-advertise-peer-urls=${etcdPeer}`,
    `--initial-cluster=test=${etcdPeer}`,
    // The data lives as long as the test.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

function apiServerFlags(addresses: ClusterAddresses, credentials: Credentials): readonly string[] {
  return [
    `--etcd-servers=${etcdClient}`,
    '--bind-address=0.0.0.0',
    `--advertise-address=${addresses.node}`,
    `--secure-port=${apiServerPort}`,
    `--tls-cert-file=${credentials.certFile}`,
    `--tls-private-key-file=${credentials.keyFile}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${credentials.serviceAccountPublicKeyFile}`,
    `--service-account-signing-key-file=${credentials.serviceAccountKeyFile}`,
    `--token-auth-file=${credentials.tokenFile}`,
    `--service-cluster-ip-range=${addresses.serviceRange}`,
    '--allow-privileged=true',
    // For logs; the name of the node means nothing here.
    '--kubelet-preferred-address-types=InternalIP',
    // Watches end when it restarts; nobody waits a minute for that.
    '--shutdown-delay-duration=0s',
    // Tests send as fast as they can.
    '--max-requests-inflight=2000',
    '--max-mutating-requests-inflight=1000',
  ];
}

function controllerManagerFlags(addresses: ClusterAddresses, credentials: Credentials): readonly string[] {
  return [
    `--kubeconfig=${credentials.controllerManagerKubeconfigFile}`,
    '--leader-elect=false',
    `--secure-port=${controllerManagerPort}`,
    '--bind-address=127.0.0.1',
    `--root-ca-file=${credentials.caFile}`,
    `--service-account-private-key-file=${credentials.serviceAccountKeyFile}`,
    `--service-cluster-ip-range=${addresses.serviceRange}`,
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    '--concurrent-endpoint-syncs=5',
    // No cloud, no volumes, and the node is watched by its agent alone.
    '--controllers=*,-node-lifecycle-controller,-node-ipam-controller,-node-route-controller,-service-lb-controller,-cloud-node-lifecycle-controller,-persistentvolume-binder-controller,-persistentvolume-attach-detach-controller,-persistentvolume-expander-controller',
  ];
}
