// What compiling a configuration could not do. The piece concerned fails closed; the rest is served.

/** A message that cannot be used, by its key. The sentence is for the operator. */
export interface CompileProblem {
  readonly key: string;
  readonly message: string;
}

/** Collects problems while a configuration is compiled. */
export type ReportProblem = (key: string, message: string) => void;

/** The sentence of whatever was thrown. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
