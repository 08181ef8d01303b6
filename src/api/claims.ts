// Claims of a token: which are required, and which are handed to the backend as headers (RFC 7519).
import * as z from 'zod';
import { boundedMapSchema } from './bounded-map.ts';
import { withRules } from './cel-rules.ts';
import { foldHeaderName, foldHeaderNameInCel, headerNameSchema, reservedHeaders } from './header-name.ts';

const claimNameSchema = z.string().min(1).max(256);
const claimValueSchema = z.union([z.string().max(1024), z.number(), z.boolean()]);

/** Claims and the values they must have. */
export const requiredClaimsSchema = boundedMapSchema(
  claimNameSchema,
  z
    .union([claimValueSchema, z.array(claimValueSchema).min(1).max(64)], {
      error: 'must be a value or a list of values',
    })
    .meta({ 'x-kubernetes-preserve-unknown-fields': true })
    .describe('The value, or a list of which one must be there.'),
  64,
).describe('Claims that must have this value, or one of these values. A claim that is a list must contain it.');

/** Claims that the backend gets as headers. */
export const claimsToHeadersSchema = withRules(
  z
    .array(
      withRules(
        z.object({
          claim: claimNameSchema.describe('The claim; a dot selects a member of an object.'),
          header: headerNameSchema.describe('The request header. A copy that the client sent is always removed.'),
        }),
        [
          {
            cel: `!(${foldHeaderNameInCel('self.header')} in ['${reservedHeaders.join("', '")}'])`,
            message: 'must be a header of your own, such as x-auth-subject; this one already has a meaning',
            path: ['header'],
            holds: ({ header }) => !reservedHeaders.includes(foldHeaderName(header)),
          },
        ],
      ),
    )
    .max(64),
  [
    {
      cel: `self.all(a, self.exists_one(b, ${foldHeaderNameInCel('a.header')} == ${foldHeaderNameInCel('b.header')}))`,
      message: 'must not name a header twice',
      holds: (entries) => new Set(entries.map(({ header }) => foldHeaderName(header))).size === entries.length,
    },
  ],
).describe('Claims to hand to the backend as request headers.');

/** Parsed requiredClaims. */
export type RequiredClaims = z.output<typeof requiredClaimsSchema>;
/** Parsed claimsToHeaders. */
export type ClaimsToHeaders = z.output<typeof claimsToHeadersSchema>;
