// Whether this process should get traffic, and if not, why. Components own a named check each; readiness is all of them together.

interface HealthCheck {
  pass(): void;
  /** `reason` is for the operator: a short sentence. */
  fail(reason: string): void;
}

interface CheckState {
  readonly name: string;
  readonly ready: boolean;
  /** Set while the check does not pass. */
  readonly reason: string | undefined;
}

export interface Readiness {
  readonly ready: boolean;
  /** In the order in which they were added. */
  readonly checks: readonly CheckState[];
}

export interface Health {
  /** Adds a check that does not pass yet, for this reason. The same name twice is a mistake. */
  addCheck(name: string, reason: string): HealthCheck;
  read(): Readiness;
}

/** Thrown when two components claim one check. */
export class DuplicateCheckError extends Error {
  readonly code = 'duplicate_check';
}

/** Creates the health of one process: ready once there is a check and every check passes. */
export function createHealth(): Health {
  const reasons = new Map<string, string | undefined>();
  return {
    addCheck(name, reason) {
      if (reasons.has(name)) throw new DuplicateCheckError(`there is a check named ${name} already`);
      reasons.set(name, reason);
      return {
        pass: () => void reasons.set(name, undefined),
        fail: (why) => void reasons.set(name, why),
      };
    },
    read() {
      const checks = [...reasons].map(([name, reason]) => ({ name, ready: reason === undefined, reason }));
      return { ready: checks.length > 0 && checks.every((check) => check.ready), checks };
    },
  };
}
