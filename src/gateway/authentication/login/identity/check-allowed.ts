// Who gets in: a match in any list suffices.
import type { IdentityAllow } from '../../../../ir/gen/config_pb.ts';
import type { PersonIdentity } from '../../../config/token-issuer.ts';
import { lowerAscii } from './lower-ascii.ts';

/** Whether the policy lets this person in. Undefined lets everybody in whom the identity provider knows; empty lists let nobody in. */
export function checkAllowed(person: PersonIdentity, allow: IdentityAllow | undefined): boolean {
  if (allow === undefined) return true;
  const { email, organizations, subject } = person;
  if (allow.subjects.includes(subject)) return true;
  if (organizations.some((name) => includesName(allow.organizations, name))) return true;
  if (email === undefined) return false;
  // Exactly this domain: a subdomain may belong to others.
  return includesName(allow.emails, email) || includesName(allow.domains, email.slice(email.lastIndexOf('@') + 1));
}

function includesName(names: readonly string[], found: string): boolean {
  const wanted = lowerAscii(found);
  return names.some((name) => lowerAscii(name) === wanted);
}
