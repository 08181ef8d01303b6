// Problems found while compiling a configuration. The affected part fails closed; the rest is served.
import type { Configuration } from '../../../ir/configuration.ts';

/** A message that cannot be used, with a sentence for the operator. */
export interface CompileProblem {
  /** Which kind of message it is: keys of two kinds may be equal. */
  readonly list: keyof Configuration;
  readonly key: string;
  readonly message: string;
}

/** Collects problems while a configuration is compiled. */
export type ReportProblem = (key: string, message: string) => void;

/** The message of a thrown value. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
