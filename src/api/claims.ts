// Claims of a token: which are required, and which are handed to the backend as headers (RFC 7519).
import { z } from 'zod';
import { boundedMapSchema } from './bounded-map.ts';
import { headerNameSchema } from './header-name.ts';

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
export const claimsToHeadersSchema = z
  .array(
    z.object({
      claim: claimNameSchema.describe('The claim; a dot reaches into objects.'),
      header: headerNameSchema.describe('The request header. A copy that the client sent is always removed.'),
    }),
  )
  .max(64)
  .describe('Claims to hand to the backend as request headers.');
