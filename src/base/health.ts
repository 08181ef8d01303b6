// Whether this process should get traffic, and if not, why. Components own a named check each; readiness is all of them together.

interface HealthCheck {
  /** `remark` is for the operator: what is not as configured, though traffic is served. */
  pass(remark?: string): void;
  /** `reason` is for the operator: a short sentence. */
  fail(reason: string): void;
}

interface CheckState {
  readonly name: string;
  readonly ready: boolean;
  /** Why the check does not pass, or a remark of one that does. */
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
  const states = new Map<string, Omit<CheckState, 'name'>>();
  return {
    addCheck(name, reason) {
      if (states.has(name)) throw new DuplicateCheckError(`there is a check named ${name} already`);
      states.set(name, { ready: false, reason });
      return {
        pass: (remark) => void states.set(name, { ready: true, reason: remark }),
        fail: (why) => void states.set(name, { ready: false, reason: why }),
      };
    },
    read() {
      const checks = [...states].map(([name, state]) => ({ name, ...state }));
      return { ready: checks.length > 0 && checks.every((check) => check.ready), checks };
    },
  };
}
