// What compiling a configuration could not do. The piece concerned fails closed; the rest is served.
import type { Configuration } from '../../../ir/configuration.ts';

/** A message that cannot be used. The sentence is for the operator. */
export interface CompileProblem {
  /** Which kind of message it is: keys of two kinds may be equal. */
  readonly list: keyof Configuration;
  readonly key: string;
  readonly message: string;
}

/** Collects problems while a configuration is compiled. */
export type ReportProblem = (key: string, message: string) => void;

/** The sentence of whatever was thrown. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
