// Loaded into the MCP conformance suite: its timers take five times as long. It gives a server 600 ms for some answers, and a busy machine takes longer.
const factor = 5;
const { setTimeout: startTimer } = globalThis;
globalThis.setTimeout = Object.assign(
  (/** @type {(...args: unknown[]) => void} */ run, /** @type {number} */ ms = 0, /** @type {unknown[]} */ ...more) =>
    startTimer(run, factor * ms, ...more),
  startTimer,
);
const limit = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (ms) => limit(factor * ms);
