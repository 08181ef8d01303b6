// What was measured with many routes, and the table of it.

/** One size. Times are in milliseconds, memory in bytes. */
export interface ScaleResult {
  readonly routes: number;
  /** From the first to the last object that was applied. */
  readonly applyMs: number;
  /** From then on, until every route refuses strangers and lets its own token in. */
  readonly enforcedMs: number;
  /** From then on, until every route and policy says so in its status. */
  readonly toldMs: number;
  readonly configurationBytes: number;
  /** Of the changes: from the answer of the API server until the gateway enforces it, sorted. */
  readonly changeMs: readonly number[];
  /** Of the changes: from the answer of the API server until the status says so, sorted. */
  readonly changeToldMs: readonly number[];
  /** Sent to the gateway for one change, the median. */
  readonly changeBytes: number;
  readonly controller: MeasuredProcess;
  readonly gateway: MeasuredProcess;
}

/** A process. */
export interface MeasuredProcess {
  readonly emptyBytes: number;
  readonly peakBytes: number;
  /** After all changes, at rest. */
  readonly residentBytes: number;
  /** Of all routes together, without the changes. */
  readonly cpuSeconds: number;
  /** Of one change, on average. */
  readonly cpuMsPerChange: number;
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const middle = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? 0;
const most = (sorted: readonly number[]): number => sorted.at(-1) ?? 0;
const spread = (sorted: readonly number[]): string =>
  `${Math.round(middle(sorted))} ms (${Math.round(most(sorted))} ms)`;

const rows: readonly [title: string, format: (result: ScaleResult) => string][] = [
  ['applying them took', ({ applyMs }) => seconds(applyMs)],
  ['all enforced, after the last apply', ({ enforcedMs }) => seconds(enforcedMs)],
  ['all told in status, after the last apply', ({ toldMs }) => seconds(toldMs)],
  ['size of the configuration', ({ configurationBytes }) => `${(configurationBytes / 1e6).toFixed(1)} MB`],
  ['one change: enforced after, median (most)', ({ changeMs }) => spread(changeMs)],
  ['one change: told in status after, median (most)', ({ changeToldMs }) => spread(changeToldMs)],
  ['one change: sent to the gateway', ({ changeBytes }) => `${changeBytes} bytes`],
  ...(['controller', 'gateway'] as const).flatMap((name): readonly [string, (result: ScaleResult) => string][] => [
    [
      `${name}: memory empty, at rest, at most`,
      ({ [name]: { emptyBytes, residentBytes, peakBytes } }) =>
        [emptyBytes, residentBytes, peakBytes].map(megabytes).join(', '),
    ],
    [
      `${name}: processor time, all routes, one change`,
      ({ [name]: { cpuSeconds, cpuMsPerChange } }) => `${cpuSeconds.toFixed(1)} s, ${Math.round(cpuMsPerChange)} ms`,
    ],
  ]),
];

/** A table with a column for each size. */
export function formatScale(
  results: readonly ScaleResult[],
  { processor, cores }: { processor: string; cores: number },
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(['routes, each with a policy', ...results.map(({ routes }) => routes.toLocaleString('en'))]),
    line(['---', ...results.map(() => '---:')]),
    ...rows.map(([title, format]) => line([title, ...results.map(format)])),
    '',
    `${cores} cores (${processor}) for everything: etcd, API server, controller manager, controller, gateway, and the client that applies and asks.`,
  ].join('\n');
}
