// Gives memory back when a busy time is over, the start included. V8 keeps the room that its heap once had until it is short of memory: a gateway that has
// served a burst would keep more than 100 MB that it does not use.

/** What a process is like at a moment, and how it lets go of what it does not need. */
export interface MemoryHost {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Milliseconds of CPU time so far. */
  cpuMs(): number;
  /** Bytes of the heap: what it has, and what of it is in use. */
  heap(): { readonly total: number; readonly used: number };
  /** Collects all garbage, and gives free pages back. Nothing else happens meanwhile. */
  release(): void;
}

/** How often it is looked. */
export const lookMs = 2_000;
/** Quiet: less than this share of the time is spent working. */
const quietShare = 0.02;
/** For so long it must have been quiet. Also the code that V8 has made goes, and the next requests cost twice as much for a while. */
const quietMs = 30_000;
/** After the start there is little of it, and the first quiet look will do. A start takes so many looks at most: who is busy for longer has begun to serve. */
const startLooks = 3;
/** Whoever is busy again and again is not made to stop each time. */
const pauseMs = 60_000;
/** A release takes a moment for every megabyte in use, garbage included for all that is known before; a process with many open streams goes on without. */
const maxUsed = 96 * 1024 * 1024;
/** What is worth a release. */
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
    // What it took itself is no busy time.
    cpuMs = host.cpuMs();
  };
}

/** Watches this process. Keeps it from ending no more than a look does. */
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
