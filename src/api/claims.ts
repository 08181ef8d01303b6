// Claims of a token: which are required, and which are handed to the backend as headers (RFC 7519).
import { z } from 'zod';
import { boundedMapSchema } from './bounded-map.ts';
import { withRules } from './cel-rules.ts';
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

// What the gateway writes itself, and what a claim would have to say about the request rather than about who sent it.
const ownHeaders = [
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'mcp-session-id',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-request-id',
];

/** Claims that the backend gets as headers. */
export const claimsToHeadersSchema = withRules(
  z
    .array(
      withRules(
        z.object({
          claim: claimNameSchema.describe('The claim; a dot reaches into objects.'),
          header: headerNameSchema.describe('The request header. A copy that the client sent is always removed.'),
        }),
        [
          {
            cel: `!(self.header.lowerAscii() in ['${ownHeaders.join("', '")}'])`,
            message: 'must be a header of its own, such as x-auth-subject; this one has a meaning already',
            path: ['header'],
            holds: ({ header }) => !ownHeaders.includes(header.toLowerCase()),
          },
        ],
      ),
    )
    .max(64),
  [
    {
      cel: 'self.all(a, self.exists_one(b, a.header.lowerAscii() == b.header.lowerAscii()))',
      message: 'must not name a header twice',
      holds: (entries) => new Set(entries.map(({ header }) => header.toLowerCase())).size === entries.length,
    },
  ],
).describe('Claims to hand to the backend as request headers.');
