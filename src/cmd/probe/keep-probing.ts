// Asks again until it is well or the time is over.

export interface ProbeTimes {
  /** For everything. */
  readonly timeoutMs: number;
  /** For one attempt. */
  readonly attemptMs: number;
  /** Between two. */
  readonly pauseMs: number;
}

/** Undefined: it was well within the time. Otherwise what was wrong the last time. */
export async function keepProbing(
  probe: (signal: AbortSignal) => Promise<string | undefined>,
  { timeoutMs, attemptMs, pauseMs }: ProbeTimes,
): Promise<string | undefined> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const leftMs = Math.max(1, end - performance.now());
    const problem = await probe(AbortSignal.timeout(Math.ceil(Math.min(attemptMs, leftMs))));
    if (problem === undefined || performance.now() + pauseMs >= end) return problem;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
