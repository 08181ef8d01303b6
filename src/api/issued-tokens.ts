// tokens of an MCP authentication: the access and refresh tokens that the gateway issues in the flow Issuer (RFC 9068).
import * as z from 'zod';
import { registeredClaims } from '../base/registered-claims.ts';
import { expressionSchema } from './authorization.ts';
import { withRules } from './cel-rules.ts';
import { boundedDurationSchema, parseDuration } from './duration.ts';
import { spellNames } from './identity-providers.ts';
import { uniqueItems } from './list-rules.ts';
import { scopesSchema } from './mcp-authorization.ts';

/** The name of a claim that comes from an identity provider. */
export const claimNameSchema = z.string().min(1).max(256);

/** Why a claim cannot come from an identity provider. */
export const registeredClaimRefusal = `must not have ${registeredClaims.slice(0, -1).join(', ')} or ${registeredClaims.at(-1)}: their meaning is fixed`;

const claimsSchema = withRules(
  z.array(claimNameSchema).max(32).superRefine(uniqueItems).meta({ 'x-kubernetes-list-type': 'set' }),
  [
    {
      cel: `!self.exists(c, c in ${spellNames(registeredClaims)})`,
      message: registeredClaimRefusal,
      holds: (names) => !names.some((name) => registeredClaims.includes(name)),
    },
  ],
);

const scopeGrantSchema = z.object({
  scopes: scopesSchema.min(1).describe('The scopes that a client can get.'),
  when: expressionSchema('claims')
    .optional()
    .describe(
      'For whom, as a CEL expression over `jwt`, the claims of the token, such as `"admins" in jwt.groups`; for everybody when absent.',
    ),
});

/** Issued tokens. */
export const issuedTokensSchema = withRules(
  z.object({
    lifetime: boundedDurationSchema({ min: '1m', max: '24h' })
      .default('15m')
      .describe('How long an access token is valid. It stays valid that long even if the account is closed meanwhile.'),
    refreshLifetime: boundedDurationSchema({ min: '0s', max: '8760h' })
      .default('720h')
      .describe(
        'How long after a login clients can get new tokens without another one. Each time the identity provider is asked again. 0s: never.',
      ),
    claims: claimsSchema
      .optional()
      .describe(
        'The claims of the identity that tokens carry, such as email or groups. Only these are seen by requiredClaims, rules and claimsToHeaders.',
      ),
    scopes: z
      .array(scopeGrantSchema)
      .min(1)
      .max(32)
      .optional()
      .describe('The scopes that tokens can have; all requiredScopes, for everybody, when absent.'),
  }),
  [
    {
      cel: "duration(self.refreshLifetime) == duration('0s') || duration(self.refreshLifetime) >= duration(self.lifetime)",
      message: 'must be 0s, for no refresh tokens, or at least as long as lifetime',
      path: ['refreshLifetime'],
      holds: ({ lifetime, refreshLifetime }) => {
        const [access, refresh] = [readMilliseconds(lifetime), readMilliseconds(refreshLifetime)];
        return access === undefined || refresh === undefined || refresh === 0 || refresh >= access;
      },
    },
  ],
);

/** Undefined for what is no duration: that has its own problem. */
function readMilliseconds(duration: string): number | undefined {
  try {
    return parseDuration(duration);
  } catch {
    return undefined;
  }
}

/** Parsed settings of issued tokens. */
export type IssuedTokens = z.output<typeof issuedTokensSchema>;

/** Those of a policy that says nothing about them. */
export const defaultIssuedTokens: IssuedTokens = issuedTokensSchema.parse({});
