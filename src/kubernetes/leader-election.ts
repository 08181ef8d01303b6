// Leader election with a Lease (coordination.k8s.io), by the rules of client-go, so that the usual tools work. Clocks of
// different machines are never compared: a Lease has expired when this process has not seen it change for its duration.
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type ReadonlyWatchable, Watchable } from '../base/watchable.ts';
import { ApiError, type KubernetesClient, type KubernetesObject } from './client.ts';
import {
  annotateHolding,
  type Candidate,
  describeHolding,
  describeLeader,
  describeQuestion,
  describeRelease,
  formatSpec,
  isPromised,
  type Leader,
  type LeaseSpec,
  mayAskFor,
  readSpec,
  wantedByAnnotation,
} from './lease.ts';
import { formatApiVersion, resourceTypes } from './resource-type.ts';

export { leaderAddressAnnotation, type Leader } from './lease.ts';

/** Milliseconds. */
export interface LeaseTimes {
  /** How long others wait for a renewal before they take over. */
  readonly leaseDuration: number;
  /** How long the leader goes on without a successful renewal. Shorter, so that there are never two leaders. */
  readonly renewDeadline: number;
  readonly retryPeriod: number;
}

const defaultLeaseTimes: LeaseTimes = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 };

interface LeaderElectionOptions {
  readonly client: Pick<KubernetesClient, 'get' | 'create' | 'replace' | 'watch'>;
  readonly log: Log;
  readonly namespace: string;
  /** Of the Lease. */
  readonly name: string;
  /** The pod's name: a container that was restarted in its pod is the same replica. */
  readonly identity: string;
  /** The address for other replicas; undefined: there is none that they could reach. */
  readonly address: string | undefined;
  readonly clock: Clock;
  /** Milliseconds of a monotonic clock: measures how long we wait for others. It may stand still while the machine is suspended. */
  readonly monotonic: () => number;
  /** Milliseconds including suspension: measures how long we may consider ourselves the leader. See elapsed-time.ts. */
  readonly elapsed: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  /** Whether this replica can do the work of a leader; undefined: always. One that cannot leads only while no other replica asks for the Lease. */
  readonly isFit?: ReadonlyWatchable<boolean>;
  readonly times?: LeaseTimes;
}

/** The leader, as far as this replica knows. */
export type Leadership =
  | { readonly role: 'leader' }
  | { readonly role: 'follower'; readonly leader: Leader | undefined };

const releaseTimeoutMs = 2_000;
/** How long `stop` waits for a write in flight. */
const lastWriteMs = 1_000;

/** Takes part in the election until it is stopped. */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #times: LeaseTimes;
  readonly #leadership = new Watchable<Leadership>({ role: 'follower', leader: undefined }, equalLeadership);
  readonly #abort = new AbortController();
  /** Aborts writes. They may outlast `stop` briefly: the server may execute an aborted write all the same. */
  readonly #abortWrites = new AbortController();
  readonly #running: Promise<void>;
  readonly #unsubscribe: (() => void) | undefined;
  /** The Lease as last seen, and when it was first seen like this. */
  #lease: { readonly object: KubernetesObject; readonly since: number } | undefined;
  /** When the last successful renewal was sent, by `elapsed`. */
  #renewedAt = 0;
  #term: number | undefined;
  /** The Lease is in our name, or a write was sent that may have made it so. */
  #mayHold = false;
  #stopDeadline: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #isWatching = false;
  #lastProblem: string | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#times = options.times ?? defaultLeaseTimes;
    this.#unsubscribe = options.isFit?.subscribe(() => this.#wake?.());
    this.#running = this.#run();
  }

  get leadership(): ReadonlyWatchable<Leadership> {
    return this.#leadership;
  }

  /** Whether this replica may act as the leader at this moment; also correct after the process was paused or the machine suspended. */
  isLeading(): boolean {
    return (
      this.#leadership.get().role === 'leader' && this.#options.elapsed() - this.#renewedAt < this.#times.renewDeadline
    );
  }

  /**
   * How often the Lease had changed hands when this replica last acquired it; undefined: it never did. If it is the same after a time without a leader, no
   * other replica has led meanwhile.
   */
  get term(): number | undefined {
    return this.#term;
  }

  /** Steps down and releases the Lease, so that another replica can acquire it at once. */
  async stop(): Promise<void> {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    this.#unsubscribe?.();
    AbortSignal.timeout(lastWriteMs).addEventListener('abort', () => this.#abortWrites.abort(), { once: true });
    this.#wake?.();
    await this.#running;
    this.#stepDown();
    if (this.#mayHold) await this.#release();
  }

  async #run(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      try {
        await this.#acquireOrRenew();
        this.#lastProblem = undefined;
      } catch (error) {
        this.#report(error);
      }
      if (!this.#abort.signal.aborted) await this.#sleep(this.#chooseDelay());
    }
  }

  #report(error: unknown): void {
    if (this.#abort.signal.aborted) return;
    const message = error instanceof Error ? error.message : String(error);
    // Two replicas that try at the same time: the conflict of one of them is expected.
    const isRace = error instanceof ApiError && ['Conflict', 'AlreadyExists'].includes(error.status.reason);
    if (isRace || message === this.#lastProblem) return;
    this.#lastProblem = message;
    this.#options.log.warn(
      { lease: this.#options.name, reason: message },
      'the leader election lease cannot be read or written',
    );
  }

  #chooseDelay(): number {
    const { retryPeriod } = this.#times;
    if (this.#leadership.get().role === 'leader') return retryPeriod;
    const delay = retryPeriod * (1 + this.#options.random() * 1.2);
    const remaining = this.#lease === undefined ? delay : this.#remainingMs(this.#lease);
    // Right after it expires, with jitter.
    return remaining > 0 ? Math.min(delay, remaining + this.#options.random() * 200) : delay;
  }

  #remainingMs({ object, since }: { readonly object: KubernetesObject; readonly since: number }): number {
    const { leaseDurationSeconds = 0 } = readSpec(object);
    return since + leaseDurationSeconds * 1_000 - this.#options.monotonic();
  }

  async #acquireOrRenew(): Promise<void> {
    const { client, namespace, name, identity } = this.#options;
    const startedAt = this.#options.elapsed();
    const wasLeading = this.#leadership.get().role === 'leader';
    if (wasLeading && this.#lease !== undefined) {
      try {
        await this.#put(this.#lease.object, startedAt);
        return;
      } catch (error) {
        // Another writer changed the Lease. That is no loss yet: its present holder decides.
        if (!(error instanceof ApiError) || !['Conflict', 'NotFound'].includes(error.status.reason)) throw error;
      }
    }
    let current: KubernetesObject;
    try {
      current = await this.#call((signal) => client.get(resourceTypes.Lease, { namespace, name }, signal));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status.reason !== 'NotFound') throw error;
      await this.#create(startedAt);
      return;
    }
    this.#observe(current);
    const { holderIdentity = '' } = readSpec(current);
    const isReserved = isPromised(current, this.#self);
    if (isReserved && holderIdentity === identity) return this.#yield(current);
    const isOthers = isReserved || (holderIdentity !== '' && holderIdentity !== identity);
    if (isOthers && this.#remainingMs(this.#lease!) > 0) {
      this.#stepDown();
      this.#follow();
      if (mayAskFor(current, this.#self)) await this.#askFor(current);
    } else {
      await this.#put(current, startedAt);
    }
  }

  async #create(startedAt: number): Promise<void> {
    const { client, namespace, name } = this.#options;
    const object: KubernetesObject = {
      apiVersion: formatApiVersion(resourceTypes.Lease),
      kind: 'Lease',
      metadata: { name, namespace, annotations: annotateHolding({}, this.#self) },
      spec: this.#hold(undefined),
    };
    this.#lead(await this.#write((signal) => client.create(resourceTypes.Lease, object, signal)), startedAt);
  }

  /** Writes our identity into the Lease, with the version that was seen as the precondition. */
  async #put(seen: KubernetesObject, startedAt: number): Promise<void> {
    const { client } = this.#options;
    const object: KubernetesObject = {
      ...seen,
      metadata: { ...seen.metadata, annotations: annotateHolding(seen.metadata.annotations ?? {}, this.#self) },
      spec: this.#hold(seen),
    };
    this.#lead(await this.#write((signal) => client.replace(resourceTypes.Lease, object, signal)), startedAt);
  }

  #hold(seen: KubernetesObject | undefined): LeaseSpec {
    const { identity, clock } = this.#options;
    return describeHolding(seen, identity, this.#times.leaseDuration, clock.now());
  }

  get #self(): Candidate {
    const { identity, address, isFit } = this.#options;
    return { identity, address, isFit: isFit?.get() ?? true };
  }

  /** Asks an unfit leader for the Lease: its next renewal conflicts with this, and it reads who asked. */
  async #askFor(seen: KubernetesObject): Promise<void> {
    const { client, log } = this.#options;
    const question = describeQuestion(seen, this.#self);
    this.#observe(await this.#call((signal) => client.replace(resourceTypes.Lease, question, signal)));
    log.info({ leader: readSpec(seen).holderIdentity }, 'the leader cannot serve gateways; asked it for the lease');
  }

  /** Gives the Lease to the replica that asked for it. It is reserved for fit replicas for as long as a leader is waited for. */
  async #yield(seen: KubernetesObject): Promise<void> {
    const { client, log } = this.#options;
    this.#stepDown();
    const released = describeRelease(seen, this.#times.leaseDuration, this.#options.clock.now());
    this.#observe(await this.#write((signal) => client.replace(resourceTypes.Lease, released, signal)));
    log.warn(
      { to: seen.metadata.annotations?.[wantedByAnnotation] },
      'this replica cannot serve gateways; it gave the lease to one that can',
    );
    this.#follow();
  }

  #lead(lease: KubernetesObject, startedAt: number): void {
    this.#lease = { object: lease, since: this.#options.monotonic() };
    this.#term = readSpec(lease).leaseTransitions ?? 0;
    if (this.#abort.signal.aborted) return;
    this.#renewedAt = startedAt;
    this.#stopDeadline?.();
    const left = startedAt + this.#times.renewDeadline - this.#options.elapsed();
    this.#stopDeadline = this.#options.clock.setTimer(() => this.#giveUp(), left);
    if (this.#leadership.set({ role: 'leader' }))
      this.#options.log.info({ lease: this.#options.name, identity: this.#options.identity }, 'this replica leads');
  }

  #giveUp(): void {
    this.#options.log.warn(
      { lease: this.#options.name, seconds: this.#times.renewDeadline / 1_000 },
      'the lease could not be renewed in time; this replica does not lead any more',
    );
    this.#stepDown();
  }

  #stepDown(): void {
    this.#stopDeadline?.();
    this.#stopDeadline = undefined;
    const holder = this.#lease === undefined ? undefined : describeLeader(this.#lease.object);
    const leader = holder?.identity === this.#options.identity ? undefined : holder;
    const wasLeading = this.#leadership.get().role === 'leader';
    if (!this.#leadership.set({ role: 'follower', leader })) return;
    if (leader !== undefined) this.#options.log.info({ leader: leader.identity }, 'another replica leads');
    else if (wasLeading) this.#options.log.info({}, 'this replica does not lead any more');
  }

  /** A Lease that has changed starts its duration anew. */
  #observe(object: KubernetesObject): void {
    this.#mayHold = readSpec(object).holderIdentity === this.#options.identity;
    const isSame = this.#lease !== undefined && formatSpec(this.#lease.object) === formatSpec(object);
    this.#lease = { object, since: isSame ? this.#lease!.since : this.#options.monotonic() };
  }

  /** Watches the Lease while another replica holds it: a released Lease is acquired at once, not with the next poll. */
  #follow(): void {
    if (this.#isWatching || this.#lease === undefined) return;
    this.#isWatching = true;
    void this.#watch(this.#lease.object.metadata.resourceVersion ?? '').finally(() => (this.#isWatching = false));
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { client, namespace, name, identity, log } = this.#options;
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#abort.signal]);
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    try {
      for await (const event of client.watch(resourceTypes.Lease, scope, resourceVersion, signal)) {
        if (this.#leadership.get().role === 'leader' || event.type === 'ERROR') return;
        if (event.type === 'BOOKMARK') continue;
        this.#observe(event.object);
        const holder = event.type === 'DELETED' ? '' : (readSpec(event.object).holderIdentity ?? '');
        if (holder === '' || holder === identity) {
          this.#wake?.();
          return;
        }
        this.#stepDown();
        if (mayAskFor(event.object, this.#self)) this.#wake?.();
      }
    } catch (error) {
      // Polling goes on, and starts the watch again.
      if (!signal.aborted) log.debug({ err: error }, 'the watch of the lease ended');
    } finally {
      stop.abort();
    }
  }

  async #release(): Promise<void> {
    const { client, log, namespace, name, identity, clock } = this.#options;
    const signal = AbortSignal.timeout(releaseTimeoutMs);
    try {
      for (;;) {
        signal.throwIfAborted();
        // Read again: a renewal in flight may have been written, or may be written only now.
        const seen = await client.get(resourceTypes.Lease, { namespace, name }, signal);
        if (readSpec(seen).holderIdentity !== identity) return;
        const isReleased = await client
          .replace(resourceTypes.Lease, describeRelease(seen, 1_000, clock.now()), signal)
          .then(
            () => true,
            (error: unknown) => {
              if (error instanceof ApiError && error.status.reason === 'Conflict') return false;
              throw error;
            },
          );
        if (isReleased) break;
      }
      log.info({ lease: name }, 'released the lease');
    } catch (error) {
      log.warn({ err: error, lease: name }, 'the lease could not be released; it expires by itself');
    }
  }

  async #write<T>(write: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#abort.signal.throwIfAborted();
    this.#mayHold = true;
    return this.#call(write, this.#abortWrites.signal);
  }

  /** A call that takes longer than half of the deadline has failed. */
  async #call<T>(call: (signal: AbortSignal) => Promise<T>, stop: AbortSignal = this.#abort.signal): Promise<T> {
    const late = new AbortController();
    const timeoutMs = this.#times.renewDeadline / 2;
    const reason = new Error(`no answer from the API server within ${timeoutMs / 1_000} s`);
    const stopTimer = this.#options.clock.setTimer(() => late.abort(reason), timeoutMs);
    try {
      return await call(AbortSignal.any([late.signal, stop]));
    } finally {
      stopTimer();
    }
  }

  #sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        stopTimer();
        this.#wake = undefined;
        resolve();
      };
      const stopTimer = this.#options.clock.setTimer(end, delayMs);
      this.#wake = end;
    });
  }
}

function equalLeadership(left: Leadership, right: Leadership): boolean {
  if (left.role === 'leader' || right.role === 'leader') return left.role === right.role;
  return left.leader?.identity === right.leader?.identity && left.leader?.address === right.leader?.address;
}
