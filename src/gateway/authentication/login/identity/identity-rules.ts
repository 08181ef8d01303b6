// What a policy and its preset want to know of a person (proto: Identity, IssuedTokens).
import { registeredClaims } from '../../../../base/registered-claims.ts';
import type { Identity } from '../../../../ir/gen/config_pb.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import type { IdentityRules } from '../../../config/token-issuer.ts';

/** Claims that only the gateway sets, or that would mean something else in a token of its own (RFC 7519, RFC 9068, RFC 8693, OpenID Connect). */
export const reservedClaims: ReadonlySet<string> = new Set(registeredClaims);

/**
 * Compiles the rules: what tokens carry and what the policy maps, each from the member that the policy names, else the preset, else of the same name. The
 * claim `email` always is the address that the identity provider vouches for, which says nothing about other members.
 */
export function createIdentityRules(
  preset: ProviderPreset,
  identity: Identity | undefined,
  tokenClaims: readonly string[],
): IdentityRules {
  const mapped = new Map(Object.entries(identity?.claims ?? {}));
  const usual = new Map(Object.entries(preset.identity?.claims ?? {}));
  const names = new Set([...tokenClaims, ...mapped.keys()]);
  const find = (name: string): string => (isEmailMember(name) ? name : (mapped.get(name) ?? usual.get(name) ?? name));
  const claims = new Map([...names].map((name) => [name, find(name)]));
  const { subject = '', allow } = identity ?? {};
  return { claims, subject: subject === '' ? undefined : subject, allow };
}

/** An identity provider, as configured. */
export interface KnownProvider {
  readonly preset: ProviderPreset;
  readonly issuer: string;
}

/** The member that lists organizations. */
export function findOrganizationsMember({ preset, issuer }: KnownProvider, { claims }: IdentityRules): string {
  const { organizations, claims: usual } = preset.identity ?? {};
  return organizations?.(issuer) ?? claims.get('groups') ?? usual?.['groups'] ?? 'groups';
}

/** What has to be found out beside the subject. */
export interface WantedFacts {
  readonly email: boolean;
  readonly organizations: boolean;
  /** Members that claims come from. */
  readonly members: readonly string[];
}

/** What the rules need: nothing else is asked for. */
export function findWanted(provider: KnownProvider, rules: IdentityRules): WantedFacts {
  const { allow } = rules;
  const members = [...new Set(rules.claims.values())];
  const listed = findOrganizationsMember(provider, rules);
  return {
    email: (allow?.domains.length ?? 0) + (allow?.emails.length ?? 0) > 0 || members.some(isEmailMember),
    organizations: (allow?.organizations.length ?? 0) > 0 || members.includes(listed),
    members: members.filter((member) => !isEmailMember(member)),
  };
}

function isEmailMember(member: string): boolean {
  return member === 'email' || member === 'email_verified';
}
