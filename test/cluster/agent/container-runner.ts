// The life of one container: it is started, probed, started again as the pod's restart policy says, and ended with patience.
import { setTimeout as sleep } from 'node:timers/promises';
import { ContainerProcess } from './container-process.ts';
import type { ContainerPlan } from './container-script.ts';
import { ContainerConfigError, ImagePullError } from './environment.ts';
import type { Container, LifecycleHandler, Probe } from './pod.ts';
import type { ContainerPhase, ContainerSituation, Terminated } from './pod-status.ts';
import { ask, type ProbeTarget, runProbe } from './probe.ts';

/** What a container needs from its pod. */
export interface RunnerOptions {
  readonly container: Container;
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  readonly graceSeconds: number;
  readonly address: string;
  readonly networkNamespaceFile: string;
  readonly logFile: string;
  readonly makePlan: () => Promise<ContainerPlan>;
  /** Called after every change of the situation. */
  readonly onChange: () => void;
  readonly onEvent: (reason: string, message: string) => void;
}

const retryInterval = 250;
const firstBackoff = 100;
const longestBackoff = 5000;

/** One container through all of its runs. */
export class ContainerRunner {
  readonly #options: RunnerOptions;
  readonly #stopping = new AbortController();
  #state: ContainerPhase = { waiting: { reason: 'ContainerCreating' } };
  #lastState: Terminated | undefined;
  #process: ContainerProcess | undefined;
  #restarts = 0;
  #isStarted = false;
  #isReady = false;
  #isOver = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get situation(): ContainerSituation {
    const { name, image } = this.#options.container;
    return {
      name,
      image,
      state: this.#state,
      restartCount: this.#restarts,
      isStarted: this.#isStarted,
      isReady: this.#isReady,
      isOver: this.#isOver,
      ...(this.#lastState === undefined ? {} : { lastState: { terminated: this.#lastState } }),
    };
  }

  /** The run that is under way. */
  get process(): ContainerProcess | undefined {
    return this.#process;
  }

  /** Runs the container until it is over for good. */
  async run(): Promise<void> {
    let backoff = firstBackoff;
    while (!this.#stopping.signal.aborted) {
      const plan = await this.#plan();
      if (plan === undefined || this.#stopping.signal.aborted) break;
      const ended = await this.#runOnce(plan);
      if (this.#stopping.signal.aborted || !this.#shouldRestart(ended.exitCode)) {
        this.#state = { terminated: ended };
        break;
      }
      if (Date.parse(ended.finishedAt) - Date.parse(ended.startedAt) > longestBackoff * 2) backoff = firstBackoff;
      this.#lastState = ended;
      this.#state = { waiting: { reason: 'CrashLoopBackOff', message: `back-off ${backoff} ms restarting` } };
      this.#options.onChange();
      await this.#pause(backoff);
      backoff = Math.min(backoff * 2, longestBackoff);
      if (this.#stopping.signal.aborted) {
        this.#state = { terminated: ended };
        break;
      }
      this.#restarts += 1;
    }
    this.#isOver = true;
    this.#options.onChange();
  }

  /** Ends the container: what its preStop says, SIGTERM, and SIGKILL when the time is up. */
  async stop(graceSeconds: number): Promise<void> {
    this.#stopping.abort();
    const running = this.#process;
    if (running === undefined) return;
    await this.#end(running, graceSeconds);
  }

  /** Waits until it can be configured; undefined when it is to stop before that. */
  async #plan(): Promise<ContainerPlan | undefined> {
    let told = '';
    let pulls = 0;
    while (!this.#stopping.signal.aborted) {
      try {
        return await this.#options.makePlan();
      } catch (error) {
        if (error instanceof ImagePullError) pulls += 1;
        const { reason, message } = this.#describeFailure(error, pulls);
        this.#state = { waiting: { reason, message } };
        if (message !== told) {
          told = message;
          this.#options.onChange();
          this.#options.onEvent('Failed', message);
        }
        await this.#pause(retryInterval);
      }
    }
    return undefined;
  }

  /** As the kubelet words it: after the first failure to pull an image it backs off. */
  #describeFailure(error: unknown, pulls: number): { readonly reason: string; readonly message: string } {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof ImagePullError) {
      if (pulls === 1) return { reason: 'ErrImagePull', message };
      const { image } = this.#options.container;
      return { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}": ErrImagePull: ${message}` };
    }
    return {
      reason: error instanceof ContainerConfigError ? 'CreateContainerConfigError' : 'CreateContainerError',
      message,
    };
  }

  async #runOnce(plan: ContainerPlan): Promise<Terminated> {
    const { container, networkNamespaceFile, logFile, onChange } = this.#options;
    const running = new ContainerProcess(plan, networkNamespaceFile, logFile);
    this.#process = running;
    await running.launched;
    this.#state = { running: { startedAt: formatTime(running.startedAt) } };
    this.#isStarted = container.startupProbe === undefined;
    this.#isReady = this.#isStarted && container.readinessProbe === undefined;
    onChange();
    const probing = new AbortController();
    const probes = this.#probe(running, probing.signal);

    const exit = await running.exited;
    probing.abort();
    await probes;
    this.#process = undefined;
    this.#isStarted = this.#isReady = false;
    return {
      exitCode: exit.exitCode,
      ...(exit.signal === undefined ? {} : { signal: exit.signal }),
      reason: exit.exitCode === 0 ? 'Completed' : 'Error',
      startedAt: formatTime(running.startedAt),
      finishedAt: formatTime(exit.finishedAt),
    };
  }

  async #probe(running: ContainerProcess, signal: AbortSignal): Promise<void> {
    const { container, onChange, onEvent, graceSeconds } = this.#options;
    const { startupProbe, readinessProbe, livenessProbe } = container;
    const target = this.#target(running);
    // Who is being ended is no longer judged for life, but still for readiness.
    const alive = AbortSignal.any([signal, this.#stopping.signal]);
    const restart = (kind: string, reason: string, probe: Probe): void => {
      onEvent('Unhealthy', `${kind} probe failed: ${reason}`);
      void this.#end(running, probe.terminationGracePeriodSeconds ?? graceSeconds);
    };
    if (startupProbe !== undefined) {
      const judged = new AbortController();
      await runProbe(
        startupProbe,
        target,
        (isWell, reason) => {
          this.#isStarted = isWell;
          this.#isReady = isWell && readinessProbe === undefined;
          judged.abort();
          if (isWell) onChange();
          else restart('Startup', reason, startupProbe);
        },
        AbortSignal.any([alive, judged.signal]),
        'startup',
      );
      if (!this.#isStarted) return;
    }
    const judging: Promise<void>[] = [];
    if (readinessProbe !== undefined) {
      const judge = (isWell: boolean, reason: string): void => {
        if (isWell === this.#isReady) return;
        this.#isReady = isWell;
        if (!isWell) onEvent('Unhealthy', `Readiness probe failed: ${reason}`);
        onChange();
      };
      judging.push(runProbe(readinessProbe, target, judge, signal, 'readiness'));
    }
    if (livenessProbe !== undefined) {
      const judged = new AbortController();
      const judge = (isWell: boolean, reason: string): void => {
        if (isWell) return;
        judged.abort();
        restart('Liveness', reason, livenessProbe);
      };
      judging.push(runProbe(livenessProbe, target, judge, AbortSignal.any([alive, judged.signal]), 'liveness'));
    }
    await Promise.all(judging);
  }

  async #end(running: ContainerProcess, graceSeconds: number): Promise<void> {
    const kill = setTimeout(() => void running.signal('SIGKILL'), graceSeconds * 1000);
    const preStop = this.#options.container.lifecycle?.preStop;
    if (preStop !== undefined && graceSeconds > 0) {
      await Promise.race([this.#runHook(preStop, running, graceSeconds), running.exited]);
    }
    await running.signal('SIGTERM');
    await running.exited;
    clearTimeout(kill);
  }

  async #runHook(hook: LifecycleHandler, running: ContainerProcess, graceSeconds: number): Promise<void> {
    if (hook.sleep !== undefined) return sleep(Math.min(hook.sleep.seconds, graceSeconds) * 1000);
    const result = await ask(hook, this.#target(running), graceSeconds * 1000);
    if (!result.isWell) this.#options.onEvent('FailedPreStopHook', result.reason);
  }

  #target(running: ContainerProcess): ProbeTarget {
    const { container, address } = this.#options;
    const exec = async (command: readonly string[]): Promise<number> => (await running.exec(command)).exitCode;
    return { container, address, exec };
  }

  #shouldRestart(exitCode: number): boolean {
    const { restartPolicy } = this.#options;
    return restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0);
  }

  async #pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}

function formatTime(date: Date): string {
  return date.toISOString().replace(/\.\d+/, '');
}
