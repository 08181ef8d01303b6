// SIGHUP: a process reads its configuration again, as daemons do. A process whose terminal is gone ends instead: the signal says that, too.
import { isatty } from 'node:tty';
import type { Log } from './log.ts';
import type { Shutdown } from './shutdown.ts';

/** What a signal leads to. */
export interface Hangup {
  /** From now on a signal calls this, one call at a time. */
  onReload(reload: () => Promise<void>): void;
}

export interface HangupOptions {
  readonly log: Log;
  readonly shutdown: Pick<Shutdown, 'start' | 'started'>;
  /** Why a signal changes nothing as long as there is nothing to reload; completes "there is nothing to reload: ". */
  readonly otherwise: string;
  /** What emits the signals. Default: process. */
  readonly signals?: { on(signal: 'SIGHUP', listener: () => void): unknown } | undefined;
  /** Whether the process has a terminal. Default: whether its input or output is one. */
  readonly hasTerminal?: () => boolean;
}

/** Listens for SIGHUP from now on; without a listener the signal would end the process. */
export function createHangup(options: HangupOptions): Hangup {
  const { log, shutdown, otherwise, signals = process, hasTerminal = standsInTerminal } = options;
  const hadTerminal = hasTerminal();
  let reload: (() => Promise<void>) | undefined;
  let reloading: Promise<void> = Promise.resolve();
  signals.on('SIGHUP', () => {
    if (shutdown.started) return;
    // What was a terminal is none any more when it was closed.
    if (hadTerminal && !hasTerminal()) {
      void shutdown.start('SIGHUP: the terminal was closed');
    } else if (reload === undefined) {
      log.info({}, `SIGHUP: there is nothing to reload: ${otherwise}`);
    } else {
      const run = reload;
      reloading = reloading
        .then(run)
        .catch((error: unknown) => log.error({ err: error }, 'SIGHUP: the configuration could not be read again'));
    }
  });
  return { onReload: (run) => void (reload = run) };
}

function standsInTerminal(): boolean {
  return [0, 1, 2].some((each) => isatty(each));
}
