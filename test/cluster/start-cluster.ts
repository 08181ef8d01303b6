// Starts a Kubernetes cluster for a test: a real etcd, API server and controller manager, and one node whose pods are processes
// in namespaces. README.md beside this file says how to use it. Everything ends with the test process, however that ends.
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { installEtcd } from '../../scripts/install-etcd.ts';
import { installGatewayApi } from '../../scripts/install-gateway-api.ts';
import { installInferenceExtension } from '../../scripts/install-inference-extension.ts';
import { installKubernetes } from '../../scripts/install-kubernetes.ts';
import { ApiClient } from './api-client.ts';
import { Cluster } from './cluster.ts';
import { connectHost, createHostLink, nameHostLink, readLinkIndex } from './host-link.ts';
import { checkout, createDefaultImages, createInferenceImages, type ImageTable, nonRoot } from './image-table.ts';
import { createKubectl } from './kubectl.ts';
import { requireMachine } from './machine.ts';
import { copyPodPrograms } from './pod-program.ts';
import { createRunFolder } from './run-folder.ts';
import { runCommand } from './run-command.ts';
import { SupervisorProcess } from './supervisor-process.ts';
import { waitFor } from '../kit/wait-for.ts';

/** What the cluster should have. */
export interface ClusterOptions {
  /** Added to controller, gateway, echo-basic and shell. */
  readonly images?: ImageTable;
  /** False: no node, pods stay Pending; for tests that need the API alone. */
  readonly hasNode?: boolean;
  /** False: neither the Gateway API's CRDs nor ours. */
  readonly hasCrds?: boolean;
  /** True: the kinds of the Gateway API that nobody here reads, too, for its conformance suite. They are a fifth of what a start costs. */
  readonly hasWholeGatewayApi?: boolean;
  /** True: the CRD of InferencePool, too, and the image `lwepp`, its small endpoint picker. */
  readonly hasInferenceExtension?: boolean;
  /** What the API server is asked about this user is written down: see `Cluster.readAuthorizations`. */
  readonly recordedUser?: string;
  /** Admission plugins of the API server that are off by default. */
  readonly admissionPlugins?: readonly string[];
  /** Where lines of progress go. */
  readonly report?: (line: string) => void;
}

const ownCrds = join(import.meta.dirname, '..', '..', 'charts', 'proxy-crds', 'templates');

/** The files with the kinds that the controller and gateways read. */
const readKinds = /_(?:gatewayclasses|gateways|httproutes|referencegrants)\.yaml$/;

async function listYaml(folder: string): Promise<readonly string[]> {
  const files = (await readdir(folder)).filter((file) => /\.ya?ml$/.test(file));
  return files.map((file) => join(folder, file));
}

/** Starts a cluster. The first call on a machine builds the programs, which takes minutes. Call `stop()` in the end. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const report = options.report ?? ((line: string) => console.log(line));
  requireMachine();
  const kubernetes = await installKubernetes(report);
  const etcd = await installEtcd(report);
  const gatewayApi = await installGatewayApi(report);
  const inferenceExtension =
    options.hasInferenceExtension === true ? await installInferenceExtension(report) : undefined;

  const folder = await createRunFolder();
  if (options.hasNode ?? true) await copyPodPrograms(checkout, folder, nonRoot);
  const supervisor = new SupervisorProcess(folder);
  try {
    await supervisor.waitStarted();
    const addresses = await createHostLink(supervisor.pid ?? 0);
    const booting = supervisor.call('boot', {
      addresses,
      folder,
      etcd: join(etcd, 'etcd'),
      apiServer: join(kubernetes, 'kube-apiserver'),
      controllerManager: join(kubernetes, 'kube-controller-manager'),
      images: {
        ...createDefaultImages({ echoBasic: join(gatewayApi, 'echo-basic'), runFolder: folder }),
        ...(inferenceExtension === undefined
          ? {}
          : createInferenceImages({ endpointPicker: join(inferenceExtension, 'lwepp') })),
        ...options.images,
      },
      hasNode: options.hasNode ?? true,
      admissionPlugins: options.admissionPlugins ?? [],
      crdFiles: [
        ...((options.hasCrds ?? true)
          ? [
              ...(await listYaml(join(gatewayApi, 'crds'))).filter(
                (file) => options.hasWholeGatewayApi === true || readKinds.test(file),
              ),
              ...(await listYaml(ownCrds)),
            ]
          : []),
        ...(inferenceExtension === undefined ? [] : await listYaml(join(inferenceExtension, 'crds'))),
      ],
      ...(options.recordedUser === undefined ? {} : { recordedUser: options.recordedUser }),
    });
    const link = nameHostLink(addresses.slot);
    const linkIndex = await readLinkIndex(link);
    await Promise.all([connectHost(addresses), booting]);
    const { server, ca, token, kubeconfigFile } = await booting;
    let stopping: Promise<void> | undefined;
    const kubectlProgram = join(kubernetes, 'kubectl');
    return new Cluster({
      folder,
      addresses,
      supervisor,
      api: new ApiClient({ server, ca, token }),
      access: { server, ca, token, kubeconfigFile, kubectlProgram },
      kubectl: createKubectl(kubectlProgram, kubeconfigFile, join(folder, 'kubectl')),
      gatewayApiFolder: gatewayApi,
      inferenceExtensionFolder: inferenceExtension,
      stop: () =>
        (stopping ??= stop(supervisor, folder, async () => (await readLinkIndex(link)) === linkIndex && link)),
    });
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
}

/**
 * Resolves when nothing is left: the kernel takes a moment to end namespaces and the links in them. `findLink` names the link as long as it is that of this
 * cluster: another one may have the name since.
 */
async function stop(
  supervisor: SupervisorProcess,
  folder: string,
  findLink: () => Promise<string | false>,
): Promise<void> {
  // It would go with its namespace; that may wait for sockets.
  const link = await findLink();
  if (link !== false) await runCommand('ip', ['link', 'delete', link]).catch(() => undefined);
  await supervisor.stop();
  await waitFor(async () => (await findLink()) === false, {
    retryErrors: true,
    what: 'the link of the cluster is gone',
  });
  if (process.env['KEEP_CLUSTER_LOGS'] === undefined) await rm(folder, { recursive: true, force: true });
  else console.log(`The logs of the cluster: ${folder}`);
}
