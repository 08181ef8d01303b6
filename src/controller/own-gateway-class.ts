// Reconciles the GatewayClass `proxy`: creates it when it is missing, and sets its parametersRef as the flags say. A class of that name that belongs to
// another controller is left alone. Only the leader does this.
import { controllerName } from '../api/gateway-class.ts';
import type { Resources } from '../api/resources.ts';
import { findBackoffDelay } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import type { EventRecorder } from '../kubernetes/events.ts';
import { formatApiVersion, resourceTypes } from '../kubernetes/resource-type.ts';
import { type WorkOutcome, WorkQueue } from './work-queue.ts';

/** The name of the class. */
const className = 'proxy';

/** The GatewayParameters of the class. */
export interface ClassParametersReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

interface GatewayClassKeeperOptions {
  readonly client: Pick<KubernetesClient, 'apply'>;
  readonly log: Log;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Undefined: parametersRef is not applied, and a value that someone else has set stays. */
  readonly parameters: ClassParametersReference | undefined;
}

/** The class as last read. */
interface SeenClass {
  readonly uid: string | undefined;
  readonly controllerName: unknown;
  readonly description: unknown;
  readonly parametersRef: unknown;
}

const description = 'Gateways that put OAuth 2.0 in front of MCP servers';

/** A class that is not seen for this long after its creation was deleted at once. */
const unseenMs = 5_000;

/** Reconciles the class while this replica leads. */
export class GatewayClassKeeper {
  readonly #options: GatewayClassKeeperOptions;
  readonly #queue: WorkQueue;
  #seen: SeenClass | undefined;
  #hasLooked = false;
  #isStarted = false;
  /** The uid of the class that was applied in this term. Each term applies once, so that fields that we no longer set are removed. */
  #written: string | undefined;
  /** When the class was created; undefined again once the watch has seen it. */
  #createdAt: number | undefined;
  #told: string | undefined;

  constructor(options: GatewayClassKeeperOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      concurrency: 1,
      clock: options.clock,
      random: options.random,
      run: (_key, failures, signal) => this.#write(failures, signal),
      onBug: (_key, error) => options.log.error({ err: error }, 'reconciling the GatewayClass failed'),
    });
  }

  /** Called with all resources whenever they changed. */
  look(resources: Resources): void {
    this.#seen = findClass(resources);
    if (this.#seen !== undefined) this.#createdAt = undefined;
    this.#hasLooked = true;
    this.#check();
  }

  start(): void {
    this.#isStarted = true;
    this.#written = undefined;
    this.#createdAt = undefined;
    if (this.#hasLooked) this.#check();
  }

  async stop(): Promise<void> {
    this.#isStarted = false;
    await this.#queue.clear();
  }

  #check(): void {
    if (!this.#isStarted) return;
    if (this.#seen !== undefined && this.#seen.controllerName !== controllerName) this.#tell(this.#seen);
    else if (this.#needsWriting()) this.#queue.add(className);
  }

  #needsWriting(): boolean {
    const seen = this.#seen;
    const { parameters, clock } = this.#options;
    if (seen === undefined) return this.#createdAt === undefined || clock.now() - this.#createdAt >= unseenMs;
    if (seen.uid !== this.#written || seen.description !== description) return true;
    return parameters !== undefined && !isSameReference(seen.parametersRef, parameters);
  }

  #tell({ uid, controllerName: other }: SeenClass): void {
    const key = `${uid}/${String(other)}`;
    if (this.#told === key) return;
    this.#told = key;
    const note = `GatewayClass ${className} belongs to ${String(other)}: Gateways of this class are not served by ${controllerName}. Delete it, and this controller creates its own; or use a class of another name with controllerName ${controllerName}.`;
    this.#options.log.error({ class: className, controller: other }, note);
    this.#options.events.record({
      subject: { apiVersion: formatApiVersion(resourceTypes.GatewayClass), kind: 'GatewayClass', name: className, uid },
      type: 'Warning',
      reason: 'NotOwned',
      action: 'Own',
      note,
    });
  }

  async #write(failures: number, signal: AbortSignal): Promise<WorkOutcome> {
    const seen = this.#seen;
    if (!this.#isStarted || !this.#needsWriting() || (seen !== undefined && seen.controllerName !== controllerName))
      return { done: true };
    const { client, log, parameters, clock } = this.#options;
    const object: KubernetesObject = {
      apiVersion: formatApiVersion(resourceTypes.GatewayClass),
      kind: 'GatewayClass',
      metadata: { name: className, ...(seen?.uid === undefined ? {} : { uid: seen.uid }) },
      spec: { controllerName, description, ...(parameters === undefined ? {} : { parametersRef: parameters }) },
    };
    try {
      // A missing class is created without force: a class that another controller has just created must not be taken over.
      const written = await client.apply(resourceTypes.GatewayClass, object, { force: seen !== undefined }, signal);
      this.#written = written.metadata.uid;
      if (seen === undefined) {
        this.#createdAt = clock.now();
        clock.setTimer(() => this.#check(), unseenMs);
      }
      log.info({ class: className }, seen === undefined ? 'created the GatewayClass' : 'updated the GatewayClass');
      return { done: true };
    } catch (error) {
      if (signal.aborted) return { done: true };
      const reason = error instanceof ApiError ? error.status.reason : '';
      // The watch will deliver the current object.
      const isRace = reason === 'Conflict' || reason === 'AlreadyExists';
      if (!isRace && (failures === 0 || failures % 10 === 0))
        log.warn(
          { class: className, reason: error instanceof Error ? error.message : String(error) },
          'the GatewayClass could not be written; it is tried again',
        );
      return { done: false, afterMs: findBackoffDelay(failures, { firstMs: 500, maxMs: 30_000 }) };
    }
  }
}

function findClass({ gatewayClasses, invalid }: Resources): SeenClass | undefined {
  const found = gatewayClasses.find(({ metadata }) => metadata.name === className);
  const raw: unknown = found ?? invalid.find(({ kind, name }) => kind === 'GatewayClass' && name === className)?.raw;
  if (raw === undefined) return undefined;
  const uid = readMember(readMember(raw, 'metadata'), 'uid');
  const spec = readMember(raw, 'spec');
  return {
    uid: typeof uid === 'string' ? uid : undefined,
    controllerName: readMember(spec, 'controllerName'),
    description: readMember(spec, 'description'),
    parametersRef: readMember(spec, 'parametersRef'),
  };
}

function isSameReference(seen: unknown, wanted: ClassParametersReference): boolean {
  return (['group', 'kind', 'name', 'namespace'] as const).every((field) => readMember(seen, field) === wanted[field]);
}

function readMember(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
