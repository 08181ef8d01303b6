// The policies that cannot get the keys of their identity provider, and why.
import type { KeyUser } from '../config/runtime-config.ts';
import type { KeyHealth, KeyTrouble } from './token/key-health.ts';

/** One policy and one issuer. */
export interface PolicyKeyProblem extends KeyTrouble {
  /** Key of the policy message. */
  readonly policy: string;
  readonly issuer: string;
}

/** Queries each source once, however many policies use it. In the order of policies and issuers. */
export function listKeyProblems(users: readonly KeyUser[]): readonly PolicyKeyProblem[] {
  const asked = new Map<KeyHealth, KeyTrouble | undefined>();
  const problems: PolicyKeyProblem[] = [];
  const add = (policy: string, issuer: string, health: KeyHealth | undefined): void => {
    if (health === undefined) return;
    if (!asked.has(health)) asked.set(health, health.findTrouble());
    const trouble = asked.get(health);
    if (trouble !== undefined) problems.push({ policy, issuer, ...trouble });
  };
  for (const { policy, kind, config } of users) {
    if (kind === 'backend.mcp.authentication') {
      // Tokens of the gateway's own need no keys of the identity provider.
      if (config.issuer === undefined) add(policy, config.idp.issuer, config.idp.keyHealth);
    } else for (const [issuer, { keyHealth }] of config.providers) add(policy, issuer, keyHealth);
  }
  return problems.toSorted(
    (left, right) => compareText(left.policy, right.policy) || compareText(left.issuer, right.issuer),
  );
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
