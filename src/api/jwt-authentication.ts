// JWT authentication of requests: providers by issuer, and where the token is found (RFC 7519, RFC 6750).
import { z } from 'zod';
import { oneOf, withRules } from './cel-rules.ts';
import { claimsToHeadersSchema, requiredClaimsSchema } from './claims.ts';
import { boundedDurationSchema } from './duration.ts';
import { headerNameSchema } from './header-name.ts';
import { jwksSchema } from './json-web-key-set.ts';
import { sectionNameSchema } from './kubernetes-names.ts';
import { uniqueNames } from './list-rules.ts';

/** How strict authentication is. */
export const authenticationModeSchema = z
  .enum(['Strict', 'Optional', 'Permissive'])
  .default('Strict')
  .describe(
    'Strict: a valid token is required. Optional: no token is allowed, an invalid one is not. Permissive: never rejects; claims are there when the token is valid.',
  );

/** Whose tokens are accepted. */
export const audiencesSchema = z.array(z.string().min(1).max(2048)).min(1).max(32);

/** How far clocks may be apart. */
export const clockSkewSchema = boundedDurationSchema({ min: '0s', max: '10m' })
  .default('60s')
  .describe('How far the clocks of issuer and gateway may be apart.');

const providerSchema = z.object({
  name: sectionNameSchema.describe('Unique within the policy.'),
  issuer: z.string().min(1).max(2048).describe('The `iss` of its tokens, exactly.'),
  audiences: audiencesSchema.optional().describe('The token must be for one of these; any audience when absent.'),
  jwks: jwksSchema.describe('The keys of the issuer.'),
  requiredClaims: requiredClaimsSchema.optional(),
  clockSkew: clockSkewSchema,
});

const tokenNameSchema = z.object({
  name: headerNameSchema.describe('The name.'),
});

const locationSchema = withRules(
  z.object({
    header: z
      .object({
        name: headerNameSchema.default('authorization').describe('The header.'),
        prefix: z.string().max(64).default('Bearer ').describe('What stands in front of the token.'),
      })
      .optional()
      .describe('A request header.'),
    cookie: tokenNameSchema.optional().describe('A cookie.'),
    queryParameter: tokenNameSchema.optional().describe('A query parameter. It ends up in logs; prefer a header.'),
  }),
  [oneOf(['header', 'cookie', 'queryParameter'])],
);

/** JWT authentication. */
export const jwtAuthenticationSchema = z.object({
  mode: authenticationModeSchema,
  providers: z
    .array(providerSchema)
    .min(1)
    .max(64)
    .superRefine(uniqueNames)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .describe('The issuers. A token is matched to its provider by `iss`.'),
  location: locationSchema.prefault({ header: {} }).describe('Where the token is found.'),
  forwardToken: z.boolean().default(false).describe('Pass the token on to the backend.'),
  claimsToHeaders: claimsToHeadersSchema.optional(),
});
