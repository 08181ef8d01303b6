// What protects a rule, in the few words that stand beside it: in the banner of `run`, in `check`, and on the admin pages.
import { policyKinds } from '../../ir/policy-kinds.ts';
import type { DescribedProtection } from './describe-protection.ts';
import { formatUnprotected } from './format-protection.ts';

/** The words, and how loud they are. */
export interface ProtectionBadge {
  /** "OPEN: no policy", "login default/sample", "login (Issuer, GitHub) default/sample", "JWT default/tokens, rules default/admins", "client certificate". */
  readonly text: string;
  /** bad: anybody is served. quiet: nothing to protect, or nothing is served. */
  readonly tone: 'bad' | 'good' | 'quiet';
}

/** It is the connection that is authenticated, not by a policy but by the listener. */
export const certificateBadge = 'client certificate';

/** Makes the badge of a rule. One that answers an error itself serves nobody, and is not open. */
export function describeBadge(
  {
    state,
    summary,
    guards,
    clientCertificate,
    closedBy,
    closedBecause,
  }: Pick<DescribedProtection, 'state' | 'summary' | 'guards' | 'clientCertificate' | 'closedBy' | 'closedBecause'>,
  answersError: boolean,
): ProtectionBadge {
  const words = guards.map(
    ({ kind, policy, login }) => `${policyKinds[kind].badge}${login === undefined ? '' : ` (${login})`} ${policy}`,
  );
  const names = [...new Set([...(clientCertificate ? [certificateBadge] : []), ...words])].join(', ');
  if (closedBecause === 'unprotected' && closedBy !== null) return { text: formatUnprotected(closedBy), tone: 'quiet' };
  if (state === 'closed' || answersError) return { text: 'closed', tone: 'quiet' };
  if (state === 'redirect') return { text: 'redirect', tone: 'quiet' };
  if (state === 'protected') return { text: names === '' ? 'closed' : names, tone: 'good' };
  // "OPEN: no policy", "OPEN: login optional", "OPEN for some backends: login required"
  return { text: summary.replace(/^open/, 'OPEN'), tone: 'bad' };
}
