// The messages between a lane (one process of a run of tests) and the run.

/** The cost of a file. */
export interface FileCost {
  readonly seconds: number;
  /** Seconds of CPU, of the lane itself and of the processes that its tests started. */
  readonly ownCpu: number;
  readonly childrenCpu: number;
}

/** How a test ended. */
export interface TestEnd {
  /** The file that was run, below the checkout. */
  readonly file: string;
  /** The names of what it is in, and its own. */
  readonly path: readonly string[];
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'to do';
  readonly isSuite: boolean;
  readonly seconds: number;
  /** The failure, in full. */
  readonly error?: string;
}

/** From a lane to the run. */
export type LaneMessage =
  | { readonly kind: 'next' }
  | { readonly kind: 'start'; readonly file: string; readonly path: readonly string[] }
  | { readonly kind: 'end'; readonly end: TestEnd }
  /** The file itself is done. */
  | { readonly kind: 'done'; readonly file: string }
  | { readonly kind: 'warning'; readonly text: string }
  /** A test has printed something. */
  | { readonly kind: 'output'; readonly file: string; readonly text: string }
  | { readonly kind: 'cost'; readonly file: string; readonly cost: FileCost }
  /** There is no more to do, and this keeps the process from ending. */
  | { readonly kind: 'open'; readonly open: readonly string[] };

/** From the run to a lane. Without a file: there is no more to do. */
export interface LaneOrder {
  readonly file?: string;
}
