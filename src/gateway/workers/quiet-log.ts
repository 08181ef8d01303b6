// The log of what all workers would say in the same words: the process that started them says it once.
import type { Log } from '../../base/log.ts';

/** The same log, without what is only worth knowing. */
export function keepQuiet(log: Log): Log {
  return { ...log, info: () => {}, child: (bindings) => keepQuiet(log.child(bindings)) };
}
