// The error of a policy that cannot be compiled.

/** The policy cannot be enforced. */
export class PolicyError extends Error {
  readonly code = 'invalid_policy';
}
