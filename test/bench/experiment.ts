// What an experiment of the benchmarks is, and how much of it is wanted.
import type { ExperimentResult } from './bench-result.ts';
import type { SessionOptions } from './bench-session.ts';
import type { Pace } from './measure-cases.ts';

/** How it is run. */
export interface ExperimentOptions extends SessionOptions {
  readonly pace: Pace;
  /** Only proves that it works: few streams, few routes, seconds instead of minutes. */
  readonly smoke: boolean;
  /** Of the soak; and of what is held for ten minutes otherwise, if it is less. */
  readonly minutes: number;
  /** The folder of another checkout, for the experiment that compares with one. */
  readonly against?: string | undefined;
  /** The cases of it that were asked for; undefined: all. */
  readonly cases?: readonly string[];
}

/** Something that can be measured by its name. */
export interface Experiment {
  readonly name: string;
  readonly description: string;
  /** Names of its cases, where some of them can be asked for alone. */
  readonly cases: readonly string[];
  /** Not run unless it is asked for. */
  readonly isLong?: boolean;
  run(options: ExperimentOptions): Promise<ExperimentResult>;
}
