// Talks to the inspector of a node process (Chrome DevTools Protocol): profiles begin when the process is warm, and end when they should.

/** A profile of where time went, as V8 tells it. Times are in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  readonly startTime: number;
  readonly endTime: number;
  /** The node of each sample, and the time since the one before. */
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A profile of what was allocated, what has been collected since included. */
export interface AllocationProfile {
  readonly head: AllocationNode;
}

export interface AllocationNode {
  readonly callFrame: CallFrame;
  /** Bytes. */
  readonly selfSize: number;
  readonly children: readonly AllocationNode[];
}

/** A function. Lines count from 0. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** A session with a process that runs with `--inspect`. */
export interface Inspector {
  /** Lets it run under the profiler until the work is done. */
  profileCpu(work: () => Promise<void>): Promise<CpuProfile>;
  profileAllocations(work: () => Promise<void>): Promise<AllocationProfile>;
  close(): void;
}

/** Connects to the address that node prints. */
export async function connectInspector(stderr: string): Promise<Inspector> {
  const address = /Debugger listening on (ws:\S+)/.exec(stderr)?.[1];
  if (address === undefined) throw new Error(`node does not say where its inspector is:\n${stderr}`);
  const socket = new WebSocket(address);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve(), { once: true });
    socket.addEventListener('error', () => reject(new Error(`no connection to ${address}`)), { once: true });
  });
  const waiting = new Map<number, (answer: InspectorAnswer) => void>();
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as InspectorAnswer;
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
  });
  let last = 0;
  const call = async (method: string, params: object = {}): Promise<unknown> => {
    last += 1;
    const id = last;
    const answered = new Promise<InspectorAnswer>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answered;
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  return {
    async profileCpu(work) {
      await call('Profiler.enable');
      await call('Profiler.setSamplingInterval', { interval: 200 });
      await call('Profiler.start');
      await work();
      return ((await call('Profiler.stop')) as { profile: CpuProfile }).profile;
    },
    async profileAllocations(work) {
      await call('HeapProfiler.enable');
      await call('HeapProfiler.startSampling', {
        samplingInterval: 16_384,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      });
      await work();
      return ((await call('HeapProfiler.stopSampling')) as { profile: AllocationProfile }).profile;
    },
    close: () => socket.close(),
  };
}

interface InspectorAnswer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}
