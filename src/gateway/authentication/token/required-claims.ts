// Claims that a policy requires, from the JSON in its message.
import type { RequiredClaim as RequiredClaimMessage } from '../../../ir/gen/config_pb.ts';
import type { RequiredClaim } from './check-claims.ts';

/** A claim that cannot be compared. */
export class RequiredClaimError extends Error {
  readonly code = 'invalid_required_claim';
}

/** Parses the values. Throws when one is not JSON: a requirement must not be dropped. */
export function readRequiredClaims(
  messages: readonly Pick<RequiredClaimMessage, 'name' | 'values'>[],
): RequiredClaim[] {
  return messages.map(({ name, values }) => ({ name, values: values.map((value) => readValue(name, value)) }));
}

function readValue(name: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch (error) {
    const problem = `the required value ${JSON.stringify(value)} of the claim ${JSON.stringify(name)} is not JSON`;
    throw new RequiredClaimError(problem, { cause: error });
  }
}
