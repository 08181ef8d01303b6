// identity of an MCP authentication: what the gateway takes from the identity provider about a person, and who gets in (flow Issuer).
import * as z from 'zod';
import { registeredClaims } from '../base/registered-claims.ts';
import { boundedMapSchema } from './bounded-map.ts';
import { withRules } from './cel-rules.ts';
import { spellNames } from './identity-providers.ts';
import { claimNameSchema, registeredClaimRefusal } from './issued-tokens.ts';

const memberSchema = z.string().min(1).max(256);

const maxListed = 256;

const domain = '[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+';

const domainSchema = z
  .string()
  .min(1)
  .max(253)
  .regex(new RegExp(`^${domain}$`), 'must be a domain such as example.com, without @ or *');

const emailSchema = z
  .string()
  .min(1)
  .max(320)
  .regex(new RegExp(`^[^\\s@]+@${domain}$`), 'must be an email address such as ada@example.com');

const allowLists = ['domains', 'organizations', 'emails', 'subjects'] as const;

const allowSchema = withRules(
  z.object({
    domains: z
      .array(domainSchema)
      .max(maxListed)
      .optional()
      .describe('Domains of email addresses that the identity provider vouches for, exactly: no subdomains.'),
    organizations: z
      .array(z.string().min(1).max(256))
      .max(maxListed)
      .optional()
      .describe('Organizations or groups at the identity provider, by the names that it gives them.'),
    emails: z
      .array(emailSchema)
      .max(maxListed)
      .optional()
      .describe('Email addresses that the identity provider vouches for.'),
    subjects: z
      .array(z.string().min(1).max(256))
      .max(maxListed)
      .optional()
      .describe('People by the identifiers of the identity provider that never change.'),
  }),
  [
    {
      cel: allowLists.map((list) => `(has(self.${list}) && self.${list}.size() > 0)`).join(' || '),
      message: `must list somebody in ${allowLists.slice(0, -1).join(', ')} or ${allowLists.at(-1)}; without \`allow\` everybody with an account gets in`,
      holds: (allow) => allowLists.some((list) => (allow[list] ?? []).length > 0),
    },
  ],
);

// They can be given to another person.
const changeable = [
  'email',
  'login',
  'username',
  'user_name',
  'preferred_username',
  'unique_name',
  'upn',
  'name',
  'nickname',
];

/** Who somebody is, and who gets in. */
export const personIdentitySchema = withRules(
  z.object({
    claims: boundedMapSchema(claimNameSchema, memberSchema, 32)
      .optional()
      .describe(
        'Claims by the member of the ID token or of userinfo that they are taken from, such as `preferred_username: login`. Claims of the same name need no entry.',
      ),
    subject: memberSchema
      .optional()
      .describe('The member that identifies a person and never changes; `sub`, or what the provider has, when absent.'),
    allow: allowSchema
      .optional()
      .describe('Who gets in: whoever is in one of the lists. Everybody with an account when absent.'),
  }),
  [
    {
      cel: `!has(self.claims) || !self.claims.exists(c, c in ${spellNames(registeredClaims)})`,
      message: registeredClaimRefusal,
      path: ['claims'],
      holds: ({ claims = {} }) => !Object.keys(claims).some((name) => registeredClaims.includes(name)),
    },
    {
      cel: `!has(self.subject) || !(self.subject in ${spellNames(changeable)})`,
      message:
        'must be a member that never changes, such as sub or id: a name or an address can pass to another person',
      path: ['subject'],
      holds: ({ subject }) => subject === undefined || !changeable.includes(subject),
    },
  ],
);

/** A parsed identity. */
export type PersonIdentity = z.output<typeof personIdentitySchema>;
