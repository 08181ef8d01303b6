// Deploys the objects of Gateways and keeps them in their desired state. Run by the leader; several Gateways concurrently, each once at a time.
import { isDeepStrictEqual } from 'node:util';
import { type Backoff, createBackoff } from '../base/backoff.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type ReadonlyWatchable, Watchable } from '../base/watchable.ts';
import { ApiError, ApiUnreachableError, type KubernetesClient } from '../kubernetes/client.ts';
import type { EventRecorder } from '../kubernetes/events.ts';
import type { ListWatchOptions, RelistReason } from '../kubernetes/list-watch.ts';
import type { GatewayPlan, HeldGateway } from '../translate/gateway-plan.ts';
import type { Rollout } from '../translate/rollout.ts';
import { removeAbandoned } from './abandoned-objects.ts';
import { type DeployProblem, GatewayDeployment } from './deploy-gateway.ts';
import type { DeploySettings } from './deploy-settings.ts';
import { describeRollout } from './describe-rollout.ts';
import type { GatewayAddresses } from './gateway-addresses.ts';
import { type FailingPods, watchFailingPods } from './failing-pods.ts';
import { KeyedTasks } from '../kubernetes/keyed-tasks.ts';
import { type ManagedObject, type ManagedObjects, type SeenReplicas, watchManagedObjects } from './managed-objects.ts';
import { renderGateway } from './render-gateway.ts';

/** The desired state. */
export interface DeployInput {
  readonly plans: readonly GatewayPlan[];
  /** Gateways whose deployed objects stay as they are. */
  readonly held: readonly HeldGateway[];
  readonly settings: DeploySettings;
}

/** The deployed state of one Gateway. */
export interface DeployResult {
  /** Set: why it is not deployed as configured, for its owner. */
  readonly problem: string | undefined;
  /** Set: why an address that it requests is not available, for its owner. */
  readonly addressProblem: string | undefined;
  /** Where clients reach it; empty while its Service has no address. */
  readonly addresses: GatewayAddresses;
  /** Its pods; undefined while there is no Deployment. */
  readonly replicas: SeenReplicas | undefined;
  /** Its pods are being replaced; undefined: all of them are up to date and ready, or nothing is known of them. */
  readonly rollout: Rollout | undefined;
}

interface DeployerOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  readonly events: Pick<EventRecorder, 'record'>;
  /** Whether the settings have a NetworkPolicy; false when absent. */
  readonly hasNetworkPolicies?: boolean;
  /** Called each time the objects of a kind have to be listed again. */
  readonly onRelist?: (kind: string, reason: RelistReason) => void;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** The backoff after failures of one Gateway: the first delay and the maximum. */
  readonly retryMs?: readonly [first: number, most: number];
  readonly watchTiming?: ListWatchOptions['timing'];
}

export interface Deployer {
  /** Sets the desired state. Returns at once. */
  reconcile(input: DeployInput): void;
  /** By namespace/name. A Gateway is in it after its first turn; a held or deleted Gateway, as long as any of its objects exists. */
  readonly results: ReadonlyWatchable<ReadonlyMap<string, DeployResult>>;
  /** Stops writing at once; what is deployed stays. */
  stop(): Promise<void>;
}

/** Gateways that are deployed concurrently. */
const concurrency = 8;
/** Drift is repaired at once; repeated drift within this time is repaired with backoff. */
const driftResetMs = 60_000;
/** Transient failures are reported after this many attempts. */
const triesBeforeReport = 4;

/** Starts to watch; deploys nothing before the first `reconcile`. */
export function startDeployer(options: DeployerOptions): Deployer {
  return new RunningDeployer(options);
}

interface GatewayState {
  deployment: GatewayDeployment;
  settings: DeploySettings;
  problems: readonly DeployProblem[] | undefined;
  readonly failures: Backoff;
  readonly drifts: Backoff;
  lastDriftAt: number;
}

class RunningDeployer implements Deployer {
  readonly #options: DeployerOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #tasks: KeyedTasks;
  readonly #managed: ManagedObjects;
  readonly #pods: FailingPods;
  /** The Gateway of each Deployment, both as namespace/name. */
  readonly #owners = new Map<string, string>();
  readonly #states = new Map<string, GatewayState>();
  readonly #results = new Watchable<ReadonlyMap<string, DeployResult>>(new Map());
  /** Gateways that own objects but are no longer ours, until they are planned again. */
  readonly #abandoned = new Map<string, Backoff>();
  #held: ReadonlySet<string> = new Set();
  #hasInput = false;
  #isStopped = false;

  constructor(options: DeployerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#tasks = new KeyedTasks({
      concurrency,
      clock: this.#clock,
      run: (key, signal) => this.#run(key, signal),
    });
    this.#managed = watchManagedObjects({
      client: options.client,
      log: options.log,
      hasNetworkPolicies: options.hasNetworkPolicies === true,
      ...(options.watchTiming !== undefined && { timing: options.watchTiming }),
      onRelist: options.onRelist,
      onChange: (object, live) => {
        const name = `${object.namespace}/${object.owner.name}`;
        if (object.type.kind === 'Deployment') this.#owners.set(`${object.namespace}/${object.name}`, name);
        const state = this.#states.get(name);
        if (state?.deployment.noteChange(object, live) === true) this.#repair(name, state);
        this.#publish(name);
      },
      onGone: (object) => {
        const name = `${object.namespace}/${object.owner.name}`;
        if (object.type.kind === 'Deployment') this.#owners.delete(`${object.namespace}/${object.name}`);
        const state = this.#states.get(name);
        if (state?.deployment.noteGone(object) === true) this.#repair(name, state);
        this.#publish(name);
      },
      onSynced: () => {
        for (const name of this.#states.keys()) this.#tasks.schedule(name);
        this.#lookForAbandoned();
      },
    });
    this.#pods = watchFailingPods({
      client: options.client,
      log: options.log,
      ...(options.watchTiming !== undefined && { timing: options.watchTiming }),
      onRelist: options.onRelist,
      onChange: (namespace, deployment) => {
        const name = this.#owners.get(`${namespace}/${deployment}`);
        if (name !== undefined) this.#publish(name);
      },
      onSettled: () => {
        for (const name of new Set([...this.#states.keys(), ...this.#owners.values()])) this.#publish(name);
      },
    });
  }

  get results(): ReadonlyWatchable<ReadonlyMap<string, DeployResult>> {
    return this.#results;
  }

  reconcile({ plans, held, settings }: DeployInput): void {
    if (this.#isStopped) return;
    this.#hasInput = true;
    this.#held = new Set(held.map(({ name }) => name));
    const planned = new Set<string>();
    for (const plan of plans) {
      // A Gateway that is being deleted takes its objects with it: Kubernetes collects them.
      if (plan.gateway.metadata.uid === undefined || plan.gateway.metadata.deletionTimestamp !== undefined) continue;
      planned.add(plan.name);
      this.#abandoned.delete(plan.name);
      this.#plan(plan, settings);
    }
    for (const name of this.#states.keys()) {
      if (planned.has(name)) continue;
      this.#states.delete(name);
      this.#tasks.forget(name);
      this.#publish(name);
    }
    this.#lookForAbandoned();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([this.#tasks.stop(), this.#managed.stop(), this.#pods.stop()]);
  }

  #plan(plan: GatewayPlan, settings: DeploySettings): void {
    const state = this.#states.get(plan.name);
    if (state !== undefined && isSamePlan(state.deployment.plan, plan) && isDeepStrictEqual(state.settings, settings))
      return;
    const deployment = new GatewayDeployment(plan, renderGateway(plan, settings), state?.deployment);
    if (state === undefined) {
      const [firstMs, maxMs] = this.#options.retryMs ?? [1_000, 30_000];
      const backoff = (): Backoff => createBackoff({ firstMs, maxMs, random: this.#random });
      const created: GatewayState = {
        deployment,
        settings,
        problems: undefined,
        failures: backoff(),
        drifts: backoff(),
        lastDriftAt: Number.NEGATIVE_INFINITY,
      };
      this.#states.set(plan.name, created);
    } else {
      state.deployment = deployment;
      state.settings = settings;
      state.failures.reset();
    }
    this.#tasks.schedule(plan.name);
  }

  async #run(key: string, signal: AbortSignal): Promise<number | undefined> {
    try {
      return key.startsWith(abandonedPrefix)
        ? await this.#removeAbandoned(key.slice(abandonedPrefix.length), signal)
        : await this.#deploy(key, signal);
    } catch (error) {
      // A bug with one Gateway must not keep the others from being deployed.
      this.#options.log.error({ gateway: key, err: error }, 'deploying failed');
      return signal.aborted ? undefined : driftResetMs;
    }
  }

  async #deploy(name: string, signal: AbortSignal): Promise<number | undefined> {
    const state = this.#states.get(name);
    if (state === undefined) return undefined;
    const { deployment } = state;
    const turn = await deployment.deploy({ client: this.#options.client, managed: this.#managed, signal });
    if (signal.aborted || this.#states.get(name) !== state) return undefined;
    const isHiccup = state.failures.tries < triesBeforeReport && turn.problems.some(({ isTransient }) => isTransient);
    if (!isHiccup) {
      this.#report(name, state, turn.problems);
      state.problems = turn.problems;
      this.#publish(name);
    }
    // A new plan came during the turn and has scheduled its own turn.
    if (state.deployment !== deployment) return undefined;
    if (turn.retry) return state.failures.next(turn.retryAfterSeconds);
    state.failures.reset();
    return undefined;
  }

  /** Logs new problems, and reports them as Events. */
  #report(name: string, { deployment, problems: before }: GatewayState, problems: readonly DeployProblem[]): void {
    const { log, events } = this.#options;
    const known = new Set(before?.map(({ message }) => message));
    for (const { message, eventReason } of problems) {
      if (known.has(message)) continue;
      log.warn({ gateway: name, problem: message }, 'a gateway is not deployed as configured');
      if (eventReason === undefined) continue;
      const { apiVersion, kind, metadata } = deployment.plan.gateway;
      const { namespace, name: gatewayName, uid } = metadata;
      const subject = { apiVersion, kind, namespace, name: gatewayName, uid };
      events.record({ subject, type: 'Warning', reason: eventReason, action: 'Deploy', note: message });
    }
    if (problems.length === 0 && before === undefined) log.info({ gateway: name }, 'deployed');
    else if (problems.length === 0 && before !== undefined && before.length > 0)
      log.info({ gateway: name }, 'deployed; the earlier problems are solved');
  }

  #repair(name: string, state: GatewayState): void {
    const now = this.#clock.now();
    if (now - state.lastDriftAt > driftResetMs) state.drifts.reset();
    state.lastDriftAt = now;
    const isFirst = state.drifts.tries === 0;
    const waitMs = state.drifts.next();
    this.#tasks.schedule(name, isFirst ? 0 : waitMs);
  }

  /** Schedules the cleanup of Gateways that own objects and are neither planned nor held; each once. */
  #lookForAbandoned(): void {
    if (!this.#managed.isSynced || !this.#hasInput) return;
    const owners = new Set(this.#managed.listOwners().map(({ namespace, name }) => `${namespace}/${name}`));
    for (const owner of this.#abandoned.keys()) if (!owners.has(owner)) this.#abandoned.delete(owner);
    for (const owner of owners) {
      if (this.#states.has(owner) || this.#held.has(owner) || this.#abandoned.has(owner)) continue;
      this.#abandoned.set(owner, createBackoff({ firstMs: 1_000, maxMs: 60_000, random: this.#random }));
      this.#tasks.schedule(abandonedPrefix + owner);
    }
  }

  async #removeAbandoned(owner: string, signal: AbortSignal): Promise<number | undefined> {
    const backoff = this.#abandoned.get(owner);
    if (backoff === undefined) return undefined;
    const [namespace = '', name = ''] = owner.split('/');
    const { client, log } = this.#options;
    try {
      const removed = await removeAbandoned(client, this.#managed.listOf({ namespace, name }), signal);
      if (removed.length > 0)
        log.info({ gateway: owner, count: removed.length }, 'removed the objects that belonged to an earlier class');
      return undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof ApiError || error instanceof ApiUnreachableError)) throw error;
      log.warn({ gateway: owner, reason: error.message }, 'leftover objects of a gateway could not be removed yet');
      return backoff.next();
    }
  }

  #publish(name: string): void {
    const result = this.#describe(name);
    const results = this.#results.get();
    if (isDeepStrictEqual(results.get(name), result)) return;
    const changed = new Map(results);
    if (result === undefined) changed.delete(name);
    else changed.set(name, result);
    this.#results.set(changed);
  }

  #describe(name: string): DeployResult | undefined {
    // What a leader of before has told stays until all of it is known here.
    if (!this.#pods.isSettled) return undefined;
    const state = this.#states.get(name);
    if (state !== undefined && state.problems === undefined) return undefined;
    const [namespace = '', gatewayName = ''] = name.split('/');
    const uid = state?.deployment.plan.gateway.metadata.uid;
    const objects = this.#managed
      .listOf({ namespace, name: gatewayName })
      .filter(({ owner }) => uid === undefined || owner.uid === uid);
    if (state === undefined && objects.length === 0) return undefined;
    const problems = state?.problems ?? [];
    return {
      problem: joinMessages(problems.filter(({ about }) => about === undefined)),
      addressProblem: joinMessages(problems.filter(({ about }) => about === 'addresses')),
      addresses: objects.flatMap(({ addresses }) => addresses ?? []),
      replicas: objects.find(({ replicas }) => replicas !== undefined)?.replicas,
      rollout: this.#describeRollout(objects),
    };
  }

  #describeRollout(objects: readonly ManagedObject[]): Rollout | undefined {
    for (const { namespace, name, deployment } of objects)
      if (deployment !== undefined) return describeRollout(name, deployment, this.#pods.listFailing(namespace, name));
    return undefined;
  }
}

const abandonedPrefix = 'abandoned ';

function joinMessages(problems: readonly DeployProblem[]): string | undefined {
  return problems.length === 0 ? undefined : problems.map(({ message }) => message).join('; ');
}

/** Parsed resources that did not change are the same objects. */
function isSamePlan(left: GatewayPlan, right: GatewayPlan): boolean {
  return (
    left.gateway === right.gateway &&
    left.parameters.length === right.parameters.length &&
    left.parameters.every((parameters, index) => parameters === right.parameters[index]) &&
    isDeepStrictEqual(left.addresses, right.addresses) &&
    isDeepStrictEqual(left.ports, right.ports)
  );
}
