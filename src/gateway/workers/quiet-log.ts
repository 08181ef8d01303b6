// A log for messages that every worker would repeat: the process that started the workers logs them once.
import type { Log } from '../../base/log.ts';

/** The same log without informational messages. */
export function keepQuiet(log: Log): Log {
  return { ...log, info: () => {}, child: (bindings) => keepQuiet(log.child(bindings)) };
}
