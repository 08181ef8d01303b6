// The subject of a person: what the identity provider never gives to anybody else. Never a login name or an email address.
import type { JsonObject } from '../../../../base/json-object.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import type { IdentityRules } from '../../../config/token-issuer.ts';
import { readClaim } from '../../token/read-claim.ts';

/** OpenID Connect Core 2 allows 255. */
const maxLength = 255;

/** The subject; undefined: there is none that can be used. */
export function readSubject(preset: ProviderPreset, rules: IdentityRules, members: JsonObject): string | undefined {
  if (rules.subject === undefined && preset.identity?.readSubject !== undefined)
    return checkSubject(preset.identity.readSubject(members));
  return checkSubject(readClaim(members, rules.subject ?? 'sub'));
}

/** For people: where the subject is looked for. */
export function nameSubjectMember(preset: ProviderPreset, rules: IdentityRules): string {
  return rules.subject ?? preset.identity?.subjectMembers ?? 'sub';
}

/** A string or an integer; other numbers are not exact. */
function checkSubject(value: unknown): string | undefined {
  const text = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string' || text === '' || text.length > maxLength) return undefined;
  return text.isWellFormed() ? text : undefined;
}
