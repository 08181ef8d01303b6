// The tokens that a policy issues itself (flow: Issuer), as they are shown: keys by their ids, lifetimes, and where sessions are.
import type { TokenIssuer } from '../config/token-issuer.ts';
import { formatSpan } from './page-frame.ts';

/** What is in force. */
export interface DescribedIssuedTokens {
  /** `kid` of every key that is published and accepted. Empty: nothing is issued, and nothing accepted. */
  readonly keys: readonly string[];
  /** The one that signs; null: none does yet. */
  readonly activeKey: string | null;
  readonly lifetimeSeconds: number;
  /** Since the login; 0: no refresh tokens. */
  readonly refreshLifetimeSeconds: number;
  /** In a store they can be listed and ended; otherwise refresh tokens hold them. */
  readonly sessionsInStore: boolean;
}

/** Null: the policy has another flow. */
export function describeIssuedTokens(issuer: TokenIssuer | undefined): DescribedIssuedTokens | null {
  if (issuer === undefined) return null;
  const { signingKeys, lifetimeMs, refreshLifetimeMs, grants } = issuer;
  return {
    keys: signingKeys?.keys.map(({ kid }) => kid) ?? [],
    activeKey: signingKeys?.active?.kid ?? null,
    lifetimeSeconds: lifetimeMs / 1_000,
    refreshLifetimeSeconds: refreshLifetimeMs / 1_000,
    sessionsInStore: grants.isStored,
  };
}

/** One line for people: keys, lifetimes, sessions. */
export function formatIssuedTokens(tokens: DescribedIssuedTokens): string {
  const { keys, activeKey, lifetimeSeconds, refreshLifetimeSeconds, sessionsInStore } = tokens;
  const others = keys.filter((kid) => kid !== activeKey);
  const signing =
    keys.length === 0
      ? 'no signing key: requests are answered 503'
      : `${activeKey === null ? 'no key signs yet' : `signed with key ${activeKey}`}${others.length === 0 ? '' : `, also accepted: ${others.join(', ')}`}`;
  const renewed =
    refreshLifetimeSeconds === 0
      ? 'not renewed'
      : `renewed until ${formatSpan(refreshLifetimeSeconds * 1_000)} after the login`;
  return `tokens for ${formatSpan(lifetimeSeconds * 1_000)}, ${renewed}; ${signing}; sessions ${sessionsInStore ? 'in the store' : 'in refresh tokens, without a store'}`;
}
