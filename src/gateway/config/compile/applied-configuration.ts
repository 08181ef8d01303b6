// The newest configuration that a gateway was given, and what became of it: for the admin pages.
import type { BindProblem } from '../../listen/listeners.ts';
import type { CompileProblem } from './compile-problem.ts';

/** What became of the newest configuration. */
export interface AppliedConfiguration {
  /** When the configuration in force came into force. */
  readonly atMs: number;
  /** Messages that could not be used; they fail closed. */
  readonly problems: readonly CompileProblem[];
  /** Ports that could not be opened. */
  readonly bindProblems: readonly BindProblem[];
}
