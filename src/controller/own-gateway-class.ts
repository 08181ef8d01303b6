// Keeps the GatewayClass `proxy` as it is to be: made when it is not there, its parametersRef as the flags say. A class of that name which belongs to
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

/** Which GatewayParameters the class has. */
export interface ClassParametersReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

export interface GatewayClassKeeperOptions {
  readonly client: Pick<KubernetesClient, 'apply'>;
  readonly log: Log;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Undefined: we say nothing about it, and what somebody else has set stays. */
  readonly parameters: ClassParametersReference | undefined;
}

/** What was read of the class. */
interface SeenClass {
  readonly uid: string | undefined;
  readonly controllerName: unknown;
  readonly description: unknown;
  readonly parametersRef: unknown;
}

const description = 'Gateways that put OAuth 2.0 in front of MCP servers';

/** One that is not seen for so long after it was made was deleted in the same moment. */
const unseenMs = 5_000;

/** Looks after the class while this replica leads. */
export class GatewayClassKeeper {
  readonly #options: GatewayClassKeeperOptions;
  readonly #queue: WorkQueue;
  #seen: SeenClass | undefined;
  #hasLooked = false;
  #isStarted = false;
  /** Of the class that was written in this term: what we said earlier and do not say any more is taken back once. */
  #written: string | undefined;
  /** When it was made, until it has been seen: what was read before that is old. */
  #madeAt: number | undefined;
  #told: string | undefined;

  constructor(options: GatewayClassKeeperOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      concurrency: 1,
      clock: options.clock,
      random: options.random,
      run: (_key, failures, signal) => this.#write(failures, signal),
      onMistake: (_key, error) => options.log.error({ err: error }, 'the GatewayClass could not be looked after'),
    });
  }

  /** Called with everything that was read, whenever it changed. */
  look(resources: Resources): void {
    this.#seen = findClass(resources);
    if (this.#seen !== undefined) this.#madeAt = undefined;
    this.#hasLooked = true;
    this.#check();
  }

  start(): void {
    this.#isStarted = true;
    this.#written = undefined;
    this.#madeAt = undefined;
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
    if (seen === undefined) return this.#madeAt === undefined || clock.now() - this.#madeAt >= unseenMs;
    if (seen.uid !== this.#written || seen.description !== description) return true;
    return parameters !== undefined && !isSameReference(seen.parametersRef, parameters);
  }

  #tell({ uid, controllerName: other }: SeenClass): void {
    const key = `${uid}/${String(other)}`;
    if (this.#told === key) return;
    this.#told = key;
    const note = `GatewayClass ${className} belongs to ${String(other)}: Gateways of this class are not served by ${controllerName}. Delete it to have ours made, or use a class of another name with controllerName ${controllerName}.`;
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
      // One that is not there is made without force: somebody else's that came a moment ago must not be taken over.
      const written = await client.apply(resourceTypes.GatewayClass, object, { force: seen !== undefined }, signal);
      this.#written = written.metadata.uid;
      if (seen === undefined) {
        this.#madeAt = clock.now();
        clock.setTimer(() => this.#check(), unseenMs);
      }
      log.info(
        { class: className },
        seen === undefined ? 'made the GatewayClass' : 'the GatewayClass is as it is to be',
      );
      return { done: true };
    } catch (error) {
      if (signal.aborted) return { done: true };
      const reason = error instanceof ApiError ? error.status.reason : '';
      // The next look shows what is there.
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
