// The control loop, as a table of contents. On every replica: resources -> translation -> snapshot of each Gateway -> xDS. On the leader also: deploying,
// and from the answers of gateways and of the deployer, the statuses and Events.
import type { Resources } from '../api/resources.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';
import type { DeploySettings } from '../deploy/deploy-settings.ts';
import type { AcknowledgedKeys } from '../deploy/plan-signing-keys.ts';
import type { Leadership } from '../kubernetes/leader-election.ts';
import type { KubernetesSource } from '../sources/kubernetes/kubernetes-source.ts';
import { describeProgrammed } from '../translate/programmed-status.ts';
import type { Translation } from '../translate/translate.ts';
import type { XdsServer } from '../xds/server.ts';
import type { GatewayConfigurator } from './configure-gateways.ts';
import type { LoopObserver } from './controller-metrics.ts';
import { explainRelease } from './explain-release.ts';
import type { GatewayApiVersions } from './gateway-api-versions.ts';
import { FactCollector } from './gateway-facts.ts';
import { type GatewayPods, listGatewayPods } from './gateway-pods.ts';
import type { LeaderDuties } from './leader-duties.ts';
import { listAcknowledgedKeys } from './acknowledged-keys.ts';
import type { EventReporter } from './report-events.ts';
import { Rounds } from './rounds.ts';
import type { SnapshotHistory } from './snapshot-history.ts';
import type { StatusWriter } from './write-statuses.ts';

interface ControlLoopOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly source: Pick<KubernetesSource, 'resources' | 'sync' | 'namespaces' | 'findStatus' | 'onStatusChange'>;
  readonly server: Pick<XdsServer, 'connected' | 'relayed'>;
  readonly configurator: GatewayConfigurator;
  readonly history: SnapshotHistory;
  readonly duties: LeaderDuties;
  readonly writer: Pick<StatusWriter, 'setStatuses' | 'recheck'>;
  readonly events: EventReporter;
  readonly leadership: ReadonlyWatchable<Leadership>;
  /** Undefined: not known yet; until then nothing is deployed. */
  readonly deploySettings: ReadonlyWatchable<DeploySettings | undefined>;
  readonly gatewayApiVersions: ReadonlyWatchable<GatewayApiVersions>;
  readonly observer: LoopObserver;
  /** Gateways are served over TLS: only then do they get signing keys. */
  readonly isXdsEncrypted: boolean;
}

const quietMs = 10;
const mostMs = 1_000;
/** How long a new leader waits for gateways to connect before it reports them as missing. */
const takeoverGraceMs = 10_000;

/** Reconciles whenever something changes, from `start` to `stop`. */
export class ControlLoop {
  readonly #options: ControlLoopOptions;
  readonly #configuring: Rounds;
  readonly #reporting: Rounds;
  readonly #facts: FactCollector;
  readonly #subscriptions: (() => void)[] = [];
  #translation: Translation | undefined;
  /** In the snapshots of that translation, by Gateway. */
  #signingKeys: ReadonlyMap<string, AcknowledgedKeys> = new Map();
  #leadingSince: number | undefined;
  #behind: Readonly<Record<string, number>> = {};

  constructor(options: ControlLoopOptions) {
    this.#options = options;
    const { clock, log, observer, history } = options;
    this.#facts = new FactCollector(history, clock);
    this.#configuring = new Rounds({
      clock,
      quietMs,
      mostMs,
      run: () => this.#configure(),
      onError(error, retryAfterMs) {
        observer.reconciled('error', 0);
        log.error(
          { err: error, retry_after_ms: retryAfterMs },
          'reconciling failed; gateways keep their configuration',
        );
      },
    });
    this.#reporting = new Rounds({
      clock,
      quietMs,
      mostMs,
      run: () => this.#report(),
      onError: (error, retryAfterMs) =>
        log.error({ err: error, retry_after_ms: retryAfterMs }, 'statuses could not be computed'),
    });
  }

  /** Gateways that are to be deployed. */
  get gateways(): number {
    return this.#translation?.plans.length ?? 0;
  }

  /** Gateway processes without the present configuration, by Gateway; empty unless this replica leads. */
  get behindGateways(): Readonly<Record<string, number>> {
    return this.#options.duties.isStarted ? this.#behind : {};
  }

  start(): void {
    const { source, server, writer, leadership, deploySettings, gatewayApiVersions } = this.#options;
    const configure = (): void => this.#configuring.request();
    const report = (): void => this.#reporting.request();
    this.#subscriptions.push(
      source.resources.subscribe(configure),
      source.sync.subscribe((sync, before) => {
        if (sync.synced !== before.synced) configure();
      }),
      source.namespaces.subscribe(report),
      deploySettings.subscribe(configure),
      gatewayApiVersions.subscribe(report),
      server.connected.subscribe(report),
      server.relayed.subscribe(report),
      source.onStatusChange((kind, namespace, name) => writer.recheck(kind, namespace, name)),
      leadership.subscribe(() => this.#followLeadership()),
    );
    this.#followLeadership();
    configure();
  }

  /** Called when the result of a deployment changed. */
  noteDeployed(): void {
    this.#reporting.request();
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#subscriptions) unsubscribe();
    await Promise.all([this.#configuring.stop(), this.#reporting.stop()]);
    await this.#options.duties.stop();
  }

  /** Turns resources into snapshots for gateways and into work for the deployer. */
  #configure(): void {
    const { source, configurator, duties, deploySettings, observer } = this.#options;
    // Half of the policies would be no protection: nothing is sent before all resources have been read.
    if (!source.sync.get().synced) return;
    const startedAt = performance.now();
    const resources = source.resources.get();
    const { translation, sealKeyOwners, signingKeyOwners, signingKeys, failures } = configurator.configure(resources);
    this.#translation = translation;
    this.#signingKeys = signingKeys;
    const settings = deploySettings.get();
    const { plans, held } = translation;
    duties.setWork({
      resources,
      sealKeyOwners,
      signingKeyOwners,
      deploy: settings === undefined ? undefined : { plans, held, settings },
    });
    observer.reconciled(failures === 0 ? 'ok' : 'error', performance.now() - startedAt);
    this.#reporting.request();
  }

  /** Tells the owners of the resources the outcome, by statuses and Events. */
  #report(): void {
    const { source, server, duties, writer, events, history } = this.#options;
    const translation = this.#translation;
    const versions = this.#options.gatewayApiVersions.get();
    if (translation === undefined || !duties.isStarted || versions.state === 'not-asked') return;
    const resources = source.resources.get();
    const gateways = [...translation.plans, ...translation.held].map(({ name }) => name);
    const { facts, settled, recheckAfterMs } = this.#facts.collect({
      gateways,
      pods: this.#findPods(gateways, resources),
      connected: server.connected.get(),
      relayed: server.relayed.get(),
      deployed: duties.deployed,
    });
    if (this.#isTooEarly(translation, settled)) {
      this.#reporting.requestIn(takeoverGraceMs / 10);
      return;
    }
    this.#behind = Object.fromEntries(Array.from(facts, ([name, { behind }]) => [name, behind.length]));
    duties.setAcknowledged(listAcknowledgedKeys(this.#signingKeys, facts));
    const known = versions.state === 'known' ? versions.versions : undefined;
    const { isXdsEncrypted } = this.#options;
    writer.setStatuses(describeProgrammed(translation, facts, known, { isXdsEncrypted }), {
      listNames: (kind) => listNames(resources, kind),
      isSelected: (namespace) => source.namespaces.get()?.has(namespace) ?? true,
      explainRelease: (gateway) => explainRelease(gateway, resources, source.namespaces.get()),
    });
    events.report({
      facts,
      conflicts: translation.conflicts,
      unattached: translation.unattached,
      findSnapshot: (gateway) => history.findSnapshot(gateway),
      findUid: (kind, namespace, name) => source.findStatus(kind, namespace, name)?.uid,
    });
    if (recheckAfterMs !== undefined) this.#reporting.requestIn(recheckAfterMs);
  }

  /** The pods that take traffic, by Gateway. */
  #findPods(gateways: readonly string[], { endpointSlices }: Resources): ReadonlyMap<string, GatewayPods> {
    const byService = listGatewayPods(endpointSlices);
    return new Map(
      gateways.flatMap((gateway) => {
        const pods = byService.get(this.#options.configurator.findService(gateway) ?? '');
        return pods === undefined ? [] : [[gateway, pods] as const];
      }),
    );
  }

  #followLeadership(): void {
    const { leadership, duties, events, log, clock } = this.#options;
    if (leadership.get().role === 'leader') {
      this.#leadingSince = clock.now();
      duties.start();
      this.#reporting.request();
    } else if (this.#leadingSince !== undefined) {
      this.#leadingSince = undefined;
      this.#behind = {};
      events.forget();
      duties.stop().catch((error: unknown) => log.error({ err: error }, 'stopping the duties of the leader failed'));
    }
  }

  /** A new leader has not heard of all gateways yet. Until it has, or for the grace period, the previous leader's statuses stay. */
  #isTooEarly({ plans }: Translation, settled: ReadonlySet<string>): boolean {
    const { source, duties, clock } = this.#options;
    if (clock.now() - (this.#leadingSince ?? 0) >= takeoverGraceMs) return false;
    return plans.some(({ name, gateway }) => {
      if (duties.deployed.has(name) && settled.has(name)) return false;
      const { metadata } = gateway;
      return isProgrammed(source.findStatus('Gateway', metadata.namespace, metadata.name)?.status);
    });
  }
}

function isProgrammed(status: unknown): boolean {
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type?: unknown; readonly status?: unknown }[];
  };
  return conditions.some((condition) => condition.type === 'Programmed' && condition.status === 'True');
}

function listNames(resources: Resources, kind: 'HTTPRoute' | 'ProxyPolicy'): readonly string[] {
  const valid = kind === 'HTTPRoute' ? resources.httpRoutes : resources.proxyPolicies;
  return [
    ...valid.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    ...resources.invalid.filter((each) => each.kind === kind).map(({ namespace, name }) => `${namespace}/${name}`),
  ];
}
