// What the quirky identity provider knows of the people who log in (OpenID Connect Core 5.1), and which of it a scope asks for.
import type { Grant, IdpState } from './quirky-state.ts';
import { testUsers } from './test-users.ts';

/** All members of a person, as the switches have them. */
export function describePerson(state: IdpState, user: string): Readonly<Record<string, unknown>> {
  const name = user.charAt(0).toUpperCase() + user.slice(1);
  return {
    email: `${user}@example.com`,
    email_verified: true,
    name: `${name} Example`,
    given_name: name,
    family_name: 'Example',
    preferred_username: user,
    nickname: user,
    picture: `${state.origin}/pictures/${user}.png`,
    groups: testUsers.find(({ id }) => id === user)?.groups ?? [],
    // Google: the organization of a Workspace account.
    hd: 'example.com',
    // Entra: the object and its directory, and whether the domain of the email is proven.
    oid: `00000000-0000-4000-8000-${formatNumber(user).slice(0, 12)}`,
    tid: '0f5c8a1e-0000-4000-8000-000000000000',
    xms_edov: true,
    ...state.quirks.people[user],
  };
}

/** Which scope has to be granted for a member; others come with every login. */
const scopeOf: Readonly<Record<string, string>> = {
  email: 'email',
  email_verified: 'email',
  name: 'profile',
  given_name: 'profile',
  family_name: 'profile',
  preferred_username: 'profile',
  nickname: 'profile',
  picture: 'profile',
};

/** The listed members of a person that were asked for. */
export function selectMembers(state: IdpState, grant: Grant, members: readonly string[]): Record<string, unknown> {
  const scopes = new Set(grant.scope.split(' '));
  // Servers without OpenID Connect have scopes of their own, and tell everything.
  const isAsked = (member: string): boolean =>
    !scopes.has('openid') || scopeOf[member] === undefined || scopes.has(scopeOf[member]);
  const known = describePerson(state, grant.user);
  return Object.fromEntries(
    members.filter((member) => isAsked(member) && known[member] !== undefined).map((member) => [member, known[member]]),
  );
}

/** What the person is called in `sub`: it never changes, whatever else does. */
export function formatSubject({ quirks }: Pick<IdpState, 'quirks'>, user: string): string {
  return quirks.numericSubjects ? formatNumber(user) : user;
}

/** A number with 21 digits, as Google's are: the same one for the same name. */
function formatNumber(user: string): string {
  const digits = BigInt(`0x${Buffer.from(user.padEnd(8, '.')).toString('hex')}`).toString();
  return digits.padStart(21, '1').slice(-21);
}
