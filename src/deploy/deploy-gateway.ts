// One reconciliation of one Gateway: applies its objects one after the other, then deletes leftovers. Objects that are up to date cost no request.
import { createHash } from 'node:crypto';
import { ApiError, ApiUnreachableError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { applyObject } from './apply-object.ts';
import type { ManagedObject, ManagedObjects } from './managed-objects.ts';
import { isJson } from './merge-values.ts';
import type { RenderedGateway } from './render-gateway.ts';
import type { RenderedObject } from './rendered-object.ts';

/** An object as it was after we last wrote it. */
interface AppliedObject {
  readonly desired: KubernetesObject;
  /** The same text for equal desired objects. */
  readonly text: string;
  readonly uid: string | undefined;
  readonly fingerprint: string;
}

/** Why a Gateway is not deployed as configured. */
export interface DeployProblem {
  /** For the owner of the Gateway. */
  readonly message: string;
  /** Set: everything is deployed, but an address that the Gateway requests is not available. */
  readonly about?: 'addresses';
  /** Set: worth an Event with this reason. */
  readonly eventReason?: 'NotOwned' | 'DeployFailed';
  /** The API server does not answer or fails, or the namespace is being deleted; reported only if that lasts. */
  readonly isTransient?: boolean;
}

/** The result of a turn. */
interface DeployTurn {
  readonly problems: readonly DeployProblem[];
  /** Whether another turn may succeed. */
  readonly retry: boolean;
  /** The Retry-After of the API server. */
  readonly retryAfterSeconds: number | undefined;
}

interface DeployTurnOptions {
  readonly client: KubernetesClient;
  readonly managed: ManagedObjects;
  readonly signal: AbortSignal;
}

/** The state of a Gateway's deployment between turns. */
export class GatewayDeployment {
  readonly plan: GatewayPlan;
  readonly rendered: RenderedGateway;
  readonly #applied: Map<string, AppliedObject>;
  /** Objects as the watch delivered them during a turn; compared when the turn ends. */
  readonly #seen = new Map<string, KubernetesObject>();
  #isWorking = false;

  /** Takes over what was applied for the previous plan, if that was for the same Gateway. */
  constructor(plan: GatewayPlan, rendered: RenderedGateway, before: GatewayDeployment | undefined) {
    this.plan = plan;
    this.rendered = rendered;
    const isSame = before?.plan.gateway.metadata.uid === plan.gateway.metadata.uid;
    this.#applied = isSame && before !== undefined ? before.#applied : new Map();
  }

  /** Whether a changed object needs a turn: it drifted, was created anew, or is a leftover. */
  noteChange(object: ManagedObject, live: KubernetesObject): boolean {
    if (!this.#owns(object)) return false;
    const key = formatKey(object);
    if (this.#isWorking) this.#seen.set(key, live);
    const applied = this.#applied.get(key);
    if (applied === undefined) return this.#isLeftover(object) && live.metadata.deletionTimestamp === undefined;
    return this.#noteDrift(key, applied, live);
  }

  /** Whether a deleted object needs a turn: it is desired, or had a name that we need. */
  noteGone(object: ManagedObject): boolean {
    const key = formatKey(object);
    if (this.#owns(object)) {
      this.#applied.delete(key);
      this.#seen.delete(key);
    }
    return this.#listDesired().some((desired) => formatKey(desired) === key);
  }

  /** One turn. Never rejects, unless it is aborted. */
  async deploy(options: DeployTurnOptions): Promise<DeployTurn> {
    const { rendered } = this;
    if (!rendered.ok) return { problems: [{ message: rendered.problem }], retry: false, retryAfterSeconds: undefined };
    this.#isWorking = true;
    const failures = new Failures(options.signal);
    for (const message of rendered.problems) failures.problems.push({ message, about: 'addresses' });
    try {
      for (const object of rendered.objects)
        await failures.catch(() => this.#applyOne(object, rendered.isAutoscaled, options, failures));
      if (options.managed.isSynced)
        for (const object of this.#listLeftovers(options.managed))
          await failures.catch(() => options.client.delete(object.type, object, { uid: object.uid }, options.signal));
    } finally {
      this.#isWorking = false;
      for (const [key, live] of this.#seen) {
        const applied = this.#applied.get(key);
        if (applied !== undefined && this.#noteDrift(key, applied, live)) failures.retry = true;
      }
      this.#seen.clear();
    }
    return failures;
  }

  async #applyOne(
    rendered: RenderedObject,
    isAutoscaled: boolean,
    { client, signal }: DeployTurnOptions,
    failures: Failures,
  ): Promise<void> {
    const key = formatKey(rendered);
    const text = JSON.stringify(rendered.object);
    if (this.#applied.get(key)?.text === text) return;
    this.#applied.delete(key);
    const { name, uid = '' } = this.plan.gateway.metadata;
    const outcome = await applyObject(rendered, { client, owner: { name, uid }, isAutoscaled, signal });
    if (outcome.kind !== 'applied') {
      failures.retry = true;
      failures.problems.push({
        message: outcome.message,
        ...(outcome.kind === 'foreign' && { eventReason: 'NotOwned' }),
      });
      return;
    }
    const desired = rendered.object;
    const fingerprint = fingerprintFields(outcome.object, desired);
    this.#applied.set(key, { desired, text, uid: outcome.object.metadata.uid, fingerprint });
  }

  #noteDrift(key: string, applied: AppliedObject, live: KubernetesObject): boolean {
    const isSame =
      applied.uid === live.metadata.uid && applied.fingerprint === fingerprintFields(live, applied.desired);
    if (isSame || this.#isWorking) return false;
    this.#applied.delete(key);
    return true;
  }

  #owns({ owner }: ManagedObject): boolean {
    return owner.uid === this.plan.gateway.metadata.uid;
  }

  #listDesired(): readonly RenderedObject[] {
    return this.rendered.ok ? this.rendered.objects : [];
  }

  #isLeftover(object: ManagedObject): boolean {
    const { rendered } = this;
    if (!rendered.ok || rendered.untouched.includes(object.type.kind)) return false;
    return !rendered.objects.some((desired) => formatKey(desired) === formatKey(object));
  }

  #listLeftovers(managed: ManagedObjects): readonly ManagedObject[] {
    const { gateway } = this.plan;
    return managed.listOf(gateway.metadata).filter((object) => this.#owns(object) && this.#isLeftover(object));
  }
}

/** The failures of a turn. One object that fails does not stop the others; an API server that does not answer ends the turn. */
class Failures implements DeployTurn {
  readonly problems: DeployProblem[] = [];
  readonly #signal: AbortSignal;
  #isUnreachable = false;
  retry = false;
  retryAfterSeconds: number | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  async catch(work: () => Promise<void>): Promise<void> {
    if (this.#isUnreachable || this.#signal.aborted) return;
    try {
      await work();
    } catch (error) {
      if (this.#signal.aborted) return;
      if (!(error instanceof ApiError || error instanceof ApiUnreachableError)) throw error;
      this.retry = true;
      const status = error instanceof ApiError ? error.status : undefined;
      this.retryAfterSeconds = status?.retryAfterSeconds;
      this.#isUnreachable = status === undefined;
      const isTransient =
        status === undefined || status.code === 429 || status.code >= 500 || status.isNamespaceTerminating === true;
      this.problems.push({
        message: error.message,
        isTransient,
        ...(status !== undefined && { eventReason: 'DeployFailed' }),
      });
    }
  }
}

function formatKey(object: RenderedObject | ManagedObject): string {
  const name = 'object' in object ? object.object.metadata.name : object.name;
  return `${object.type.kind}/${name}`;
}

/**
 * A different fingerprint means that someone changed our fields: of the fields that `desired` has, with the values of `live`. Lists count as a whole: the API server adds the same defaults each time.
 * Statuses, versions and fields of other managers do not count.
 */
function fingerprintFields(live: unknown, desired: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(project(live, desired)))
    .digest('base64');
}

function project(live: unknown, desired: unknown): unknown {
  if (!isJson(desired) || !isJson(live)) return live ?? null;
  return Object.keys(desired)
    .toSorted()
    .map((key) => [key, project(live[key], desired[key])]);
}
