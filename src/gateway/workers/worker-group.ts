// The workers of a gateway: starts them, keeps them up to date, replaces those that end, and ends all together.
import { findBackoffDelay } from '../../base/backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Configuration } from '../../ir/configuration.ts';
import { CallChannel } from './call-channel.ts';
import { ConfigurationSender, ConfigurationText, MessageNumbers } from './configuration-relay.ts';
import { addDeparted, type CountedExposition } from './sum-expositions.ts';
import type { SupervisorCalls, WorkerCalls, WorkerReport, WorkerSettings } from './worker-calls.ts';

/** How a process ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A process that was started. */
interface WorkerProcess {
  readonly pid: number | undefined;
  send(message: unknown): void;
  kill(): void;
  readonly ended: Promise<WorkerEnd>;
}

/** Starts a process. Its messages go to `receive`. */
export type StartWorkerProcess = (receive: (message: unknown) => void) => WorkerProcess;

/** One worker, as long as it lives. */
interface Worker {
  /** From 1 on; the one that replaces it has the same. */
  readonly number: number;
  readonly pid: number | undefined;
  readonly channel: Pick<CallChannel<WorkerCalls, SupervisorCalls>, 'ask' | 'tell'>;
}

interface WorkerGroupOptions {
  readonly count: number;
  readonly log: Log;
  readonly startProcess: StartWorkerProcess;
  readonly describeSettings: (number: number) => WorkerSettings;
  /** What this worker may ask. */
  readonly offer: (worker: object) => Omit<SupervisorCalls, 'sayGoodbye'>;
  /** Sends a new worker the state that all others have. */
  readonly greet: (channel: Worker['channel']) => void;
  /** `serving`: how many workers take requests now. */
  readonly onChange: (serving: number) => void;
  readonly onEnd: (worker: object) => void;
}

/** Workers cannot be started. */
export class WorkerStartError extends Error {
  readonly code = 'worker_start';
}

/** A worker that lived this long started well: its restart has no backoff. */
const longLifeMs = 30_000;
/** The backoff for a worker that keeps ending soon. The first restart comes at once. */
const restartBackoff = { firstMs: 100, maxMs: 10_000 };
/** A worker that does not apply a configuration in this time would keep the old one: it is ended. */
const applyTimeoutMs = 60_000;
/** For pages that ask all workers. */
const askTimeoutMs = 2_000;
/** A worker that is not done by then is busy; the others do not wait for it. */
const stopTimeoutMs = 1_000;
/** What a worker needs to end after the time for its streams. */
const goodbyeMs = 3_000;

interface Entry extends Worker {
  readonly channel: CallChannel<WorkerCalls, SupervisorCalls>;
  readonly process: WorkerProcess;
  readonly sender: ConfigurationSender;
  readonly startedAt: number;
  isStarted: boolean;
  isServing: boolean;
  /** The last that it has told. */
  metrics: string;
}

/** All workers. */
export class WorkerGroup {
  readonly #options: WorkerGroupOptions;
  readonly #numbers = new MessageNumbers();
  readonly #workers = new Map<number, Entry>();
  /** How often in a row the worker of a number was replaced after a short life. */
  readonly #restarts = new Map<number, number>();
  #current: { readonly text: ConfigurationText; readonly blockedPorts: readonly string[] } | undefined;
  #departed: CountedExposition = new Map();
  #isUp = false;
  #isEnding = false;

  constructor(options: WorkerGroupOptions) {
    this.#options = options;
  }

  /** How many take requests now. */
  get serving(): number {
    return [...this.#workers.values()].filter(({ isServing }) => isServing).length;
  }

  /** Resolves when all workers are ready for a configuration; rejects when one of them cannot be started. */
  async start(): Promise<void> {
    const numbers = Array.from({ length: this.#options.count }, (_, index) => index + 1);
    try {
      await Promise.all(numbers.map((number) => this.#startWorker(number)));
    } catch (error) {
      this.killAll();
      throw new WorkerStartError(`The workers cannot be started: ${String(error)}`, { cause: error });
    }
    this.#isUp = true;
  }

  /** Resolves when every worker that takes requests has it. One that is replaced meanwhile gets it before it takes any. */
  async apply(configuration: Configuration, blockedPorts: readonly string[]): Promise<readonly WorkerReport[]> {
    this.#current = { text: new ConfigurationText(configuration, this.#numbers), blockedPorts };
    const started = [...this.#workers.values()].filter(({ isStarted }) => isStarted);
    const reports = await Promise.all(started.map((worker) => this.#applyTo(worker)));
    return reports.filter((report) => report !== undefined);
  }

  /** Tells all of them. */
  tell: CallChannel<WorkerCalls, SupervisorCalls>['tell'] = (name, payload) => {
    for (const { channel } of this.#workers.values()) channel.tell(name, payload);
  };

  /** The journals of all workers; those that do not answer soon are left out. */
  listRequests(): Promise<Awaited<ReturnType<WorkerCalls['listRequests']>>[]> {
    return this.#collect((channel) => channel.ask('listRequests', undefined));
  }

  /** The health of endpoints, as every worker sees it; those that do not answer soon are left out. */
  listEndpoints(): Promise<Awaited<ReturnType<WorkerCalls['listEndpoints']>>[]> {
    return this.#collect((channel) => channel.ask('listEndpoints', undefined));
  }

  /** How the servers of federations are, as every worker sees them; those that do not answer soon are left out. */
  listFederations(): Promise<Awaited<ReturnType<WorkerCalls['listFederations']>>[]> {
    return this.#collect((channel) => channel.ask('listFederations', undefined));
  }

  /** The metrics of every worker (the last known ones if it does not answer soon), and the counts of workers that have ended. */
  async readMetrics(): Promise<{ readonly texts: readonly string[]; readonly departed: CountedExposition }> {
    await Promise.all(
      [...this.#workers.values()].map(async (worker) => {
        const asked = withTimeout(worker.channel.ask('readMetrics', undefined), askTimeoutMs);
        worker.metrics = await asked.catch(() => worker.metrics);
      }),
    );
    return { texts: [...this.#workers.values()].map(({ metrics }) => metrics), departed: this.#departed };
  }

  /** Open connections by worker, as of the last metrics. */
  listConnections(): Record<string, number> {
    return Object.fromEntries(
      [...this.#workers.values()].map(({ number, metrics }) => [
        String(number),
        Number(/^mcp_gateway_connections (\d+)$/m.exec(metrics)?.[1] ?? 0),
      ]),
    );
  }

  /** Lets what is in progress end, as one process would; resolves when no worker is left. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    await Promise.all(
      [...this.#workers.values()].map(({ channel }) =>
        withTimeout(channel.ask('stopAccepting', undefined), stopTimeoutMs).catch(() => undefined),
      ),
    );
    await Promise.all(
      [...this.#workers.values()].map(async ({ channel, process }) => {
        channel.tell('drain', timeoutMs);
        await withTimeout(process.ended, timeoutMs + goodbyeMs).catch(() => process.kill());
        await process.ended;
      }),
    );
  }

  /** Ends them at once. */
  killAll(): void {
    this.#isEnding = true;
    for (const { process } of this.#workers.values()) process.kill();
  }

  async #collect<T>(ask: (channel: Entry['channel']) => Promise<T>): Promise<T[]> {
    const answers = [...this.#workers.values()].map(({ channel }) =>
      withTimeout(ask(channel), askTimeoutMs).catch(() => undefined),
    );
    return (await Promise.all(answers)).filter((answer) => answer !== undefined);
  }

  async #startWorker(number: number): Promise<void> {
    const { log, startProcess, describeSettings, offer, greet } = this.#options;
    const token = {};
    let receive = (_message: unknown): void => {};
    const process = startProcess((message) => receive(message));
    const channel = new CallChannel<WorkerCalls, SupervisorCalls>(process, {
      ...offer(token),
      sayGoodbye: (metrics) => {
        worker.metrics = metrics;
      },
    });
    receive = (message) => channel.receive(message);
    const worker: Entry = {
      number,
      pid: process.pid,
      channel,
      process,
      sender: new ConfigurationSender(),
      startedAt: performance.now(),
      isStarted: false,
      isServing: false,
      metrics: '',
    };
    this.#workers.set(number, worker);
    void process.ended.then((end) => this.#replace(worker, token, end));
    const started = channel.ask('start', describeSettings(number));
    greet(channel);
    await started;
    worker.isStarted = true;
    log.debug({ worker: number, pid: process.pid }, 'a worker has started');
    if (this.#current !== undefined) await this.#applyTo(worker);
  }

  async #applyTo(worker: Entry): Promise<WorkerReport | undefined> {
    const { text, blockedPorts } = this.#current!;
    const sent = worker.sender.prepare(text);
    try {
      const report = await withTimeout(worker.channel.ask('apply', { ...sent, blockedPorts }), applyTimeoutMs);
      if (!worker.isServing) {
        worker.isServing = true;
        this.#options.onChange(this.serving);
      }
      return report;
    } catch (error) {
      // A worker that is gone is replaced anyway; one that still runs enforces an old configuration.
      this.#options.log.error(
        { worker: worker.number, pid: worker.pid, err: error },
        'a worker did not take the configuration and is ended',
      );
      worker.process.kill();
      return undefined;
    }
  }

  #replace(worker: Entry, token: object, { code, signal }: WorkerEnd): void {
    const { log, onChange, onEnd } = this.#options;
    const { number, pid } = worker;
    worker.channel.close();
    this.#workers.delete(number);
    this.#departed = addDeparted(this.#departed, worker.metrics);
    onEnd(token);
    onChange(this.serving);
    if (this.#isEnding) return;
    log.error({ worker: number, pid, code, signal }, 'a worker has ended; another one takes its place');
    // Until all workers have been ready once, this fails the start.
    if (!this.#isUp) return;
    const livedLong = performance.now() - worker.startedAt >= longLifeMs;
    const restarts = livedLong ? 0 : (this.#restarts.get(number) ?? 0);
    this.#restarts.set(number, restarts + 1);
    const pause = restarts === 0 ? 0 : findBackoffDelay(restarts - 1, restartBackoff);
    setTimeout(() => {
      if (this.#isEnding) return;
      this.#startWorker(number).catch((error: unknown) => {
        log.debug({ worker: number, err: error }, 'a worker ended before it was ready');
      });
    }, pause).unref();
  }
}

function withTimeout<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${timeoutMs / 1_000} s`)), timeoutMs);
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}
