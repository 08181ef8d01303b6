// The protection of rules in sentences. Rules that are protected alike share one numbered block, so that many rules do not drown the reader.
import { policyKinds } from '../../ir/policy-kinds.ts';
import type { DescribedPolicy, DescribedProtection } from './describe-protection.ts';

/** Gives a number to every protection that has something to tell. */
export class ProtectionBlocks {
  readonly #numbers = new Map<string, number>();
  readonly #blocks: DescribedProtection[] = [];

  /** What to write beside a rule: "token required, rules [2]", or other words than the summary. */
  refer(protection: DescribedProtection, summary: string = protection.summary): string {
    const { policies } = protection;
    if (policies.length === 0) {
      const { closedBy, closedBecause } = protection;
      if (closedBy === null) return summary;
      return closedBecause === 'unprotected' ? formatUnprotected(closedBy) : `${summary} by ${closedBy}`;
    }
    const key = JSON.stringify(protection);
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.#blocks.push(protection);
      this.#numbers.set(key, number);
    }
    return `${summary} [${number}]`;
  }

  /** The blocks in the order of their numbers. */
  list(): readonly (readonly ProtectionLine[])[] {
    return this.#blocks.map(formatProtection);
  }

  /** The rules of all of them, each policy's once. */
  listRules(): readonly ProtectionLine[] {
    const rules = new Map<string, DescribedPolicy>();
    for (const policy of this.#blocks.flatMap(({ policies }) => policies))
      if (policy.expressions.length > 0 || policy.scopes.length > 0)
        rules.set(`${policy.policy} ${policy.field}`, policy);
    return [...rules]
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .flatMap(([, { policy, field, action, expressions, scopes }]) => {
        const parts: string[] = [];
        if (expressions.length > 0) parts.push(describeAction(action, expressions.length));
        if (scopes.length > 0) parts.push(`some messages need ${scopes.join(', ')}`);
        return [
          { text: `ProxyPolicy ${policy}, ${field}: ${parts.join('; ')}`, isDetail: false, kind: 'plain' as const },
          ...shorten(expressions).map((text) => ({ text, isDetail: true, kind: 'plain' as const })),
        ];
      });
  }
}

/** The words for a rule that is closed because nothing protects it. */
export function formatUnprotected(closedBy: string): string {
  return `CLOSED: nothing protects it (${closedBy})`;
}

/** One line of a block. */
export interface ProtectionLine {
  readonly text: string;
  /** Below the line before it. */
  readonly isDetail: boolean;
  /** remark: a probable mistake. silent: overridden. */
  readonly kind: 'plain' | 'remark' | 'silent';
}

/** What there is to say about a protection: "protected by ProxyPolicy a/b (traffic.jwtAuthentication, on HTTPRoute a/c)". */
export function formatProtection({
  closedBy,
  closedBecause,
  clientCertificate,
  policies,
}: DescribedProtection): readonly ProtectionLine[] {
  const lines: ProtectionLine[] = [];
  const say = (text: string): number => lines.push({ text, isDetail: false, kind: 'plain' });
  const detail = (text: string, kind: ProtectionLine['kind'] = 'plain'): number =>
    lines.push({ text, isDetail: true, kind });
  if (closedBecause === 'invalid') say(`closed by ProxyPolicy ${closedBy}, which cannot be enforced`);
  if (closedBecause === 'unattached')
    say(`closed because ProxyPolicy ${closedBy} misses a target, and nothing protects this rule`);
  if (closedBecause === 'unprotected') say(`closed because nothing protects this rule (${closedBy})`);
  if (clientCertificate) say('clients need a certificate that the listener validates');
  const mentioned = new Set<DescribedPolicy>();
  const remarks = new Set<string>();
  for (const policy of policies) {
    if (!policy.inForce) continue;
    say(`${open(policy)} ProxyPolicy ${policy.policy} (${policy.field}, on ${policy.target})${describe(policy)}`);
    // It is about the rule: once is enough.
    if (policy.remark !== null && !remarks.has(policy.remark)) detail(policy.remark, 'remark');
    if (policy.remark !== null) remarks.add(policy.remark);
    for (const other of policies) {
      if (other.overriddenBy === null || other.field !== policy.field || !isBy(other, policy)) continue;
      mentioned.add(other);
      detail(
        other.target === policy.target
          ? `ProxyPolicy ${other.policy} has no say in ${other.field} of ${other.target}, because ${other.because}`
          : `overrides ProxyPolicy ${other.policy} on ${other.target}, because ${other.because}`,
        'silent',
      );
    }
  }
  for (const policy of policies) {
    const { overriddenBy, field, target, because } = policy;
    if (overriddenBy === null || mentioned.has(policy)) continue;
    const by = overriddenBy.policy === '' ? overriddenBy.target : `ProxyPolicy ${overriddenBy.policy}`;
    lines.push({
      text: `ProxyPolicy ${policy.policy} (${field}, on ${target}) is overridden by ${by}, because ${because}`,
      isDetail: false,
      kind: 'silent',
    });
  }
  return lines;
}

/** Optional and Permissive allow requests without a token: that is not protection. */
function open({ field, mode }: DescribedPolicy): string {
  if (mode === 'Optional') return 'tokens are checked by';
  return mode === 'Permissive' ? 'tokens are read by' : policyKinds[field].opening;
}

function isBy({ overriddenBy }: DescribedPolicy, { policy, target }: DescribedPolicy): boolean {
  return overriddenBy?.policy === policy && overriddenBy.target === target;
}

const mostExpressions = 12;
const longestExpression = 120;

// Only what tells policies of one kind apart: issuers and expressions are listed once, elsewhere.
function describe({ mode, action, expressions, scopes }: DescribedPolicy): string {
  const parts: string[] = [];
  if (mode !== '') parts.push(mode);
  if (expressions.length > 0) parts.push(`${action}, ${count(expressions.length, 'expression')}`);
  if (scopes.length > 0) parts.push(count(scopes.length, 'scope'));
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function describeAction(action: DescribedPolicy['action'], number: number): string {
  if (action === 'Deny') return number === 1 ? 'Deny where this holds' : 'Deny where any of these holds';
  if (action === 'Require') return number === 1 ? 'Require this' : 'Require all of these';
  return number === 1 ? 'Allow where this holds' : 'Allow where any of these holds';
}

/** Each on one line. */
function shorten(expressions: readonly string[]): readonly string[] {
  const lines = expressions.slice(0, mostExpressions).map((source) => {
    const line = source.trim().replaceAll(/\s+/g, ' ');
    return line.length > longestExpression ? `${line.slice(0, longestExpression - 1)}…` : line;
  });
  const more = expressions.length - lines.length;
  return more === 0 ? lines : [...lines, `and ${more} more`];
}
