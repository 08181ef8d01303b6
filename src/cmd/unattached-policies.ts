// Policies from files that are attached to nothing: the flag that lets them be, and what is said about them.
import type { UnattachedPolicy } from '../translate/close-unprotected.ts';
import type { Flag } from './flag-values.ts';
import type { PlacedFinding } from './finding-causes.ts';

/** For every command that serves files, or says what would be served. */
export const allowUnattachedFlag = {
  type: 'boolean',
  default: false,
  env: 'MCP_GATEHOUSE_ALLOW_UNATTACHED',
  help: 'Serve routes that nothing protects even while a policy misses its target, which may leave open what it was to protect',
} as const satisfies Flag;

/** What follows from a missing target. */
export const effectOfUnattached = 'Meanwhile routes that nothing protects answer 403 (policy_unattached).';

/** The same with --allow-unattached. */
export const openUnattached = 'What it was to protect may be open (--allow-unattached).';

/** One line for the log: which policy, what is missing, what follows, what to do. */
export function describeUnattached({ policy, message }: UnattachedPolicy, allowUnattached: boolean): string {
  const effect = allowUnattached ? openUnattached : effectOfUnattached;
  return `ProxyPolicy ${policy} protects less than it should: ${message} ${effect}`;
}

/** Whether a finding says what describeUnattached says. A target that did not validate is not missing: nothing of it is open. */
export function isAboutUnattached(
  { kind, namespace, name, condition, message, cause }: PlacedFinding,
  unattached: readonly UnattachedPolicy[],
): boolean {
  if (cause !== undefined) return false;
  const isNotFound = condition?.reason === 'TargetNotFound' || /^protects (?:nothing|less)/.test(message);
  if (kind !== 'ProxyPolicy' || !isNotFound) return false;
  return unattached.some(({ policy }) => policy === `${namespace}/${name}`);
}
