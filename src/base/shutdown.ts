// How the process ends: the first signal runs the steps in order, each within its time; a second signal ends it at once.
import type { Log } from './log.ts';

interface ShutdownStep {
  /** For the log, as an activity: "drain connections". */
  readonly name: string;
  /** The next step starts after this time whether the step is done or not. */
  readonly timeoutMs: number;
  /** `signal` aborts when the time is up. */
  run(signal: AbortSignal): Promise<void> | void;
}

export interface Shutdown {
  /** Steps run in the order in which they were added. */
  addStep(step: ShutdownStep): void;
  /** Starts to end the process as a signal would; resolves when it is about to exit. Safe to call again. */
  start(reason: string): Promise<void>;
  readonly started: boolean;
  /** What it ends for: the signal, or the reason given to start. */
  readonly reason: string | undefined;
  /** Stops listening for signals. */
  dispose(): void;
}

type EndSignal = 'SIGTERM' | 'SIGINT';

export interface ShutdownOptions {
  readonly log: Log;
  /** Ends the process. Default: process.exit. */
  readonly exit?: (code: number) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** What emits the signals. Default: process. */
  readonly signals?: {
    on(signal: EndSignal | 'SIGHUP', listener: () => void): unknown;
    off(signal: EndSignal, listener: () => void): unknown;
  };
}

/**
 * Signals within this time count as one: a terminal sends Ctrl-C to every process of the group, and npm or npx forwards it again to the process that it
 * started.
 */
const togetherMs = 300;

const exitCodes: Readonly<Record<EndSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/** Listens for SIGTERM and SIGINT from now on. Exit code: 0 when every step ended well, 1 when one failed or ran out of time. */
export function createShutdown(options: ShutdownOptions): Shutdown {
  const { log } = options;
  const exit = options.exit ?? ((code) => process.exit(code));
  const signals = options.signals ?? process;
  const now = options.now ?? (() => performance.now());
  const steps: ShutdownStep[] = [];
  let firstSignalAt: number | undefined;
  let running: Promise<void> | undefined;
  let startedFor: string | undefined;

  async function runSteps(reason: string): Promise<void> {
    const startedAt = performance.now();
    log.info({ reason }, 'shutting down');
    let clean = true;
    for (const step of steps) {
      if (!(await runStep(step, log))) clean = false;
    }
    log.info({ duration_ms: Math.round(performance.now() - startedAt) }, clean ? 'stopped' : 'stopped, not cleanly');
    exit(clean ? 0 : 1);
  }

  function start(reason: string): Promise<void> {
    startedFor ??= reason;
    running ??= runSteps(reason);
    return running;
  }

  function receive(signal: EndSignal): void {
    firstSignalAt ??= now();
    if (running !== undefined) {
      if (now() - firstSignalAt < togetherMs) return;
      log.warn({ signal }, 'second signal: exiting at once');
      exit(exitCodes[signal]);
      return;
    }
    void start(signal);
  }

  const onTerminate = (): void => receive('SIGTERM');
  const onInterrupt = (): void => receive('SIGINT');
  signals.on('SIGTERM', onTerminate);
  signals.on('SIGINT', onInterrupt);

  return {
    addStep: (step) => void steps.push(step),
    start,
    get started() {
      return running !== undefined;
    },
    get reason() {
      return startedFor;
    },
    dispose() {
      signals.off('SIGTERM', onTerminate);
      signals.off('SIGINT', onInterrupt);
    },
  };
}

/** Puts an uncaught error into the log before Node ends the process with its own report and exit code. */
export function logCrashes(log: Log): void {
  process.on('uncaughtExceptionMonitor', (error, origin) => {
    log.error({ err: error, origin }, 'the process ends because of an unhandled error');
  });
}

async function runStep(step: ShutdownStep, log: Log): Promise<boolean> {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => {
      abort.abort();
      resolve('late');
    }, step.timeoutMs);
  });
  try {
    // An async function turns a step that throws at once into one that rejects.
    const work = (async () => {
      await step.run(abort.signal);
      return 'done' as const;
    })();
    const outcome = await Promise.race([work, timeout]);
    if (outcome === 'done') return true;
    // A late rejection is ignored.
    work.catch(() => {});
    log.warn({ step: step.name, timeout_ms: step.timeoutMs }, 'a shutdown step did not end in time');
    return false;
  } catch (error) {
    log.error({ step: step.name, err: error }, 'a shutdown step failed');
    return false;
  } finally {
    clearTimeout(timer);
  }
}
