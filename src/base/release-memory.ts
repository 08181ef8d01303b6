// Gives memory back when a busy time is over, the start included. V8 keeps the room that its heap once had until it is short of memory: a gateway that has
// served a burst would keep more than 100 MB that it does not use.

/** The measurements of a process, and its way to release memory. */
interface MemoryHost {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Milliseconds of CPU time so far. */
  cpuMs(): number;
  /** Bytes of the heap: what it has, and what of it is in use. */
  heap(): { readonly total: number; readonly used: number };
  /** Collects all garbage, and gives free pages back. Nothing else happens meanwhile. */
  release(): void;
}

/** The interval of checks. */
export const lookMs = 2_000;
/** Quiet: less than this share of the time is spent working. */
const quietShare = 0.02;
/** How long it must have been quiet. A release also discards compiled code, so the next requests cost twice as much for a while. */
const quietMs = 30_000;
/** After the start there is little compiled code, and the first quiet check is enough. A start takes at most this many checks: a process that is busy for longer already serves. */
const startLooks = 3;
/** The shortest time between two releases, for processes with frequent bursts. */
const pauseMs = 60_000;
/** A release takes time for every megabyte in use, which may include garbage; a process with many open streams skips it. */
const maxUsed = 96 * 1024 * 1024;
/** The least unused memory that is worth a release. */
const minUnused = 6 * 1024 * 1024;

/** Looks whether a busy time is over: to be called every `lookMs`. */
export function createMemoryWatch(host: MemoryHost): () => void {
  let lookedAt = host.now();
  let cpuMs = host.cpuMs();
  let releasedAt = Number.NEGATIVE_INFINITY;
  let wasBusy = true;
  let busyUntil = Number.NEGATIVE_INFINITY;
  let busyLooks = 0;
  return () => {
    const [now, cpu] = [host.now(), host.cpuMs()];
    const isBusy = cpu - cpuMs > (now - lookedAt) * quietShare;
    lookedAt = now;
    cpuMs = cpu;
    if (isBusy) {
      wasBusy = true;
      busyUntil = now;
      busyLooks += 1;
    }
    const isStart = releasedAt === Number.NEGATIVE_INFINITY && busyLooks <= startLooks;
    if (isBusy || !wasBusy || now - releasedAt < pauseMs || (!isStart && now - busyUntil < quietMs)) return;
    wasBusy = false;
    const { total, used } = host.heap();
    // What the start has left behind counts as used: nothing has collected it yet.
    if (used > maxUsed || (!isStart && total - used < minUnused)) return;
    host.release();
    releasedAt = now;
    // The CPU time of the release itself does not count as busy.
    cpuMs = host.cpuMs();
  };
}

/** Watches this process. Its timer does not keep the process alive. */
export function releaseMemoryWhenQuiet(): void {
  const watch = createMemoryWatch({
    now: () => performance.now(),
    cpuMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    },
    heap: () => {
      const { heapTotal, heapUsed } = process.memoryUsage();
      return { total: heapTotal, used: heapUsed };
    },
    release: collectAllGarbage,
  });
  setTimeout(() => {
    // V8 has a watch of its own, which takes breaks of some seconds between two bursts for the end of both, and throws away the code that the next one needs.
    // Not at once: code that is kept for the next start is only good with the flags of a start (src/cmd/load-bundle.ts).
    process.getBuiltinModule('node:v8').setFlagsFromString('--memory-reducer-gc-count=0');
    watch();
    setInterval(watch, lookMs).unref();
  }, lookMs).unref();
}

/** Node has no function for it: V8's own is in contexts that are made while its flag is set. */
export function collectAllGarbage(): void {
  const v8 = process.getBuiltinModule('node:v8');
  v8.setFlagsFromString('--expose-gc');
  try {
    const collect: unknown = process.getBuiltinModule('node:vm').runInNewContext('gc');
    // As when V8 is short of memory: other collections keep free pages for later.
    if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  } finally {
    v8.setFlagsFromString('--no-expose-gc');
  }
}
