// Assembles one replica of the controller, and starts and stops its parts in order. The command around it handles flags, ports and signals.
import { controllerName } from '../api/gateway-class.ts';
import type { Resources } from '../api/resources.ts';
import { systemClock } from '../base/clock.ts';
import type { Health } from '../base/health.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { Watchable } from '../base/watchable.ts';
import type { DeploySettings } from '../deploy/deploy-settings.ts';
import { startDeployer } from '../deploy/deployer.ts';
import { startSealKeyKeeper } from '../deploy/seal-key-keeper.ts';
import { startSigningKeyKeeper } from '../deploy/signing-key-keeper.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { createEventRecorder } from '../kubernetes/events.ts';
import { createElapsedTime } from '../kubernetes/elapsed-time.ts';
import { LeaderElection, type LeaseTimes } from '../kubernetes/leader-election.ts';
import { type NamespaceSelector, startKubernetesSource } from '../sources/kubernetes/kubernetes-source.ts';
import { loadInferenceTranslation } from '../translate/load-inference-translation.ts';
import { createTranslator, type Translation } from '../translate/translate.ts';
import { startXdsServer, type XdsServerOptions } from '../xds/server.ts';
import { createPeerAuthorizer } from './authorize-peer.ts';
import { checkLeader } from './check-leader.ts';
import { GatewayConfigurator } from './configure-gateways.ts';
import { ControlLoop } from './control-loop.ts';
import { createControllerMetrics } from './controller-metrics.ts';
import { LeaderFollower } from './follow-leader.ts';
import { GatewayApiVersionsWatch } from './gateway-api-versions.ts';
import { guardWrites } from './guard-writes.ts';
import { LeaderDuties } from './leader-duties.ts';
import { LeftNamespaces } from './left-namespaces.ts';
import { type ClassParametersReference, GatewayClassKeeper } from './own-gateway-class.ts';
import { createOwnUsername } from './own-username.ts';
import { EventReporter } from './report-events.ts';
import { SealKeyMessages } from './seal-key-messages.ts';
import { SigningKeyMessages } from './signing-key-messages.ts';
import { SnapshotHistory } from './snapshot-history.ts';
import { StatusWriter } from './write-statuses.ts';
import { warnOfPlaintext } from './warn-plaintext.ts';
import { watchCertificateHealth } from './certificate-health.ts';
import { startXdsTls } from './xds-tls.ts';

/** The settings and dependencies of a controller. */
export interface ControllerOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly version: string;
  readonly installationNamespace: string;
  /** The Service under which gateways reach the controller. */
  readonly serviceName: string;
  readonly podName: string;
  readonly podAddress: string | undefined;
  readonly namespaceSelectors: readonly NamespaceSelector[];
  readonly classParameters: ClassParametersReference | undefined;
  /** Whether InferencePools may be backends; off when absent. */
  readonly inferenceExtension?: boolean;
  readonly image: DeploySettings['image'];
  readonly imagePullSecrets: readonly string[];
  /** Set: a NetworkPolicy is deployed with each gateway. */
  readonly networkPolicy?: DeploySettings['networkPolicy'];
  /** Set: Secrets are read in these namespaces and in the installation namespace only; all when absent or empty. */
  readonly secretsInNamespaces?: readonly string[];
  readonly xds: {
    readonly address: string;
    readonly port: number;
    /** Set: xDS is served over TLS, with the files of this folder. */
    readonly tlsFolder: string | undefined;
    /** Set: xDS is served over TLS, with the Secret that the controller makes if there is none; no folder is read. Off when absent. */
    readonly generateCertificate?: boolean;
    readonly tokenFile: string;
    readonly verifyPodAddress: boolean;
    readonly recheckIntervalMs?: XdsServerOptions['recheckIntervalMs'];
  };
  /** For tests. */
  readonly leaseTimes?: LeaseTimes;
  readonly translate?: (resources: Resources) => Translation;
}

/** A running replica. */
export interface RunningController {
  readonly xdsPort: number;
  readonly isLeading: () => boolean;
  /** The steps of stopping, in order: stop writing, release the Lease, disconnect gateways, stop watching. */
  readonly steps: readonly ControllerStep[];
  /** Runs all steps. */
  stop(): Promise<void>;
}

/** One step of stopping. */
interface ControllerStep {
  readonly name: string;
  readonly timeoutMs: number;
  readonly run: () => Promise<void>;
}

/** The name of the Lease. */
export const leaseName = 'proxy-controller';

/** Starts a replica. Rejects with an XdsListenError when the port cannot be opened; then nothing is left running. */
export async function startController(options: ControllerOptions): Promise<RunningController> {
  const { client, log, health, installationNamespace, podName, xds, inferenceExtension = false } = options;
  const clock = systemClock;
  const random = Math.random;
  const metrics = createControllerMetrics(options.metrics, options.version);
  const serverName = `${options.serviceName}.${installationNamespace}.svc`;
  const events = createEventRecorder({ client, log, clock, controller: controllerName, instance: podName });

  const certificateSource = xds.generateCertificate === true ? ('generate' as const) : toFolder(xds.tlsFolder);
  const tls =
    certificateSource &&
    (await startXdsTls({
      client,
      log,
      clock,
      random,
      installationNamespace,
      serviceName: options.serviceName,
      serverName,
      source: certificateSource,
      onRelist: metrics.relisted,
    }));
  const certificate = tls?.certificate;
  if (certificate !== undefined)
    watchCertificateHealth({ certificate, health, events, installationNamespace, podName });

  const inference = await loadInferenceTranslation(inferenceExtension);
  const translator = createTranslator({ placement: 'pods', inference, classParameters: options.classParameters });
  const history = new SnapshotHistory();
  let server: Awaited<ReturnType<typeof startXdsServer>>;
  const configurator = new GatewayConfigurator({
    log,
    server: { setSnapshot: (gateway, snapshot) => server.setSnapshot(gateway, snapshot) },
    history,
    sealKeys: new SealKeyMessages(installationNamespace, log),
    signingKeys: certificate === undefined ? undefined : new SigningKeyMessages(installationNamespace, log),
    translate: options.translate ?? ((resources) => translator.translate(resources)),
    onTranslated: (durationMs) => metrics.loop.translated(durationMs),
  });
  const findOwnUsername = createOwnUsername(client);
  const authorizer = createPeerAuthorizer({
    client,
    clock,
    installationNamespace,
    verifyPodAddress: xds.verifyPodAddress,
    findOwnUsername,
    findServiceAccount: (gateway) => configurator.findServiceAccount(gateway),
  });

  const listening = health.addCheck('xds', 'the xDS port is not open yet');
  try {
    server = await startXdsServer({
      log,
      address: xds.address,
      port: xds.port,
      ...(certificate === undefined ? {} : { certificate: certificate.certificate }),
      ...(xds.recheckIntervalMs === undefined ? {} : { recheckIntervalMs: xds.recheckIntervalMs }),
      authorizeGateway: (peer) => authorizer.authorizeGateway(peer),
      authorizeReplica: (peer) => authorizer.authorizeReplica(peer),
      observer: metrics.xds,
    });
  } catch (error) {
    await tls?.stop();
    throw error;
  }
  listening.pass();

  const source = startKubernetesSource({
    client,
    log,
    namespaceSelectors: options.namespaceSelectors,
    installationNamespace,
    ...(options.secretsInNamespaces !== undefined && { secretsInNamespaces: options.secretsInNamespaces }),
    extensions: inferenceExtension ? ['inference'] : [],
    onRelist: metrics.relisted,
  });
  const caches = health.addCheck('caches', 'the resources of the cluster have not been read yet');
  const noteSync = (): void => {
    const { synced, reasons } = source.sync.get();
    if (synced) caches.pass();
    else if (reasons.length > 0) caches.fail(reasons.join('; '));
  };
  source.sync.subscribe(noteSync);

  const address = options.podAddress === undefined ? undefined : formatAddress(options.podAddress, server.port);
  const election = new LeaderElection({
    client,
    log,
    namespace: installationNamespace,
    name: leaseName,
    identity: podName,
    address,
    clock,
    monotonic: () => performance.now(),
    elapsed: createElapsedTime(
      () => clock.now(),
      () => performance.now(),
    ),
    random,
    ...(certificate === undefined ? {} : { isFit: certificate.canServe }),
    ...(options.leaseTimes === undefined ? {} : { times: options.leaseTimes }),
  });
  if (certificate === undefined)
    warnOfPlaintext({
      client,
      events,
      leadership: election.leadership,
      installationNamespace,
      serviceName: options.serviceName,
    });
  const writer = new StatusWriter({
    client,
    log,
    clock,
    random,
    observer: metrics.statuses,
    findStatus: (kind, namespace, name) => source.findStatus(kind, namespace, name),
    isLeading: () => election.isLeading(),
  });
  const leaderClient = guardWrites(client, () => election.isLeading());
  tls?.keep(election.leadership, leaderClient);
  const parameters = options.classParameters;
  const duties = new LeaderDuties({
    writer,
    classKeeper: new GatewayClassKeeper({ client: leaderClient, log, events, clock, random, parameters }),
    leftNamespaces: new LeftNamespaces({
      client: leaderClient,
      log,
      clock,
      random,
      installationNamespace,
      namespaces: source.namespaces,
      sync: source.sync,
      resources: source.resources,
      writer,
      inferenceExtension,
    }),
    startDeployer: () =>
      startDeployer({
        client: leaderClient,
        log,
        events,
        hasNetworkPolicies: options.networkPolicy !== undefined,
        onRelist: metrics.relisted,
      }),
    startSealKeyKeeper: () =>
      startSealKeyKeeper({ client: leaderClient, log, installationNamespace, onRelist: metrics.relisted }),
    startSigningKeyKeeper: () =>
      startSigningKeyKeeper({ client: leaderClient, log, installationNamespace, onRelist: metrics.relisted }),
    readTermNumber: () => election.term,
    onDeployed: () => loop.noteDeployed(),
    onDeployProblem: () => metrics.loop.deployFailed(),
  });
  const deploySettings = new Watchable<DeploySettings | undefined>(undefined);
  const settleDeploySettings = (): void => {
    const xdsCa = certificate?.ca.get();
    if (certificate !== undefined && xdsCa === undefined) return;
    deploySettings.set({
      installationNamespace,
      xdsAddress: `${serverName}:${server.port}`,
      xdsCa,
      image: options.image,
      imagePullSecrets: options.imagePullSecrets,
      networkPolicy: options.networkPolicy,
    });
  };
  settleDeploySettings();
  certificate?.ca.subscribe(settleDeploySettings);

  const gatewayApi = new GatewayApiVersionsWatch({ client, log, clock });
  const loop = new ControlLoop({
    log,
    clock,
    source,
    server,
    configurator,
    history,
    duties,
    writer,
    events: new EventReporter(events),
    leadership: election.leadership,
    deploySettings,
    gatewayApiVersions: gatewayApi.versions,
    observer: metrics.loop,
    isXdsEncrypted: certificate !== undefined,
  });
  const follower = new LeaderFollower({
    log,
    leadership: election.leadership,
    connected: server.connected,
    replica: podName,
    tokenFile: xds.tokenFile,
    checkLeader: (leader) => checkLeader(leader, { client, installationNamespace, findOwnUsername }),
    tls: certificate === undefined ? undefined : { serverName, ca: certificate.ca },
  });
  metrics.readFrom({
    isSynced: () => source.sync.get().synced,
    isHeld: () => source.sync.get().isHeld,
    isLeading: () => election.isLeading(),
    watchedObjects: () => source.sync.get().counts,
    gateways: () => loop.gateways,
    connectedProcesses: () => server.connected.get().length,
    relayedProcesses: () => server.relayed.get().length,
    configurationSize: () => configurator.measure(),
    pendingStatuses: () => writer.pending,
    deployProblems: () => [...duties.deployed.values()].filter(({ problem }) => problem !== undefined).length,
    rollouts: () => duties.deployed,
    behindGateways: () => loop.behindGateways,
    certificateExpiry: () => certificate?.expiresAt,
    certificateState: () => certificate?.state.get().state,
  });
  noteSync();
  loop.start();

  const steps: readonly ControllerStep[] = [
    {
      name: 'stop writing',
      timeoutMs: 2_000,
      run: async () => void (await Promise.all([loop.stop(), tls?.stopKeeping()])),
    },
    { name: 'release the lease', timeoutMs: 3_000, run: () => election.stop() },
    {
      name: 'disconnect gateways',
      timeoutMs: 5_000,
      run: async () => void (await Promise.all([server.close(), follower.stop()])),
    },
    {
      name: 'stop watching',
      timeoutMs: 5_000,
      async run() {
        gatewayApi.stop();
        await Promise.all([source.stop(), tls?.stop(), events.stop()]);
      },
    },
  ];
  return {
    xdsPort: server.port,
    isLeading: () => election.isLeading(),
    steps,
    async stop() {
      for (const step of steps) await step.run();
    },
  };
}

function toFolder(folder: string | undefined): { readonly folder: string } | undefined {
  return folder === undefined ? undefined : { folder };
}

function formatAddress(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
