// The two users of the demo: who they are at the identity provider, and what their tokens say about them.

/** A user who can log in. */
export interface DemoUser {
  readonly id: string;
  readonly name: string;
  readonly team: string;
  /** The claim that rules ask for. */
  readonly groups: readonly string[];
  readonly password: string;
}

/** The users who can log in. Their passwords are shown on the login page: this is a demo. */
export const demoUsers: readonly DemoUser[] = [
  { id: 'alice', name: 'Alice Archer', team: 'support', groups: ['support', 'support-leads'], password: 'alice' },
  { id: 'bob', name: 'Bob Baker', team: 'sales', groups: ['sales'], password: 'bob' },
];

/** The claims about a user, in ID tokens and access tokens alike. */
export function describeClaims({ name, team, groups }: DemoUser): Record<string, unknown> {
  return { name, team, groups };
}
