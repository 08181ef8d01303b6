// What protects a route in one word each, for tables: OPEN, client certificate, login, JWT, rules, with the policies behind each word.
import { policyKinds } from '../../ir/policy-kinds.ts';
import type { DescribedPolicy, DescribedProtection } from './describe-protection.ts';
import { certificateBadge } from './protection-badge.ts';

/** A word and what it means. */
export interface Badge {
  readonly word: string;
  /** bad: anybody is served. wait: callers without a token are served as well. quiet: nobody is served. */
  readonly tone: 'good' | 'wait' | 'bad' | 'quiet';
  /** namespace/name of the ProxyPolicies behind it. */
  readonly policies: readonly string[];
}

const openings: ReadonlyMap<string, Pick<Badge, 'word' | 'tone'>> = new Map([
  ['open', { word: 'OPEN', tone: 'bad' }],
  ['partly', { word: 'OPEN for some backends', tone: 'bad' }],
  ['closed', { word: 'closed', tone: 'quiet' }],
]);

/** The badges of a route: whether it is open first, then what callers meet. */
export function listBadges({ state, closedBy, clientCertificate, policies }: DescribedProtection): readonly Badge[] {
  const opening = openings.get(state);
  const badges = new Map<string, Badge>();
  if (opening !== undefined) badges.set(opening.word, { ...opening, policies: closedBy === null ? [] : [closedBy] });
  if (clientCertificate && state !== 'closed')
    badges.set(certificateBadge, { word: certificateBadge, tone: 'good', policies: [] });
  for (const policy of policies) {
    const word = policy.inForce ? findWord(policy) : undefined;
    if (word === undefined) continue;
    const known = badges.get(word)?.policies ?? [];
    const tone = policy.mode === '' || policy.mode === 'Strict' ? 'good' : 'wait';
    badges.set(word, { word, tone, policies: [...new Set([...known, policy.policy])] });
  }
  return [...badges.values()];
}

const modes = { '': '', Strict: '', Optional: ' optional', Permissive: ' never required' };

/** Undefined: the kind does not decide about callers. */
function findWord({ field, mode }: DescribedPolicy): string | undefined {
  const { isGuard, badge } = policyKinds[field];
  return isGuard ? `${badge}${modes[mode]}` : undefined;
}
