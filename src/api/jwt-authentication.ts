// JWT authentication of requests: providers by issuer, and where the token is found (RFC 7519, RFC 6750).
import * as z from 'zod';
import { celRulesKey, withRules } from './cel-rules.ts';
import { claimsToHeadersSchema, requiredClaimsSchema } from './claims.ts';
import { boundedDurationSchema } from './duration.ts';
import { foldHeaderName, foldHeaderNameInCel } from './header-name.ts';
import { jwksSchema } from './json-web-key-set.ts';
import { sectionNameSchema } from './kubernetes-names.ts';
import { uniqueMembers, uniqueNames } from './list-rules.ts';
import { tokenLocationSchema } from './token-location.ts';

/** How strict authentication is. */
export const authenticationModeSchema = z
  .enum(['Strict', 'Optional', 'Permissive'])
  .default('Strict')
  .describe(
    'Strict: every request needs a valid token. Optional: a request without a token passes, one with an invalid token does not. Permissive: every request passes; claims are available if the token is valid.',
  );

/** Whose tokens are accepted. */
export const audiencesSchema = z.array(z.string().min(1).max(2048)).min(1).max(32);

/** How far clocks may be apart. */
export const clockSkewSchema = boundedDurationSchema({ min: '0s', max: '10m' })
  .default('60s')
  .describe('How far the clocks of issuer and gateway may be apart.');

const providerSchema = z.object({
  name: sectionNameSchema.describe('Unique within the policy.'),
  issuer: z
    .string()
    .min(1)
    .max(2048)
    .regex(/^\S+$/, 'must be the `iss` of the tokens, which has no spaces')
    .describe('The `iss` of its tokens, exactly. Unique within the policy.'),
  audiences: audiencesSchema
    .optional()
    .describe(
      'Accepted audiences: the `aud` of a token must contain one of them. When absent, tokens for any audience pass.',
    ),
  jwks: jwksSchema.describe('The keys of the issuer.'),
  requiredClaims: requiredClaimsSchema.optional(),
  clockSkew: clockSkewSchema,
});

const providersSchema = z
  .array(providerSchema)
  .min(1)
  .max(64)
  .superRefine(uniqueNames)
  .superRefine(uniqueMembers('issuer'))
  .meta({
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    [celRulesKey]: [
      {
        rule: 'self.all(a, self.exists_one(b, a.issuer == b.issuer))',
        message: 'must not list an issuer twice: a token is matched to its provider by `iss`',
      },
    ],
  })
  .describe('The issuers. A token is matched to its provider by `iss`.');

/** JWT authentication. */
export const jwtAuthenticationSchema = withRules(
  z.object({
    mode: authenticationModeSchema,
    providers: providersSchema,
    location: tokenLocationSchema.prefault({ header: {} }).describe('Where the token is found.'),
    forwardToken: z.boolean().default(false).describe('Pass the token on to the backend.'),
    claimsToHeaders: claimsToHeadersSchema.optional(),
  }),
  [
    {
      cel: `!has(self.claimsToHeaders) || !has(self.location.header) || !self.claimsToHeaders.exists(c, ${foldHeaderNameInCel('c.header')} == ${foldHeaderNameInCel('self.location.header.name')})`,
      message: 'must not name the header that the token is in',
      path: ['claimsToHeaders'],
      holds: ({ claimsToHeaders = [], location: { header: place } }) =>
        place === undefined ||
        !claimsToHeaders.some(({ header }) => foldHeaderName(header) === foldHeaderName(place.name)),
    },
  ],
);

/** A parsed JWT authentication. */
export type JwtAuthentication = z.output<typeof jwtAuthenticationSchema>;
